/* SPDX-License-Identifier: MIT */
/* What the threads of all simulated clients have alike: the client's settings, and each thread's
 * way to the network. */
#include "tests/sim/world.h"

void client_config_fill(const World *w, ClientConfig *c, const Id128 *self, unsigned regions_max)
{
    const Params *p = &w->p;
    *c = (ClientConfig){.manager = addr_sim(HOST_CMD, PORT_CMD),
                        .self = *self,
                        .refraction_ns = p->refraction_ns,
                        .refraction_max_ns = 8 * p->refraction_ns,
                        .transfer_deadline_ns = p->transfer_deadline_ns,
                        .alive_ns = p->alive_ns,
                        .reopen_ns = p->reopen_ns,
                        .request = p->client_request,
                        .credit_cap_bytes = p->credit_bytes,
                        .regions_max = regions_max,
                        .fill_queue_bytes = p->fill_queue_bytes,
                        .stripe_bytes = p->stripe_bytes,
                        .block_sum = p->checked ? blocksum : NULL};
}

/* ---- ports ---------------------------------------------------------------------------------- */

static void sink_datagram(void *ctx, const Addr *to, const uint8_t *datagram, size_t len)
{
    SimPort *p = ctx;
    simnet_send(p->world->net, p->socket, to, datagram, len);
}

static void sink_burst(void *ctx, Session *session, const Burst *burst)
{
    SimPort *p = ctx;
    sim_send_burst(p->world, p->endpoint, p->socket, session, burst);
}

static size_t sink_datagram_max(void *ctx, const Addr *to)
{
    SimPort *p = ctx;
    (void)to;
    return p->world->p.datagram_max;
}

Channel *sim_port_open(SimPort *p, World *w, const SimPortOptions *o)
{
    Env env = sim_env(o->env);
    EndpointConfig config;
    const ChannelSink sink = {sink_datagram, sink_burst, sink_datagram_max, p};
    endpoint_config_fill(w, &config, ROLE_CLIENT, o->self, 0);
    config.half_open_max = 0; /* as in libdodo/link.c */
    p->world = w;
    p->at = addr_sim(o->host, o->port);
    p->endpoint = endpoint_new(&config, &env);
    Channel *channel = channel_new(o->client, p->endpoint, &sink, o->calls, o->background);
    p->socket = simnet_open(w->net, o->host, o->port, QUEUE_DATAGRAMS, o->input, o->ctx);
    if (!p->endpoint || !channel || !p->socket)
        abort();
    return channel;
}

void sim_port_close(SimPort *p)
{
    if (p->socket)
        simnet_close(p->world->net, p->socket);
    p->socket = NULL;
}

void sim_port_kill(SimPort *p)
{
    endpoint_on_close(p->endpoint, NULL, NULL);
    p->endpoint = endpoint_free(p->endpoint);
}

bool channel_blocked(Channel *channel)
{
    Call *c = NULL;
    while ((c = channel_next(channel, c)) && c->need != NEED_BLOCKED)
        ;
    return c;
}

void sim_timer_at(World *w, SimTimer *t, uint64_t deadline_ns, uint64_t clock_offset_ns)
{
    if (deadline_ns != TIME_NEVER)
        sim_timer_set(t, (deadline_ns > clock_offset_ns ? deadline_ns - clock_offset_ns : 0) +
                             sim_rng_below(&w->rng, 20000) + shell_timer_late(w));
}
