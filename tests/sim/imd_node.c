/* SPDX-License-Identifier: MIT */
/* A host's idle memory daemon: its control thread, and its life. What that thread orders of the
 * data threads (imd_thread.c) takes a moment, and so does the answer. */
#include "base/num.h"
#include "imd/pool.h"
#include "tests/sim/world.h"

#include <errno.h>
#include <string.h>

uint64_t imd_now(const ImdNode *n)
{
    return world_now(n->world) + n->clock_offset_ns;
}

uint64_t imd_moment(ImdNode *n)
{
    SimRng *r = &n->world->rng;
    return sim_rng_below(r, 4) ? sim_rng_below(r, 20000) : sim_rng_below(r, 2000000);
}

/* ---- commands ------------------------------------------------------------------------------- */

static void control_step(ImdNode *n);

/* @arg of command_done(): what the control thread still needs of the command, and its result. */
static uint64_t done_arg(const ImdCommand *c, int result)
{
    return c->id << 2 | (c->kind == IMD_LEAVE ? 2 : 0) | (result != 0);
}

static void command_done(void *ctx, uint64_t arg)
{
    ImdNode *n = ctx;
    if (n->paused) { /* stays in the queue between the threads */
        simnet_at(n->world->net, world_now(n->world) + NS_PER_MS, &n->life, command_done, n, arg);
        return;
    }
    SimHeap *was = sim_heap_enter(&n->heap);
    const ImdCommand over = {.id = arg >> 2, .kind = arg & 2 ? IMD_LEAVE : IMD_ADD};
    broken_imd_ids(n);
    member_done(&n->member, &over, arg & 1 ? -ENOMEM : 0, imd_now(n));
    sim_heap_enter(was);
    control_step(n);
}

void imd_command_over(ImdNode *n, const ImdCommand *c, int result)
{
    simnet_at(n->world->net, world_now(n->world) + imd_moment(n), &n->life, command_done, n,
              done_arg(c, result));
}

static void sink_command(void *ctx, const ImdCommand *c)
{
    ImdNode *n = ctx;
    ImdThread *t = &n->threads[c->thread];
    if (c->thread >= n->world->p.imd_threads || t->queue_len == IMD_COMMANDS_MAX) {
        violate(n->world, "imd%u: a command too many, or to no thread", n->index);
        return;
    }
    n->seen.adds_done += c->kind == IMD_ADD;
    n->seen.reopens_done += c->kind == IMD_REOPEN;
    if (n->seen.adds_done > n->seen.allocs || n->seen.reopens_done > n->seen.reopens)
        violate(n->world, "imd%u: a control request was executed twice", n->index);
    imd_thread_order(t, c);
}

/* ---- the control thread --------------------------------------------------------------------- */

static void control_closed(void *ctx, Session *s)
{
    ImdNode *n = ctx;
    member_closed(&n->member, s);
}

static void sink_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    ImdNode *n = ctx;
    port_message(&n->port, s, type, payload, len);
}

static bool all_parted(const ImdNode *n)
{
    for (unsigned i = 0; i < n->world->p.imd_threads; i++)
        if (!n->threads[i].parted)
            return false;
    return true;
}

/* No data thread may read what it holds from now on. */
static void sink_give_all_back(void *ctx)
{
    ImdNode *n = ctx;
    if (!all_parted(n))
        violate(n->world, "imd%u: memory is given back that clients may still read", n->index);
    cover(n->world, COVER_GIVEN_BACK);
    memset(n->pool, 0, n->world->p.hosts.pool_bytes);
}

static void sink_hurry(void *ctx, bool on, uint64_t now_ns)
{
    ImdNode *n = ctx;
    (void)now_ns;
    story(n->world, "imd%u %s", n->index, on ? "hurries" : "need not hurry any more");
}

static void sink_slow(void *ctx, uint64_t rate_bytes)
{
    ImdNode *n = ctx;
    const uint64_t cap = n->world->p.hosts.cap_bytes;
    pace_set(&n->pace, cap && cap < rate_bytes ? cap : rate_bytes, n->world->p.hosts.cap_packets);
}

static bool sink_used(void *ctx, uint64_t used_bytes, uint64_t limit_bytes)
{
    ImdNode *n = ctx;
    bool listens = n->world->phase.now != PHASE_RUN || sim_rng_below(&n->env.rng, 4) > 0;
    story(n->world, "  imd%u uses %llu of %llu bytes%s", n->index, (unsigned long long)used_bytes,
          (unsigned long long)limit_bytes, listens ? "" : ", which its monitor does not hear");
    n->reported_used = listens ? used_bytes : n->reported_used;
    n->reported_limit = listens ? limit_bytes : n->reported_limit;
    return listens;
}

static void sink_news(void *ctx, enum MemberNews news)
{
    static const char *const texts[MEMBER_NEWS_MAX] = {"has joined",
                                                       "is to join again",
                                                       "lost the manager",
                                                       "finds no manager",
                                                       "finds somebody else",
                                                       "finds managers that stand by",
                                                       "saves",
                                                       "leaves",
                                                       "leaves: all is saved that can be",
                                                       "leaves: nobody watches",
                                                       "leaves: the monitor is silent"};
    ImdNode *n = ctx;
    story(n->world, "  imd%u %s", n->index, texts[news]);
    if (news != MEMBER_SAVED)
        return;
    n->leaving = true;
    n->left_ns = world_now(n->world);
    cover_add(n->world, COVER_SAVED_ALL, imd_control_regions(n->member.control) == 0);
}

static void imd_gone(ImdNode *n);

/* As long as there is time, everybody hears of it first. */
static void check_left(ImdNode *n)
{
    const World *w = n->world;
    if (world_now(w) >= n->left_ns + w->p.cores.leave_deadline_ns)
        return;
    if (!all_parted(n))
        violate(n->world, "imd%u left without a good-bye to its clients", n->index);
    const CmdNode *cmd = world_manager(w);
    if (cmd->running && manager_has_host(cmd->manager, n->epoch))
        violate(n->world, "imd%u left, and the manager counts on it", n->index);
}

static void control_step(ImdNode *n)
{
    if (!n->running || n->paused || n->world->phase.stopping)
        return;
    SimHeap *was = sim_heap_enter(&n->heap);
    uint64_t now = imd_now(n);
    if (member_deadline(&n->member) <= now)
        member_expire(&n->member, now);
    port_expire(&n->port, now);
    bool finished = member_finished(&n->member, now);
    sim_timer_at(n->world, &n->timer, min_u64(member_deadline(&n->member), port_deadline(&n->port)),
                 n->clock_offset_ns);
    sim_heap_enter(was);
    if (finished) {
        story(n->world, "imd%u has left", n->index);
        check_left(n);
        imd_gone(n);
    }
}

static void timer_fired(void *ctx, uint64_t arg)
{
    (void)arg;
    control_step(ctx);
}

/* Counts requests by (requester, id): an id that comes again must change nothing. */
static void note_request(ImdNode *n, const Session *s, const uint8_t *payload, size_t len)
{
    WireRequest q;
    if (wire_request_decode(payload, len, &q) < 0)
        return;
    if (!id_set_add(&n->seen.requests, id128_hash(&s->peer_id) ^ mix64(q.id))) {
        cover(n->world, COVER_REQUESTS_REPEATED);
        return;
    }
    n->seen.allocs += q.op == OP_ALLOC;
    n->seen.reopens += q.op == OP_REOPEN;
}

static void control_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                            uint64_t now_ns)
{
    ImdNode *n = ctx;
    if (type == WIRE_REQUEST)
        note_request(n, s, payload, len);
    broken_imd_ids(n);
    member_message(&n->member, s, type, payload, len, now_ns);
}

static void control_up(void *ctx, Session *s, uint64_t now_ns)
{
    ImdNode *n = ctx;
    member_up(&n->member, s, now_ns);
}

static void control_event(void *ctx, const PortEvent *e)
{
    ImdNode *n = ctx;
    shell_event(n->world, n->env.name, e);
}

static const PortOps control_ops = {
    .message = control_message, .up = control_up, .closed = control_closed, .event = control_event};

static void control_ready(void *ctx)
{
    ImdNode *n = ctx;
    SimHeap *was = sim_heap_enter(&n->heap);
    (void)port_receive(&n->port, imd_now(n));
    sim_heap_enter(was);
    control_step(n);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void control_start(ImdNode *n)
{
    World *w = n->world;
    const Params *q = &w->p;
    Env env = broken_imd_env(sim_env(&n->env));
    SimListen listen = {.host = n->host,
                        .port = PORT_IMD,
                        .life = &n->life,
                        .role = ROLE_IMD,
                        .epoch = n->epoch,
                        .env = &n->env,
                        .ops = &control_ops,
                        .ready = control_ready,
                        .ctx = n};
    sim_rng_fill(&n->env.rng, &listen.self, sizeof listen.self);
    const ImdMemberSink sink = {.message = sink_message,
                                .command = sink_command,
                                .give_all_back = sink_give_all_back,
                                .hurry = sink_hurry,
                                .slow = sink_slow,
                                .used = sink_used,
                                .news = sink_news,
                                .ctx = n};
    ImdMemberConfig config = {.control = {.epoch = n->epoch,
                                          .pool_bytes = q->hosts.pool_bytes,
                                          .threads = q->imd_threads,
                                          .regions_max = q->cores.imd_regions_max,
                                          .extent_bytes = q->hosts.extent_bytes,
                                          .beat_ns = q->cores.beat_ns,
                                          .manager_dead_ns = q->cores.host_dead_ns,
                                          .retained_age_max_ns = q->cores.retained_age_ns,
                                          .give_back = q->hosts.give_back},
                              .manager = addr_sim(HOST_CMD, PORT_CMD),
                              .owned = q->hosts.give_back,
                              .owner_silence_ns = q->cores.host_dead_ns,
                              .leave_deadline_ns = q->cores.leave_deadline_ns};
    for (unsigned i = 0; i < q->imd_threads; i++)
        config.control.ports[i] = (uint16_t)(PORT_DATA + i);
    sim_listen(w, &n->port, &n->transport, &listen);
    if (member_init(&n->member, &config, &env, n->port.endpoint, &sink, imd_now(n)) < 0)
        abort();
    const Places managers = managers_places();
    if (q->managers)
        member_move(&n->member, &managers);
}

/* What was in the memory before: nothing that a program wrote, and much of it alike. */
static void fill_pool(ImdNode *n)
{
    size_t len = n->world->p.hosts.pool_bytes, done = min_u64(len, 16384);
    sim_rng_fill(&n->env.rng, n->pool, done);
    for (size_t more; done < len; done += more) {
        more = min_u64(done, len - done);
        memcpy(n->pool + done, n->pool, more);
    }
}

void imd_start(ImdNode *n)
{
    World *w = n->world;
    if (n->running)
        return;
    n->silent_ns = world_now(w);
    n->env.world = w;
    (void)snprintf(n->env.name, sizeof n->env.name, "imd%u", n->index);
    sim_rng_init(&n->env.rng, w->seed, 0x73000000 + n->host * 65536 + n->life);
    n->running = true;
    n->paused = n->leaving = false;
    if (n->epoch)
        cover(w, COVER_EPOCHS);
    n->epoch = sim_rng_u64(&n->env.rng) | 1;
    pace_init(&n->pace, w->p.hosts.cap_bytes, w->p.hosts.cap_packets);
    sim_heap_init(&n->heap, n->epoch);
    n->clock_offset_ns = sim_rng_below(&n->env.rng, 1000000 * NS_PER_S);
    n->held_count = 0;
    n->seen.allocs = n->seen.reopens = n->seen.adds_done = n->seen.reopens_done = 0;
    if (!n->pool)
        n->pool = malloc(w->p.hosts.pool_bytes);
    if (!n->pool)
        abort();
    fill_pool(n);
    sim_timer_init(&n->timer, w->net, &n->life, timer_fired, n);
    n->reported_used = n->reported_limit = n->save_by_ns = 0;
    SimHeap *was = sim_heap_enter(&n->heap);
    control_start(n);
    for (unsigned i = 0; i < w->p.imd_threads; i++)
        imd_thread_start(n, i);
    sim_heap_enter(was);
    n->heap.fail_ppm = w->phase.now == PHASE_RUN ? w->p.faults.no_memory_ppm : 0;
    story(w, "imd%u starts with epoch %016llx", n->index, (unsigned long long)n->epoch);
    control_step(n);
}

static void imd_count(ImdNode *n)
{
    World *w = n->world;
    for (unsigned i = 0; i < w->p.imd_threads; i++) {
        const ImdDataStats *s = imd_data_stats(n->threads[i].serve.data);
        const EndpointCounters *c = endpoint_counters(n->threads[i].port.endpoint);
        cover_add(w, COVER_WRITES_REPEATED, s->writes_repeated);
        cover_add(w, COVER_WRITES_VOIDED, s->voided);
        cover_add(w, COVER_BUSY, s->busy);
        cover_add(w, COVER_EXTENTS_GONE, s->extents_unfilled);
        cover_add(w, COVER_FILLS_NO_ROOM, s->fills_no_room);
        cover_add(w, COVER_DENIED, s->denied);
        cover_add(w, COVER_CORRUPTED, c->forged);
        cover_add(w, COVER_REPLAYED, c->replayed);
    }
}

static void imd_gone(ImdNode *n)
{
    World *w = n->world;
    SimHeap *was = sim_heap_enter(&n->heap);
    imd_count(n);
    n->life++;
    n->running = false;
    n->stopped_ns = world_now(w);
    for (unsigned i = 0; i < w->p.imd_threads; i++) {
        ImdThread *t = &n->threads[i];
        port_close(&t->port);
        serve_deinit(&t->serve);
    }
    port_close(&n->port);
    member_deinit(&n->member);
    id_set_free(&n->seen.ids);
    id_set_free(&n->seen.requests);
    sim_heap_enter(was);
    if (n->heap.bytes)
        violate(w, "imd%u left %zu bytes allocated at its end", n->index, n->heap.bytes);
    sim_heap_drop(&n->heap);
}

void imd_crash(ImdNode *n)
{
    if (!n->running)
        return;
    story(n->world, "imd%u crashes", n->index);
    imd_gone(n);
}

void imd_stop(ImdNode *n)
{
    if (n->running)
        imd_gone(n);
}

void imd_leave(ImdNode *n)
{
    if (!n->running || n->leaving)
        return;
    story(n->world, "imd%u is asked to leave", n->index);
    cover(n->world, COVER_IMD_LEFT);
    n->leaving = true;
    n->left_ns = world_now(n->world);
    SimHeap *was = sim_heap_enter(&n->heap);
    if (n->member.owner.on && sim_rng_below(&n->env.rng, 2))
        member_owner_gone(&n->member, imd_now(n));
    else
        member_leave(&n->member, imd_now(n));
    sim_heap_enter(was);
    control_step(n);
}

void imd_limit(ImdNode *n, uint64_t bytes)
{
    if (!n->running || n->paused)
        return;
    story(n->world, "imd%u may use %llu bytes", n->index, (unsigned long long)bytes);
    SimHeap *was = sim_heap_enter(&n->heap);
    if (bytes < imd_control_used_bytes(n->member.control))
        cover(n->world, COVER_LIMITED);
    char text[OWNER_TEXT_MAX];
    int len = snprintf(text, sizeof text, "limit %llu", (unsigned long long)bytes);
    if (member_heard(&n->member, text, (size_t)len, imd_now(n)) != OWNER_LIMIT)
        violate(n->world, "imd%u does not understand its limit", n->index);
    if (imd_control_limit_bytes(n->member.control) / POOL_ALIGN !=
        min_u64(bytes, n->world->p.hosts.pool_bytes) / POOL_ALIGN)
        violate(n->world, "imd%u does not keep to its limit", n->index);
    sim_heap_enter(was);
    control_step(n);
}

void imd_save(ImdNode *n, uint64_t bytes)
{
    const uint64_t within_ns = n->world->p.owners.save_within_ns;
    if (!n->running || n->paused || n->leaving)
        return;
    story(n->world, "imd%u may save %llu bytes", n->index, (unsigned long long)bytes);
    cover(n->world, COVER_SAVES);
    n->save_by_ns = world_now(n->world) + within_ns;
    SimHeap *was = sim_heap_enter(&n->heap);
    char text[OWNER_TEXT_MAX];
    int len = snprintf(text, sizeof text, "save %llu %llu", (unsigned long long)bytes,
                       (unsigned long long)(within_ns / NS_PER_MS));
    if (member_heard(&n->member, text, (size_t)len, imd_now(n)) != OWNER_SAVE)
        violate(n->world, "imd%u does not understand what it may save", n->index);
    if (imd_control_limit_bytes(n->member.control) > bytes)
        violate(n->world, "imd%u keeps more than it may save", n->index);
    sim_heap_enter(was);
    control_step(n);
}

void imd_pause(ImdNode *n)
{
    if (!n->running || n->paused)
        return;
    story(n->world, "imd%u is stopped", n->index);
    n->silent_ns = world_now(n->world);
    n->paused = true;
    sim_transport_hold(&n->transport, true);
    for (unsigned i = 0; i < n->world->p.imd_threads; i++)
        sim_transport_hold(&n->threads[i].transport, true);
}

void imd_resume(ImdNode *n)
{
    uint32_t life = n->life;
    if (!n->running || !n->paused)
        return;
    story(n->world, "imd%u goes on", n->index);
    n->silent_ns = world_now(n->world);
    n->paused = false;
    sim_transport_hold(&n->transport, false);
    if (sim_rng_below(&n->world->rng, 2))
        control_step(n);
    if (n->life == life)
        sim_transport_look(&n->transport);
    control_step(n);
    for (unsigned i = 0; i < n->world->p.imd_threads && n->life == life; i++)
        imd_thread_go_on(&n->threads[i]);
}
