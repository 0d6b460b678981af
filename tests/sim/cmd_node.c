/* SPDX-License-Identifier: MIT */
/* The manager with its socket. */
#include "tests/sim/world.h"

static uint64_t node_now(const CmdNode *n)
{
    return world_now(n->world) + n->clock_offset_ns;
}

static void sink_message(void *ctx, Session *session, uint8_t type, const uint8_t *payload,
                         size_t len)
{
    CmdNode *n = ctx;
    if (session != &n->operator)
        port_message(&n->port, session, type, payload, len);
}

static void session_closed(void *ctx, Session *s)
{
    CmdNode *n = ctx;
    manager_session_closed(n->manager, s);
}

static void cmd_step(CmdNode *n)
{
    if (n->paused || n->world->phase.stopping)
        return;
    SimHeap *was = sim_heap_enter(&n->heap);
    uint64_t now = node_now(n);
    if (manager_deadline(n->manager) <= now)
        manager_expire(n->manager, now);
    port_expire(&n->port, now);
    uint64_t deadline = min_u64(manager_deadline(n->manager), port_deadline(&n->port));
    sim_timer_at(n->world, &n->timer, deadline, n->clock_offset_ns);
    sim_heap_enter(was);
}

static void timer_fired(void *ctx, uint64_t arg)
{
    (void)arg;
    cmd_step(ctx);
}

static void note_request(CmdNode *n, const Session *s, const uint8_t *payload, size_t len)
{
    WireRequest q;
    if (wire_request_decode(payload, len, &q) < 0)
        return;
    story(n->world, "  cmd: request %llu op %u from role %u %02x%02x", (unsigned long long)q.id,
          q.op, s->peer_role, s->peer_id.bytes[0], s->peer_id.bytes[1]);
    if (!id_set_add(&n->requests_seen, id128_hash(&s->peer_id) ^ mix64(q.id)))
        cover(n->world, COVER_REQUESTS_REPEATED);
    else
        n->opens_seen += q.op == OP_OPEN;
}

/* The hosts that run and that the manager counts on. */
static unsigned counted_on(const CmdNode *n)
{
    const World *w = n->world;
    unsigned map = 0;
    for (unsigned i = 0; i < w->p.imds; i++) {
        const ImdNode *imd = &w->imds[i];
        if (imd->running && !imd->leaving && manager_has_host(n->manager, imd->epoch))
            map |= 1u << i;
    }
    return map;
}

/* A monitor's word ends no imd that runs, however late it comes. */
static void message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                    uint64_t now_ns)
{
    CmdNode *n = ctx;
    if (type == WIRE_PING)
        port_pong(&n->port, s, payload, len, 0);
    if (type == WIRE_REQUEST)
        note_request(n, s, payload, len);
    unsigned before = s->peer_role == ROLE_RMD ? counted_on(n) : 0;
    manager_input(n->manager, s, type, payload, len, now_ns);
    if (before & ~counted_on(n))
        violate(n->world, "cmd gave up a host that runs for what a monitor told, map %x",
                before & ~counted_on(n));
}

static void event(void *ctx, const PortEvent *e)
{
    CmdNode *n = ctx;
    shell_event(n->world, n->env.name, e);
}

void cmd_asked(CmdNode *n, const uint8_t *payload, size_t len)
{
    SimHeap *was = sim_heap_enter(&n->heap);
    n->operator.peer_role = ROLE_TOOL;
    n->operator.peer = addr_sim(HOST_STRANGER, PORT_CMD);
    manager_input(n->manager, &n->operator, WIRE_REQUEST, payload, len, node_now(n));
    sim_heap_enter(was);
    cmd_step(n);
}

static const PortOps port_ops = {.message = message, .closed = session_closed, .event = event};

static void ready(void *ctx)
{
    CmdNode *n = ctx;
    SimHeap *was = sim_heap_enter(&n->heap);
    (void)port_receive(&n->port, node_now(n));
    sim_heap_enter(was);
    cmd_step(n);
}

void cmd_start(CmdNode *n)
{
    World *w = n->world;
    const Params *q = &w->p;
    if (n->running)
        return;
    n->env.world = w;
    (void)snprintf(n->env.name, sizeof n->env.name, "%s", n->name);
    sim_rng_init(&n->env.rng, w->seed, 0x74000000 + n->host * 65536 + n->life);
    sim_heap_init(&n->heap, w->seed + n->life);
    n->running = true;
    n->paused = false;
    n->opens_seen = 0;
    n->last = (ManagerStats){0};
    n->clock_offset_ns = sim_rng_below(&n->env.rng, 1000000 * NS_PER_S);
    Id128 instance;
    sim_rng_fill(&n->env.rng, &instance, sizeof instance);
    lease_init(&n->lease, q->managers, node_now(n));
    (void)lease_start(&n->lease, node_now(n));
    const SimListen listen = {.host = n->host,
                              .port = PORT_CMD,
                              .life = &n->life,
                              .role = ROLE_CMD,
                              .epoch = lease_epoch(&n->lease),
                              .self = instance,
                              .env = &n->env,
                              .ops = &port_ops,
                              .ready = ready,
                              .ctx = n};
    ManagerSink sink = {sink_message, n};
    ManagerConfig config = {.client_dead_ns = q->cores.client_dead_ns,
                            .host_dead_ns = q->cores.host_dead_ns,
                            .distrust_ns = q->cores.host_dead_ns,
                            .grace_ns = q->cores.grace_ns,
                            .request_first_retry_ns = q->cores.imd_retry_ns,
                            .request_retry_max_ns = q->cores.imd_retry_max_ns,
                            .request_deadline_ns = q->cores.imd_deadline_ns,
                            .number = lease_epoch(&n->lease),
                            .weighted = w->p.weighted,
                            .hosts_max = 8,
                            .clients_max = 64,
                            .regions_max = q->cores.cmd_regions_max,
                            .opens_max = q->cores.cmd_opens_max};
    Env env = sim_env(&n->env);
    SimHeap *was = sim_heap_enter(&n->heap);
    sim_listen(w, &n->port, &n->transport, &listen);
    n->manager = manager_new(&config, &env, &sink, &instance, node_now(n));
    if (!n->manager)
        abort();
    sim_heap_enter(was);
    sim_timer_init(&n->timer, w->net, &n->life, timer_fired, n);
    n->heap.fail_ppm = w->phase.now == PHASE_RUN ? w->p.faults.no_memory_ppm : 0;
    story(w, "%s starts", n->name);
    cmd_step(n);
}

void cmd_count(CmdNode *n)
{
    World *w = n->world;
    ManagerStats s, *l = &n->last;
    if (!n->running)
        return;
    manager_stats(n->manager, &s);
    if (s.reclaimed_clients > l->reclaimed_clients)
        story(w, "cmd reclaimed %llu clients",
              (unsigned long long)(s.reclaimed_clients - l->reclaimed_clients));
    if (s.lost_hosts > l->lost_hosts)
        story(w, "cmd gave %llu hosts up", (unsigned long long)(s.lost_hosts - l->lost_hosts));
    if (w->p.calm && !w->p.managers && s.lost_hosts > l->lost_hosts)
        violate(w, "the manager gave up a host although nothing happened to it");
    cover_add(w, COVER_CLIENT_RECLAIMED, s.reclaimed_clients - l->reclaimed_clients);
    cover_add(w, COVER_HOSTS_LOST, s.lost_hosts - l->lost_hosts);
    cover_add(w, COVER_RECONCILED, s.reconciled - l->reconciled);
    cover_add(w, COVER_NEXT_HOST, s.retries_next_host - l->retries_next_host);
    *l = s;
}

static void cmd_gone(CmdNode *n)
{
    World *w = n->world;
    cmd_count(n);
    SimHeap *was = sim_heap_enter(&n->heap);
    n->life++;
    n->running = false;
    port_close(&n->port);
    n->manager = manager_free(n->manager);
    id_set_free(&n->requests_seen);
    sim_heap_enter(was);
    if (n->heap.bytes)
        violate(w, "cmd left %zu bytes allocated at its end", n->heap.bytes);
    sim_heap_drop(&n->heap);
}

static void follow_duty(CmdNode *n)
{
    SimHeap *was = sim_heap_enter(&n->heap);
    manager_duty(n->manager, n->port.endpoint, lease_epoch(&n->lease), node_now(n));
    port_flush(&n->port);
    sim_heap_enter(was);
    cmd_step(n);
}

void cmd_lease_begins(CmdNode *n, uint64_t number)
{
    char line[32];
    if (!n->running)
        return;
    const int len = snprintf(line, sizeof line, "%llu\n", (unsigned long long)number);
    if (lease_output(&n->lease, line, (size_t)len) != LEASE_GAINED)
        violate(n->world, "%s does not take its lease", n->name);
    follow_duty(n);
}

void cmd_lease_ends(CmdNode *n)
{
    if (!n->running || lease_ended(&n->lease, node_now(n)) != LEASE_LOST) {
        (void)lease_start(&n->lease, lease_deadline(&n->lease));
        return;
    }
    story(n->world, "%s stands by", n->name);
    follow_duty(n);
    (void)lease_start(&n->lease, lease_deadline(&n->lease));
}

void cmd_crash(CmdNode *n)
{
    if (!n->running)
        return;
    story(n->world, "%s crashes", n->name);
    cover(n->world, COVER_CMD_CRASHED);
    if (n->life % 2 && !n->paused) { /* or it ends in order */
        SimHeap *was = sim_heap_enter(&n->heap);
        manager_say_goodbye(n->manager, n->port.endpoint);
        port_flush(&n->port);
        sim_heap_enter(was);
    }
    cmd_gone(n);
}

void cmd_stop(CmdNode *n)
{
    if (n->running)
        cmd_gone(n);
}

void cmd_pause(CmdNode *n)
{
    if (!n->running || n->paused)
        return;
    story(n->world, "%s is stopped", n->name);
    cover(n->world, COVER_CMD_PAUSED);
    n->paused = true;
    sim_transport_hold(&n->transport, true);
}

void cmd_resume(CmdNode *n)
{
    uint32_t life = n->life;
    if (!n->running || !n->paused)
        return;
    story(n->world, "%s goes on", n->name);
    n->paused = false;
    sim_transport_hold(&n->transport, false);
    if (sim_rng_below(&n->world->rng, 2))
        cmd_step(n);
    if (n->life == life)
        sim_transport_look(&n->transport);
    cmd_step(n);
}
