/* SPDX-License-Identifier: MIT */
/* What the programs do: random calls from all threads; when all has healed, every region is read,
 * synced and closed; and at last one reads all files again. */
#include <errno.h>

#include "base/cleanup.h"
#include "libmanage/policies/policies.h"
#include "tests/sim/manage.h"

static bool chance(User *u, uint32_t ppm)
{
    return sim_rng_chance(&u->rng, ppm);
}

static UserRegion *region_some(User *u, bool free)
{
    unsigned n = 0;
    UserRegion *found = NULL;
    for (unsigned i = 0; i < u->m->p.regions; i++) {
        UserRegion *r = &u->regions[i];
        if (r->state == (free ? REGION_FREE : REGION_OPENED) && sim_rng_below(&u->rng, ++n) == 0)
            found = r;
    }
    return found;
}

bool user_opened(const UserFile *f)
{
    return simfs_handles(f->sim) || f->sim->ops;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* libmanage's lock on the range: shared by those who read only. */
static bool locked(ManageWorld *m, const UserFile *f, uint64_t offset, uint64_t len, bool rdonly)
{
    for (unsigned i = 0; i < USERS_MAX * USER_REGIONS_MAX; i++) {
        const UserRegion *o = &m->users[i / USER_REGIONS_MAX].regions[i % USER_REGIONS_MAX];
        if (o->state != REGION_FREE && o->file == f && o->offset < offset + len &&
            offset < o->offset + o->len && !(rdonly && o->flags & DODO_RDONLY))
            return true;
    }
    return false;
}

static bool region_open(User *u, UserFile *f, unsigned range, unsigned flags)
{
    ManageWorld *m = u->m;
    SimHandle *conflict;
    UserRegion *r = region_some(u, true);
    uint64_t offset = f->ranges[range].offset, len = f->ranges[range].len;
    if (!user_opened(f))
        truth_cut_over(f);
    if (f->cut) /* as a file of another size is, for those who have it open: nobody opens it now */
        return false;
    if (!r || locked(m, f, offset, len, flags & DODO_RDONLY)) {
        m->cover[MANAGE_COVER_OPENS_BUSY] += r != NULL;
        return false;
    }
    *r = (UserRegion){.state = REGION_BUSY,
                      .user = u,
                      .file = f,
                      .flags = flags,
                      .offset = offset,
                      .len = len,
                      .since_ns = simfs_realtime(f->sim->fs)};
    r->handle = simfs_open(f->sim, u->number, offset, len, !(flags & DODO_RDONLY), true, &conflict);
    uint64_t size = f->sim->size > offset ? f->sim->size - offset : 0;
    SimHeap *was = sim_heap_enter(&u->heap);
    r->rd = cache_open(u->cache, len, size < len ? size : len, r, flags);
    sim_heap_enter(was);
    if (r->rd < 0) {
        if (r->rd != -ENOMEM || !u->heap.fail_ppm)
            violate(&m->w, "copen failed with errno %d", -r->rd);
        simfs_close(r->handle);
        r->state = REGION_FREE;
        return false;
    }
    r->state = REGION_OPENED;
    manage_cover(m, MANAGE_COVER_OPENS);
    truth_opened(r);
    story(&m->w, "program%u copen file %u [%llu, +%llu) flags %u -> %d", u->index, f->sim->index,
          (unsigned long long)offset, (unsigned long long)len, flags, r->rd);
    return true;
}

static void do_open(User *u)
{
    const ManageParams *q = &u->m->p;
    UserFile *f = &u->m->files[sim_rng_below(&u->rng, USER_FILES)];
    unsigned flags = (chance(u, q->rdonly_ppm) ? DODO_RDONLY : 0) |
                     (chance(u, q->retain_ppm) ? DODO_RETAIN : 0) |
                     (chance(u, q->stripe_ppm) ? DODO_STRIPE : 0) |
                     (chance(u, q->through_ppm) ? MANAGE_WRITE_THROUGH : 0);
    bool opened = region_open(u, f, (unsigned)sim_rng_below(&u->rng, USER_RANGES), flags);
    if (opened && q->write_first_ppm) /* of a program with one region */
        u->regions[0].write_first = chance(u, q->write_first_ppm);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool write_overlaps(const UserThread *t)
{
    for (unsigned i = 0; i < USER_CALLERS_MAX; i++) {
        const UserThread *o = &t->user->threads[i];
        if (o != t && o->busy && o->op == USER_WRITE && o->region == t->region &&
            o->offset < t->offset + t->len && t->offset < o->offset + o->len)
            return true;
    }
    return false;
}

static bool stream_goes_on(const UserThread *t)
{
    const UserRegion *r = t->stream.region;
    return r && r->state == REGION_OPENED && t->stream.next < r->len;
}

/* One after the other, with gaps, or backwards. */
static void stream_begin(UserThread *t)
{
    static const int64_t steps[] = {1, 2, 3, -1};
    User *u = t->user;
    t->stream.region = t->region;
    t->stream.len = sim_rng_spread(&u->rng, 1, USER_STREAM_READ_MAX);
    t->stream.step =
        (int64_t)t->stream.len * steps[sim_rng_below(&u->rng, sizeof steps / sizeof *steps)];
    t->stream.next = sim_rng_below(&u->rng, t->region->len);
}

static void stream_piece(UserThread *t)
{
    t->offset = t->stream.next;
    t->len = t->stream.len;
    t->stream.next += (uint64_t)t->stream.step; /* below 0: beyond the end */
    if (chance(t->user, 20000))
        t->stream.region = NULL;
}

static bool led_piece(UserThread *t)
{
    User *u = t->user;
    const UserRegion *r = t->region;
    if (t->op != USER_READ || u->led.file != r->file || !chance(u, u->m->p.led_ppm))
        return false;
    const uint64_t at = (uint64_t)u->led.ranges[u->led.at++ % u->led.count].block * 4096;
    if (at < r->offset || at - r->offset >= r->len)
        return false;
    t->offset = at - r->offset;
    t->len = r->len - t->offset < 4096 ? r->len - t->offset : 4096;
    return true;
}

static bool end_piece(UserThread *t)
{
    User *u = t->user;
    const UserRegion *r = t->region;
    uint64_t size = min_u64(r->file->sim->size, r->offset + r->len);
    if (size <= r->offset || !chance(u, u->m->p.end_ppm))
        return false;
    size -= r->offset;
    uint64_t before = min_u64(size, sim_rng_spread(&u->rng, 1, 8192));
    t->offset = size - before;
    t->len = sim_rng_spread(&u->rng, 1, min_u64(r->len - t->offset, 8192));
    return true;
}

static void choose_piece(UserThread *t)
{
    User *u = t->user;
    if (u->m->p.end_ppm && end_piece(t))
        return;
    if (u->m->p.led_ppm && led_piece(t))
        return;
    uint64_t len = t->region->len, hot = u->m->p.hot_bytes;
    if (hot && hot < len)
        len = hot;
    t->offset = sim_rng_below(&u->rng, len);
    t->len = sim_rng_spread(&u->rng, 1, len);
    if (t->op == USER_READ && t->stream.region == t->region && stream_goes_on(t)) {
        stream_piece(t);
    } else if (!(t->op == USER_WRITE && u->m->p.small_writes) &&
               chance(u, u->m->p.large_ppm)) { /* nearly all of it */
        t->offset = sim_rng_below(&u->rng, len < 4096 ? len : 4096);
        t->len = len;
    } else if (chance(u, 300000)) {
        t->offset = t->offset / 4096 * 4096;
        t->len = (t->len + 4095) / 4096 * 4096;
    }
    if (t->len > len - t->offset)
        t->len = len - t->offset;
    if (t->op == USER_READ && !stream_goes_on(t) && chance(u, u->m->p.stream_ppm))
        stream_begin(t);
}

static void read_start(UserThread *t)
{
    User *u = t->user;
    cache_read_start(&t->cache_call, u->cache, t->region->rd, (off_t)t->offset, t->buf, t->len,
                     user_now(u));
    user_look(t);
}

static void hit_over(UserThread *t, enum ManageCover what)
{
    manage_cover(t->user->m, what);
    t->cache_call.need = CACHE_OVER;
    t->cache_call.result = (ssize_t)t->len;
    t->cache_call.error = 0;
    user_look(t);
}

/* The read becomes a call. */
static void hit_hands_over(UserThread *t)
{
    Cache *c = t->user->cache;
    uint64_t now = user_now(t->user);
    if (GUARD(HIT_HANDS_OVER)) {
        cache_hit_read_start(&t->cache_call, &t->hit, c, t->buf, now);
    } else {
        cache_hit_file_end(&t->hit, c, 0, now);
        cache_read_start(&t->cache_call, c, t->region->rd, (off_t)t->offset, t->buf, t->len, now);
    }
    user_look(t);
}

static void hit_file_done(void *ctx, const SimFsResult *r)
{
    UserThread *t = ctx;
    User *u = t->user;
    uint64_t now = user_now(u);
    t->injected |= r->injected;
    if (r->count > 0)
        memcpy(t->buf, t->job.bounce, (size_t)r->count);
    SimHeap *was = sim_heap_enter(&u->heap);
    if (r->count == (ssize_t)t->len) {
        cache_hit_file_end(&t->hit, u->cache, now - t->hit_ns, now);
        hit_over(t, MANAGE_COVER_HITS_FILE);
    } else {
        manage_cover(u->m, MANAGE_COVER_HITS_PART);
        hit_hands_over(t);
    }
    sim_heap_enter(was);
}

/* What a hit copies is the same until it has ended. */
static void hit_local_over(UserThread *t)
{
    User *u = t->user;
    cache_hit_copy(&t->hit, u->cache, t->job.bounce);
    if (memcmp(t->job.bounce, t->buf, t->len) != 0)
        violate(&u->m->w, "program%u, region %d: what a hit copies was changed meanwhile", u->index,
                t->region->rd);
    cache_hit_end(&t->hit, u->cache);
    hit_over(t, MANAGE_COVER_HITS);
}

static void hit_local_later(void *ctx, uint64_t arg)
{
    UserThread *t = ctx;
    (void)arg;
    SimHeap *was = sim_heap_enter(&t->user->heap);
    hit_local_over(t);
    sim_heap_enter(was);
}

/* A thread that takes no lock may stand still anywhere, for as long as others' calls take. */
static void hit_local(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    user_beside(u);
    cache_hit_copy(&t->hit, u->cache, t->buf);
    user_beside(u);
    if (!sim_rng_chance(&w->rng, u->m->p.beside_ppm)) {
        hit_local_over(t);
        return;
    }
    manage_cover(u->m, MANAGE_COVER_HITS_STOOD);
    simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, 4 * w->p.fs.op_ns + 1), &u->life,
              hit_local_later, t, 0);
}

/* As dodo_cread(): without the lock if it can be. */
static void read_any(UserThread *t)
{
    User *u = t->user;
    UserRegion *r = t->region;
    enum CacheHitKind kind =
        cache_hit_begin(&t->hit, u->cache, t->lane, r->rd, (off_t)t->offset, t->len);
    t->cache_call.need = CACHE_OVER; /* it waits for nothing but its file */
    if (kind == CACHE_HIT_LOCAL) {
        hit_local(t);
    } else if (kind == CACHE_HIT_FILE && t->hit.ask && !user_file_held(u, r, t->offset, t->len)) {
        hit_hands_over(t);
    } else if (kind == CACHE_HIT_FILE) {
        t->hit_ns = user_now(u);
        simfs_pread(r->handle, t->job.bounce, t->len, r->offset + t->offset, &u->life,
                    hit_file_done, t);
    } else {
        read_start(t);
    }
}

static void call_start(UserThread *t)
{
    static const char *const names[] = {"cread", "cwrite", "csync", "cclose", "exit", "cadvise"};
    User *u = t->user;
    UserRegion *r = t->region;
    uint64_t now = user_now(u);
    t->busy = true;
    t->woken = t->injected = false;
    r->calls++;
    truth_call_begin(t);
    story(&u->m->w, "program%u.%u %s region %d [%llu, +%llu)", u->index, t->index, names[t->op],
          r->rd, (unsigned long long)t->offset, (unsigned long long)t->len);
    SimHeap *was = sim_heap_enter(&u->heap);
    if (t->op == USER_READ) {
        read_any(t);
        sim_heap_enter(was);
        return;
    }
    if (t->op == USER_WRITE)
        cache_write_start(&t->cache_call, u->cache, r->rd, (off_t)t->offset, t->buf, t->len, now);
    else if (t->op == USER_SYNC)
        cache_sync_start(&t->cache_call, u->cache, r->rd, now);
    else if (t->op == USER_ADVISE)
        cache_advise_start(&t->cache_call, u->cache, r->rd, (off_t)t->offset, t->len,
                           (int)sim_rng_below(&u->rng, DODO_CADVISE_DONTNEED + 1), now);
    else if (t->op == USER_CLOSE)
        cache_close_start(&t->cache_call, u->cache, r->rd, now);
    else
        cache_retain_start(&t->cache_call, u->cache, r->rd, 250 * NS_PER_MS, now);
    user_look(t);
    sim_heap_enter(was);
}

static void call_on(UserThread *t, UserRegion *r, enum UserOp op)
{
    t->region = r;
    t->op = op;
    t->offset = 0;
    t->len = r->len;
    if (op == USER_CLOSE)
        r->state = REGION_CLOSING;
    call_start(t);
}

/* A program changes a file that nobody has open. */
static void do_change(UserThread *t)
{
    User *u = t->user;
    ManageWorld *m = u->m;
    UserFile *f = &m->files[sim_rng_below(&u->rng, USER_FILES)];
    uint64_t old = f->sim->mtime_ns, which = sim_rng_below(&u->rng, 8);
    if (user_opened(f))
        return;
    truth_cut_over(f);
    manage_cover(m, MANAGE_COVER_FILE_CHANGED);
    story(&m->w, "program%u changes file %u (%u)", u->index, f->sim->index, (unsigned)which);
    m->poking = true;
    if (which == 0) {
        simfs_truncate(f->sim, sim_rng_below(&u->rng, f->sim->size + 1));
    } else if (which == 1) {
        simfs_replace(f->sim);
    } else {
        uint64_t len = sim_rng_spread(&u->rng, 1, USER_FILE_BYTES);
        uint64_t offset = sim_rng_below(&u->rng, USER_FILE_BYTES - len + 1);
        memset(t->buf, (int)sim_rng_between(&u->rng, 1, USER_VALUES), len);
        simfs_poke(f->sim, offset, t->buf, len);
        if (which == 2)
            simfs_set_mtime(f->sim, old);
    }
    m->poking = false;
    if (chance(u, 500000)) /* at once: the stamp cannot tell the difference */
        (void)region_open(u, f, (unsigned)sim_rng_below(&u->rng, USER_RANGES), DODO_RETAIN);
}

static void do_policy(User *u)
{
    SimHeap *was = sim_heap_enter(&u->heap);
    int count = policy_builtin_count(), policy = (int)sim_rng_below(&u->rng, (uint64_t)count + 1);
    int result = cache_set_policy(u->cache, policy);
    if (policy == count ? result != -EINVAL : result != 0 && !u->heap.fail_ppm)
        violate(&u->m->w, "csetPolicy(%d) gave %d", policy, result);
    sim_heap_enter(was);
}

static void do_call(UserThread *t, enum UserOp op)
{
    User *u = t->user;
    UserRegion *r = region_some(u, false);
    if (op == USER_READ && stream_goes_on(t))
        r = t->stream.region;
    if (r && r->write_first) {
        r->write_first = false;
        op = USER_WRITE;
    }
    if (!r) {
        do_open(u);
        return;
    }
    if (op == USER_CLOSE && r->calls > 0 && chance(u, 700000)) /* else it waits for them */
        return;
    if (op == USER_SYNC || op == USER_CLOSE) {
        call_on(t, r, op);
        return;
    }
    if (op == USER_WRITE && r->flags & DODO_RDONLY)
        op = USER_READ;
    t->region = r;
    t->op = op;
    choose_piece(t);
    if (op == USER_WRITE && other_is_read_first(t))
        op = USER_READ;
    if (op == USER_WRITE && write_overlaps(t))
        return;
    if (op == USER_WRITE) {
        t->value = (uint8_t)sim_rng_between(&u->rng, 1, USER_VALUES);
        memset(t->buf, t->value, t->len);
    } else {
        memset(t->buf, 0xcc, t->len);
    }
    call_start(t);
}

enum { ADVICE = 2 /* of a hundred reads */ };

static void do_something(UserThread *t)
{
    User *u = t->user;
    const ManageParams *q = &u->m->p;
    const unsigned weights[] = {100,
                                q->weights.writes,
                                q->weights.syncs,
                                q->weights.closes,
                                q->weights.opens,
                                q->weights.changes,
                                q->weights.exits,
                                q->weights.policies,
                                ADVICE,
                                q->weights.others};
    unsigned total = 0, op = 0;
    for (unsigned i = 0; i < ARRAY_SIZE(weights); i++)
        total += weights[i];
    uint64_t pick = sim_rng_below(&u->rng, total);
    while (pick >= weights[op])
        pick -= weights[op++];
    if (op <= USER_CLOSE)
        do_call(t, (enum UserOp)op);
    else if (op == 4)
        do_open(u);
    else if (op == 5)
        do_change(t);
    else if (op == 6)
        u->end.leaving = true;
    else if (op == 7)
        do_policy(u);
    else if (op == 8)
        do_call(t, USER_ADVISE);
    else
        other_act(t);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* What exit() keeps in remote memory, region by region; what is dirty it writes at last, when
 * libdodo has ended. */
static UserRegion *region_to_retain(User *u)
{
    while (u->end.retain_at < USER_REGIONS_MAX) {
        UserRegion *r = &u->regions[u->end.retain_at++];
        if (r->state == REGION_OPENED)
            return r;
    }
    return NULL;
}

/* The end of a seed wants all closes to go well. */
static UserRegion *region_left(User *u)
{
    for (unsigned i = 0; i < USER_REGIONS_MAX; i++)
        if (u->regions[i].state == REGION_OPENED)
            return &u->regions[i];
    return NULL;
}

static bool check_next(User *u)
{
    while (u->check_at < USER_FILES * USER_RANGES) {
        unsigned at = u->check_at++;
        if (region_open(u, &u->m->files[at / USER_RANGES], at % USER_RANGES, DODO_RETAIN))
            return true;
    }
    return false;
}

static void end_next(UserThread *t)
{
    enum { TRIES = 5 };
    User *u = t->user;
    if (u->step == STEP_RUN)
        u->step = u->end.exiting ? STEP_RETAIN : STEP_READ;
    UserRegion *r = u->end.exiting ? region_to_retain(u) : region_left(u);
    if (!r && u->checking && check_next(u)) {
        u->step = STEP_READ;
        r = region_left(u);
    }
    if (!r) {
        u->step = STEP_LEAVE; /* the workers end */
        t->region = NULL;
        if (user_idle(u))
            user_leave(t);
        else
            user_think(t);
        return;
    }
    if (u->end.exiting) {
        call_on(t, r, USER_RETAIN);
        return;
    }
    if (u->tries++ > 3 * TRIES)
        violate(&u->m->w, "program%u: region %d cannot be closed after all has healed", u->index,
                r->rd);
    if (u->step == STEP_READ) {
        u->step = STEP_SYNC;
        manage_cover(u->m, MANAGE_COVER_READ_AGAIN);
        memset(t->buf, 0xcc, r->len);
        call_on(t, r, USER_READ);
    } else if (u->step == STEP_SYNC) {
        call_on(t, r, USER_SYNC);
    } else {
        call_on(t, r, USER_CLOSE);
    }
}

/* After a call of the end's: which is the next? */
static void end_step(UserThread *t)
{
    User *u = t->user;
    bool good = t->cache_call.result >= 0;
    if (t->op == USER_SYNC && (good || t->region->lost))
        u->step = STEP_CLOSE;
    if (t->op == USER_CLOSE && good) {
        u->step = STEP_READ;
        u->tries = 0;
    }
}

void user_act(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    if (t->busy || w->phase.stopping)
        return;
    if (u->end.leaving || w->phase.now != PHASE_RUN) {
        if (t->index != 0 || u->step == STEP_GONE)
            return;
        if (u->step == STEP_RUN && !user_idle(u)) {
            user_think(t);
            return;
        }
        if (u->step == STEP_RUN)
            u->end.exiting = u->end.leaving && w->phase.now == PHASE_RUN;
        end_next(t);
        return;
    }
    do_something(t);
    if (!t->busy)
        user_think(t);
}

static void think_over(void *ctx, uint64_t arg)
{
    UserThread *t = ctx;
    (void)arg;
    t->thinking = false;
    if (!t->busy)
        user_act(t);
}

void user_think(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    if (u->step != STEP_RUN && t->index == 0 && t->region)
        end_step(t);
    if (t->thinking)
        return;
    t->thinking = true;
    uint64_t think = sim_rng_below(&u->rng, 8) == 0 ? 4 * u->m->p.think_ns : u->m->p.think_ns / 2;
    simnet_at(w->net, world_now(w) + sim_rng_below(&u->rng, think + 1), &u->life, think_over, t, 0);
}
