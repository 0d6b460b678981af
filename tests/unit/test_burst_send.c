/* SPDX-License-Identifier: MIT */
/* A burst arrives as the datagrams it stands for, sealed and unsealed, whatever segments it has. */
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "usocket/burst_send.h"
#include "tests/lib/case.h"

typedef struct Fixture {
    Transport *ends[2];
    Endpoint *endpoints[2]; /* the first initiated */
    Session *to;            /* from the first to the second */
    BurstScratch scratch;
    uint8_t data[WIRE_CHUNK_MAX], got[WIRE_CHUNK_MAX];
    uint64_t seen; /* segments */
    uint8_t buffer[TRANSPORT_RECV_MAX];
} Fixture;

static void send_plain(Transport *t, const Addr *to, const uint8_t *bytes, size_t len)
{
    struct iovec v = {(void *)bytes, len};
    TransportSend s = {.to = to, .iov = &v, .iov_count = 1};
    assert_int_equal(t->ops->send(t, &s, 1), 0);
}

static size_t receive(Fixture *f, int end, TransportReceive *r)
{
    *r = (TransportReceive){.buf = f->buffer, .cap = sizeof f->buffer};
    return (size_t)f->ends[end]->ops->receive(f->ends[end], r, 1);
}

/* HELLO and its answer, by hand. */
static void shake_hands(Fixture *f)
{
    uint8_t out[256];
    TransportReceive r;
    EndpointInput in;
    Addr to;
    f->to = endpoint_connect(f->endpoints[0], &f->ends[1]->local, 1);
    size_t len = endpoint_output(f->endpoints[0], out, sizeof out, &to, 1);
    assert_true(len > 0);
    send_plain(f->ends[0], &to, out, len);
    assert_int_equal(receive(f, 1, &r), 1);
    assert_int_equal(endpoint_input(f->endpoints[1], &r.from, r.buf, r.len, 2, &in),
                     ENDPOINT_NOTHING);
    send_plain(f->ends[1], &r.from, in.reply, in.reply_len);
    assert_int_equal(receive(f, 0, &r), 1);
    assert_int_equal(endpoint_input(f->endpoints[0], &r.from, r.buf, r.len, 3, &in), ENDPOINT_UP);
}

static void open_fixture(Fixture *f, bool sealed)
{
    const Env env = os_env();
    assert_int_equal(transport_pair_open(f->ends), 0);
    for (int i = 0; i < 2; i++) {
        EndpointConfig c = {.cluster = 9,
                            .keys_count = sealed,
                            .role = i ? ROLE_IMD : ROLE_CLIENT,
                            .self = {{(uint8_t)(i + 1)}},
                            .sessions_max = 4,
                            .half_open_max = 4,
                            .hello_retry_ns = 1000};
        f->endpoints[i] = endpoint_new(&c, &env);
        assert_non_null(f->endpoints[i]);
    }
    for (size_t i = 0; i < sizeof f->data; i++)
        f->data[i] = (uint8_t)(i * 13 + i / 501);
    shake_hands(f);
}

static void close_fixture(Fixture *f)
{
    for (int i = 0; i < 2; i++) {
        endpoint_free(f->endpoints[i]);
        transport_close(f->ends[i]);
    }
}

static void take_datagram(Fixture *f, const Addr *from, uint8_t *bytes, size_t len, const Burst *b)
{
    EndpointInput in;
    WireWrite w;
    assert_int_equal(endpoint_input(f->endpoints[1], from, bytes, len, 4, &in), ENDPOINT_MESSAGE);
    assert_int_equal(in.type, WIRE_WRITE);
    assert_int_equal(wire_write_decode(in.payload, in.payload_len, &w), 0);
    assert_int_equal(w.number, 77);
    assert_true(w.index < 64 && !(f->seen >> w.index & 1));
    assert_int_equal(w.data_len, burst_segment_len(b, w.index));
    memcpy(f->got + (size_t)w.index * b->segment, w.data, w.data_len);
    f->seen |= (uint64_t)1 << w.index;
}

static void check_burst(Fixture *f, uint32_t len, uint16_t segment, uint64_t want)
{
    WireWrite m = {.address = {.epoch = 1, .region = 2, .opening = 1},
                   .kind = WRITE_DATA,
                   .number = 77,
                   .len = len,
                   .segment = segment};
    Burst b;
    TransportReceive r;
    want &= wire_segment_mask(wire_segment_count(len, segment));
    burst_init_write(&b, &m, want, f->data);
    f->seen = 0;
    memset(f->got, 0, sizeof f->got);
    assert_int_equal(burst_send(f->ends[0], f->endpoints[0], f->to, &b, &f->scratch), 0);
    while (receive(f, 1, &r) == 1) {
        size_t step = r.segment ? r.segment : r.len;
        for (size_t at = 0; at < r.len; at += step)
            take_datagram(f, &r.from, r.buf + at, r.len - at < step ? r.len - at : step, &b);
    }
    assert_int_equal(f->seen, want);
    for (unsigned i = 0; i < wire_segment_count(len, segment); i++)
        if (want >> i & 1)
            assert_memory_equal(f->got + (size_t)i * segment, f->data + (size_t)i * segment,
                                burst_segment_len(&b, i));
}

static void check_bursts(bool sealed)
{
    static const struct {
        uint32_t len;
        uint16_t segment;
        uint64_t want;
    } cases[] = {
        {1, 896, UINT64_MAX},
        {896, 896, UINT64_MAX},
        {897, 896, UINT64_MAX},            /* a last one of a byte */
        {897, 896, 2},                     /* only that */
        {WIRE_CHUNK_MAX, 896, UINT64_MAX}, /* most datagrams */
        {WIRE_CHUNK_MAX, 1400, UINT64_MAX},
        {WIRE_CHUNK_MAX, 1400, 0xaaaaaaaaaaaaaaaa}, /* with holes */
        {WIRE_CHUNK_MAX, 1400, 1ull << 40},         /* the short last one */
        {WIRE_CHUNK_MAX, 1400, 1ull << 3},
        {WIRE_CHUNK_MAX, 8900, UINT64_MAX},
        {WIRE_CHUNK_MAX, WIRE_CHUNK_MAX, 1},
    };
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    open_fixture(f, sealed);
    assert_int_equal(endpoint_is_sealed(f->endpoints[0]), sealed);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_burst(f, cases[i].len, cases[i].segment, cases[i].want);
    close_fixture(f);
    free(f);
}

TEST(burst_send__unsealed)
{
    check_bursts(false);
}

TEST(burst_send__sealed)
{
    check_bursts(true);
}
