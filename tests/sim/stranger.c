/* SPDX-License-Identifier: MIT */
/* A member of the cluster that has no right to any region: it asks for live regions with one part
 * of the address wrong, and offers junk for them. Each part is there for a schedule that honest
 * members make possible (a host started again, a region opened again, an id used again), but they
 * cover for each other; tried one at a time, each must hold alone. */
#include "tests/sim/world.h"

enum { STRANGER_EVERY_NS = 20 * 1000000 };

/* A live region's address and where it is; false: there is none now. */
static bool find_target(Stranger *s, RegionAddress *ret, Addr *ret_host, uint64_t *ret_len)
{
    World *w = s->world;
    ClientRegionInfo info;
    unsigned n = 0;
    for (unsigned i = 0; i < w->p.clients; i++) {
        Process *p = &w->processes[i];
        if (!p->running)
            continue;
        for (int rd = -1; (rd = client_region_next(p->client, rd)) >= 0;) {
            for (unsigned j = 0; client_stripe_info(p->client, rd, j, &info) == 0; j++) {
                if (!info.active || sim_rng_below(&s->rng, ++n) != 0)
                    continue;
                *ret = info.address;
                *ret_host = info.host;
                *ret_len = info.len;
            }
        }
    }
    return n > 0;
}

static void spoil(Stranger *s, RegionAddress *a)
{
    switch (sim_rng_below(&s->rng, 4)) {
    case 0:
        a->epoch ^= 1 + sim_rng_u64(&s->rng);
        break;
    case 1:
        a->region += sim_rng_between(&s->rng, 1000000, 2000000); /* none that exists */
        break;
    case 2:
        a->opening += 1 + (uint32_t)sim_rng_below(&s->rng, 3);
        break;
    default:
        a->capability.bytes[sim_rng_below(&s->rng, 16)] ^=
            (uint8_t)(1 + sim_rng_below(&s->rng, 255));
        break;
    }
}

static void try_read(Stranger *s, Session *to, const RegionAddress *a, uint64_t len)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    WireRead m = {.ask = ++s->ask, .address = *a, .segment = WIRE_SEGMENT_MIN, .want = 1};
    m.len = len < WIRE_SEGMENT_MIN ? (uint32_t)len : WIRE_SEGMENT_MIN;
    size_t n = wire_read_encode(&m, payload);
    sim_send(s->world, s->endpoint, s->socket, to, WIRE_READ, payload, n);
}

static void try_write(Stranger *s, Session *to, const RegionAddress *a, uint64_t len)
{
    uint8_t junk[4096], payload[WIRE_WRITE_HEADER_SIZE + sizeof junk];
    Burst burst;
    sim_rng_fill(&s->rng, junk, sizeof junk);
    WireWrite m = {.address = *a, .segment = sizeof junk, .index = 0, .data = junk};
    m.len = len < sizeof junk ? (uint32_t)len : (uint32_t)sizeof junk;
    m.data_len = m.len;
    m.kind = sim_rng_below(&s->rng, 2) ? WRITE_FILL : WRITE_DATA;
    m.number = m.kind == WRITE_FILL ? 1u << 30 : 1 + sim_rng_below(&s->rng, 60);
    m.transfer = m.kind == WRITE_FILL ? ++s->ask : 0;
    burst_init_write(&burst, &m, 1, junk);
    size_t n = burst_payload(&burst, 0, payload);
    sim_send(s->world, s->endpoint, s->socket, to, WIRE_WRITE, payload, n);
}

/* A program's own sockets take no session from anybody: who could be a host there could say
 * good-bye in another's name. */
static void call_on_a_program(Stranger *s, uint64_t now_ns)
{
    World *w = s->world;
    Process *p = &w->processes[sim_rng_below(&s->rng, w->p.clients)];
    SimPort *port = &p->threads[0].port;
    if (!p->running || !port->transport.socket)
        return;
    Session *to = endpoint_connect(s->endpoint, &port->transport.base.local, now_ns);
    sim_flush_hellos(w, s->endpoint, s->socket, now_ns);
    if (to && to->up)
        violate(w, "a program took a stranger's session");
}

static void stranger_step(void *ctx, uint64_t arg)
{
    Stranger *s = ctx;
    World *w = s->world;
    RegionAddress a;
    Addr host;
    uint64_t len, now = world_now(w);
    (void)arg;
    if (w->phase.now != PHASE_RUN || w->phase.stopping)
        return;
    SimHeap *was = sim_heap_enter(&s->heap);
    call_on_a_program(s, now);
    if (find_target(s, &a, &host, &len)) {
        Session *to = endpoint_connect(s->endpoint, &host, now);
        sim_flush_hellos(w, s->endpoint, s->socket, now);
        if (to && to->up) {
            cover(w, COVER_STRANGERS);
            spoil(s, &a);
            if (sim_rng_below(&s->rng, 2))
                try_read(s, to, &a, len);
            else
                try_write(s, to, &a, len);
        }
    }
    sim_heap_enter(was);
    sim_timer_set(&s->timer, now + sim_rng_below(&s->rng, 2 * STRANGER_EVERY_NS));
}

static void stranger_input(void *ctx, const Addr *from, uint8_t *datagram, size_t len)
{
    Stranger *s = ctx;
    World *w = s->world;
    EndpointInput in;
    WireData data;
    WireWriteAck ack;
    SimHeap *was = sim_heap_enter(&s->heap);
    if (endpoint_input(s->endpoint, from, datagram, len, world_now(w), &in) == ENDPOINT_MESSAGE) {
        if (in.type == WIRE_DATA && wire_data_decode(in.payload, in.payload_len, &data) == 0 &&
            data.status == STATUS_OK)
            violate(w, "a stranger with a wrong address was given data");
        if (in.type == WIRE_WRITE_ACK &&
            wire_write_ack_decode(in.payload, in.payload_len, &ack) == 0 &&
            ack.state != WRITE_REFUSED)
            violate(w, "a stranger's write to a wrong address was taken");
    }
    if (in.reply_len)
        simnet_send(w->net, s->socket, from, in.reply, in.reply_len);
    sim_heap_enter(was);
}

void stranger_start(Stranger *s)
{
    World *w = s->world;
    sim_rng_init(&s->rng, w->seed, 0x75000000);
    s->env.world = w;
    (void)snprintf(s->env.name, sizeof s->env.name, "stranger");
    sim_rng_init(&s->env.rng, w->seed, 0x75000001);
    sim_heap_init(&s->heap, w->seed);
    Id128 self;
    EndpointConfig config;
    Env env = sim_env(&s->env);
    sim_rng_fill(&s->env.rng, &self, sizeof self);
    endpoint_config_fill(w, &config, ROLE_CLIENT, &self, 0);
    SimHeap *was = sim_heap_enter(&s->heap);
    s->endpoint = endpoint_new(&config, &env);
    sim_heap_enter(was);
    s->socket = simnet_open(w->net, HOST_STRANGER, 666, QUEUE_DATAGRAMS, stranger_input, s);
    if (!s->endpoint || !s->socket)
        abort();
    sim_timer_init(&s->timer, w->net, &s->life, stranger_step, s);
    sim_timer_set(&s->timer, world_now(w) + STRANGER_EVERY_NS);
}

void stranger_stop(Stranger *s)
{
    if (!s->endpoint)
        return;
    SimHeap *was = sim_heap_enter(&s->heap);
    s->endpoint = endpoint_free(s->endpoint);
    simnet_close(s->world->net, s->socket);
    sim_heap_enter(was);
    sim_heap_drop(&s->heap);
    s->life++;
}
