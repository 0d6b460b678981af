/* SPDX-License-Identifier: MIT */
/* Writes over the simulated wire to a server that only reacts, and what every step must hold. */
#ifndef DODO_TESTS_TRANSFER_WRITE_SIM_H
#define DODO_TESTS_TRANSFER_WRITE_SIM_H

#include <stdio.h>

#include "base/cleanup.h"
#include "proto/transfer_private.h"
#include "tests/lib/case.h"
#include "tests/unit/transfer_sim.h"

enum {
    SEGMENT = 1400,
    KIB = 1024,
};

/* What the server knows of a chunk. */
typedef struct Slot {
    uint64_t received;
    uint32_t expected;
    bool done, refused;
} Slot;

typedef struct WriteSim {
    SimWorld *w;
    WriteTransfer t;
    PathEstimate path;
    CreditPool pool;
    TransferCounters count;
    TransferConfig config;
    uint64_t next_number;
    uint64_t base; /* number, or transfer, of the first chunk under way */
    /* the server */
    Slot slots[TRANSFER_CHUNKS_MAX];
    uint8_t memory[TRUTH_BYTES];
    unsigned busy; /* so many messages get BUSY */
    uint16_t status;
    uint64_t stale; /* chunks refused as STALE */
    uint32_t grant;
    uint32_t forget_ppm; /* drops an open chunk: a fill gives way */
    /* what was sent: of the transfer under way */
    uint8_t sent[TRANSFER_CHUNKS_MAX][WIRE_SEGMENTS_MAX];
    unsigned bursts, polls, acks;
    uint64_t last_want;
    /* sums over all transfers */
    uint64_t data, data_again, data_lost;
} WriteSim;

static const RegionAddress address = {
    .epoch = 11, .region = 22, .opening = 1, .capability = {{1, 2, 3}}};

static inline WriteSim *sim_new(uint64_t seed)
{
    WriteSim *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->w = world_new(seed);
    s->next_number = 1;
    s->grant = 1024 * KIB;
    credit_init(&s->pool, 1024 * KIB);
    s->config = (TransferConfig){.segment = SEGMENT,
                                 .deadline_ns = NS_PER_S,
                                 .credit = &s->pool,
                                 .path = &s->path,
                                 .count = &s->count};
    return s;
}

static inline void sim_free(WriteSim *s)
{
    world_free(s->w);
    free(s);
}

/* ---- the server ----------------------------------------------------------------------------- */

static inline void serve_ack(WriteSim *s, const WireWrite *m, uint8_t state, uint16_t status,
                             uint64_t received)
{
    WireWriteAck ack = {.number = m->number,
                        .transfer = m->transfer,
                        .kind = m->kind,
                        .state = state,
                        .status = status,
                        .grant = s->grant,
                        .received = received};
    uint8_t out[WIRE_WRITE_ACK_SIZE];
    (void)world_send(s->w, TO_CLIENT, WIRE_WRITE_ACK, out, wire_write_ack_encode(&ack, out));
}

/* True when the segment leaves or closes a gap. */
static inline bool slot_take(WriteSim *s, Slot *slot, const WireWrite *m)
{
    uint64_t bit = (uint64_t)1 << m->index;
    if (slot->received & bit)
        return false;
    slot->received |= bit;
    memcpy(s->memory + m->offset + (size_t)m->index * m->segment, m->data, m->data_len);
    bool gap = m->index != slot->expected;
    if (m->index >= slot->expected)
        slot->expected = m->index + 1u;
    return gap;
}

static inline void serve_chunk(WriteSim *s, const WireWrite *m, Slot *slot)
{
    if (slot->done || m->kind == WRITE_VOID) {
        slot->done = true;
        serve_ack(s, m, WRITE_DONE, 0, 0);
        return;
    }
    if (world_chance(s->w, s->forget_ppm))
        *slot = (Slot){0};
    bool tell = m->index == WIRE_INDEX_NONE || slot_take(s, slot, m);
    if (slot->received == wire_segment_mask(wire_segment_count(m->len, m->segment))) {
        slot->done = true;
        assert_memory_equal(s->memory + m->offset, truth + m->offset, m->len);
        serve_ack(s, m, WRITE_DONE, 0, 0);
    } else if (tell) {
        serve_ack(s, m, WRITE_OPEN, 0, slot->received);
    }
}

static inline void serve(WriteSim *s, const Event *e)
{
    WireWrite m;
    assert_int_equal(e->type, WIRE_WRITE);
    assert_int_equal(wire_write_decode(e->bytes, e->len, &m), 0);
    assert_int_equal(m.address.region, address.region);
    assert_true(id128_equal(&m.address.capability, &address.capability));
    uint64_t i = (m.kind == WRITE_FILL ? m.transfer : m.number) - s->base;
    if (s->status != STATUS_OK) {
        serve_ack(s, &m, WRITE_REFUSED, s->status, 0);
    } else if (s->busy > 0) {
        s->busy--;
        serve_ack(s, &m, WRITE_REFUSED, STATUS_BUSY, 0);
    } else if (i >= s->t.chunks_count || m.kind != s->t.kind) {
        serve_ack(s, &m, WRITE_DONE, 0, 0); /* of an earlier transfer */
    } else if (s->stale >> i & 1) {
        s->slots[i].refused = true;
        serve_ack(s, &m, WRITE_REFUSED, STATUS_STALE, 0);
    } else {
        serve_chunk(s, &m, &s->slots[i]);
    }
}

/* ---- the driver ----------------------------------------------------------------------------- */

static inline void check_credit(const WriteSim *s)
{
    uint64_t flight = 0;
    for (unsigned i = 0; i < s->t.p.next_chunk; i++) {
        const WriteChunk *c = &s->t.chunks[i];
        Cut cut = {.len = c->len, .segment = s->t.config.segment, .last = c->last};
        flight += cut_bytes(&cut, c->flight);
        assert_int_equal(c->flight & c->received, 0);
        assert_int_equal(c->flight & ~c->sent, 0);
    }
    assert_int_equal(s->t.p.flight.bytes, flight);
    assert_int_equal(s->pool.used_bytes, flight - s->t.p.flight.given + s->t.p.flight.owed);
}

static inline void send_burst(WriteSim *s, const Burst *b)
{
    static uint8_t out[WIRE_WRITE_HEADER_SIZE + WIRE_SEGMENT_MAX];
    s->bursts++;
    s->last_want = b->want;
    for (uint64_t want = b->want; want; want &= want - 1) {
        unsigned i = map_lowest(want);
        size_t n = burst_payload(b, i, out);
        WireWrite m;
        assert_int_equal(wire_write_decode(out, n, &m), 0);
        uint64_t chunk = (m.kind == WRITE_FILL ? m.transfer : m.number) - s->base;
        assert_true(chunk < s->t.chunks_count);
        s->data++;
        s->data_again += s->sent[chunk][i]++ > 0;
        s->data_lost += !world_send(s->w, TO_SERVER, WIRE_WRITE, out, n);
    }
}

static inline void send_all(WriteSim *s)
{
    Burst burst;
    uint8_t poll[WIRE_WRITE_HEADER_SIZE];
    size_t n;
    int what;
    while ((what = write_transfer_output(&s->t, &burst, poll, &n, s->w->now_ns)) != WRITE_NOTHING) {
        if (what == WRITE_BURST) {
            send_burst(s, &burst);
        } else {
            s->polls++;
            assert_int_equal(n, WIRE_WRITE_HEADER_SIZE);
            (void)world_send(s->w, TO_SERVER, WIRE_WRITE, poll, n);
        }
        check_credit(s);
    }
}

static inline void start(WriteSim *s, enum WriteKind kind, uint64_t offset, size_t len)
{
    memset(s->slots, 0, sizeof s->slots);
    memset(s->sent, 0, sizeof s->sent);
    memset(s->memory + offset, 0xEE, len);
    s->bursts = s->polls = s->acks = 0;
    memset(&s->t, 0xA5, sizeof s->t); /* start() must set all that it goes by */
    s->base = s->next_number;
    s->next_number += write_chunk_count(offset, len);
    write_transfer_start(
        &s->t, &s->config, &address, kind, offset, kind == WRITE_VOID ? NULL : truth + offset, len,
        kind == WRITE_FILL ? 77 : s->base, kind == WRITE_FILL ? s->base : 0, s->w->now_ns);
    send_all(s);
}

static inline void step(WriteSim *s)
{
    uint64_t deadline = write_transfer_deadline(&s->t);
    if (world_next_ns(s->w) <= deadline) {
        Event e = world_pop(s->w);
        if (e.at_ns > s->w->now_ns) /* else it waited while the process was stopped */
            s->w->now_ns = e.at_ns;
        if (e.side == TO_SERVER) {
            serve(s, &e);
        } else {
            WireWriteAck m;
            assert_int_equal(wire_write_ack_decode(e.bytes, e.len, &m), 0);
            write_transfer_input(&s->t, &m, s->w->now_ns);
            s->acks++;
        }
        free(e.bytes);
    } else {
        assert_true(deadline > s->w->now_ns);
        s->w->now_ns = deadline;
        write_transfer_expire(&s->t, s->w->now_ns);
    }
    if (s->t.state == TRANSFER_RUNNING)
        send_all(s);
    check_credit(s);
}

static inline void finish(WriteSim *s)
{
    for (int i = 0; s->t.state == TRANSFER_RUNNING; i++) {
        assert_true(i < 2000000);
        step(s);
    }
    if (s->t.state == TRANSFER_COMPLETE)
        assert_int_equal(s->pool.used_bytes, 0); /* to the byte, without end() */
    write_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 0);
}

static inline void write_whole(WriteSim *s, enum WriteKind kind, uint64_t offset, size_t len)
{
    start(s, kind, offset, len);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    unsigned refused = 0;
    for (unsigned i = 0; i < s->t.chunks_count; i++) {
        assert_true(s->slots[i].done != s->slots[i].refused);
        refused += s->slots[i].refused;
    }
    assert_int_equal(s->t.refused_chunks, refused);
    if (kind != WRITE_VOID && !refused)
        assert_memory_equal(s->memory + offset, truth + offset, len);
}

#endif
