/* SPDX-License-Identifier: MIT */
/* The calls of the world's threads, and what they may find. */
#include "tests/unit/manage_world.h"

/* ---- calls ---------------------------------------------------------------------------------- */

uint64_t world_set_of(uint8_t value)
{
    return value < 64 ? 1ull << value : 0;
}

/* A write begins: from now on its value may be seen, and may be on the disk. */
static void write_seen(World *w, WorldSlot *writer)
{
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        WorldSlot *s = &w->slots[i];
        if (s == writer || !s->on || s->file != writer->file || s->op == OP_WRITE)
            continue;
        for (uint64_t at = writer->offset; at < writer->offset + writer->len; at++)
            s->may[at] |= world_set_of(writer->value);
    }
    for (uint64_t at = writer->offset; at < writer->offset + writer->len; at++)
        writer->file->allowed[at] |= world_set_of(writer->value);
}

/* What a read or sync that begins now may find. */
void world_may_begin(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    /* A sync's is about all of it. */
    uint64_t from = s->op == OP_READ ? s->offset : 0;
    uint64_t to = s->op == OP_READ ? s->offset + s->len : f->len;
    for (uint64_t at = from; at < to; at++)
        s->may[at] = world_set_of(f->model[at]);
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        WorldSlot *o = &w->slots[i];
        if (o != s && o->on && o->file == f && o->op == OP_WRITE)
            for (uint64_t at = o->offset; at < o->offset + o->len; at++)
                s->may[at] |= world_set_of(o->value);
    }
    s->size_min = f->model_size;
}

static bool write_overlaps(World *w, const WorldSlot *s)
{
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        WorldSlot *o = &w->slots[i];
        if (o != s && o->on && o->file == s->file && o->op == OP_WRITE &&
            o->offset < s->offset + s->len && s->offset < o->offset + o->len)
            return true;
    }
    return false;
}

/* Of the world's own arrays. Most of the test's time would go here: no branch for a byte, and no
 * sanitizer's look at each. */
#ifdef __clang__
__attribute__((no_sanitize("address", "undefined", "coverage")))
#endif
static bool
all_in_sets(const uint8_t *bytes, const uint64_t *sets, uint64_t len)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < len; i++)
        wrong |= (bytes[i] & ~63u) | (~(sets[i] >> (bytes[i] & 63)) & 1);
    return !wrong;
}

static void read_result(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    if (s->call.result < 0) {
        WORLD_CHECK(w, s->call.error == EIO && w->file_fail_ppm);
        return;
    }
    uint64_t n = (uint64_t)s->call.result;
    uint64_t least = s->size_min < s->offset            ? 0
                     : s->size_min < s->offset + s->len ? s->size_min - s->offset
                                                        : s->len;
    WORLD_CHECK(w, n >= least && n <= s->len);
    WORLD_CHECK(w, all_in_sets(s->buf, s->may + s->offset, n));
    w->happened.reads++;
    (void)f;
}

static void write_result(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    uint64_t n = s->call.result < 0 ? 0 : (uint64_t)s->call.result;
    if (s->call.result < 0)
        WORLD_CHECK(w, s->call.error == (w->full ? ENOSPC : EIO) || s->call.error == ENOSPC ||
                           s->call.error == EIO);
    w->happened.failed_writes += s->call.result < 0;
    WORLD_CHECK(w, n <= s->len);
    memset(f->model + s->offset, s->value, (size_t)n);
    if (n && s->offset + n > f->model_size)
        f->model_size = s->offset + n;
    w->happened.writes++;
}

/* What returned 0 is on the disk, whatever happens from now on. */
static void sync_result(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    if (s->call.result < 0) {
        WORLD_CHECK(w, s->call.error == EIO || s->call.error == ENOSPC);
        w->happened.failed_syncs++;
        return;
    }
    bool lost = false;
    for (uint64_t at = 0; at < f->len; at++) {
        uint64_t b = at / CACHE_BLOCK;
        /* A close tells once that an fdatasync failed for what is cached no more, and then closes.
         */
        if (f->doubt[b] || (s->op == OP_CLOSE && f->lost[b]))
            lost = true;
        else
            f->allowed[at] &= s->may[at];
    }
    WORLD_CHECK(w, lost || f->disk_size >= s->size_min);
    w->happened.syncs++;
}

void world_disk_check(World *w)
{
    for (unsigned i = 0; i < WORLD_REGIONS; i++) {
        WorldFile *f = &w->files[i];
        WORLD_CHECK(w, all_in_sets(f->disk, f->allowed, f->len));
    }
}

static void slot_result(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    if (s->op == OP_READ)
        read_result(w, s);
    else if (s->op == OP_WRITE)
        write_result(w, s);
    else if (s->op == OP_ADVISE)
        WORLD_CHECK(w, s->call.result == 0);
    else
        sync_result(w, s);
    if (s->op == OP_CLOSE && s->call.result == 0) {
        f->rd = -1;
        w->happened.closes++;
        WORLD_CHECK(w, !f->remote_open);
        for (uint64_t at = 0; at < f->len; at++) /* nothing is left anywhere else */
            WORLD_CHECK(w, f->bytes[at] == f->model[at]);
    }
    f->calls--;
    s->on = false;
}

/* The core has moved the call on. */
void world_slot_look(World *w, WorldSlot *s)
{
    s->running = false;
    if (s->call.need == CACHE_JOB)
        world_job_take(w, &s->job, &s->call.job);
    else if (s->call.need == CACHE_OVER)
        slot_result(w, s);
}

static void world_open(World *w, WorldFile *f)
{
    static const unsigned flags[] = {0, DODO_RETAIN, MANAGE_WRITE_THROUGH};
    f->flags = flags[sim_rng_below(&w->rng, ARRAY_SIZE(flags))];
    if (w->seed % 4 == 2)
        f->flags |= DODO_RETAIN;
    bool quiet = w->quiet;
    w->quiet = true;
    f->rd = cache_open(w->cache, f->len, f->size, f, f->flags);
    w->quiet = quiet;
    WORLD_CHECK(w, f->rd >= 0);
    memcpy(f->doubt, f->lost, sizeof f->doubt);
}

/* As the earlier run of the file. */
static bool goes_along(WorldSlot *s, uint64_t len)
{
    WorldFile *f = s->file;
    if (f->earlier_count == 0)
        return false;
    const CacheRange g = f->earlier[f->along++ % f->earlier_count];
    if (g.blocks == 0 || (uint64_t)g.block * CACHE_BLOCK >= len)
        return false;
    s->offset = (uint64_t)g.block * CACHE_BLOCK;
    s->len = min_u64((uint64_t)g.blocks * CACHE_BLOCK, len - s->offset);
    return true;
}

static void slot_range(World *w, WorldSlot *s)
{
    uint64_t len = s->file->len;
    uint64_t next = s->offset + (uint64_t)s->streaming * s->len; /* below 0: beyond the end */
    if (s->op == OP_READ && s->streaming && next < len) {
        s->offset = next; /* as a program that scans */
        s->len = s->len < len - next ? s->len : len - next;
        return;
    }
    if (s->op == OP_READ && sim_rng_chance(&w->rng, w->seed % 4 == 2 ? 900000 : 100000) &&
        goes_along(s, len))
        return;
    s->offset = sim_rng_below(&w->rng, len);
    if (sim_rng_chance(&w->rng, 500000))
        s->offset = s->offset / CACHE_BLOCK * CACHE_BLOCK;
    s->len = 1 + sim_rng_below(&w->rng, sim_rng_spread(&w->rng, 1, len - s->offset));
    if (sim_rng_chance(&w->rng, 300000))
        s->len = (s->len + CACHE_BLOCK - 1) / CACHE_BLOCK * CACHE_BLOCK;
    if (s->len > len - s->offset)
        s->len = len - s->offset;
    if (s->streaming && s->len > len / STREAM_READS) /* so that it is one of several */
        s->len = len / STREAM_READS + 1;
}

/* What reading the file past the cache gives. */
static ssize_t hit_file(World *w, WorldSlot *s)
{
    uint64_t n = world_file_has(s->file, s->offset, s->len);
    if (sim_rng_chance(&w->rng, w->file_fail_ppm))
        return -1;
    memcpy(s->buf, s->file->bytes + s->offset, (size_t)n);
    w->happened.file_hits++;
    return (ssize_t)n;
}

/* A read without the lock, if that is available; others' steps come between its own. */
static bool slot_hit(World *w, WorldSlot *s)
{
    CacheHit h;
    enum CacheHitKind kind = cache_hit_begin(&h, w->cache, w->lanes[s - w->slots], s->file->rd,
                                             (off_t)s->offset, (size_t)s->len);
    if (kind == CACHE_HIT_NONE)
        return false;
    world_beside(w);
    if (kind == CACHE_HIT_LOCAL) {
        cache_hit_copy(&h, w->cache, s->buf);
        w->happened.hits++;
    }
    ssize_t n = kind == CACHE_HIT_FILE ? hit_file(w, s) : 0;
    world_beside(w);
    uint64_t ns = kind == CACHE_HIT_FILE && h.measure ? sim_rng_spread(&w->rng, 100, 200000) : 0;
    if (kind == CACHE_HIT_FILE && n != (ssize_t)s->len) {
        cache_hit_read_start(&s->call, &h, w->cache, s->buf, w->now_ns);
        return true;
    }
    if (kind == CACHE_HIT_LOCAL)
        cache_hit_end(&h, w->cache);
    else
        cache_hit_file_end(&h, w->cache, ns, w->now_ns);
    s->call = (CacheCall){.need = CACHE_OVER, .result = (ssize_t)s->len};
    return true;
}

void world_slot_start(World *w, WorldSlot *s)
{
    static const int steps[] = {1, 2, -1};
    if (sim_rng_chance(&w->rng, 50000))
        s->streaming = s->streaming ? 0 : steps[sim_rng_below(&w->rng, ARRAY_SIZE(steps))];
    WorldFile *f =
        s->streaming && s->file ? s->file : &w->files[sim_rng_below(&w->rng, WORLD_REGIONS)];
    unsigned pick = (unsigned)sim_rng_below(&w->rng, 100);
    if (f->rd < 0 && f->calls == 0)
        world_open(w, f);
    s->op = pick < 48 || s->streaming ? OP_READ
            : pick < 50               ? OP_ADVISE
            : pick < 88               ? OP_WRITE
            : pick < 97               ? OP_SYNC
                                      : OP_CLOSE;
    s->file = f;
    slot_range(w, s);
    /* The order of two writes of one byte would be anybody's guess, and so it is what is there when
     * a region is closed beside a call. */
    if (f->rd < 0 || (s->op == OP_WRITE && write_overlaps(w, s)) ||
        (s->op == OP_CLOSE && f->calls > 0))
        return;
    for (unsigned i = 0; i < WORLD_SLOTS; i++)
        if (w->slots[i].on && w->slots[i].file == f && w->slots[i].op == OP_CLOSE)
            return;
    f->calls++;
    s->on = s->running = true;
    s->woken = false;
    s->value = (uint8_t)sim_rng_between(&w->rng, 1, 63);
    if (s->op == OP_WRITE) {
        memset(s->buf, s->value, (size_t)s->len);
        write_seen(w, s);
        cache_write_start(&s->call, w->cache, f->rd, (off_t)s->offset, s->buf, (size_t)s->len,
                          w->now_ns);
    } else {
        world_may_begin(w, s);
        memset(s->buf, 0xcc, (size_t)s->len);
        if (s->op == OP_READ && slot_hit(w, s))
            ;
        else if (s->op == OP_READ)
            cache_read_start(&s->call, w->cache, f->rd, (off_t)s->offset, s->buf, (size_t)s->len,
                             w->now_ns);
        else if (s->op == OP_ADVISE)
            cache_advise_start(&s->call, w->cache, f->rd, (off_t)s->offset, (size_t)s->len,
                               (int)sim_rng_below(&w->rng, DODO_CADVISE_DONTNEED + 1), w->now_ns);
        else if (s->op == OP_SYNC)
            cache_sync_start(&s->call, w->cache, f->rd, w->now_ns);
        else
            cache_close_start(&s->call, w->cache, f->rd, w->now_ns);
    }
    world_slot_look(w, s);
}

void world_slot_go(World *w, WorldSlot *s)
{
    if (s->running)
        return;
    if (s->call.need == CACHE_JOB && s->job.on && w->now_ns >= s->job.due_ns) {
        CacheResult result;
        world_job_finish(w, &s->job, &s->call.job, &result);
        s->running = true;
        cache_call_done(&s->call, w->cache, &result, w->now_ns);
        world_slot_look(w, s);
    } else if (s->call.need == CACHE_BLOCKED && (s->woken || w->now_ns >= s->call.until_ns)) {
        s->woken = false;
        s->running = true;
        cache_call_step(&s->call, w->cache, w->now_ns);
        world_slot_look(w, s);
    }
}
