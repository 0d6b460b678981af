/* SPDX-License-Identifier: MIT */
#include "usocket/burst_send.h"

#include <string.h>

#include "base/bytes.h"

/* All datagrams but the last of the chunk have equal size, and that comes last in a burst too:
 * so any burst is one run. A single datagram is sent plainly, it may be the short one. */
static int send_iov(Transport *t, const Addr *to, const struct iovec *iov, unsigned iov_count,
                    unsigned per_segment, unsigned datagrams, size_t segment)
{
    TransportSend s = {.to = to, .iov = iov, .iov_count = iov_count};
    if (datagrams > 1) {
        s.segment = (uint16_t)segment;
        s.iov_per_segment = per_segment;
    }
    return t->ops->send(t, &s, 1);
}

static int send_gathered(Transport *t, Endpoint *e, Session *s, const Burst *b,
                         BurstScratch *scratch)
{
    uint8_t common[WIRE_HEADER_SIZE + WIRE_WRITE_HEADER_SIZE];
    size_t header_len = WIRE_HEADER_SIZE + (size_t)b->header_len;
    unsigned n = 0;
    endpoint_header(e, s, b->type, common);
    memcpy(common + WIRE_HEADER_SIZE, b->header, b->header_len);
    for (uint64_t want = b->want; want; want &= want - 1, n++) {
        unsigned index = (unsigned)__builtin_ctzll(want);
        uint8_t *header = scratch->headers[n];
        memcpy(header, common, header_len);
        put_u16(header + WIRE_HEADER_SIZE + b->index_at, (uint16_t)index);
        scratch->iov[2 * n] = (struct iovec){header, header_len};
        scratch->iov[2 * n + 1] = (struct iovec){(void *)(b->data + (size_t)index * b->segment),
                                                 burst_segment_len(b, index)};
    }
    return send_iov(t, &s->peer, scratch->iov, 2 * n, 2, n, header_len + b->segment);
}

/* The next datagram's bytes come from memory while this one is sealed. */
static void fetch_ahead(const Burst *b, uint64_t left)
{
    enum { LINE = 64 };
    if (left == 0)
        return;
    unsigned index = (unsigned)__builtin_ctzll(left);
    const uint8_t *data = b->data + (size_t)index * b->segment;
    for (size_t at = 0, len = burst_segment_len(b, index); at < len; at += LINE)
        __builtin_prefetch(data + at);
}

static int send_sealed(Transport *t, Endpoint *e, Session *s, const Burst *b, BurstScratch *scratch)
{
    unsigned n = 0;
    size_t at = 0;
    for (uint64_t want = b->want; want; want &= want - 1, n++) {
        uint8_t *out = scratch->sealed + at;
        uint8_t *payload = out + WIRE_HEADER_SIZE + WIRE_COUNTER_SIZE;
        size_t len = burst_payload(b, (unsigned)__builtin_ctzll(want), payload);
        fetch_ahead(b, want & (want - 1));
        size_t sealed = endpoint_seal(e, s, b->type, payload, len, out);
        if (sealed == 0)
            break; /* the crypto library failed: as lost as in the network */
        at += sealed;
    }
    if (n == 0)
        return 0;
    struct iovec all = {scratch->sealed, at};
    return send_iov(t, &s->peer, &all, 1, 0, n,
                    endpoint_overhead(e) + b->header_len + (size_t)b->segment);
}

int burst_send(Transport *t, Endpoint *e, Session *s, const Burst *b, BurstScratch *scratch)
{
    return endpoint_is_sealed(e) ? send_sealed(t, e, s, b, scratch)
                                 : send_gathered(t, e, s, b, scratch);
}
