/* SPDX-License-Identifier: MIT */
/* Reads over the simulated wire from a server that keeps nothing, and what every step must hold. */
#ifndef DODO_TESTS_TRANSFER_READ_SIM_H
#define DODO_TESTS_TRANSFER_READ_SIM_H

#include <stdio.h>

#include "base/cleanup.h"
#include "proto/transfer_private.h"
#include "tests/lib/case.h"
#include "tests/unit/transfer_sim.h"

enum {
    SEGMENT = 1400,
    KIB = 1024,
    BLOCKS_MAX = TRANSFER_BLOCKS_MAX + 64,
    POISON_BYTE = 0xEE,
};

typedef struct ReadSim {
    SimWorld *w;
    ReadTransfer t;
    PathEstimate path;
    CreditPool pool;
    TransferCounters count;
    TransferConfig config;
    uint64_t next_ask, first_ask;
    bool reuse; /* what the transfer before left in the struct stays there */
    /* the server */
    bool unfilled[BLOCKS_MAX];
    unsigned busy; /* so many READs get BUSY */
    uint16_t status;
    uint32_t toggle_ppm; /* a block changes between filled and unfilled */
    /* what it saw: of the transfer under way */
    uint8_t served[TRANSFER_CHUNKS_MAX][WIRE_SEGMENTS_MAX];
    unsigned reads, busy_answers;
    uint64_t last_ask_seen, last_want;
    /* sums over all transfers */
    uint64_t data, data_again, data_lost;
    uint64_t wait_ns;
    uint8_t buf[TRANSFER_BYTES_MAX];
} ReadSim;

static const RegionAddress address = {
    .epoch = 11, .region = 22, .opening = 1, .capability = {{1, 2, 3}}};

static inline ReadSim *sim_new(uint64_t seed)
{
    ReadSim *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->w = world_new(seed);
    s->next_ask = 1;
    credit_init(&s->pool, 1024 * KIB);
    s->config = (TransferConfig){.segment = SEGMENT,
                                 .deadline_ns = NS_PER_S,
                                 .credit = &s->pool,
                                 .path = &s->path,
                                 .count = &s->count};
    return s;
}

static inline void sim_free(ReadSim *s)
{
    world_free(s->w);
    free(s);
}

/* ---- the server ----------------------------------------------------------------------------- */

static inline void serve_none(ReadSim *s, const WireRead *m, uint16_t status, uint32_t filled)
{
    WireData d = {.ask = m->ask, .index = WIRE_INDEX_NONE, .status = status, .filled = filled};
    uint8_t out[WIRE_DATA_HEADER_SIZE];
    (void)world_send(s->w, TO_CLIENT, WIRE_DATA, out, wire_data_encode_header(&d, out));
}

static inline uint32_t filled_map(ReadSim *s, const WireRead *m)
{
    uint64_t first = m->offset / WIRE_BLOCK_SIZE;
    uint64_t last = (m->offset + m->len - 1) / WIRE_BLOCK_SIZE;
    uint32_t map = 0;
    for (uint64_t b = first; b <= last; b++) {
        if (world_chance(s->w, s->toggle_ppm))
            s->unfilled[b] = !s->unfilled[b];
        if (!s->unfilled[b])
            map |= 1u << (b - first);
    }
    return map;
}

static inline uint64_t segments_filled(ReadSim *s, const WireRead *m)
{
    uint64_t can = 0;
    for (uint64_t want = m->want; want; want &= want - 1) {
        unsigned i = map_lowest(want);
        uint64_t from = m->offset + (uint64_t)i * m->segment, to = from + m->segment;
        if (to > m->offset + m->len)
            to = m->offset + m->len;
        bool all = true;
        for (uint64_t b = from / WIRE_BLOCK_SIZE; b <= (to - 1) / WIRE_BLOCK_SIZE; b++)
            all &= !s->unfilled[b];
        if (all)
            can |= want & -want;
    }
    return can;
}

/* Counts what leaves the server, but for answers to copies that the wire made. */
static inline void serve_segment(ReadSim *s, const WireRead *m, const Burst *b, unsigned i,
                                 bool copy)
{
    static uint8_t out[WIRE_DATA_HEADER_SIZE + WIRE_SEGMENT_MAX];
    bool came = world_send(s->w, TO_CLIENT, WIRE_DATA, out, burst_payload(b, i, out));
    if (copy || m->ask < s->first_ask)
        return;
    s->data++;
    s->data_again += s->served[(m->offset - s->t.offset) / WIRE_CHUNK_MAX][i]++ > 0;
    s->data_lost += !came;
}

static inline void serve(ReadSim *s, const Event *e)
{
    WireRead m;
    assert_int_equal(e->type, WIRE_READ);
    assert_int_equal(wire_read_decode(e->bytes, e->len, &m), 0);
    assert_int_equal(m.address.region, address.region);
    assert_true(id128_equal(&m.address.capability, &address.capability));
    if (!e->copy) {
        s->reads++;
        s->last_ask_seen = m.ask;
        s->last_want = m.want;
    }
    if (s->status != STATUS_OK || s->busy > 0) {
        s->busy_answers += s->busy > 0;
        serve_none(s, &m, s->busy > 0 ? STATUS_BUSY : s->status, 0);
        s->busy -= s->busy > 0;
        return;
    }
    WireData d = {.ask = m.ask, .filled = filled_map(s, &m)};
    uint64_t can = segments_filled(s, &m);
    if (!can) {
        serve_none(s, &m, STATUS_OK, d.filled);
        return;
    }
    Burst b;
    burst_init_data(&b, &d, m.len, m.segment, can, truth + m.offset);
    for (; can; can &= can - 1)
        serve_segment(s, &m, &b, map_lowest(can), e->copy);
}

/* ---- the driver ----------------------------------------------------------------------------- */

static inline void check_credit(const ReadSim *s)
{
    uint64_t asked = 0;
    for (unsigned i = 0; i < s->t.chunks_count; i++) {
        const ReadChunk *c = &s->t.chunks[i];
        Cut cut = {.len = c->len, .segment = s->t.config.segment, .last = c->last};
        asked += cut_bytes(&cut, c->asked);
        assert_int_equal(c->asked & ~c->missing, 0);
    }
    assert_int_equal(s->t.p.flight.bytes, asked);
    assert_int_equal(s->pool.used_bytes, asked - s->t.p.flight.given + s->t.p.flight.owed);
}

static inline void send_all(ReadSim *s)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    uint64_t last = s->next_ask - 1;
    for (size_t n; (n = read_transfer_output(&s->t, out, s->w->now_ns)) > 0;) {
        WireRead m;
        assert_int_equal(wire_read_decode(out, n, &m), 0);
        assert_true(m.ask > last);
        last = m.ask;
        (void)world_send(s->w, TO_SERVER, WIRE_READ, out, n);
        check_credit(s);
    }
}

static inline void start(ReadSim *s, uint64_t offset, size_t len)
{
    memset(s->buf, POISON_BYTE, len);
    memset(s->served, 0, sizeof s->served);
    s->reads = 0;
    s->first_ask = s->next_ask;
    if (!s->reuse)
        memset(&s->t, 0xA5, sizeof s->t); /* start() must set all that it goes by */
    read_transfer_start(&s->t, &s->config, &address, offset, s->buf, len, &s->next_ask,
                        s->w->now_ns);
    send_all(s);
}

/* One event or time-out. */
static inline void step(ReadSim *s)
{
    uint64_t deadline = read_transfer_deadline(&s->t);
    if (world_next_ns(s->w) <= deadline) {
        Event e = world_pop(s->w);
        if (e.at_ns > s->w->now_ns) /* else it waited while the process was stopped */
            s->w->now_ns = e.at_ns;
        if (e.side == TO_SERVER) {
            serve(s, &e);
        } else {
            WireData m;
            assert_int_equal(wire_data_decode(e.bytes, e.len, &m), 0);
            read_transfer_input(&s->t, &m, s->w->now_ns);
        }
        free(e.bytes);
    } else {
        assert_true(deadline > s->w->now_ns); /* time moves on: no shell would spin */
        s->w->now_ns = deadline;
        read_transfer_expire(&s->t, s->w->now_ns);
    }
    if (s->t.state == TRANSFER_RUNNING)
        send_all(s);
    check_credit(s);
}

static inline void finish(ReadSim *s)
{
    for (int i = 0; s->t.state == TRANSFER_RUNNING; i++) {
        assert_true(i < 2000000);
        step(s);
    }
    if (s->t.state == TRANSFER_COMPLETE)
        assert_int_equal(s->pool.used_bytes, 0); /* to the byte, without end() */
    read_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 0);
}

static inline bool block_is_right(const ReadSim *s, uint64_t block)
{
    uint64_t from = block * WIRE_BLOCK_SIZE, to = from + WIRE_BLOCK_SIZE;
    if (from < s->t.offset)
        from = s->t.offset;
    if (to > s->t.offset + s->t.len)
        to = s->t.offset + s->t.len;
    return memcmp(s->buf + (from - s->t.offset), truth + from, to - from) == 0;
}

/* Every byte is right, or its block is reported; of a still server not more than need be. */
static inline void check_bytes(const ReadSim *s, bool still)
{
    uint64_t first = s->t.offset / WIRE_BLOCK_SIZE;
    uint64_t last = (s->t.offset + s->t.len - 1) / WIRE_BLOCK_SIZE;
    uint64_t reach = s->t.config.segment / WIRE_BLOCK_SIZE + 1;
    bool any = false;
    for (uint64_t b = first; b <= last; b++) {
        bool reported = read_transfer_unfilled(&s->t, b), near = false;
        any |= reported;
        if (!reported)
            assert_true(block_is_right(s, b));
        for (uint64_t n = b < reach ? 0 : b - reach; still && n <= b + reach; n++)
            near |= s->unfilled[n];
        if (still && s->unfilled[b])
            assert_true(reported);
        if (still && reported)
            assert_true(near);
    }
    assert_int_equal(read_transfer_all_filled(&s->t), !any);
    assert_true(read_transfer_unfilled(&s->t, last + 1));
    if (first > 0)
        assert_true(read_transfer_unfilled(&s->t, first - 1));
}

static inline void read_whole(ReadSim *s, uint64_t offset, size_t len)
{
    uint64_t begin = s->w->now_ns;
    start(s, offset, len);
    finish(s);
    s->wait_ns += s->w->now_ns - begin;
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    check_bytes(s, s->toggle_ppm == 0);
}

#endif
