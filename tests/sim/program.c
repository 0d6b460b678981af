/* SPDX-License-Identifier: MIT */
/* What the programs do: random calls from all threads, and the check of every result. */
#include "tests/sim/world.h"

#include <errno.h>

enum { POPULAR_RANGES = 3, HOT_BLOCKS = 3 };

SimFs *program_fs(Process *p)
{
    return p->world->fs[p->host - HOST_CLIENT];
}

static uint64_t between(Process *p, uint64_t lo, uint64_t hi)
{
    return sim_rng_between(&p->rng, lo, hi);
}

static bool chance(Process *p, uint32_t ppm)
{
    return sim_rng_chance(&p->rng, ppm);
}

/* ---- choosing ------------------------------------------------------------------------------- */

static Desc *desc_in(Process *p, int state)
{
    unsigned n = 0;
    Desc *found = NULL;
    for (unsigned i = 0; i < DESCS_MAX; i++)
        if ((int)p->descs[i].state == state && sim_rng_below(&p->rng, ++n) == 0)
            found = &p->descs[i];
    return found;
}

static unsigned descs_used(const Process *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < DESCS_MAX; i++)
        n += p->descs[i].state != DESC_FREE;
    return n;
}

/* A program that was killed is run again and wants the same. */
static bool choose_killed(Process *p, Desc *d)
{
    const FileModel *m = d->file->user;
    const KilledRange *k = NULL;
    for (unsigned i = 0; i < KILLED_MAX; i++) {
        const KilledRange *next = &m->killed[(m->killed_next + i) % KILLED_MAX];
        if (next->len && (!k || next->writing >= k->writing))
            k = next;
    }
    if (!k || chance(p, 200000))
        return false;
    d->offset = k->offset;
    d->len = k->len;
    return true;
}

static void choose_range(Process *p, Desc *d)
{
    const Params *q = &p->world->p;
    uint64_t max = (uint64_t)q->region_blocks_max * 4096;
    if (choose_killed(p, d))
        return;
    if (chance(p, q->popular_ppm)) { /* the same few ranges again and again */
        SimRng r;
        sim_rng_init(&r, p->world->seed,
                     0x72000000 + d->file->index * 16 + sim_rng_below(&p->rng, POPULAR_RANGES));
        d->len = sim_rng_below(&r, 2) ? max : 1 + sim_rng_below(&r, max);
        d->offset = sim_rng_below(&r, (p->world->p.file_cap - d->len) / 4096 + 1) * 4096;
        return;
    }
    d->len = chance(p, 500000) ? sim_rng_spread(&p->rng, 1, max)
                               : (between(p, 1, max) + 4095) / 4096 * 4096;
    d->offset = between(p, 0, p->world->p.file_cap - d->len);
    if (q->scenario == SCENARIO_END && d->file->size > d->len / 2 && chance(p, 700000)) {
        d->offset = d->file->size - between(p, 0, d->len / 2);
        if (d->offset > p->world->p.file_cap - d->len)
            d->offset = p->world->p.file_cap - d->len;
    }
    if (chance(p, 500000))
        d->offset = d->offset / 4096 * 4096;
}

static void choose_piece(Thread *t)
{
    Process *p = t->process;
    const Desc *d = t->desc;
    uint64_t blocks = (d->len + 4095) / 4096;
    if (chance(p, p->world->p.hot_ppm)) {
        uint64_t block = sim_rng_below(&p->rng, blocks < HOT_BLOCKS ? blocks : HOT_BLOCKS);
        t->offset = block * 4096 + (chance(p, 500000) ? 0 : sim_rng_below(&p->rng, 4096));
        t->len = chance(p, 300000) ? 4096 : sim_rng_spread(&p->rng, 1, 3 * 4096);
    } else {
        t->offset = sim_rng_below(&p->rng, d->len);
        t->len = sim_rng_spread(&p->rng, 1, d->len);
        if (chance(p, 300000)) {
            t->offset = t->offset / 4096 * 4096;
            t->len = (t->len + 4095) / 4096 * 4096;
        }
    }
    if (p->world->p.scenario == SCENARIO_TRICKLE && chance(p, 300000)) {
        t->offset = 0;
        t->len = d->len;
    }
    if (p->world->p.scenario == SCENARIO_LARGE && chance(p, 700000)) {
        /* all threads at the same time, side by side: their write numbers mount up */
        uint64_t part = d->len / THREADS_MAX / 4096 * 4096;
        t->offset = part * t->index;
        t->len = part ? part : 1;
    }
    if (t->offset > d->len)
        t->offset = d->len;
    if (t->len > p->world->p.region_max)
        t->len = p->world->p.region_max;
    if (chance(p, 20000))
        t->offset = d->len;
}

size_t program_clipped(const Thread *t)
{
    uint64_t room = t->desc->len - t->offset;
    return t->len < room ? t->len : room;
}

/* ---- starting calls ------------------------------------------------------------------------- */

static void note_killed_range(Process *p, const Desc *d)
{
    FileModel *m = d->file->user;
    for (unsigned i = 0; i < KILLED_MAX; i++) {
        KilledRange *k = &m->killed[i];
        if (!k->len || k->offset >= d->offset + d->len || d->offset >= k->offset + k->len)
            continue;
        cover(p->world, COVER_OPENS_KILLED_OWNER);
        if (k->writing)
            cover(p->world, COVER_REOPENED_AFTER_CRASH);
        k->len = 0;
    }
}

/* Does a host keep just this piece with this stamp? @ret_other: ... or with another. */
bool program_kept(Process *p, const Desc *d, const Stamp *stamp, bool *ret_other)
{
    World *w = p->world;
    RegionListing l;
    bool kept = false;
    for (unsigned i = 0; i < w->p.imds; i++) {
        for (size_t j = 0;
             w->imds[i].running && imd_control_region_at(w->imds[i].member.control, j, &l); j++) {
            if (!(l.flags & REGION_RELEASED) || l.offset != d->offset || l.len != d->len ||
                memcmp(&l.key, &d->file->key, sizeof l.key) != 0)
                continue;
            bool same = memcmp(&l.stamp, stamp, sizeof *stamp) == 0;
            kept |= same;
            *ret_other |= !same;
        }
    }
    return kept;
}

static void note_retained(Process *p, Desc *d)
{
    d->stamp = simfs_stamp(d->file);
    d->retained = d->stale = false;
    d->leased = simfs_lease(d->file);
    if (d->leased && (d->flags & DODO_RETAIN) && !program_stripes(p->world, d))
        d->retained = program_kept(p, d, &d->stamp, &d->stale);
}

static bool open_locked(Thread *t, Desc *d)
{
    Process *p = t->process;
    SimHandle *conflict;
    d->handle = simfs_open(d->file, p->number, d->offset, d->len, !(d->flags & DODO_RDONLY),
                           !RULE(LOCK), &conflict);
    if (d->handle) {
        d->handle->user = d;
        note_killed_range(p, d);
        return true;
    }
    cover(p->world, COVER_OPENS_BUSY);
    if (!conflict->user && conflict->ops == 0)
        violate(p->world, "EBUSY for a range that no open region holds any more");
    return false;
}

static void call_open(Thread *t, Desc *d)
{
    Process *p = t->process;
    World *w = p->world;
    if (!open_locked(t, d)) {
        program_think(t);
        return;
    }
    d->state = DESC_OPENING;
    d->lost = d->written = d->dead = false;
    note_retained(p, d);
    d->users = 1;
    t->desc = d;
    t->op = DO_OPEN;
    FileGiven given = {.file = d->handle,
                       .key = d->file->key,
                       .lease = d->leased ? LEASE_GRANTED : LEASE_WRITER,
                       .stamp = simfs_stamp(d->file),
                       .taken_ns = simfs_realtime(program_fs(p)),
                       .granule_ns = simfs_granule_known(program_fs(p)),
                       .retainable = program_fs(p)->config.honest};
    story(w, "client%u.%u mopen file %u [%llu, +%llu) flags %u", p->index, t->index, d->file->index,
          (unsigned long long)d->offset, (unsigned long long)d->len, d->flags);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_open_start(&t->call, t->channel, &given, d->len, d->offset, d->flags, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

/* The file changes, is opened and written again before its stamp can tell the difference. */
static void begin_in_one_granule(Thread *t, Desc *d)
{
    Process *p = t->process;
    if (simfs_handles(d->file) || d->file->ops)
        return;
    oracle_bytes(++p->world->next_version, d->offset, t->buf, d->len);
    simfs_poke(d->file, d->offset, t->buf, d->len);
    d->flags = DODO_RETAIN;
    t->write_at_once = d;
}

static void do_open(Thread *t)
{
    Process *p = t->process;
    const Params *q = &p->world->p;
    Desc *d = descs_used(p) < q->descs ? desc_in(p, DESC_FREE) : NULL;
    if (!d) {
        program_think(t);
        return;
    }
    *d = (Desc){.file = &program_fs(p)->files[sim_rng_below(&p->rng, program_fs(p)->files_count)]};
    d->flags = (chance(p, q->retain_ppm) ? DODO_RETAIN : 0) |
               (chance(p, q->rdonly_ppm) ? DODO_RDONLY : 0) |
               (chance(p, q->fallback_ppm) ? DODO_FALLBACK : 0) |
               (chance(p, q->stripe_ppm) ? DODO_STRIPE : 0);
    if (q->mirror_ppm && chance(p, q->mirror_ppm))
        d->flags |= DODO_MIRROR;
    choose_range(p, d);
    if (q->scenario == SCENARIO_RETAIN && chance(p, 200000))
        begin_in_one_granule(t, d);
    call_open(t, d);
}

static void begin_on(Thread *t, Desc *d, enum ProgramOp op)
{
    t->desc = d;
    t->rd = d->rd;
    t->op = op;
    t->was_closing = d->state == DESC_CLOSING;
    d->users++;
}

/* What there is of it now: the call goes over several stripes; some of the region's are lost. */
static void note_stripes(Thread *t, size_t len, enum SimCover many, enum SimCover with_lost)
{
    Process *p = t->process;
    ClientRegionInfo info;
    uint64_t stripe = p->world->p.stripe_bytes;
    bool lost = false;
    t->stripes_begun = 1;
    if (t->desc->state != DESC_OPEN || !len || !program_stripes(p->world, t->desc))
        return;
    uint64_t first = t->offset / stripe, last = (t->offset + len - 1) / stripe;
    t->stripes_begun = (unsigned)(last - first + 1);
    if (t->stripes_begun == 1)
        return;
    for (uint64_t i = first; i <= last; i++)
        lost |= client_stripe_info(p->client, t->desc->rd, (unsigned)i, &info) == 0 && !info.active;
    cover(p->world, many);
    cover_add(p->world, with_lost, lost);
}

static void released(void *ctx, uint64_t arg)
{
    Thread *t = ctx;
    (void)arg;
    if (!t->held)
        return;
    t->held = false;
    call_release(&t->call);
    thread_step(t);
}

/* A call that its thread does not wait for may have to begin later. */
static void hold(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    if (!t->owner || w->p.hold_ppm == 0 || !chance(p, w->p.hold_ppm) ||
        t->call.need == NEED_NOTHING)
        return;
    t->held = true;
    call_hold(&t->call);
    cover(w, COVER_HELD);
    simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, 20 * NS_PER_MS), &p->life, released, t,
              0);
}

static void cancel(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    SimHeap *was = sim_heap_enter(&p->heap);
    t->cancelled = call_cancel(&t->call);
    sim_heap_enter(was);
    cover_add(w, COVER_CANCELLED_LATE, !t->cancelled);
    story(w, "client%u.%u cancel rd %d: %s", p->index, t->index, t->rd,
          t->cancelled ? "done" : "too late");
    if (!t->cancelled)
        return;
    t->held = false;
    cover(w, t->op == DO_WRITE ? COVER_CANCELLED_WRITES : COVER_CANCELLED_READS);
    thread_step(t);
}

static void call_read(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    ClientRegionInfo info;
    size_t full = program_clipped(t);
    memset(t->buf, 0xEE, t->len);
    memset(t->buf + t->len, GUARD_BYTE, GUARD);
    oracle_read_begin(&t->read, t->desc->file, t->desc->offset + t->offset, full);
    t->hits_before = client_region_info(p->client, t->desc->rd, &info) == 0 ? info.hits : 0;
    program_note_held(t, t->holders);
    t->discards = t->desc->discards;
    t->vectored = chance(p, w->p.vector_ppm);
    if (t->vectored)
        vector_scatter(t, false);
    note_stripes(t, full, COVER_STRIPED_READS, COVER_STRIPED_READS_LOST);
    unsigned beside = thread_calls(t->owner ? t->owner : t);
    cover_add(w, COVER_READS_ASYNC, beside > 0);
    cover_add(w, COVER_READS_ASYNC_LOSS, beside > 0 && w->p.link.loss_ppm > 0);
    cover_add(w, COVER_READS_VECTOR, t->vectored);
    story(w, "client%u.%u mread%s rd %d (file %u) [%llu, +%zu)%s", p->index, t->index,
          t->vectored ? "v" : "", t->desc->rd, t->desc->file->index, (unsigned long long)t->offset,
          t->len, t->owner ? ", not waited for" : "");
    SimHeap *was = sim_heap_enter(&p->heap);
    if (chance(p, w->p.prefetch_ppm) &&
        client_prefetch(p->client, t->desc->rd, (off_t)(t->offset / 2), 8 * t->len + 50000) == 0)
        cover(w, COVER_PREFETCHES);
    if (t->vectored)
        call_readv_start(&t->call, t->channel, t->desc->rd, (off_t)t->offset, t->iov, t->buffers,
                         process_now(p));
    else
        call_read_start(&t->call, t->channel, t->desc->rd, (off_t)t->offset, t->buf, t->len,
                        process_now(p));
    hold(t);
    thread_begin(t);
    sim_heap_enter(was);
}

/* None of the openings that it goes to may be retained. */
void program_note_written(Thread *t)
{
    Process *p = t->process;
    size_t len = program_clipped(t);
    ClientRegionInfo info;
    bool striped = program_stripes(p->world, t->desc);
    uint64_t stripe = striped ? p->world->p.stripe_bytes : t->desc->len;
    t->desc->written = true;
    unsigned stripes = striped ? program_stripes(p->world, t->desc) : 1;
    for (unsigned i = 0; client_stripe_info(p->client, t->desc->rd, i, &info) == 0; i++)
        if (len && info.active && t->offset < (i % stripes + 1) * stripe &&
            t->offset + len > i % stripes * stripe)
            id_set_add(&p->world->written, opening_id(&info.address));
}

static void call_write(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    uint64_t offset = t->desc->offset + t->offset;
    size_t full = program_clipped(t);
    oracle_write_begin(w, &t->write, t->desc->file, offset, full);
    oracle_bytes(t->write.version, offset, t->buf, t->len);
    t->vectored = chance(p, w->p.vector_ppm);
    if (t->vectored)
        vector_scatter(t, true);
    note_stripes(t, full, COVER_STRIPED_WRITES, COVER_STRIPED_WRITES_LOST);
    unsigned beside = thread_calls(t->owner ? t->owner : t);
    cover_add(w, COVER_WRITES_ASYNC, beside > 0);
    cover_add(w, COVER_WRITES_ASYNC_LOSS, beside > 0 && w->p.link.loss_ppm > 0);
    cover_add(w, COVER_WRITES_VECTOR, t->vectored);
    story(w, "client%u.%u mwrite%s rd %d (file %u) [%llu, +%zu) version %u", p->index, t->index,
          t->vectored ? "v" : "", t->desc->rd, t->desc->file->index, (unsigned long long)t->offset,
          t->len, t->write.version);
    if (!t->owner) /* else perhaps later, or not at all */
        program_note_written(t);
    SimHeap *was = sim_heap_enter(&p->heap);
    if (t->vectored)
        call_writev_start(&t->call, t->channel, t->desc->rd, (off_t)t->offset, t->iov, t->buffers,
                          process_now(p));
    else
        call_write_start(&t->call, t->channel, t->desc->rd, (off_t)t->offset, t->buf, t->len,
                         process_now(p));
    hold(t);
    thread_begin(t);
    sim_heap_enter(was);
}

static Desc *desc_for_use(Process *p)
{
    Desc *d = chance(p, 30000) ? desc_in(p, DESC_CLOSING) : NULL;
    return d ? d : desc_in(p, DESC_OPEN);
}

static void do_read(Thread *t)
{
    Desc *d = desc_for_use(t->process);
    if (!d) {
        do_open(t);
        return;
    }
    begin_on(t, d, DO_READ);
    choose_piece(t);
    call_read(t);
}

static void async_begin(Thread *a, Desc *d)
{
    Process *p = a->process;
    const Params *q = &p->world->p;
    bool writes = q->async_write_ppm > 0 && chance(p, q->async_write_ppm);
    a->cancelled = false;
    begin_on(a, d, writes && !(d->flags & DODO_RDONLY) ? DO_WRITE : DO_READ);
    choose_piece(a);
    if (a->op == DO_WRITE)
        call_write(a);
    else
        call_read(a);
}

/* Several calls that the thread does not wait for; it goes on to its next one. */
static void do_async(Thread *t)
{
    Process *p = t->process;
    uint32_t life = p->life;
    for (unsigned i = 0; i < p->world->p.async && p->life == life && !p->world->stopping; i++) {
        Thread *a = &p->async[t->index][i];
        if (a->in_call && !t->in_file && p->world->p.cancel_ppm > 0 &&
            chance(p, p->world->p.cancel_ppm))
            cancel(a);
        if (p->life != life || p->world->stopping)
            return;
        Desc *d = a->in_call || chance(p, 200000) ? NULL : desc_for_use(p);
        if (!d)
            continue;
        if (!a->buf)
            a->buf = malloc(p->world->p.region_max + GUARD);
        if (!a->buf)
            abort();
        async_begin(a, d);
    }
    if (p->life == life)
        program_think(t);
}

/* Gives what the file holds now. Nobody else writes there: the range is locked, and the writes of
 * this process go through the library, which must know what they have touched meanwhile. */
static void do_offer(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    Desc *d = desc_in(p, DESC_OPEN);
    if (!d) {
        do_open(t);
        return;
    }
    begin_on(t, d, DO_OFFER);
    choose_piece(t);
    uint64_t at = d->offset + t->offset, size = d->file->size;
    size_t full = program_clipped(t);
    t->len = at + full <= size ? full : at < size ? (size_t)(size - at) : 0;
    memcpy(t->buf, d->file->data + at, t->len);
    vector_scatter(t, true);
    story(w, "client%u.%u mfillv rd %d (file %u) [%llu, +%zu)", p->index, t->index, d->rd,
          d->file->index, (unsigned long long)t->offset, t->len);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_offerv_start(&t->call, t->channel, d->rd, (off_t)t->offset, t->iov, t->buffers,
                      process_now(p));
    if (!t->in_file && t->call.need != NEED_NOTHING &&
        chance(p, 500000)) /* before it has taken the counter */
        thread_hold_up(t, sim_rng_spread(&p->rng, 100000, 40 * w->p.fs.op_ns));
    thread_begin(t);
    sim_heap_enter(was);
}

/* The oracle need not know: the same reads are right after it. */
static void do_discard(Thread *t)
{
    Process *p = t->process;
    Desc *d = desc_in(p, DESC_OPEN);
    if (!d) {
        do_open(t);
        return;
    }
    begin_on(t, d, DO_DISCARD);
    d->discards++;
    choose_piece(t);
    story(p->world, "client%u.%u mdiscard rd %d (file %u) [%llu, +%zu)", p->index, t->index, d->rd,
          d->file->index, (unsigned long long)t->offset, t->len);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_discard_start(&t->call, t->channel, d->rd, (off_t)t->offset, t->len, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

static void do_write(Thread *t)
{
    Desc *d = desc_for_use(t->process);
    if (!d || (d->flags & DODO_RDONLY)) {
        do_read(t);
        return;
    }
    begin_on(t, d, DO_WRITE);
    choose_piece(t);
    call_write(t);
}

static void call_close(Thread *t, Desc *d)
{
    Process *p = t->process;
    begin_on(t, d, DO_CLOSE);
    d->state = DESC_CLOSING;
    story(p->world, "client%u.%u mclose rd %d", p->index, t->index, d->rd);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_close_start(&t->call, t->channel, d->rd, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

static void do_close(Thread *t)
{
    Desc *d = desc_in(t->process, DESC_OPEN);
    if (d)
        call_close(t, d);
    else
        do_open(t);
}

static void do_sync(Thread *t)
{
    Process *p = t->process;
    Desc *d = desc_in(p, DESC_OPEN);
    if (!d) {
        do_open(t);
        return;
    }
    begin_on(t, d, DO_SYNC);
    story(p->world, "client%u.%u msync rd %d", p->index, t->index, d->rd);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_sync_start(&t->call, t->channel, d->rd, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

/* Arguments that are wrong in one way each, with the errno the contract names. */
static void do_bad(Thread *t)
{
    Process *p = t->process;
    Desc *d = desc_in(p, DESC_OPEN);
    uint64_t now = process_now(p);
    unsigned which = (unsigned)sim_rng_below(&p->rng, d ? 9 : 4);
    t->op = DO_BAD;
    t->desc = NULL;
    t->bad_result = -1;
    t->bad_errno = which < 2 ? ENOMEM : EINVAL;
    if (which >= 4) {
        t->desc = d;
        t->rd = d->rd;
        d->users++;
    }
    if (which == 8)
        t->bad_result = t->bad_errno = 0;
    SimHeap *was = sim_heap_enter(&p->heap);
    switch (which) {
    case 0:
        call_read_start(&t->call, t->channel, -1, 0, t->buf, 10, now);
        break;
    case 1:
        call_write_start(&t->call, t->channel, 12345, 0, t->buf, 10, now);
        break;
    case 2:
        call_close_start(&t->call, t->channel, 0x3fffffff, now);
        break;
    case 3:
        call_sync_start(&t->call, t->channel, -7, now);
        break;
    case 4:
        call_read_start(&t->call, t->channel, d->rd, -1, t->buf, 10, now);
        break;
    case 5:
        call_read_start(&t->call, t->channel, d->rd, (off_t)d->len + 1, t->buf, 10, now);
        break;
    case 6:
        call_write_start(&t->call, t->channel, d->rd, 0, NULL, 10, now);
        break;
    case 7:
        call_read_start(&t->call, t->channel, d->rd, 0, t->buf, SIZE_MAX, now);
        break;
    default:
        call_read_start(&t->call, t->channel, d->rd, 0, t->buf, 0, now);
        break;
    }
    thread_begin(t);
    sim_heap_enter(was);
}

void program_file_released(Process *p, SimHandle *h)
{
    Desc *d = h->user;
    if (h->ops)
        violate(p->world, "client%u: a file was given back while an operation on it ran", p->index);
    if (d)
        d->handle = NULL;
    simfs_close(h);
}

/* ---- for the script -------------------------------------------------------------------------- */

void program_read_all(Thread *t, Desc *d)
{
    begin_on(t, d, DO_READ);
    t->offset = 0;
    t->len = d->len;
    call_read(t);
}

void program_write_all(Thread *t, Desc *d)
{
    begin_on(t, d, DO_WRITE);
    t->offset = 0;
    t->len = d->len;
    call_write(t);
}

void program_open(Thread *t, Desc *d)
{
    call_open(t, d);
}

void program_close(Thread *t, Desc *d)
{
    call_close(t, d);
}

/* All threads come to rest, then the script's last part runs, and the program is run again. */
static void do_exit(Thread *t)
{
    t->process->leaving = true;
    program_think(t);
}

static void exit_when_idle(Thread *t)
{
    Process *p = t->process;
    if (t->index != 0)
        return; /* rests; thread 0 wakes up till the others do */
    if (process_idle(p))
        script_begin(p, chance(p, 500000) ? SCRIPT_CLOSE : SCRIPT_LEAVE);
    else
        program_think(t);
}

/* ---- the schedule --------------------------------------------------------------------------- */

static void program_next(Thread *t)
{
    static void (*const start[DO_COUNT])(Thread *) = {[DO_OPEN] = do_open,
                                                      [DO_READ] = do_read,
                                                      [DO_WRITE] = do_write,
                                                      [DO_CLOSE] = do_close,
                                                      [DO_SYNC] = do_sync,
                                                      [DO_BAD] = do_bad,
                                                      [DO_CHANGE_FILE] = program_change_file,
                                                      [DO_ASYNC] = do_async,
                                                      [DO_OFFER] = do_offer,
                                                      [DO_DISCARD] = do_discard,
                                                      [DO_CARRY] = program_carry,
                                                      [DO_EXIT] = do_exit};
    Process *p = t->process;
    const unsigned *weights = p->world->p.weights;
    Desc *d = t->write_at_once;
    t->write_at_once = NULL;
    if (d && d->state == DESC_OPEN && !(d->flags & DODO_RDONLY)) {
        begin_on(t, d, DO_WRITE);
        choose_piece(t);
        call_write(t);
        return;
    }
    unsigned total = 0, op = 0;
    for (unsigned i = 0; i < DO_COUNT; i++)
        total += weights[i];
    uint64_t pick = sim_rng_below(&p->rng, total);
    while (pick >= weights[op])
        pick -= weights[op++];
    start[op](t);
}

static void think_over(void *ctx, uint64_t arg)
{
    Thread *t = ctx;
    Process *p = t->process;
    (void)arg;
    t->thinking = false;
    if (p->paused || t->in_call || p->world->stopping)
        return; /* process_resume() has it think again */
    if (p->scripted)
        script_next(t);
    else if (p->leaving && p->world->phase == PHASE_RUN)
        exit_when_idle(t);
    else if (p->world->phase == PHASE_RUN)
        program_next(t);
}

void program_think(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    if (t->thinking || t->owner)
        return;
    t->thinking = true;
    uint64_t think = sim_rng_below(&p->rng, 8) == 0 ? 4 * w->p.think_ns : w->p.think_ns / 2;
    uint64_t wait = p->scripted ? script_wait(t) : sim_rng_below(&p->rng, think + 1);
    simnet_at(w->net, world_now(w) + wait, &p->life, think_over, t, 0);
}

void program_start(Process *p)
{
    p->scripted = false;
    for (unsigned i = 0; i < p->threads_count; i++) {
        Thread *t = &p->threads[i];
        if (!t->buf)
            t->buf = malloc(p->world->p.region_max + GUARD);
        if (!t->buf)
            abort();
        program_think(t);
    }
}

bool process_idle(const Process *p)
{
    for (unsigned i = 0; i < p->threads_count; i++)
        if (thread_calls(&p->threads[i]))
            return false;
    return true;
}

void program_forget(Process *p)
{
    p->carried_count = 0;
    for (unsigned i = 0; i < THREADS_MAX * ASYNC_MAX; i++) {
        Thread *a = &p->async[i / ASYNC_MAX][i % ASYNC_MAX];
        if (a->in_call && a->desc && a->op == DO_WRITE)
            a->desc->killed_writing = true;
        oracle_read_end(&a->read);
        oracle_write_end(&a->write);
        a->in_call = a->held = a->write_done = false;
    }
    for (unsigned i = 0; i < p->threads_count; i++) {
        Thread *t = &p->threads[i];
        if (t->in_call && t->desc && t->op == DO_WRITE)
            t->desc->killed_writing = true;
        oracle_read_end(&t->read);
        oracle_write_end(&t->write);
        t->in_call = t->in_file = t->file_done = t->write_done = false;
    }
    for (unsigned i = 0; i < DESCS_MAX; i++) {
        Desc *d = &p->descs[i];
        if (d->state == DESC_OPEN || d->state == DESC_CLOSING) {
            FileModel *m = d->file->user;
            m->killed[m->killed_next++ % KILLED_MAX] =
                (KilledRange){d->offset, d->len, d->killed_writing};
        }
        d->state = DESC_FREE;
    }
}
