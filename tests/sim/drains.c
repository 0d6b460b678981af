/* SPDX-License-Identifier: MIT */
/* An operator takes hosts out of service and puts them back, and says so again and again, as dodo
 * drain does. All of it with numbers of its own. */
#include "tests/sim/world.h"

/* What dodo drain sends; the answer is nobody's. */
static void ask(World *w, CmdNode *n, unsigned host, enum DrainWhat what)
{
    uint8_t body[WIRE_BODY_MAX], payload[WIRE_PAYLOAD_MAX];
    OpDrain op = {.host = addr_sim(w->imds[host].host, PORT_IMD), .what = what};
    if (what == DRAIN_START)
        op.rate = w->p.hosts.drain_rate;
    if (!n->running || n->paused)
        return;
    WireRequest request = {.id = ++w->drains.requests, .op = OP_DRAIN, .body = body};
    request.settled = request.id;
    request.body_len = wire_drain_encode(&op, body);
    size_t len = wire_request_encode(&request, payload);
    cmd_asked(n, payload, len);
}

static void say(World *w, unsigned host)
{
    enum DrainWhat what = w->drains.of[host] ? DRAIN_START : DRAIN_CANCEL;
    ask(w, &w->cmd, host, what);
    ask(w, &w->other, host, what);
}

static void change(World *w, unsigned host, bool drained)
{
    if (w->drains.of[host] == drained)
        return;
    story(w, "imd%u is %s", host, drained ? "to be drained" : "wanted again");
    cover(w, drained ? COVER_DRAINS : COVER_DRAINS_CANCELLED);
    w->drains.of[host] = drained;
    say(w, host);
}

static unsigned drained_now(const World *w)
{
    unsigned n = 0;
    for (unsigned i = 0; i < w->p.imds; i++)
        n += w->drains.of[i];
    return n;
}

static void drain_due(void *ctx, uint64_t arg)
{
    World *w = ctx;
    SimRng *r = &w->rngs.drains;
    unsigned host = (unsigned)sim_rng_below(r, w->p.imds);
    if (w->phase.now >= PHASE_CLOSE) {
        for (unsigned i = 0; i < w->p.imds; i++)
            change(w, i, false);
        return;
    }
    if (w->phase.now == PHASE_RUN && arg % 4 == 0 &&
        (w->drains.of[host] || drained_now(w) < w->p.hosts.drains_max))
        change(w, host, !w->drains.of[host]);
    for (unsigned i = 0; i < w->p.imds; i++)
        if (w->drains.of[i])
            say(w, i);
    simnet_at(w->net, world_now(w) + w->p.hosts.drain_every_ns / 4, NULL, drain_due, w, arg + 1);
}

void drains_start(World *w)
{
    sim_rng_init(&w->rngs.drains, w->seed, 0x647261696e);
    if (w->p.hosts.drain_every_ns != TIME_NEVER)
        simnet_at(w->net, world_now(w) + sim_rng_below(&w->rngs.drains, w->p.hosts.drain_every_ns),
                  NULL, drain_due, w, 0);
}
