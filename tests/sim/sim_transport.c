/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    DATAGRAM_CAP = 65536,
    ROOM_LEFT_MAX = 8,   /* datagrams that a queue still takes before it is full */
    PART_JOINED_MAX = 4, /* datagrams of a run in a call that brings a part */
};

/* ---- sending -------------------------------------------------------------------------------- */

static void send_datagram(SimTransport *t, const Addr *to, const uint8_t *bytes, size_t len)
{
    if (t->room == 0) {
        t->config.all->dropped++;
        return;
    }
    t->room--;
    if (len <= t->config.datagram_max) /* else EMSGSIZE: lost */
        simnet_send(t->config.net, t->socket, to, bytes, len);
}

/* One datagram of @count pieces. */
static void send_pieces(SimTransport *t, const Addr *to, const struct iovec *iov, unsigned count)
{
    static uint8_t bytes[DATAGRAM_CAP];
    size_t len = 0;
    if (count == 1) {
        send_datagram(t, to, iov->iov_base, iov->iov_len);
        return;
    }
    for (unsigned i = 0; i < count && len + iov[i].iov_len <= sizeof bytes; i++) {
        memcpy(bytes + len, iov[i].iov_base, iov[i].iov_len);
        len += iov[i].iov_len;
    }
    send_datagram(t, to, bytes, len);
}

static void send_run(SimTransport *t, const TransportSend *s)
{
    unsigned per = s->iov_per_segment;
    for (unsigned i = 0; per > 0 && i < s->iov_count; i += per)
        send_pieces(t, s->to, s->iov + i, s->iov_count - i < per ? s->iov_count - i : per);
    for (size_t at = 0; per == 0 && at < s->iov->iov_len; at += s->segment) {
        size_t left = s->iov->iov_len - at;
        send_datagram(t, s->to, (const uint8_t *)s->iov->iov_base + at,
                      left < s->segment ? left : s->segment);
    }
}

static bool has_route(SimTransport *t)
{
    SimTransports *all = t->config.all;
    if (all->no_route[t->config.host] == 0)
        return true;
    all->astray++;
    t->base.astray++;
    t->base.astray_error = ENETUNREACH;
    return false;
}

static int sim_send_all(Transport *base, const TransportSend *sends, unsigned count)
{
    SimTransport *t = (SimTransport *)base;
    SimTransports *all = t->config.all;
    t->room = SIZE_MAX;
    if (all->full_ppm && sim_rng_chance(&all->rng, all->full_ppm))
        t->room = sim_rng_below(&all->rng, ROOM_LEFT_MAX);
    for (unsigned i = 0; i < count; i++) {
        if (!has_route(t))
            continue;
        if (sends[i].segment > 0)
            send_run(t, &sends[i]);
        else
            send_pieces(t, sends[i].to, sends[i].iov, sends[i].iov_count);
        base->sent++;
    }
    return 0;
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* What follows from the same sender is joined, until one is shorter. */
static void receive_run(SimTransport *t, TransportReceive *r)
{
    size_t first = r->len, len = first;
    unsigned n = 1;
    while (len == first && n < t->joined && (len = simnet_next(t->socket, &r->from)) > 0 &&
           len <= first && r->len + len <= TRANSPORT_GSO_MAX && r->len + len <= r->cap) {
        r->len += simnet_take(t->config.net, t->socket, &r->from, r->buf + r->len, r->cap - r->len);
        n++;
    }
    r->segment = n > 1 ? (uint16_t)first : 0;
    t->config.all->joined += n > 1;
}

static int sim_receive(Transport *base, TransportReceive *receives, unsigned count)
{
    SimTransport *t = (SimTransport *)base;
    SimTransports *all = t->config.all;
    bool part = all->part_ppm && sim_rng_chance(&all->rng, all->part_ppm);
    unsigned n = 0;
    t->joined = TRANSPORT_GSO_SEGMENTS;
    if (part) {
        count = 1 + (unsigned)sim_rng_below(&all->rng, count);
        t->joined = 1 + sim_rng_below(&all->rng, PART_JOINED_MAX);
    }
    for (; n < count && simnet_waits(t->socket); n++) {
        TransportReceive *r = &receives[n];
        r->len = simnet_take(t->config.net, t->socket, &r->from, r->buf, r->cap);
        receive_run(t, r);
    }
    all->parts += part && simnet_waits(t->socket);
    return (int)n;
}

static size_t sim_datagram_max(Transport *base, const Addr *to)
{
    (void)to;
    return ((SimTransport *)base)->config.datagram_max;
}

/* ---- life ----------------------------------------------------------------------------------- */

static void sim_close(Transport *base)
{
    SimTransport *t = (SimTransport *)base;
    simnet_close(t->config.net, t->socket);
    t->socket = NULL;
}

static const TransportOps sim_ops = {
    .name = "sim",
    .close = sim_close,
    .send = sim_send_all,
    .receive = sim_receive,
    .datagram_max = sim_datagram_max,
};

static void look_again(void *ctx, uint64_t arg);

static void look_after(SimTransport *t, uint64_t ns)
{
    t->again = true;
    simnet_at(t->config.net, simnet_now(t->config.net) + ns, t->config.life, look_again, t, 0);
}

static void look_again(void *ctx, uint64_t arg)
{
    SimTransport *t = ctx;
    (void)arg;
    t->again = false;
    sim_transport_look(t);
}

void sim_transport_look(SimTransport *t)
{
    uint32_t life = *t->config.life;
    if (!simnet_waits(t->socket))
        return;
    t->config.ready(t->config.ctx);
    if (*t->config.life != life || t->again || !simnet_waits(t->socket))
        return;
    look_after(t, 0);
}

static void on_ready(void *ctx)
{
    SimTransport *t = ctx;
    SimTransports *all = t->config.all;
    if (all->look_late_ns == 0)
        sim_transport_look(t);
    else if (!t->again && ++all->late)
        look_after(t, sim_rng_below(&all->rng, all->look_late_ns));
}

void sim_transport_open(SimTransport *t, const SimTransportConfig *config)
{
    const Addr at = addr_sim(config->host, config->port);
    *t = (SimTransport){.base = {.ops = &sim_ops, .local = at}, .config = *config};
    t->socket = simnet_open_queue(config->net, &at, SIM_TRANSPORT_QUEUE, on_ready, t);
    if (!t->socket)
        abort();
}

void sim_transport_hold(SimTransport *t, bool held)
{
    simnet_hold(t->socket, held);
}
