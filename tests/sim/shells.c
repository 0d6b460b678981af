/* SPDX-License-Identifier: MIT */
/* What goes wrong between daemons and programs and the system they run on, and nowhere else:
 * batches that bring a part, full send queues, no route for a while, a look or a timer that comes
 * late. All of it with numbers of its own. */
#include "tests/sim/world.h"

void shells_choose(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x73686c6c);
    ShellParams *s = &p->shells;
    s->room.receives = (unsigned)sim_rng_between(r, 1, 8);
    s->room.sends = (unsigned)sim_rng_between(r, 1, 8);
    s->part_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 500000) : 0;
    s->full_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 20000) : 0;
    s->look_late_ns = sim_rng_below(r, 2) ? sim_rng_spread(r, NS_PER_US, 500 * NS_PER_US) : 0;
    s->timer_late_ns = sim_rng_below(r, 2) ? sim_rng_spread(r, 100 * NS_PER_US, 10 * NS_PER_MS) : 0;
    s->no_route_every_ns =
        sim_rng_below(r, 3) ? TIME_NEVER : sim_rng_spread(r, 100, 3000) * NS_PER_MS;
    if (p->calm) {
        s->full_ppm %= 1000;
        s->no_route_every_ns = TIME_NEVER;
    }
    if (p->scenario == SCENARIO_SILENT || p->scenario >= SCENARIO_CHOSEN) {
        /* these are about something else, and know how long a call may take */
        s->full_ppm = 0;
        s->look_late_ns = s->timer_late_ns = 0;
        s->no_route_every_ns = TIME_NEVER;
    }
}

/* ---- no route ------------------------------------------------------------------------------- */

static void next_no_route(World *w);

static void route_is_back(void *ctx, uint64_t arg)
{
    World *w = ctx;
    if (w->transports.no_route[arg] > 0) /* else all has healed */
        w->transports.no_route[arg]--;
}

static uint64_t some_host(World *w)
{
    uint64_t pick = sim_rng_below(&w->rngs.shells, 1 + w->p.imds + w->p.client_hosts);
    return pick <= w->p.imds ? HOST_CMD + pick : HOST_CLIENT + pick - 1 - w->p.imds;
}

static void no_route_due(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    if (w->phase.now != PHASE_RUN)
        return;
    uint64_t host = some_host(w);
    uint64_t how_long_ns = sim_rng_spread(&w->rngs.shells, NS_PER_MS, w->p.faults.long_ns);
    story(w, "host %llu has no route", (unsigned long long)host);
    w->transports.no_route[host]++;
    simnet_at(w->net, world_now(w) + how_long_ns, NULL, route_is_back, w, host);
    next_no_route(w);
}

static void next_no_route(World *w)
{
    uint64_t after = sim_rng_below(&w->rngs.shells, 2 * w->p.shells.no_route_every_ns);
    simnet_at(w->net, world_now(w) + after, NULL, no_route_due, w, 0);
}

/* ---- the whole ------------------------------------------------------------------------------ */

void shells_start(World *w)
{
    const ShellParams *s = &w->p.shells;
    sim_rng_init(&w->rngs.shells, w->seed, 0x7368656c);
    w->transports = (SimTransports){
        .part_ppm = s->part_ppm, .full_ppm = s->full_ppm, .look_late_ns = s->look_late_ns};
    sim_rng_init(&w->transports.rng, w->seed, 0x736f636b);
    if (s->no_route_every_ns != TIME_NEVER)
        next_no_route(w);
}

/* What only makes a shell slower goes on: nobody may need it to be quick. */
void shells_heal(World *w)
{
    w->transports.full_ppm = 0;
    memset(w->transports.no_route, 0, sizeof w->transports.no_route);
}

void shells_end(World *w)
{
    const SimTransports *t = &w->transports;
    cover_add(w, COVER_PARTS, t->parts);
    cover_add(w, COVER_JOINED, t->joined);
    cover_add(w, COVER_SEND_QUEUE_FULL, t->dropped);
    cover_add(w, COVER_NO_ROUTE, t->astray);
    cover_add(w, COVER_LOOKS_LATE, t->late);
}

void shell_event(World *w, const char *name, const PortEvent *e)
{
    static const char *const texts[] = {[PORT_SEND_FAILED] = "cannot send",
                                        [PORT_RECEIVE_FAILED] = "cannot receive",
                                        [PORT_CUT_OFF] = "is cut off",
                                        [PORT_REACHES_AGAIN] = "reaches others again",
                                        [PORT_VERSION] = "hears another version",
                                        [PORT_CLUSTER] = "hears another cluster",
                                        [PORT_DENIED] = "hears another key",
                                        [PORT_LIMITED] = "hears too many HELLOs"};
    story(w, "  %s %s", name, texts[e->kind]);
    cover_add(w, COVER_CUT_OFF, e->kind == PORT_CUT_OFF);
    cover_add(w, COVER_REACHES_AGAIN, e->kind == PORT_REACHES_AGAIN);
    if (e->kind == PORT_CUT_OFF && w->p.shells.no_route_every_ns == TIME_NEVER)
        violate(w, "%s takes itself for cut off", name);
    if (e->kind == PORT_SEND_FAILED || e->kind == PORT_RECEIVE_FAILED)
        violate(w, "%s: the transport failed", name);
}

uint64_t shell_timer_late(World *w)
{
    enum { ONE_IN = 16 };
    if (!w->p.shells.timer_late_ns || sim_rng_below(&w->rngs.shells, ONE_IN) != 0)
        return 0;
    cover(w, COVER_TIMERS_LATE);
    return sim_rng_below(&w->rngs.shells, w->p.shells.timer_late_ns);
}
