/* SPDX-License-Identifier: MIT */
/* A client process: the shell around the client's core. Each thread has a channel and a socket;
 * blocking file operations block its thread only; a paused process does nothing at all while its
 * sockets' queues fill; a killed one is gone between two of its steps. */
#include "tests/sim/world.h"

uint64_t process_now(const Process *p)
{
    return world_now(p->world) + p->clock_offset_ns;
}

static Thread *background_of(Process *p)
{
    return &p->threads[THREADS_MAX];
}

/* Runs @fn for each thread that exists, the background's last. */
#define FOR_THREADS(t, p)                                                \
    for (Thread *t = (p)->threads; t <= &(p)->threads[THREADS_MAX]; t++) \
        if (t->channel)

/* ---- stepping ------------------------------------------------------------------------------- */

static void file_result(const SimFsResult *r, FileResult *ret)
{
    *ret = (FileResult){.count = r->count, .error = r->error};
}

/* Whose call on @t's channel it is, or is a piece of. The background's are its thread's own. */
static Thread *asker(Thread *t, const Call *call)
{
    const Call *root = call->parent ? call->parent : call;
    for (unsigned i = 0; !t->background && i < ASYNC_MAX; i++)
        if (root == &t->process->async[t->index][i].call)
            return &t->process->async[t->index][i];
    return t;
}

unsigned thread_calls(const Thread *t)
{
    unsigned n = t->in_call;
    for (unsigned i = 0; !t->background && i < ASYNC_MAX; i++)
        n += t->process->async[t->index][i].in_call;
    return n;
}

void file_proof(const SimFile *f, FileResult *ret)
{
    ret->lease = simfs_lease(f) ? LEASE_GRANTED : LEASE_WRITER;
    ret->stamp = simfs_stamp(f);
    ret->taken_ns = simfs_realtime(f->fs);
    ret->granule_ns = simfs_granule_known(f->fs);
}

static void deliver_file(Thread *t)
{
    FileResult result;
    file_result(&t->file.read_result, &result);
    if (t->file.read_call && t->file.need == NEED_FILE_STAMP) {
        const SimHandle *h = t->file.read_call->file;
        file_proof(h->file, &result);
    } else if (t->file.read_call &&
               (t->file.need == NEED_CHECKS_SAVE || t->file.need == NEED_CHECKS_LOAD)) {
        result.count = records_do(t->process->world, t->file.read_call);
    } else if (t->file.read_call && t->file.need == NEED_SHARE) {
        shares_join(t->process, t->file.read_call);
    }
    t->file.read_done = t->file.waits = false;
    sim_transport_hold(&t->port.transport, false);
    SimHeap *was = sim_heap_enter(&t->process->heap);
    if (t->file.read_call) /* else it was only held up */
        call_file_done(t->file.read_call, &result, process_now(t->process));
    sim_heap_enter(was);
}

static void deliver_write(Thread *t)
{
    FileResult result;
    file_result(&t->file.write_result, &result);
    t->file.write_done = false;
    SimHeap *was = sim_heap_enter(&t->process->heap);
    call_file_done(t->file.write_call, &result, process_now(t->process));
    sim_heap_enter(was);
}

static void drain(Thread *t)
{
    if (!t->file.waits)
        sim_transport_look(&t->port.transport);
}

static void note_injected(Thread *t, const SimFsResult *r)
{ /* @t: the asker */
    if (!r->injected)
        return;
    t->injected = true;
    cover(t->process->world, COVER_FILE_OP_FAILED);
}

static void file_over(Thread *t)
{
    t->file.read_done = true;
    if (t->process->paused)
        return;
    deliver_file(t);
    drain(t);
    thread_step(t);
}

static void blocking_done(void *ctx, const SimFsResult *r)
{
    Thread *t = ctx;
    t->file.read_result = *r;
    asker(t, t->file.read_call)->synced |= t->file.need == NEED_FILE_SYNC;
    note_injected(asker(t, t->file.read_call), r);
    file_over(t);
}

static void held_over(void *ctx, uint64_t arg)
{
    (void)arg;
    file_over(ctx);
}

void thread_hold_up(Thread *t, uint64_t ns)
{
    World *w = t->process->world;
    t->file.waits = true;
    t->file.read_call = NULL;
    sim_transport_hold(&t->port.transport, true);
    simnet_at(w->net, world_now(w) + ns, &t->process->life, held_over, t, 0);
}

static void write_done(void *ctx, const SimFsResult *r)
{
    Thread *t = ctx;
    t->file.write_result = *r;
    t->file.write_done = true;
    t->write.pending = false;
    if (r->count < 0 || (size_t)r->count < t->write.pending_len)
        t->write.begun = UINT64_MAX; /* nothing may follow */
    note_injected(t, r);
    if (r->injected) {
        t->write.failed = r->count < 0;
        t->write.shortened = r->count >= 0;
    }
    if (t->process->paused)
        return;
    deliver_write(t);
    thread_step(t);
}

static void stamp_later(void *ctx, uint64_t arg)
{
    Thread *t = ctx;
    (void)arg;
    SimFsResult r = {0};
    blocking_done(t, &r);
}

void program_note_held(const Thread *t, uint64_t held[MEMBERS_MAX])
{
    const Desc *d = t->desc;
    bool looks = program_mirrored(d) && d->state == DESC_OPEN;
    for (unsigned i = 0; i < MEMBERS_MAX; i++)
        held[i] = looks ? client_copy_holds(t->process->client, d->rd, i, t->offset,
                                            t->offset + program_clipped(t))
                        : 0;
}

/* A mirrored region's file is read for what no copy has had all the time. */
static void check_file_read(const Thread *a, const Call *c)
{
    const Process *p = a->process;
    const Desc *d = a->desc;
    uint64_t held[MEMBERS_MAX];
    if (c->need != NEED_FILE_READ || !a->in_call || a->op != DO_READ || !program_mirrored(d) ||
        d->state != DESC_OPEN || d->rd != a->began.rd || a->read.beside ||
        a->began.discards != d->discards)
        return;
    unsigned stripes = program_stripes(p->world, d);
    stripes = stripes ? stripes : 1;
    program_note_held(a, held);
    for (unsigned i = 0; i < stripes; i++) {
        bool first = held[i] && held[i] == a->began.holders[i],
             second = held[i + stripes] && held[i + stripes] == a->began.holders[i + stripes];
        if (!first && !second)
            return;
    }
    violate(p->world, "client%u rd %d: a read [%llu, +%zu) went to the file though a copy has it",
            p->index, d->rd, (unsigned long long)a->offset, a->len);
}

static void begin_blocking(Thread *t, Call *c)
{
    Process *p = t->process;
    World *w = p->world;
    SimHandle *h = c->file;
    check_file_read(asker(t, c), c);
    t->file.waits = true;
    t->file.read_call = c;
    t->file.need = c->need;
    sim_transport_hold(&t->port.transport, true);
    if (c->need == NEED_FILE_READ)
        simfs_pread(h, c->file_buf, c->file_len, c->file_offset, &p->life, blocking_done, t);
    else if (c->need == NEED_FILE_SYNC)
        simfs_sync(h, &p->life, blocking_done, t);
    else
        simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, 50000), &p->life, stamp_later, t,
                  0);
}

static void kill_later(void *ctx, uint64_t arg)
{
    Process *p = ctx;
    (void)arg;
    for (unsigned i = 0; i < p->threads_count; i++)
        if (p->threads[i].in_call && p->threads[i].op == DO_WRITE) {
            cover(p->world, COVER_KILLED_BETWEEN_HALVES);
            break;
        }
    process_kill(p);
}

static void begin_write(Thread *t, Call *c)
{
    Process *p = t->process;
    Thread *a = asker(t, c);
    WriteWatch *v = &a->write;
    uint64_t end = v->offset + v->len;
    if (!a->in_call || a->op != DO_WRITE || c->file_offset < v->offset ||
        c->file_offset + c->file_len > end ||
        memcmp(c->file_buf, a->buf + (c->file_offset - v->offset), c->file_len) != 0) {
        violate(p->world, "the library writes to the file what no mwrite asked for");
        return;
    }
    if (v->pending || c->file_offset != v->offset + v->begun) {
        violate(p->world,
                "the library writes a piece to the file before what precedes it is there");
        return;
    }
    if (a->owner)
        program_note_written(a);
    v->pending = true;
    v->pending_len = c->file_len;
    v->begun += c->file_len;
    a->file.write_call = c;
    if (c->file_offset + c->file_len > v->file->size)
        cover(p->world, COVER_WRITES_EXTEND);
    call_file_taken(c);
    simfs_pwrite(c->file, c->file_buf, c->file_len, c->file_offset, v, &p->life, write_done, a);
    if (p->kill_when_writing) {
        p->kill_when_writing = false;
        simnet_at(p->world->net,
                  world_now(p->world) + sim_rng_below(&p->world->rng, 2 * p->world->p.fs.op_ns + 1),
                  &p->life, kill_later, p, 0);
    }
}

static void look_at_result(Thread *t)
{
    if (!t->in_call || t->call.need != NEED_NOTHING)
        return;
    t->in_call = false;
    program_call_over(t);
}

/* True: the thread goes on at once. */
static bool look_at_file(Thread *t, Call *c)
{
    switch ((enum CallNeed)c->need) {
    case NEED_FILE_WRITE:
        begin_write(t, c);
        break;
    case NEED_FILE_READ:
    case NEED_FILE_SYNC:
    case NEED_FILE_STAMP:
    case NEED_CHECKS_SAVE:
    case NEED_CHECKS_LOAD:
    case NEED_SHARE:
        begin_blocking(t, c);
        return false;
    case NEED_NOTHING:
    case NEED_NETWORK:
    case NEED_BLOCKED:
        break;
    }
    return true;
}

/* What is over, and what one of the channel's calls needs of its file: one at a time, for each
 * blocks the thread. */
static void look_at_calls(Thread *t)
{
    Process *p = t->process;
    uint32_t life = p->life;
    for (unsigned i = 0; !t->background && i < ASYNC_MAX && p->life == life; i++)
        look_at_result(&p->async[t->index][i]);
    if (p->life == life)
        look_at_result(t);
    if (p->life != life || t->file.waits || !t->channel || p->world->phase.stopping)
        return;
    for (Call *c = NULL; (c = channel_next(t->channel, c));)
        if (!look_at_file(t, c) || p->world->phase.stopping)
            return;
}

void thread_step(Thread *t)
{
    Process *p = t->process;
    if (t->owner)
        t = t->owner;
    if (p->paused || t->file.waits || p->world->phase.stopping)
        return;
    SimHeap *was = sim_heap_enter(&p->heap);
    sim_port_step(&t->port, process_now(p));
    uint32_t life = p->life;
    look_at_calls(t);
    if (p->life == life && t->channel && !t->file.waits)
        sim_timer_at(p->world, &t->timer, channel_deadline(t->channel), p->clock_offset_ns);
    sim_heap_enter(was);
}

void thread_begin(Thread *t)
{
    ClientRegionInfo info;
    bool active = t->desc && t->desc->state == DESC_OPEN &&
                  client_region_info(t->process->client, t->began.rd, &info) == 0 && info.active &&
                  !info.stripes;
    t->began.host_epoch = active ? info.address.epoch : 0;
    t->in_call = true;
    t->began.at_ns = world_now(t->process->world);
    t->began.paused_ns = t->process->paused_total_ns;
    t->injected = t->synced = false;
    thread_step(t);
}

static void timer_fired(void *ctx, uint64_t arg)
{
    (void)arg;
    thread_step(ctx);
}

static void thread_ready(void *ctx)
{
    Thread *t = ctx;
    Process *p = t->process;
    SimHeap *was = sim_heap_enter(&p->heap);
    sim_port_receive(&t->port, process_now(p));
    sim_heap_enter(was);
    thread_step(t);
}

/* ---- hooks and sinks ------------------------------------------------------------------------ */

static void wake_all(void *ctx, uint64_t arg)
{
    Process *p = ctx;
    uint32_t life = p->life;
    (void)arg;
    p->wake_pending = false;
    for (unsigned i = 0; i < p->threads_count && p->life == life; i++)
        if (channel_blocked(p->threads[i].channel))
            thread_step(&p->threads[i]);
}

static void hook_wake(void *ctx)
{
    Process *p = ctx;
    if (p->wake_pending)
        return;
    p->wake_pending = true;
    simnet_at(p->world->net, world_now(p->world) + sim_rng_below(&p->world->rng, 30000), &p->life,
              wake_all, p, 0);
}

static void wake_background(void *ctx, uint64_t arg)
{
    Process *p = ctx;
    (void)arg;
    p->background_pending = false;
    thread_step(background_of(p));
}

static void hook_wake_background(void *ctx)
{
    Process *p = ctx;
    if (p->background_pending)
        return;
    p->background_pending = true;
    simnet_at(p->world->net, world_now(p->world) + sim_rng_below(&p->world->rng, 100000), &p->life,
              wake_background, p, 0);
}

static void hook_file_release(void *ctx, void *file)
{
    program_file_released(ctx, file);
}

static void hook_share_end(void *ctx, Share *share)
{
    (void)ctx;
    shares_end(share);
}

static void hook_log(void *ctx, int level, const char *text)
{
    Process *p = ctx;
    (void)level;
    story(p->world, "client%u: %s", p->index, text);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void thread_start(Process *p, Thread *t, unsigned index, bool background)
{
    World *w = p->world;
    unsigned slot = w->p.same_ports ? p->index : p->number % 1000 + CLIENTS_MAX;
    uint16_t port = (uint16_t)(20000 + slot * 8 + index);
    SimTimer timer = t->timer;
    uint8_t *buf = t->buf, *scattered = t->vector.scattered;
    *t = (Thread){.process = p,
                  .index = index,
                  .background = background,
                  .timer = timer,
                  .buf = buf,
                  .vector.scattered = scattered};
    t->channel = sim_port_open(&t->port, w,
                               &(SimPortOptions){.client = p->client,
                                                 .env = &p->env,
                                                 .self = &p->self,
                                                 .calls = 1 + w->p.programs.async,
                                                 .background = background,
                                                 .host = p->host,
                                                 .port = port,
                                                 .ready = thread_ready,
                                                 .life = &p->life,
                                                 .ctx = t});
    sim_timer_init(&t->timer, w->net, &p->life, timer_fired, t);
    for (unsigned i = 0; !background && i < ASYNC_MAX; i++) {
        Thread *a = &p->async[index][i];
        buf = a->buf;
        scattered = a->vector.scattered;
        *a = (Thread){.process = p,
                      .index = index,
                      .owner = t,
                      .channel = t->channel,
                      .buf = buf,
                      .vector.scattered = scattered};
    }
}

static void client_start(Process *p)
{
    Env env = sim_env(&p->env);
    ClientHooks hooks = {.wake = hook_wake,
                         .wake_background = hook_wake_background,
                         .file_release = hook_file_release,
                         .share_end = p->world->p.programs.shares ? hook_share_end : NULL,
                         .log = hook_log,
                         .ctx = p};
    sim_rng_fill(&p->env.rng, &p->self, sizeof p->self);
    ClientConfig config;
    client_config_fill(p->world, &config, &p->self, DESCS_MAX * (1 + MEMBERS_MAX));
    p->client = client_new(&config, &env, &hooks);
    if (!p->client)
        abort();
}

void process_start(Process *p)
{
    World *w = p->world;
    p->number = ++w->next.process;
    sim_rng_init(&p->rng, w->seed, 0x70000000 + p->number);
    p->env.world = w;
    (void)snprintf(p->env.name, sizeof p->env.name, "client%u", p->index);
    sim_rng_init(&p->env.rng, w->seed, 0x71000000 + p->number);
    sim_heap_init(&p->heap, w->seed + p->number);
    p->clock_offset_ns = sim_rng_below(&p->env.rng, 1000000 * NS_PER_S);
    p->running = true;
    p->script.on = false;
    p->paused = p->leaving = p->wake_pending = p->background_pending = p->kill_when_writing = false;
    p->paused_total_ns = 0;
    p->seen.stats = (ClientStats){0};
    p->seen.hosts_lost = p->seen.poisoned = 0;
    memset(p->descs, 0, sizeof p->descs);
    SimHeap *was = sim_heap_enter(&p->heap);
    client_start(p);
    p->threads_count = w->p.threads;
    for (unsigned i = 0; i < p->threads_count; i++)
        thread_start(p, &p->threads[i], i, false);
    thread_start(p, background_of(p), THREADS_MAX, true);
    sim_heap_enter(was);
    p->heap.fail_ppm = w->phase.now == PHASE_RUN ? w->p.faults.no_memory_ppm : 0;
    story(w, "client%u starts as process %u", p->index, p->number);
    thread_step(background_of(p));
    program_start(p);
}

static void process_count(Process *p)
{
    World *w = p->world;
    ClientStats s, *l = &p->seen.stats;
    if (!p->client)
        return;
    client_stats(p->client, &s);
    cover_add(w, COVER_FILLS_ACCEPTED, s.fills_done - l->fills_done);
    cover_add(w, COVER_FILLS_REFUSED, s.fills_refused - l->fills_refused);
    cover_add(w, COVER_EXTENTS, s.extents - l->extents);
    cover_add(w, COVER_TURNS, s.turns - l->turns);
    cover_add(w, COVER_HEALS, s.heals - l->heals);
    cover_add(w, COVER_SHARED, s.shared - l->shared);
    cover_add(w, COVER_INHERITED, s.inherited - l->inherited);
    cover_add(w, COVER_POISONED, s.poisoned - l->poisoned);
    cover_add(w, COVER_CORRUPT, s.corrupt - l->corrupt);
    if (s.corrupt > 0 && w->p.faults.lie_every_ns == TIME_NEVER)
        violate(w, "client%u accuses a host that returned what it was given", p->index);
    cover_add(w, COVER_HOST_DEATHS, s.hosts_lost - l->hosts_lost);
    cover_add(w, COVER_REFRACTIONS, s.refractions - l->refractions);
    cover_add(w, COVER_WRITES_QUEUED, s.blocked - l->blocked);
    *l = s;
}

static void sockets_close(Process *p)
{
    FOR_THREADS(t, p)
        sim_port_close(&t->port);
}

void process_kill(Process *p)
{
    World *w = p->world;
    if (!p->running)
        return;
    story(w, "client%u is killed", p->index);
    cover(w, COVER_CLIENT_KILLED);
    process_count(p);
    program_forget(p);
    p->life++;
    p->running = false;
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (w->fs[i])
            simfs_kill(w->fs[i], p->number);
    SimHeap *was = sim_heap_enter(&p->heap);
    sockets_close(p);
    FOR_THREADS(t, p) {
        sim_port_kill(&t->port);
        t->channel = NULL;
    }
    p->client = NULL;
    shares_kill(w, p);
    sim_heap_drop(&p->heap);
    sim_heap_enter(was);
}

void process_end(Process *p)
{
    World *w = p->world;
    story(w, "client%u exits", p->index);
    process_count(p);
    SimHeap *was = sim_heap_enter(&p->heap);
    FOR_THREADS(t, p)
        t->channel = channel_free(t->channel);
    for (Thread *t = p->threads; t <= &p->threads[THREADS_MAX]; t++)
        sim_port_close(&t->port);
    p->client = client_free(p->client);
    sim_heap_enter(was);
    p->life++;
    p->running = false;
    program_forget(p);
    if (p->heap.bytes)
        violate(w, "client%u left %zu bytes allocated at its end", p->index, p->heap.bytes);
    sim_heap_drop(&p->heap);
}

void process_pause(Process *p)
{
    if (!p->running || p->paused)
        return;
    story(p->world, "client%u is stopped", p->index);
    cover(p->world, COVER_CLIENT_PAUSED);
    p->paused = true;
    p->paused_at_ns = world_now(p->world);
    FOR_THREADS(t, p)
        sim_transport_hold(&t->port.transport, true);
}

static bool is_reclaimed(World *w, const RegionAddress *a)
{
    RegionListing l;
    bool held = false, up = false;
    for (unsigned i = 0; i < w->p.imds; i++) {
        if (!w->imds[i].running || w->imds[i].epoch != a->epoch)
            continue;
        up = true;
        for (size_t j = 0; imd_control_region_at(w->imds[i].member.control, j, &l); j++)
            held |= l.address.region == a->region;
    }
    return up && !held;
}

/* What it takes for its own may have been reclaimed while it stood still. */
static void note_reclaimed(Process *p)
{
    ClientRegionInfo info;
    for (int rd = -1; (rd = client_region_next(p->client, rd)) >= 0;)
        for (unsigned i = 0; client_stripe_info(p->client, rd, i, &info) == 0; i++)
            cover_add(p->world, COVER_PAUSED_RECLAIMED,
                      info.active && is_reclaimed(p->world, &info.address));
}

void process_resume(Process *p)
{
    World *w = p->world;
    if (!p->running || !p->paused)
        return;
    story(w, "client%u goes on", p->index);
    p->paused = false;
    p->paused_total_ns += world_now(w) - p->paused_at_ns;
    note_reclaimed(p);
    uint32_t life = p->life;
    bool drain_first = sim_rng_below(&w->rng, 2);
    SimHeap *was = sim_heap_enter(&p->heap);
    FOR_THREADS(t, p) { /* system calls return before anything else is done */
        if (t->file.read_done)
            deliver_file(t);
        if (t->file.write_done)
            deliver_write(t);
        for (unsigned i = 0; !t->background && i < ASYNC_MAX; i++)
            if (p->async[t->index][i].file.write_done)
                deliver_write(&p->async[t->index][i]);
        sim_transport_hold(&t->port.transport, t->file.waits);
    }
    FOR_THREADS(t, p) {
        if (p->life == life && drain_first)
            drain(t);
        if (p->life == life)
            thread_step(t);
        if (p->life == life)
            drain(t);
        if (p->life == life && !t->background && !t->in_call)
            program_think(t);
    }
    sim_heap_enter(was);
}
