/* SPDX-License-Identifier: MIT */
/* What the threads of all simulated clients have alike: the client's settings, and each thread's
 * way to the network. */
#include "tests/sim/world.h"

enum { SEND_BYTES = 256 }; /* as in libdodo/link.h */

void client_config_fill(const World *w, ClientConfig *c, const Id128 *self, unsigned regions_max)
{
    const Params *p = &w->p;
    static Finder finder; /* the client takes a copy */
    const Places managers = managers_places();
    finder_init(&finder, &managers);
    *c = (ClientConfig){.manager = addr_sim(HOST_CMD, PORT_CMD),
                        .finder = p->managers ? &finder : NULL,
                        .self = *self,
                        .refraction_ns = p->cores.refraction_ns,
                        .refraction_max_ns = 8 * p->cores.refraction_ns,
                        .transfer_deadline_ns = p->cores.transfer_deadline_ns,
                        .alive_ns = p->cores.alive_ns,
                        .reopen_ns = p->cores.reopen_ns,
                        .request = p->cores.client_request,
                        .credit_cap_bytes = p->cores.credit_bytes,
                        .regions_max = regions_max,
                        .fill_queue_bytes = p->cores.fill_queue_bytes,
                        .stripe_bytes = p->programs.stripe_bytes,
                        .block_sum = p->checked ? blocksum : NULL};
}

/* ---- ports ---------------------------------------------------------------------------------- */

static void sink_datagram(void *ctx, const Addr *to, const uint8_t *datagram, size_t len)
{
    SimPort *p = ctx;
    (void)batches_put(&p->batches, to, datagram, len);
}

static void sink_burst(void *ctx, Session *session, const Burst *burst)
{
    static BurstScratch scratch;
    SimPort *p = ctx;
    (void)batches_flush(&p->batches); /* in the order that the core has them */
    (void)burst_send(&p->transport.base, p->endpoint, session, burst, &scratch);
}

static size_t sink_datagram_max(void *ctx, const Addr *to)
{
    SimPort *p = ctx;
    return p->transport.base.ops->datagram_max(&p->transport.base, to);
}

Channel *sim_port_open(SimPort *p, World *w, const SimPortOptions *o)
{
    Env env = sim_env(o->env);
    EndpointConfig config;
    const ChannelSink sink = {sink_datagram, sink_burst, sink_datagram_max, p};
    endpoint_config_fill(w, &config, ROLE_CLIENT, o->self, 0);
    config.half_open_max = 0; /* as in libdodo/link.c */
    p->world = w;
    p->endpoint = endpoint_new(&config, &env);
    p->channel = channel_new(o->client, p->endpoint, &sink, o->calls, o->background);
    sim_transport_open(&p->transport, &(SimTransportConfig){.net = w->net,
                                                            .all = &w->transports,
                                                            .host = o->host,
                                                            .port = o->port,
                                                            .datagram_max = w->p.datagram_max,
                                                            .life = o->life,
                                                            .ready = o->ready,
                                                            .ctx = o->ctx});
    const BatchesRoom room = {.receives = w->p.shells.room.receives,
                              .receive_bytes = TRANSPORT_RECV_MAX,
                              .sends = w->p.shells.room.sends,
                              .send_bytes = SEND_BYTES};
    if (!p->endpoint || !p->channel || batches_open(&p->batches, &p->transport.base, &room) < 0)
        abort();
    return p->channel;
}

void sim_port_close(SimPort *p)
{
    batches_close(&p->batches);
}

void sim_port_receive(SimPort *p, uint64_t now_ns)
{
    int n = batches_receive(&p->batches);
    const TransportReceive *r = p->batches.receives;
    for (int i = 0; i < n; i++)
        channel_input_joined(p->channel, &r[i].from, r[i].buf, r[i].len, r[i].segment, now_ns);
    (void)batches_flush(&p->batches);
}

void sim_port_step(SimPort *p, uint64_t now_ns)
{
    channel_step(p->channel, now_ns);
    (void)batches_flush(&p->batches);
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
