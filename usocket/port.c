/* SPDX-License-Identifier: MIT */
#include "usocket/port.h"

#include <assert.h>
#include <errno.h>

#include "base/time.h"

static const uint64_t COMPLAIN_EVERY_NS = 10 * NS_PER_S;

static void tell(const Port *p, const PortEvent *e)
{
    if (p->ops->event)
        p->ops->event(p->ctx, e);
}

static void on_close(void *ctx, Session *s)
{
    Port *p = ctx;
    if (p->ops->closed)
        p->ops->closed(p->ctx, s);
}

static BatchesRoom room_of(const PortConfig *config)
{
    const BatchesRoom *r = &config->room;
    return (BatchesRoom){.receives = r->receives ? r->receives : BATCHES_RECEIVES_MAX,
                         .receive_bytes = r->receive_bytes ? r->receive_bytes : TRANSPORT_RECV_MAX,
                         .sends = r->sends ? r->sends : BATCHES_SENDS_MAX,
                         .send_bytes = PORT_DATAGRAM_MAX};
}

int port_open(Port *p, Transport *transport, const PortConfig *config, const PortOps *ops,
              void *ctx)
{
    const BatchesRoom room = room_of(config);
    *p = (Port){.ops = ops, .ctx = ctx};
    p->endpoint = endpoint_new(config->endpoint, &config->env);
    if (!p->endpoint || batches_open(&p->batches, transport, &room) < 0) {
        port_close(p);
        return -ENOMEM;
    }
    p->transport = transport;
    p->way.cut = transport->late;
    endpoint_on_close(p->endpoint, on_close, p);
    return 0;
}

void port_close(Port *p)
{
    if (p->endpoint)
        endpoint_on_close(p->endpoint, NULL, NULL);
    p->endpoint = endpoint_free(p->endpoint);
    batches_close(&p->batches);
    p->transport = NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void sent(const Port *p, int res)
{
    if (res < 0)
        tell(p, &(PortEvent){.kind = PORT_SEND_FAILED, .error = -res});
}

void port_flush(Port *p)
{
    sent(p, batches_flush(&p->batches));
}

static void tell_way(const Port *p)
{
    PortEvent e = {.kind = PORT_REACHES_AGAIN, .address = p->transport->local};
    if (p->way.cut) {
        e.kind = PORT_CUT_OFF;
        e.error = p->transport->astray_error;
    }
    tell(p, &e);
}

/* One peer without a route does not count, as long as others are reached. */
static void mind_way(Port *p, uint64_t now_ns)
{
    const Transport *t = p->transport;
    bool sent = t->sent != p->way.sent, astray = t->astray != p->way.astray;
    p->way.sent = t->sent;
    p->way.astray = t->astray;
    if ((!sent && !astray) || sent != p->way.cut || (!sent && now_ns < p->way.from_ns))
        return;
    p->way.cut = !sent;
    p->way.from_ns = time_add(now_ns, COMPLAIN_EVERY_NS);
    tell_way(p);
}

void port_message(Port *p, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    int res;
    assert(len <= WIRE_PAYLOAD_MAX);
    uint8_t *out = batches_next(&p->batches, &res);
    sent(p, res);
    size_t sealed = endpoint_seal(p->endpoint, s, type, payload, len, out);
    if (sealed > 0) /* else it is not up: as lost as in the network */
        batches_keep(&p->batches, &s->peer, sealed);
}

void port_burst(Port *p, Session *s, const Burst *b, BurstScratch *scratch)
{
    sent(p, burst_send(p->transport, p->endpoint, s, b, scratch));
}

void port_large(Port *p, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                BurstScratch *scratch)
{
    struct iovec iov = {.iov_base = scratch->sealed};
    const TransportSend send = {.to = &s->peer, .iov = &iov, .iov_count = 1};
    assert(len + WIRE_HEADER_SIZE + WIRE_SEAL_OVERHEAD <= sizeof scratch->sealed);
    iov.iov_len = endpoint_seal(p->endpoint, s, type, payload, len, scratch->sealed);
    if (iov.iov_len > 0)
        sent(p, p->transport->ops->send(p->transport, &send, 1));
}

void port_pong(Port *p, Session *s, const uint8_t *payload, size_t len, uint64_t epoch)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    WirePing ping;
    if (wire_ping_decode(payload, len, &ping) != 0)
        return;
    WirePing pong = {.nonce = ping.nonce, .epoch = epoch};
    port_message(p, s, WIRE_PONG, out, wire_ping_encode(&pong, out));
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Datagrams that were not made with our key. */
static uint64_t denied_count(const EndpointCounters *c)
{
    return c->hello_refused + c->unsealed + c->forged;
}

/* Tells, now and then, what a misconfigured cluster looks like from here. */
static void complain(Port *p, uint64_t now_ns)
{
    const EndpointCounters *c = endpoint_counters(p->endpoint), *old = &p->complained;
    uint64_t version = c->version - old->version, cluster = c->cluster - old->cluster;
    uint64_t denied = denied_count(c) - denied_count(old);
    uint64_t limited = c->hello_limited - old->hello_limited;
    if (now_ns < p->complain_from_ns || (version | cluster | denied | limited) == 0)
        return;
    if (version)
        tell(p, &(PortEvent){.kind = PORT_VERSION,
                             .version = endpoint_version_seen(p->endpoint),
                             .datagrams = version});
    if (cluster)
        tell(p, &(PortEvent){.kind = PORT_CLUSTER, .datagrams = cluster});
    if (denied)
        tell(p, &(PortEvent){.kind = PORT_DENIED, .datagrams = denied, .address = p->denied_from});
    if (limited)
        tell(p,
             &(PortEvent){.kind = PORT_LIMITED, .datagrams = limited, .address = p->limited_from});
    p->complained = *c;
    p->complain_from_ns = time_add(now_ns, COMPLAIN_EVERY_NS);
}

static void take_datagram(Port *p, const Addr *from, uint8_t *dgram, size_t len, uint64_t now_ns)
{
    EndpointInput in;
    const EndpointCounters *count = endpoint_counters(p->endpoint);
    uint64_t denied = denied_count(count), limited = count->hello_limited;
    switch (endpoint_input(p->endpoint, from, dgram, len, now_ns, &in)) {
    case ENDPOINT_MESSAGE:
        p->ops->message(p->ctx, in.session, in.type, in.payload, in.payload_len, now_ns);
        break;
    case ENDPOINT_UP:
        if (p->ops->up)
            p->ops->up(p->ctx, in.session, now_ns);
        break;
    case ENDPOINT_NOTHING:
    case ENDPOINT_RESET:
        break;
    }
    if (denied_count(count) != denied)
        p->denied_from = *from;
    if (count->hello_limited != limited)
        p->limited_from = *from;
    if (in.reply_len > 0)
        sent(p, batches_put(&p->batches, from, in.reply, in.reply_len));
}

/* HELLOs of the endpoint into the queue. */
static void take_output(Port *p, uint64_t now_ns)
{
    uint8_t out[PORT_DATAGRAM_MAX];
    Addr to;
    for (size_t len; (len = endpoint_output(p->endpoint, out, sizeof out, &to, now_ns)) > 0;)
        sent(p, batches_put(&p->batches, &to, out, len));
}

unsigned port_receive(Port *p, uint64_t now_ns)
{
    int n = batches_receive(&p->batches);
    if (n < 0)
        tell(p, &(PortEvent){.kind = PORT_RECEIVE_FAILED, .error = -n});
    for (int i = 0; i < n; i++) {
        const TransportReceive *r = &p->batches.receives[i];
        size_t step = r->segment ? r->segment : r->len;
        for (size_t at = 0; at < r->len; at += step)
            take_datagram(p, &r->from, r->buf + at, r->len - at < step ? r->len - at : step,
                          now_ns);
    }
    port_expire(p, now_ns);
    complain(p, now_ns);
    return n > 0 ? (unsigned)n : 0;
}

bool port_sleep(Port *p)
{
    return batches_sleep(&p->batches);
}

bool port_look(Port *p)
{
    return batches_look(&p->batches);
}

void port_expire(Port *p, uint64_t now_ns)
{
    take_output(p, now_ns);
    port_flush(p);
    mind_way(p, now_ns);
}

uint64_t port_deadline(const Port *p)
{
    return endpoint_deadline(p->endpoint);
}
