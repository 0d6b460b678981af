/* SPDX-License-Identifier: MIT */
/* What every transport does with what is sent from one end to the other. */
#ifndef DODO_TESTS_UNIT_TRANSPORT_ENDS_H
#define DODO_TESTS_UNIT_TRANSPORT_ENDS_H

#include <pthread.h>
#include <string.h>

#include "base/time.h"
#include "tests/lib/case.h"
#include "usocket/transport.h"

enum { BUFFERS = 8 };
static const uint64_t PATIENCE_NS = 150 * NS_PER_S; /* before a datagram counts as lost */
static uint8_t in[BUFFERS][TRANSPORT_RECV_MAX];
static uint8_t sent[600000], got[600000];

typedef struct Ends {
    Transport *from, *to;
} Ends;

static inline void close_ends(Ends *e)
{
    e->from = transport_close(e->from);
    e->to = transport_close(e->to);
}

/* Receives @total bytes; every datagram's length is noted in @cuts. Returns the datagrams. */
static inline size_t collect(Ends *e, size_t total, uint16_t *cuts, bool *ret_joined)
{
    size_t at = 0, n = 0;
    while (at < total) {
        TransportReceive r[BUFFERS];
        for (int i = 0; i < BUFFERS; i++)
            r[i] = (TransportReceive){.buf = in[i], .cap = sizeof in[i]};
        assert_int_equal(transport_wait(e->to, PATIENCE_NS), 1);
        int k = e->to->ops->receive(e->to, r, BUFFERS);
        assert_in_range(k, 0, BUFFERS);
        for (int i = 0; i < k; i++) {
            assert_true(addr_equal(&r[i].from, &e->from->local));
            assert_true(at + r[i].len <= total);
            memcpy(got + at, r[i].buf, r[i].len);
            *ret_joined |= r[i].segment > 0;
            for (size_t o = 0, cut = r[i].segment ? r[i].segment : r[i].len; o < r[i].len; o += cut)
                cuts[n++] = (uint16_t)(r[i].len - o < cut ? r[i].len - o : cut);
            at += r[i].len;
        }
    }
    return n;
}

/* Sends a run of @len bytes in datagrams of @segment, each made of @per iovecs (0: one in all). */
static inline void send_run(Ends *e, size_t len, uint16_t segment, unsigned per)
{
    static struct iovec iov[2048];
    unsigned n = 0;
    for (size_t at = 0; per && at < len; at += segment) {
        size_t left = len - at < segment ? len - at : segment;
        for (unsigned i = 0; i < per; i++) {
            size_t part = i + 1 == per ? left : left / 2;
            size_t skip = (len - at < segment ? len - at : segment) - left;
            assert_true(n < sizeof iov / sizeof iov[0]);
            iov[n++] = (struct iovec){sent + at + skip, part};
            left -= part;
        }
    }
    if (!per)
        iov[n++] = (struct iovec){sent, len};
    TransportSend s = {.to = &e->to->local,
                       .iov = iov,
                       .iov_count = n,
                       .iov_per_segment = per,
                       .segment = segment};
    assert_int_equal(e->from->ops->send(e->from, &s, 1), 0);
}

static inline void check_run(Ends *e, size_t len, uint16_t segment, unsigned per, bool *ret_joined)
{
    static uint16_t cuts[1024];
    size_t want = (len + segment - 1) / segment;
    for (size_t i = 0; i < len; i++)
        sent[i] = (uint8_t)(i * 31 + i / 997 + len);
    send_run(e, len, segment, per);
    assert_int_equal(collect(e, len, cuts, ret_joined), want);
    for (size_t i = 0; i < want; i++)
        assert_int_equal(cuts[i], i + 1 < want ? segment : len - (want - 1) * segment);
    assert_memory_equal(got, sent, len);
}

static const struct {
    size_t len;
    uint16_t segment;
} runs[] = {
    {1, 1000},       /* a run of one short datagram */
    {1000, 1000},    /* one full */
    {1001, 1000},    /* one full, one of a byte */
    {2000, 1000},    /* even */
    {57344, 1456},   /* a chunk on Ethernet: 39 and an odd last */
    {65400, 1090},   /* exactly the most of one GSO message */
    {65401, 1090},   /* a byte more */
    {64000, 1000},   /* exactly the most segments */
    {150000, 1000},  /* several messages */
    {150000, 20000}, /* few large datagrams */
    {180000, 40000}, /* too large to join any two */
};

/* Each shape of run that has a way, in each shape of iovecs. */
static inline void check_all_runs(Ends *e, bool *ret_joined)
{
    const size_t max = e->from->ops->datagram_max(e->from, &e->to->local);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        for (unsigned per = 0; per < 4 && runs[i].segment <= max; per++)
            check_run(e, runs[i].len, runs[i].segment, per, ret_joined);
}

/* Many single datagrams keep their order. */
static inline void check_many(Ends *e)
{
    enum { COUNT = 300 };
    static struct iovec iov[COUNT];
    static TransportSend s[COUNT];
    static uint16_t cuts[COUNT];
    bool joined = false;
    size_t len = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        size_t n = 1 + i % 700;
        memset(sent + len, (int)i, n);
        iov[i] = (struct iovec){sent + len, n};
        s[i] = (TransportSend){.to = &e->to->local, .iov = &iov[i], .iov_count = 1};
        len += n;
    }
    assert_int_equal(e->from->ops->send(e->from, s, COUNT), 0);
    assert_int_equal(collect(e, len, cuts, &joined), COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(cuts[i], iov[i].iov_len);
    assert_memory_equal(got, sent, len);
}

static inline void check_nothing(Ends *e)
{
    TransportReceive r = {.buf = in[0], .cap = sizeof in[0]};
    assert_int_equal(e->to->ops->receive(e->to, &r, 1), 0);
    assert_int_equal(transport_wait(e->to, 0), 0);
    assert_int_equal(transport_wait(e->to, NS_PER_MS), 0);
}

/* The longest datagram goes through. */
static inline void check_longest(Ends *e)
{
    bool joined = false;
    uint16_t cuts[2];
    size_t max = e->from->ops->datagram_max(e->from, &e->to->local);
    assert_in_range(max, 1232, 65507);
    struct iovec v = {sent, max};
    TransportSend s = {.to = &e->to->local, .iov = &v, .iov_count = 1};
    assert_int_equal(e->from->ops->send(e->from, &s, 1), 0);
    assert_int_equal(collect(e, max, cuts, &joined), 1);
    assert_int_equal(e->from->ops->datagram_max(e->from, &e->to->local), max);
}

static inline void *nudge_later(void *arg)
{
    const Transport *t = arg;
    t->ops->nudge(t);
    return NULL;
}

/* However a nudge of another thread and a sleep meet: what came before the sleep ends it too. */
static inline void check_nudges(Transport *t)
{
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        TransportReceive r = {.buf = in[0], .cap = sizeof in[0]};
        assert_int_equal(pthread_create(&thread, NULL, nudge_later, t), 0);
        assert_int_equal(t->ops->receive_asleep(t, &r, 1), 1);
        assert_int_equal(r.len, 0);
        assert_true(addr_equal(&r.from, &t->local));
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

#endif
