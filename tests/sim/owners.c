/* SPDX-License-Identifier: MIT */
/* The owners of the hosts, by their resource monitors: now and then one makes its imd's pool
 * smaller, and larger again; now and then the owner comes back, the imd is asked to leave or is
 * killed, and starts again when he has gone. Of all that the manager hears, over the same bad
 * network. All of it with numbers of its own. */
#include <string.h>

#include "tests/sim/world.h"

enum { STEP_NS_MIN = 10 * 1000000, STEP_NS_MAX = 60 * 1000000 };

/* ---- the pool's limit ----------------------------------------------------------------------- */

static void limit_due(void *ctx, uint64_t arg);

static void limit_later(World *w)
{
    uint64_t after = sim_rng_below(&w->rngs.owners, 2 * w->p.owners.limit_every_ns);
    simnet_at(w->net, world_now(w) + after, NULL, limit_due, w, 0);
}

/* Mostly somewhere between nothing and all of the pool, or of what is filled; sometimes either. */
static uint64_t some_limit(World *w, const ImdNode *n)
{
    SimRng *r = &w->rngs.owners;
    uint64_t pick = sim_rng_below(r, 4);
    if (w->p.scenario == SCENARIO_PRESSURE) /* a part of each region can stay */
        return pick < 2 ? UINT64_MAX : sim_rng_between(r, 6 * 4096, 20 * 4096);
    uint64_t most = w->p.hosts.pool_bytes;
    if (pick == 2 && n->running)
        most = imd_control_filled_bytes(n->member.control) + 1;
    return pick == 0 ? 0 : pick == 1 ? UINT64_MAX : sim_rng_below(r, most);
}

static void limit_due(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    if (w->phase.now != PHASE_RUN)
        return;
    uint64_t i = sim_rng_below(&w->rngs.owners, w->p.imds);
    imd_limit(&w->imds[i], some_limit(w, &w->imds[i]));
    limit_later(w);
}

/* ---- what the manager hears ----------------------------------------------------------------- */

static MonitorStatus owner_status(const SimOwner *o)
{
    const ImdNode *n = o->imd;
    if (n->running && o->busy) /* on its way out: nothing is vouched for yet */
        return o->told;
    MonitorStatus status = {
        .state = MONITOR_STARTING, .epoch = n->epoch, .reason = "nobody is here"};
    if (n->running)
        status.state = MONITOR_LENDING;
    else if (o->busy)
        status.state = MONITOR_BUSY;
    return status;
}

/* The rule is broken: what is said late ends the imd that runs now. */
static void late_names_present(SimOwner *o)
{
    WireRequest request;
    OpHost op;
    uint8_t body[WIRE_PAYLOAD_MAX];
    if (wire_request_decode(o->late, o->late_len, &request) < 0 ||
        wire_host_decode(request.body, request.body_len, &op) < 0)
        return;
    op.epoch = o->imd->epoch;
    request.body = body;
    request.body_len = wire_host_encode(&op, body);
    o->late_len = wire_request_encode(&request, o->late);
}

/* Sometimes what was said when the owner was last there arrives only now. */
static void link_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    SimOwner *o = ctx;
    World *w = o->world;
    sim_send(w, o->endpoint, o->socket, s, type, payload, len);
    if (o->told.state == MONITOR_BUSY) {
        memcpy(o->late, payload, len);
        o->late_len = len;
    } else if (o->late_len > 0 && sim_rng_below(&w->rngs.owners, 8) == 0) {
        if (!RULE(OWNER_EPOCH))
            late_names_present(o);
        sim_send(w, o->endpoint, o->socket, s, type, o->late, o->late_len);
    }
}

static void link_news(void *ctx, enum LinkNews news)
{
    static const char *const texts[LINK_NEWS_MAX] = {
        "hears the manager", "is refused",          "lost the manager",
        "hears no manager",  "hears somebody else", "hears managers that stand by"};
    const SimOwner *o = ctx;
    story(o->world, "  %s %s", o->env.name, texts[news]);
}

static void talk(SimOwner *o, uint64_t now)
{
    MonitorStatus status = owner_status(o);
    bool changed = status.state != o->told.state || status.epoch != o->told.epoch;
    o->told = status;
    if (manager_link_report(&o->link, &status, changed, now))
        cover(o->world, COVER_OWNERS_TOLD);
    manager_link_expire(&o->link, now);
    sim_flush_hellos(o->world, o->endpoint, o->socket, now);
}

static void owner_closed(void *ctx, Session *s)
{
    SimOwner *o = ctx;
    manager_link_closed(&o->link, s);
}

static void owner_input(void *ctx, const Addr *from, uint8_t *datagram, size_t len)
{
    SimOwner *o = ctx;
    EndpointInput in;
    SimHeap *was = sim_heap_enter(&o->heap);
    uint64_t now = world_now(o->world);
    enum EndpointOutcome outcome = endpoint_input(o->endpoint, from, datagram, len, now, &in);
    if (outcome == ENDPOINT_MESSAGE)
        manager_link_message(&o->link, in.session, in.type, in.payload, in.payload_len, now);
    else if (outcome == ENDPOINT_UP)
        manager_link_up(&o->link, in.session, now);
    if (in.reply_len)
        simnet_send(o->world->net, o->socket, from, in.reply, in.reply_len);
    sim_heap_enter(was);
}

/* ---- coming back, going away ---------------------------------------------------------------- */

static void come_and_go(SimOwner *o, uint64_t now)
{
    World *w = o->world;
    ImdNode *n = o->imd;
    SimRng *r = &w->rngs.owners;
    if (w->phase.now == PHASE_RUN && now >= o->turn_ns) {
        o->busy = !o->busy;
        o->turn_ns = now + sim_rng_below(r, 2 * w->p.owners.reclaim_every_ns);
        cover_add(w, COVER_RECLAIMED, o->busy);
    }
    if (n->paused || n->leaving || n->running == !o->busy)
        return;
    /* Mostly there is time for what was used last. Sometimes there is not, after all. */
    const bool saves = n->save_by_ns != 0;
    if (o->busy && w->p.owners.save_within_ns && (saves || sim_rng_below(r, 8)) &&
        sim_rng_below(r, 64)) {
        if (!saves)
            imd_save(n, some_limit(w, n));
        return;
    }
    if (!o->busy)
        imd_start(n);
    else if (sim_rng_below(r, 2))
        imd_crash(n);
    else
        imd_leave(n);
}

static void owner_step(void *ctx, uint64_t arg)
{
    SimOwner *o = ctx;
    World *w = o->world;
    uint64_t now = world_now(w);
    (void)arg;
    if (w->phase.stopping)
        return;
    if (w->p.owners.reclaim_every_ns != TIME_NEVER && w->phase.now <= PHASE_HEAL)
        come_and_go(o, now);
    SimHeap *was = sim_heap_enter(&o->heap);
    talk(o, now);
    sim_heap_enter(was);
    sim_timer_set(&o->timer, now + sim_rng_between(&w->rngs.owners, STEP_NS_MIN, STEP_NS_MAX));
}

/* ---- life ----------------------------------------------------------------------------------- */

static void owner_start(World *w, unsigned i)
{
    SimOwner *o = &w->owners[i];
    const ManagerLinkSink sink = {.message = link_message, .news = link_news, .ctx = o};
    const Addr cmd = addr_sim(HOST_CMD, PORT_CMD);
    Id128 self;
    EndpointConfig config;
    o->world = w;
    o->imd = &w->imds[i];
    o->told.state = MONITOR_STARTING;
    o->env.world = w;
    (void)snprintf(o->env.name, sizeof o->env.name, "rmd%u", i);
    sim_rng_init(&o->env.rng, w->seed, 0x76000000 + i);
    sim_heap_init(&o->heap, w->seed + i);
    Env env = sim_env(&o->env);
    sim_rng_fill(&o->env.rng, &self, sizeof self);
    endpoint_config_fill(w, &config, ROLE_RMD, &self, 0);
    SimHeap *was = sim_heap_enter(&o->heap);
    o->endpoint = endpoint_new(&config, &env);
    sim_heap_enter(was);
    o->socket = simnet_open(w->net, o->imd->host, PORT_RMD, QUEUE_DATAGRAMS, owner_input, o);
    if (!o->endpoint || !o->socket)
        abort();
    endpoint_on_close(o->endpoint, owner_closed, o);
    manager_link_init(&o->link, o->endpoint, &sink, &cmd, w->p.cores.beat_ns, world_now(w));
    const Places managers = managers_places();
    if (w->p.managers)
        manager_link_move(&o->link, &managers);
    if (w->p.owners.reclaim_every_ns != TIME_NEVER)
        o->turn_ns =
            world_now(w) + sim_rng_below(&w->rngs.owners, 2 * w->p.owners.reclaim_every_ns);
    sim_timer_init(&o->timer, w->net, &o->life, owner_step, o);
    sim_timer_set(&o->timer, world_now(w) + sim_rng_below(&w->rngs.owners, 200 * NS_PER_MS));
}

void owners_start(World *w)
{
    sim_rng_init(&w->rngs.owners, w->seed, 0x6f776e65);
    if (w->p.owners.limit_every_ns != TIME_NEVER)
        limit_later(w);
    for (unsigned i = 0; w->p.owners.monitors && i < w->p.imds; i++)
        owner_start(w, i);
}

void owners_heal(World *w)
{
    for (unsigned i = 0; i < w->p.imds; i++) {
        w->owners[i].busy = false;
        if (w->imds[i].save_by_ns)
            imd_leave(&w->imds[i]); /* and start again */
        if (w->p.owners.limit_every_ns != TIME_NEVER)
            imd_limit(&w->imds[i], UINT64_MAX);
    }
}

void owners_stop(World *w)
{
    for (unsigned i = 0; i < IMDS_MAX; i++) {
        SimOwner *o = &w->owners[i];
        if (!o->endpoint)
            continue;
        SimHeap *was = sim_heap_enter(&o->heap);
        endpoint_on_close(o->endpoint, NULL, NULL);
        o->endpoint = endpoint_free(o->endpoint);
        simnet_close(w->net, o->socket);
        sim_heap_enter(was);
        sim_heap_drop(&o->heap);
        o->life++;
    }
}
