/* SPDX-License-Identifier: MIT */
/* A program's process: the cache's core and the client's core in it, its threads, each with a
 * channel, and what feeds them. A killed one is gone between two of its steps. */
#include "libmanage/policies/policies.h"
#include "tests/sim/manage.h"

/* Runs for each thread that there is. */
#define FOR_THREADS(t, u)                                                        \
    for (UserThread *t = (u)->threads; t < &(u)->threads[USER_THREADS_MAX]; t++) \
        if (t->channel)

static UserThread *background_of(User *u)
{
    return &u->threads[USER_THREADS_MAX - 1];
}

static bool is_worker(const UserThread *t)
{
    return t->index >= USER_CALLERS_MAX && t->index < USER_THREADS_MAX - 1;
}

static SimNet *net_of(const User *u)
{
    return u->m->w.net;
}

uint64_t user_now(const User *u)
{
    return simnet_now(net_of(u)) + u->clock_offset_ns;
}

static uint64_t world_time(const User *u, uint64_t ns)
{
    return ns > u->clock_offset_ns ? ns - u->clock_offset_ns : 0;
}

static void soon(User *u, uint64_t within_ns, SimFn fn, void *ctx)
{
    World *w = &u->m->w;
    simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, within_ns), &u->life, fn, ctx, 0);
}

/* ---- libdodo -------------------------------------------------------------------------------- */

static void user_thread_step(UserThread *t);

static void file_answer(UserThread *t, Call *c, const SimFsResult *r)
{
    User *u = t->user;
    FileResult result = {.count = r->count, .error = r->error};
    if (c->need == NEED_FILE_STAMP) {
        const SimHandle *h = c->file;
        file_proof(h->file, &result);
    } else if (c->need == NEED_CHECKS_SAVE || c->need == NEED_CHECKS_LOAD) {
        result.count = records_do(&u->m->w, c);
    }
    t->injected |= r->injected;
    SimHeap *was = sim_heap_enter(&u->heap);
    call_file_done(c, &result, user_now(u));
    sim_heap_enter(was);
}

static void drain(UserThread *t)
{
    if (!t->dodo.in_file)
        sim_transport_look(&t->port.transport);
}

static void blocking_done(void *ctx, const SimFsResult *r)
{
    UserThread *t = ctx;
    t->dodo.in_file = false;
    sim_transport_hold(&t->port.transport, false);
    file_answer(t, t->dodo.file_call, r);
    drain(t);
    user_thread_step(t);
}

static void write_done(void *ctx, const SimFsResult *r)
{
    UserThread *t = ctx;
    t->job.injected |= r->injected;
    file_answer(t, t->dodo.write_call, r);
    user_thread_step(t);
}

static void stamp_later(void *ctx, uint64_t arg)
{
    SimFsResult r = {0};
    (void)arg;
    blocking_done(ctx, &r);
}

static void begin_blocking(UserThread *t, Call *c)
{
    User *u = t->user;
    t->dodo.in_file = true;
    t->dodo.file_call = c;
    t->dodo.file_need = c->need;
    sim_transport_hold(&t->port.transport, true);
    if (c->need == NEED_FILE_READ)
        simfs_pread(c->file, c->file_buf, c->file_len, c->file_offset, &u->life, blocking_done, t);
    else if (c->need == NEED_FILE_SYNC)
        simfs_sync(c->file, &u->life, blocking_done, t);
    else
        soon(u, 50000, stamp_later, t);
}

static void begin_write(UserThread *t, Call *c)
{
    User *u = t->user;
    if (!t->job.of || t->job.of->kind != CACHE_WRITE) {
        violate(&u->m->w, "libdodo writes to the file what nobody asked for");
        return;
    }
    t->dodo.write_call = c;
    call_file_taken(c);
    simfs_pwrite(c->file, c->file_buf, c->file_len, c->file_offset, t->job.of->file, &u->life,
                 write_done, t);
}

static void look_at_calls(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    uint32_t life = u->life;
    if (t->dodo.in_call && t->dodo.call.need == NEED_NOTHING) {
        t->dodo.in_call = false;
        job_answered(t);
    }
    if (u->life != life || t->dodo.in_file || !t->channel || w->phase.stopping)
        return;
    for (Call *c = NULL; (c = channel_next(t->channel, c));) {
        if (c->need == NEED_FILE_WRITE) {
            begin_write(t, c);
        } else if (c->need == NEED_FILE_READ || c->need == NEED_FILE_SYNC ||
                   c->need == NEED_FILE_STAMP || c->need == NEED_CHECKS_SAVE ||
                   c->need == NEED_CHECKS_LOAD) {
            begin_blocking(t, c);
            return;
        }
        if (w->phase.stopping)
            return;
    }
}

static void user_thread_step(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    uint32_t life = u->life;
    if (t->dodo.in_file || w->phase.stopping)
        return;
    SimHeap *was = sim_heap_enter(&u->heap);
    sim_port_step(&t->port, user_now(u));
    look_at_calls(t);
    if (u->life == life && t->channel && !t->dodo.in_file)
        sim_timer_at(w, &t->timer, channel_deadline(t->channel), u->clock_offset_ns);
    sim_heap_enter(was);
}

static void step_event(void *ctx, uint64_t arg)
{
    (void)arg;
    user_thread_step(ctx);
}

void thread_kick(UserThread *t)
{
    soon(t->user, 2000, step_event, t);
}

static void thread_ready(void *ctx)
{
    UserThread *t = ctx;
    User *u = t->user;
    SimHeap *was = sim_heap_enter(&u->heap);
    sim_port_receive(&t->port, user_now(u));
    sim_heap_enter(was);
    user_thread_step(t);
}

static void wake_all(void *ctx, uint64_t arg)
{
    User *u = ctx;
    uint32_t life = u->life;
    (void)arg;
    u->wake_pending = false;
    FOR_THREADS(t, u) {
        if (u->life != life)
            return;
        if (channel_blocked(t->channel))
            user_thread_step(t);
    }
}

static void client_wake(void *ctx)
{
    User *u = ctx;
    if (u->wake_pending)
        return;
    u->wake_pending = true;
    soon(u, 30000, wake_all, u);
}

static void step_background(void *ctx, uint64_t arg)
{
    User *u = ctx;
    (void)arg;
    u->background_pending = false;
    user_thread_step(background_of(u));
}

static void client_wake_background(void *ctx)
{
    User *u = ctx;
    if (u->background_pending)
        return;
    u->background_pending = true;
    soon(u, 100000, step_background, u);
}

static void client_file_release(void *ctx, void *file)
{
    User *u = ctx;
    SimHandle *h = file;
    if (h->ops)
        violate(&u->m->w, "libdodo gave a file back while an operation on it ran");
    simfs_close(h);
}

/* ---- the cache ------------------------------------------------------------------------------ */

static void start_again(void *ctx, uint64_t arg)
{
    User *u = ctx;
    (void)arg;
    if (!u->running && u->m->w.phase.now == PHASE_RUN)
        user_start(u);
}

void user_start_later(User *u)
{
    World *w = &u->m->w;
    simnet_at(w->net, world_now(w) + sim_rng_spread(&w->rng, NS_PER_MS, NS_PER_S / 2), NULL,
              start_again, u, 0);
}

static void kill_event(void *ctx, uint64_t arg)
{
    User *u = ctx;
    (void)arg;
    user_kill(u);
    user_start_later(u);
}

/* At once, or in the midst of what comes now. */
bool user_step_counts(User *u)
{
    World *w = &u->m->w;
    if (!u->kill_after || --u->kill_after)
        return !u->end.dying;
    u->end.dying = sim_rng_below(&w->rng, 2);
    soon(u, u->end.dying ? 1 : 4 * w->p.fs.op_ns + 1, kill_event, u);
    return !u->end.dying;
}

void user_look(UserThread *t)
{
    User *u = t->user;
    CacheCall *c = &t->cache_call;
    if (c->need == CACHE_JOB) {
        job_start(t, &c->job);
    } else if (c->need == CACHE_OVER) {
        t->busy = false;
        truth_call_over(t);
        user_think(t);
    } else if (t->woken) {
        sim_timer_set(&t->wait, simnet_now(net_of(u)) + sim_rng_below(&u->m->w.rng, 30000));
    } else if (c->until_ns != TIME_NEVER) {
        sim_timer_set(&t->wait, world_time(u, c->until_ns) + 1);
    }
}

/* It was woken, or has waited long enough. */
static void wait_over(void *ctx, uint64_t arg)
{
    UserThread *t = ctx;
    User *u = t->user;
    (void)arg;
    if (!t->busy || t->cache_call.need != CACHE_BLOCKED || u->m->w.phase.stopping)
        return;
    t->woken = false;
    SimHeap *was = sim_heap_enter(&u->heap);
    cache_call_step(&t->cache_call, u->cache, user_now(u));
    user_look(t);
    sim_heap_enter(was);
}

static void cache_wake(void *ctx, CacheCall *call)
{
    User *u = ctx;
    UserThread *t = CONTAINER_OF(call, UserThread, cache_call);
    t->woken = true;
    sim_timer_set(&t->wait, simnet_now(net_of(u)) + sim_rng_below(&u->m->w.rng, 30000));
}

static void work_event(void *ctx, uint64_t arg)
{
    User *u = ctx;
    (void)arg;
    u->work_pending = false;
    user_work(u);
}

static void worker_wait_over(void *ctx, uint64_t arg)
{
    UserThread *t = ctx;
    (void)arg;
    user_work(t->user);
}

/* Beside another worker's. */
static bool work_more(User *u, UserThread *t)
{
    FOR_THREADS(other, u)
        if (is_worker(other) && other != t && other->job.of == &other->job.work &&
            cache_background_more(u->cache, other->job.of, &t->job.work, user_now(u))) {
            manage_cover(u->m, t->job.work.together ? MANAGE_COVER_TOGETHER : MANAGE_COVER_BESIDE);
            return true;
        }
    return false;
}

/* A job ahead, of a piece of which a part is here. */
static bool completes(User *u, const UserThread *t)
{
    const UserRegion *r = t->job.work.file;
    if (!t->job.work.ahead)
        return false;
    u->depth += USER_DEPTH; /* nothing runs beside a look */
    int state = cache_state(u->cache, r->rd, t->job.work.offset);
    u->depth -= USER_DEPTH;
    return state == CACHE_LOCAL || state == CACHE_BOTH;
}

static bool work_take(User *u, UserThread *t)
{
    if (work_more(u, t))
        return true;
    uint64_t at = 0;
    int rd = (int)sim_rng_below(&u->rng, USER_CALLERS_MAX);
    if (sim_rng_chance(&u->rng, 20000) && /* as before a close */
        cache_keep_take(u->cache, rd, &at, &t->job.work, user_now(u)))
        return true;
    return cache_background_take(u->cache, &t->job.work, user_now(u));
}

void user_work(User *u)
{
    World *w = &u->m->w;
    SimHeap *was = sim_heap_enter(&u->heap);
    FOR_THREADS(t, u) {
        if (!is_worker(t) || t->job.of || (u->m->p.one_worker && t->index > USER_CALLERS_MAX) ||
            w->phase.stopping || u->step >= STEP_LEAVE)
            continue;
        if (work_take(u, t)) {
            u->m->cover[MANAGE_COVER_COMPLETED] += completes(u, t);
            job_start(t, &t->job.work);
            continue;
        }
        uint64_t deadline = cache_background_deadline(u->cache);
        if (deadline != TIME_NEVER)
            sim_timer_set(&t->wait, world_time(u, deadline) + sim_rng_below(&w->rng, 100000));
    }
    sim_heap_enter(was);
}

static bool cache_wake_background(void *ctx)
{
    User *u = ctx;
    if (!u->work_pending)
        soon(u, 100000, work_event, u);
    u->work_pending = true;
    return true;
}

/* Pages of the kernel's come and go: nothing may depend on that but time. */
bool user_file_held(void *ctx, const void *file, uint64_t offset, uint64_t len)
{
    User *u = ctx;
    (void)file, (void)offset, (void)len;
    return sim_rng_chance(&u->rng, u->m->p.held_ppm);
}

/* All files are on one device. */
static CacheFileId user_file_id(void *ctx, const void *file)
{
    const UserRegion *r = file;
    (void)ctx;
    return (CacheFileId){.inode = (uintptr_t)r->file, .offset = r->offset};
}

static void cache_file_release(void *ctx, void *file)
{
    UserRegion *r = file;
    (void)ctx;
    if (r->handle->ops)
        violate(&r->user->m->w, "a file was given back while an operation on it ran");
    simfs_close(r->handle);
    r->handle = NULL;
}

static void cache_locked(void *ctx)
{
    (void)ctx;
}

/* Other threads run while bytes are copied: one that has nothing to do begins a call. */
static void cache_unlocked(void *ctx)
{
    user_beside(ctx);
}

void user_beside(User *u)
{
    ManageWorld *m = u->m;
    if (u->depth >= USER_DEPTH || u->step != STEP_RUN || u->end.leaving ||
        m->w.phase.now != PHASE_RUN || m->w.phase.stopping ||
        !sim_rng_chance(&m->w.rng, m->p.beside_ppm))
        return;
    UserThread *t = &u->threads[sim_rng_below(&m->w.rng, m->p.callers)];
    if (t->busy || !t->channel)
        return;
    u->depth++;
    user_act(t);
    u->depth--;
}

/* ---- life ----------------------------------------------------------------------------------- */

static void thread_start(User *u, unsigned index)
{
    World *w = &u->m->w;
    UserThread *t = &u->threads[index];
    unsigned slot = w->p.same_ports ? u->index : u->number % 1000 + USERS_MAX;
    uint8_t *buf = t->buf, *bounce = t->job.bounce;
    uint64_t *may = t->may;
    SimTimer timer = t->timer, wait = t->wait;
    *t = (UserThread){.user = u,
                      .index = index,
                      .buf = buf,
                      .job.bounce = bounce,
                      .may = may,
                      .timer = timer,
                      .wait = wait};
    if (!t->buf) {
        t->buf = malloc(USER_FILE_BYTES);
        t->job.bounce = malloc(USER_FILE_BYTES);
        t->may = calloc(USER_FILE_BYTES, sizeof *t->may);
    }
    /* Other threads run beside this; it itself only once it has its channel. */
    t->lane = u->m->p.hits && index < USER_CALLERS_MAX ? cache_lane(u->cache) : NULL;
    t->channel = sim_port_open(&t->port, w,
                               &(SimPortOptions){.client = u->client,
                                                 .env = &u->env,
                                                 .self = &u->self,
                                                 .calls = 1,
                                                 .background = index == USER_THREADS_MAX - 1,
                                                 .host = HOST_CLIENT,
                                                 .port = (uint16_t)(20000 + slot * 8 + index),
                                                 .ready = thread_ready,
                                                 .life = &u->life,
                                                 .ctx = t});
    sim_timer_init(&t->timer, w->net, &u->life, step_event, t);
    sim_timer_init(&t->wait, w->net, &u->life, is_worker(t) ? worker_wait_over : wait_over, t);
    if (!t->buf || !t->job.bounce || !t->may)
        abort();
}

static void client_log(void *ctx, int level, const char *text)
{
    User *u = ctx;
    (void)level;
    story(&u->m->w, "program%u: %s", u->index, text);
}

static void client_start(User *u)
{
    Env env = sim_env(&u->env);
    ClientHooks hooks = {.wake = client_wake,
                         .wake_background = client_wake_background,
                         .file_release = client_file_release,
                         .log = client_log,
                         .ctx = u};
    sim_rng_fill(&u->env.rng, &u->self, sizeof u->self);
    ClientConfig config;
    client_config_fill(&u->m->w, &config, &u->self, USER_REGIONS_MAX * (1 + STRIPES_MAX));
    u->client = client_new(&config, &env, &hooks);
    if (!u->client)
        abort();
}

static void cache_start(User *u)
{
    ManageWorld *m = u->m;
    const CacheHooks hooks = {.lock = cache_locked,
                              .unlock = cache_unlocked,
                              .wake = cache_wake,
                              .wake_background = cache_wake_background,
                              .file_id = user_file_id,
                              .file_held = m->p.held_ppm ? user_file_held : NULL,
                              .file_release = cache_file_release,
                              .ctx = u};
    u->cache = cache_new(&m->p.cache, &hooks);
    u->reads_ns = 0;
    if (!u->cache)
        abort();
    cache_copy_cost(u->cache, 4096, m->p.copy_ns);
    if (cache_set_policy(u->cache, (int)sim_rng_below(&u->rng, (uint64_t)policy_builtin_count())) <
        0)
        abort();
}

void user_start(User *u)
{
    ManageWorld *m = u->m;
    World *w = &m->w;
    u->number = ++w->next.process;
    sim_rng_init(&u->rng, w->seed, 0x70000000 + u->number);
    u->env.world = w;
    (void)snprintf(u->env.name, sizeof u->env.name, "program%u", u->index);
    sim_rng_init(&u->env.rng, w->seed, 0x71000000 + u->number);
    sim_heap_init(&u->heap, w->seed + u->number);
    u->clock_offset_ns = sim_rng_below(&u->env.rng, 1000000 * NS_PER_S);
    u->running = true;
    u->end.leaving = u->end.dying = u->end.exiting = false;
    u->wake_pending = u->background_pending = u->work_pending = false;
    u->step = STEP_RUN;
    u->tries = u->check_at = u->end.retain_at = u->depth = 0;
    u->end.rest = (CacheEnd){0};
    u->end.failed = false;
    u->refraction_from_ns = u->refraction_until_ns = 0;
    u->kill_after = 0;
    if (m->p.kill_steps && w->phase.now == PHASE_RUN)
        u->kill_after = sim_rng_below(&u->rng, 2 * m->p.kill_steps) + 1;
    memset(u->regions, 0, sizeof u->regions);
    SimHeap *was = sim_heap_enter(&u->heap);
    client_start(u);
    cache_start(u);
    for (unsigned i = 0; i < USER_THREADS_MAX; i++)
        if (i >= USER_CALLERS_MAX || i < m->p.callers)
            thread_start(u, i);
    sim_heap_enter(was);
    u->heap.fail_ppm = w->phase.now == PHASE_RUN ? w->p.faults.no_memory_ppm : 0;
    story(w, "program%u starts as process %u", u->index, u->number);
    user_thread_step(background_of(u));
    for (unsigned i = 0; i < m->p.callers; i++)
        user_think(&u->threads[i]);
}

static void count(User *u)
{
    ManageWorld *m = u->m;
    struct manage_stats st;
    cache_stats(u->cache, &st);
    m->cover[MANAGE_COVER_EVICTIONS] += st.evictions;
    m->cover[MANAGE_COVER_BYPASSES] += st.bypasses;
    m->cover[MANAGE_COVER_READAHEADS] += st.readaheads;
    m->cover[MANAGE_COVER_LET_GO] += (cache_turns(u->cache) + 1) / 2;
    m->cover[MANAGE_COVER_KEPT_AGAIN] += cache_turns(u->cache) / 2;
    m->cover[MANAGE_COVER_REFRACTIONS] += st.refractions;
    m->cover[MANAGE_COVER_NO_MEMORY] += u->heap.failed;
}

static void sockets_close(User *u)
{
    FOR_THREADS(t, u)
        sim_port_close(&t->port);
}

void user_kill(User *u)
{
    ManageWorld *m = u->m;
    struct manage_stats st;
    bool job = false;
    if (!u->running)
        return;
    story(&m->w, "program%u is killed", u->index);
    count(u);
    cache_stats(u->cache, &st);
    FOR_THREADS(t, u)
        job = job || t->job.of;
    manage_cover(m, MANAGE_COVER_KILLED);
    m->cover[MANAGE_COVER_KILLED_DIRTY] += st.dirty_bytes > 0;
    m->cover[MANAGE_COVER_KILLED_JOB] += job;
    u->life++;
    u->running = false;
    simfs_kill(m->w.fs[0], u->number);
    for (unsigned i = 0; i < USER_REGIONS_MAX; i++)
        if (u->regions[i].state != REGION_FREE)
            truth_region_gone(&u->regions[i], true);
    SimHeap *was = sim_heap_enter(&u->heap);
    sockets_close(u);
    FOR_THREADS(t, u) {
        sim_port_kill(&t->port);
        t->channel = NULL;
        t->busy = t->dodo.in_call = t->dodo.in_file = false;
        t->job.of = NULL;
    }
    u->client = NULL;
    u->cache = NULL;
    sim_heap_drop(&u->heap);
    sim_heap_enter(was);
}

bool user_idle(const User *u)
{
    for (unsigned i = 0; i < USER_THREADS_MAX; i++)
        if (u->threads[i].channel && (u->threads[i].busy || u->threads[i].job.of))
            return false;
    return true;
}

void user_end(User *u)
{
    World *w = &u->m->w;
    story(w, "program%u ends", u->index);
    manage_cover(u->m, MANAGE_COVER_EXITED);
    count(u);
    SimHeap *was = sim_heap_enter(&u->heap);
    u->cache = cache_free(u->cache);
    for (unsigned i = 0; i < USER_REGIONS_MAX; i++)
        if (u->regions[i].state != REGION_FREE)
            truth_region_gone(&u->regions[i], true); /* its close failed */
    sockets_close(u);
    FOR_THREADS(t, u)
        t->channel = channel_free(t->channel);
    u->client = client_free(u->client);
    sim_heap_enter(was);
    u->life++;
    u->running = false;
    if (u->heap.bytes)
        violate(w, "program%u left %zu bytes allocated at its end", u->index, u->heap.bytes);
    sim_heap_drop(&u->heap);
}

/* libdodo's exit handler: the manager is informed. */
void user_leave(UserThread *t)
{
    User *u = t->user;
    SimHeap *was = sim_heap_enter(&u->heap);
    u->step = STEP_GONE;
    call_leave_start(&t->dodo.call, t->channel, u->m->w.p.cores.leave_deadline_ns, user_now(u));
    t->dodo.in_call = true;
    thread_kick(t);
    sim_heap_enter(was);
}

static void end_event(void *ctx, uint64_t arg)
{
    User *u = ctx;
    (void)arg;
    user_end(u);
    user_start_later(u);
}

void user_flushed(User *u)
{
    soon(u, 1, end_event, u);
}

void user_left(User *u)
{
    if (u->end.exiting)
        job_flush(u);
    else
        user_flushed(u);
}
