/* SPDX-License-Identifier: MIT */
/* Reading over a simulated wire from a server that keeps nothing: right bytes or none, no more
 * sent again than was lost, and every byte of credit given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/cleanup.h"
#include "proto/transfer_private.h"
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

static ReadSim *sim_new(uint64_t seed)
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

static void sim_free(ReadSim *s)
{
    world_free(s->w);
    free(s);
}

/* ---- the server ----------------------------------------------------------------------------- */

static void serve_none(ReadSim *s, const WireRead *m, uint16_t status, uint32_t filled)
{
    WireData d = {.ask = m->ask, .index = WIRE_INDEX_NONE, .status = status, .filled = filled};
    uint8_t out[WIRE_DATA_HEADER_SIZE];
    (void)world_send(s->w, TO_CLIENT, WIRE_DATA, out, wire_data_encode_header(&d, out));
}

static uint32_t filled_map(ReadSim *s, const WireRead *m)
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

static uint64_t segments_filled(ReadSim *s, const WireRead *m)
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
static void serve_segment(ReadSim *s, const WireRead *m, const Burst *b, unsigned i, bool copy)
{
    static uint8_t out[WIRE_DATA_HEADER_SIZE + WIRE_SEGMENT_MAX];
    bool came = world_send(s->w, TO_CLIENT, WIRE_DATA, out, burst_payload(b, i, out));
    if (copy || m->ask < s->first_ask)
        return;
    s->data++;
    s->data_again += s->served[(m->offset - s->t.offset) / WIRE_CHUNK_MAX][i]++ > 0;
    s->data_lost += !came;
}

static void serve(ReadSim *s, const Event *e)
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

static void check_credit(const ReadSim *s)
{
    uint64_t asked = 0;
    for (unsigned i = 0; i < s->t.chunks_count; i++) {
        const ReadChunk *c = &s->t.chunks[i];
        Cut cut = {.len = c->len, .segment = s->t.config.segment, .last = c->last};
        asked += cut_bytes(&cut, c->asked);
        assert_int_equal(c->asked & ~c->missing, 0);
    }
    assert_int_equal(s->t.p.flight.bytes, asked);
    assert_int_equal(s->pool.used_bytes, asked + s->t.p.flight.owed);
}

static void send_all(ReadSim *s)
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

static void start(ReadSim *s, uint64_t offset, size_t len)
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
static void step(ReadSim *s)
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

static void finish(ReadSim *s)
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

static bool block_is_right(const ReadSim *s, uint64_t block)
{
    uint64_t from = block * WIRE_BLOCK_SIZE, to = from + WIRE_BLOCK_SIZE;
    if (from < s->t.offset)
        from = s->t.offset;
    if (to > s->t.offset + s->t.len)
        to = s->t.offset + s->t.len;
    return memcmp(s->buf + (from - s->t.offset), truth + from, to - from) == 0;
}

/* Every byte is right, or its block is reported; of a still server not more than need be. */
static void check_bytes(const ReadSim *s, bool still)
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

static void read_whole(ReadSim *s, uint64_t offset, size_t len)
{
    uint64_t begin = s->w->now_ns;
    start(s, offset, len);
    finish(s);
    s->wait_ns += s->w->now_ns - begin;
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    check_bytes(s, s->toggle_ppm == 0);
}

/* ---- without faults ------------------------------------------------------------------------- */

static void read_transfer__sizes_and_offsets(void **state)
{
    (void)state;
    static const size_t lens[] = {1,     895,   4096,  8192,   14336,  57343,
                                  57344, 57345, 65536, 262144, 1000003};
    static const uint64_t offsets[] = {0, 1, 4095, 4096, 123456};
    static const uint16_t segments[] = {WIRE_SEGMENT_MIN, 1400, 8000, WIRE_SEGMENT_MAX};
    ReadSim *s = sim_new(1);
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
        for (size_t j = 0; j < ARRAY_SIZE(offsets); j++)
            for (size_t k = 0; k < ARRAY_SIZE(segments); k++) {
                s->config.segment = segments[k];
                read_whole(s, offsets[j], lens[i]);
                assert_true(read_transfer_all_filled(&s->t));
            }
    assert_int_equal(s->data_again, 0);
    assert_int_equal(s->count.resent, 0);
    assert_int_equal(s->count.ignored, 0);
    sim_free(s);
}

static void read_transfer__largest(void **state)
{
    (void)state;
    ReadSim *s = sim_new(2);
    read_whole(s, 4095, TRANSFER_BYTES_MAX);
    assert_int_equal(s->t.chunks_count, TRANSFER_CHUNKS_MAX);
    read_whole(s, 0, TRANSFER_BYTES_MAX);
    s->unfilled[TRANSFER_BLOCKS_MAX - 1] = true; /* the last of all that a bitmap must hold */
    read_whole(s, 1, TRANSFER_BYTES_MAX);
    assert_false(read_transfer_all_filled(&s->t));
    assert_int_equal(s->data_again, 0);
    sim_free(s);
}

static void read_transfer__small_read_is_one_ask(void **state)
{
    (void)state;
    ReadSim *s = sim_new(3);
    read_whole(s, 8192, 8192);
    assert_int_equal(s->reads, 1);
    assert_int_equal(s->count.asks, 1);
    assert_int_equal(s->count.datagrams, 6);
    sim_free(s);
}

/* 64 KiB of credit at first: more than one chunk is asked for before anything came. */
static void read_transfer__asks_as_far_as_the_window_allows(void **state)
{
    (void)state;
    ReadSim *s = sim_new(4);
    start(s, 0, 300000);
    assert_int_equal(s->count.asks, 1); /* the 8 KiB left are not worth an ask of their own */
    assert_in_range(s->pool.used_bytes, 50 * KIB, 64 * KIB);
    finish(s);
    s->pool.window_bytes = 80 * KIB;
    start(s, 0, 300000);
    assert_int_equal(s->count.asks > 2, true);
    assert_in_range(s->pool.used_bytes, 75 * KIB, 80 * KIB);
    assert_in_range(map_count(s->t.chunks[1].asked), 10, 20);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_int_equal(s->data_again, 0);
    sim_free(s);
}

static void read_transfer__window_grows_only_where_it_held_back(void **state)
{
    (void)state;
    ReadSim *s = sim_new(5);
    for (int i = 0; i < 50; i++)
        read_whole(s, 0, 8192);
    assert_int_equal(s->pool.window_bytes, CREDIT_START_BYTES);
    for (int i = 0; i < 50; i++)
        read_whole(s, 0, 1000000);
    assert_true(s->pool.window_bytes > 2 * CREDIT_START_BYTES);
    sim_free(s);
}

/* Others have all the credit: still never stuck, if only step by step. */
static void read_transfer__progress_without_credit(void **state)
{
    (void)state;
    ReadSim *s = sim_new(6);
    assert_int_equal(credit_take(&s->pool, 64 * KIB, 1, false), 64 * KIB);
    s->config.count = NULL;
    read_transfer_start(&s->t, &s->config, &address, 0, s->buf, 100000, &s->next_ask, s->w->now_ns);
    uint8_t out[WIRE_PAYLOAD_MAX];
    assert_int_equal(read_transfer_output(&s->t, out, s->w->now_ns), WIRE_READ_SIZE);
    assert_int_equal(read_transfer_output(&s->t, out, s->w->now_ns), 0);
    assert_in_range(s->t.p.flight.bytes, 1, CREDIT_LEAST);
    read_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 64 * KIB);
    credit_return(&s->pool, 64 * KIB);

    s->pool.window_bytes = 1;
    read_whole(s, 0, 100000);
    sim_free(s);
}

static void read_transfer__clean_wire_with_jitter_sends_nothing_again(void **state)
{
    (void)state;
    static const struct {
        uint64_t delay_us, jitter_us, rate;
    } wires[] = {
        {50, 0, 125000000},   {50, 50, 125000000},   {20, 200, 1250000000},
        {500, 500, 12500000}, {5000, 1000, 1250000}, {5, 5, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(wires); i++) {
        ReadSim *s = sim_new(100 + i);
        for (int k = 0; k < 2; k++) {
            s->w->wires[k].delay_ns = wires[i].delay_us * NS_PER_US;
            s->w->wires[k].jitter_ns = wires[i].jitter_us * NS_PER_US;
            s->w->wires[k].rate_bps = wires[i].rate;
        }
        for (int k = 0; k < 200; k++)
            read_whole(s, 4096, k % 4 == 0 ? 500000 : 8192);
        assert_int_equal(s->data_again, 0);
        assert_int_equal(s->count.resent, 0);
        sim_free(s);
    }
}

static void read_transfer__round_trip_is_measured(void **state)
{
    (void)state;
    ReadSim *s = sim_new(7);
    for (int k = 0; k < 2; k++)
        s->w->wires[k] = (Wire){.delay_ns = 300 * NS_PER_US, .rate_bps = 0};
    read_whole(s, 0, 4096);
    assert_int_equal(s->path.srtt_ns, 600 * NS_PER_US);
    s->w->wires[TO_CLIENT].rate_bps = 10000000;
    for (int i = 0; i < 100; i++)
        read_whole(s, 0, 57344);
    assert_in_range(s->path.rate_bps, 9000000, 11000000);
    sim_free(s);
}

/* ---- loss ----------------------------------------------------------------------------------- */

/* What was lost in the middle is asked for again, exactly that, a reorder time after its gap. */
static void read_transfer__gap_is_asked_again_exactly(void **state)
{
    (void)state;
    ReadSim *s = sim_new(10);
    read_whole(s, 0, 8192);                  /* measures the path */
    s->w->wires[TO_CLIENT].drop_mask = 0x0a; /* segments 1 and 3 of 6 */
    uint64_t begin = s->w->now_ns;
    read_whole(s, 0, 8192);
    assert_int_equal(s->reads, 3); /* two gaps, each with its own time */
    assert_int_equal(s->last_want, 0x08);
    assert_int_equal(s->data_again, 2);
    assert_int_equal(s->count.resent, 2);
    /* Two round trips and twice the reorder time: no time-out was needed. */
    assert_true(s->w->now_ns - begin < 2 * (100 + 80) * NS_PER_US + 100 * NS_PER_US);
    s->w->wires[TO_CLIENT].drop_mask = 0x06;
    read_whole(s, 0, 8192);
    assert_int_equal(s->reads, 2);
    assert_int_equal(s->last_want, 0x06);
    sim_free(s);
}

static void read_transfer__lone_lost_tail_costs_one_probe(void **state)
{
    (void)state;
    ReadSim *s = sim_new(11);
    read_whole(s, 0, 8192);
    s->w->wires[TO_CLIENT].drop_mask = 0x20;
    uint64_t begin = s->w->now_ns;
    read_whole(s, 0, 8192);
    assert_int_equal(s->reads, 2);
    assert_int_equal(s->last_want, 0x20);
    assert_int_equal(s->data_again, 1);
    assert_true(s->w->now_ns - begin < NS_PER_MS);
    sim_free(s);
}

/* Several at the end: one is probed, and its answer tells that the others are lost too. */
static void read_transfer__lost_tail_probes_one_then_asks_the_rest(void **state)
{
    (void)state;
    ReadSim *s = sim_new(12);
    read_whole(s, 0, 8192);
    s->w->wires[TO_CLIENT].drop_mask = 0x3c;
    read_whole(s, 0, 8192);
    assert_int_equal(s->reads, 3);
    assert_int_equal(s->last_want, 0x38);
    assert_int_equal(s->data_again, 4);
    sim_free(s);
}

static void read_transfer__lost_ask_is_probed_with_one_segment(void **state)
{
    (void)state;
    ReadSim *s = sim_new(13);
    read_whole(s, 0, 8192);
    s->w->wires[TO_SERVER].drop_mask = 1;
    read_whole(s, 0, 8192);
    assert_int_equal(s->reads, 2);
    assert_int_equal(s->last_want, 0x3e);
    assert_int_equal(s->data_again, 0); /* nothing had been sent */
    sim_free(s);
}

/* An ask that is lost among others is not asked for again at once: it may only be late. */
static void read_transfer__lost_ask_among_others(void **state)
{
    (void)state;
    ReadSim *s = sim_new(14);
    s->pool.window_bytes = 512 * KIB;
    read_whole(s, 0, 8192);
    s->w->wires[TO_SERVER].drop_mask = 2;
    read_whole(s, 0, 4 * WIRE_CHUNK_MAX);
    assert_int_equal(s->reads, 5); /* three came at first, a probe, the rest */
    assert_int_equal(s->data_again, 0);
    sim_free(s);
}

static void read_transfer__asks_out_of_turn_cost_at_most_a_probe(void **state)
{
    (void)state;
    ReadSim *s = sim_new(15);
    s->pool.window_bytes = 512 * KIB;
    read_whole(s, 0, 8192);
    for (int i = 0; i < 200; i++) {
        s->w->wires[TO_SERVER].reorder_ppm = 300000;
        s->w->wires[TO_SERVER].reorder_ns = 20 * NS_PER_US;
        uint64_t before = s->data_again;
        read_whole(s, 0, 4 * WIRE_CHUNK_MAX);
        assert_in_range(s->data_again - before, 0, 3);
    }
    sim_free(s);
}

typedef struct LossCase {
    uint32_t loss_ppm, dup_ppm, reorder_ppm;
    uint64_t delay_us, jitter_us;
} LossCase;

static const LossCase loss_cases[] = {
    {1000, 0, 0, 50, 0},           {1000, 1000, 1000, 50, 10}, {1000, 10000, 10000, 50, 0},
    {10000, 1000, 1000, 50, 20},   {10000, 0, 0, 500, 100},    {10000, 10000, 10000, 100, 10},
    {50000, 10000, 10000, 50, 10}, {50000, 0, 0, 20, 0},       {50000, 20000, 5000, 2000, 300},
};

static ReadSim *lossy_sim(const LossCase *c, uint64_t seed)
{
    ReadSim *s = sim_new(seed);
    for (int k = 0; k < 2; k++) {
        Wire *wire = &s->w->wires[k];
        wire->delay_ns = c->delay_us * NS_PER_US;
        wire->jitter_ns = c->jitter_us * NS_PER_US;
        wire->loss_ppm = c->loss_ppm;
        wire->dup_ppm = c->dup_ppm;
        wire->reorder_ppm = c->reorder_ppm;
        wire->reorder_ns = 40 * NS_PER_US;
    }
    return s;
}

/* The measure of the selective NACK: datagrams sent again at most 1.2 times those lost. */
static void read_transfer__sends_again_at_most_1_2_times_what_was_lost(void **state)
{
    (void)state;
    static const size_t lens[] = {8192, 8192, 8192, 57344, 200000, 1000000};
    for (size_t i = 0; i < ARRAY_SIZE(loss_cases); i++) {
        ReadSim *s = lossy_sim(&loss_cases[i], 1000 + i);
        uint64_t enough = loss_cases[i].loss_ppm > 1000 ? 400 : 150;
        while (s->data_lost < enough)
            read_whole(s, 4096, lens[world_below(s->w, ARRAY_SIZE(lens))]);
        print_message("# loss %u ppm: %llu sent, %llu lost, %llu again\n", loss_cases[i].loss_ppm,
                      (unsigned long long)s->data, (unsigned long long)s->data_lost,
                      (unsigned long long)s->data_again);
        assert_true(s->data_again * 10 <= s->data_lost * 12);
        sim_free(s);
    }
}

static void read_transfer__any_loss_and_order_gives_the_right_bytes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        ReadSim *s = sim_new(5000 + seed);
        s->config.deadline_ns = 20 * NS_PER_S;
        for (int k = 0; k < 2; k++) {
            Wire *wire = &s->w->wires[k];
            wire->loss_ppm = (uint32_t)world_below(s->w, 300000);
            wire->dup_ppm = (uint32_t)world_below(s->w, 300000);
            wire->reorder_ppm = (uint32_t)world_below(s->w, 500000);
            wire->reorder_ns = world_below(s->w, NS_PER_MS);
            wire->jitter_ns = world_below(s->w, NS_PER_MS);
        }
        s->toggle_ppm = seed % 3 == 0 ? 100000 : 0;
        s->config.segment = (uint16_t)(WIRE_SEGMENT_MIN + world_below(s->w, 10000));
        for (int k = 0; k < 4; k++) {
            for (unsigned b = 0; b < BLOCKS_MAX; b++)
                s->unfilled[b] = seed % 2 == 0 && world_chance(s->w, 100000);
            s->busy = seed % 5 == 0 ? 3 : 0;
            uint64_t offset = world_below(s->w, 10000);
            read_whole(s, offset, 1 + world_below(s->w, 300000));
        }
        sim_free(s);
    }
}

/* ---- unfilled blocks ------------------------------------------------------------------------ */

static void read_transfer__unfilled_blocks_and_neighbours_are_reported(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset;
        size_t len;
        uint16_t segment;
        uint64_t unfilled, reported; /* bit i: block i of the region */
    } cases[] = {
        {0, 16384, 4096, 0x0, 0x0},   {0, 16384, 4096, 0xf, 0xf},
        {0, 16384, 4096, 0x2, 0x2}, /* segments are blocks: nobody else suffers */
        {0, 16384, 1400, 0x2, 0x7}, /* segments 2 and 5 straddle into blocks 0 and 2 */
        {0, 16384, 1024, 0x4, 0x4}, /* they divide a block evenly */
        {0, 8192, 8192, 0x2, 0x3},    {4096, 8192, 1400, 0x1, 0x0}, /* before the range */
        {4096, 8192, 1400, 0x8, 0x0},                               /* behind it */
        {100, 300, 896, 0x1, 0x1},    {4000, 200, 896, 0x1, 0x3},
    };
    ReadSim *s = sim_new(20);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (unsigned b = 0; b < 64; b++)
            s->unfilled[b] = cases[i].unfilled >> b & 1;
        s->config.segment = cases[i].segment;
        read_whole(s, cases[i].offset, cases[i].len);
        assert_int_equal(s->reads, 1); /* what will not come is not asked for again */
        uint64_t last = (cases[i].offset + cases[i].len - 1) / WIRE_BLOCK_SIZE;
        for (uint64_t b = cases[i].offset / WIRE_BLOCK_SIZE; b <= last; b++)
            assert_int_equal(read_transfer_unfilled(&s->t, b), cases[i].reported >> b & 1);
    }
    sim_free(s);
}

static void read_transfer__all_unfilled_is_one_answer_a_chunk(void **state)
{
    (void)state;
    ReadSim *s = sim_new(21);
    for (unsigned b = 0; b < BLOCKS_MAX; b++)
        s->unfilled[b] = true;
    s->pool.window_bytes = 1024 * KIB;
    read_whole(s, 0, 5 * WIRE_CHUNK_MAX);
    assert_int_equal(s->reads, 5);
    assert_int_equal(s->count.datagrams, 0);
    sim_free(s);
}

/* A block that turned unfilled after its bytes had come is reported, to be on the safe side. */
static void read_transfer__block_seen_unfilled_late(void **state)
{
    (void)state;
    ReadSim *s = sim_new(23);
    s->config.segment = 4096;
    start(s, 0, 8192);
    WireData m = {.ask = s->first_ask, .index = 0, .filled = 3, .data = truth, .data_len = 4096};
    read_transfer_input(&s->t, &m, s->w->now_ns);
    m.index = 1;
    m.filled = 2;
    m.data += 4096;
    read_transfer_input(&s->t, &m, s->w->now_ns);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_true(read_transfer_unfilled(&s->t, 0));
    assert_false(read_transfer_unfilled(&s->t, 1));
    finish(s);
    sim_free(s);
}

/* A reply that names no unfilled block and yet brings nothing must not make us ask for ever. */
static void read_transfer__empty_answer_is_believed(void **state)
{
    (void)state;
    ReadSim *s = sim_new(22);
    start(s, 0, 8192);
    WireData m = {.ask = s->first_ask, .index = WIRE_INDEX_NONE, .filled = 3};
    read_transfer_input(&s->t, &m, s->w->now_ns);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_true(read_transfer_unfilled(&s->t, 0) && read_transfer_unfilled(&s->t, 1));
    finish(s);
    sim_free(s);
}

/* ---- refusals, silence ---------------------------------------------------------------------- */

static void read_transfer__refusals_end_it_at_once(void **state)
{
    (void)state;
    static const struct {
        uint16_t status, told;
    } cases[] = {
        {STATUS_GONE, STATUS_GONE},       {STATUS_EPOCH, STATUS_EPOCH},
        {STATUS_LEAVING, STATUS_LEAVING}, {STATUS_INVALID, STATUS_INVALID},
        {STATUS_DENIED, STATUS_DENIED},   {9999, STATUS_PROTOCOL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ReadSim *s = sim_new(30 + i);
        s->status = cases[i].status;
        start(s, 0, 500000);
        finish(s);
        assert_int_equal(s->t.state, TRANSFER_REFUSED);
        assert_int_equal(s->t.status, cases[i].told);
        assert_int_equal(read_transfer_deadline(&s->t), TIME_NEVER);
        assert_true(read_transfer_unfilled(&s->t, 0));
        assert_false(read_transfer_all_filled(&s->t));
        sim_free(s);
    }
}

/* BUSY for longer than the deadline: the host lives, so the read waits and is then served. */
static void read_transfer__busy_backs_off_and_is_no_death(void **state)
{
    (void)state;
    ReadSim *s = sim_new(40);
    s->config.deadline_ns = 100 * NS_PER_MS;
    s->busy = 20;
    uint64_t begin = s->w->now_ns;
    read_whole(s, 0, 8192);
    assert_int_equal(s->busy_answers, 20);
    /* 1 + 2 + 4 + .. + 32 + 14 * 50 ms */
    assert_in_range(s->w->now_ns - begin, 763 * NS_PER_MS, 780 * NS_PER_MS);
    assert_int_equal(s->data_again, 0);
    sim_free(s);
}

static void read_transfer__silence_is_death_after_probes(void **state)
{
    (void)state;
    ReadSim *s = sim_new(41);
    read_whole(s, 0, 8192);
    s->w->wires[TO_SERVER].cut = true;
    uint64_t begin = s->w->now_ns;
    uint64_t asks = s->count.asks;
    start(s, 0, 8192);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_TIMED_OUT);
    read_transfer_resend(&s->t, s->w->now_ns); /* over is over */
    read_transfer_expire(&s->t, s->w->now_ns);
    assert_int_equal(s->t.state, TRANSFER_TIMED_OUT);
    assert_int_equal(s->w->now_ns - begin, NS_PER_S);
    assert_in_range(s->count.asks - asks, 4, 20); /* the ask and its probes, ever further apart */
    sim_free(s);
}

/* The deadline counts from the last sign of life, not from the start. */
static void read_transfer__slow_host_is_not_dead(void **state)
{
    (void)state;
    ReadSim *s = sim_new(42);
    s->w->wires[TO_CLIENT].rate_bps = 20000; /* 8 KiB take 0.4 s */
    s->config.deadline_ns = 300 * NS_PER_MS;
    read_whole(s, 0, 65536);
    sim_free(s);
}

static void read_transfer__stop_of_the_process_is_not_silence(void **state)
{
    (void)state;
    ReadSim *s = sim_new(43);
    read_whole(s, 0, 8192);
    uint64_t srtt = s->path.srtt_ns;
    start(s, 0, 8192);
    s->w->now_ns += 10 * NS_PER_S;
    read_transfer_postpone(&s->t, 10 * NS_PER_S, s->w->now_ns);
    assert_true(read_transfer_deadline(&s->t) > s->w->now_ns);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_true(s->path.srtt_ns <= srtt + NS_PER_MS); /* it measured nothing */
    sim_free(s);
}

static void read_transfer__resend_asks_for_what_is_missing(void **state)
{
    (void)state;
    ReadSim *s = sim_new(44);
    s->w->wires[TO_CLIENT].drop_mask = 0x38;
    start(s, 0, 8192);
    while (map_count(s->t.chunks[0].missing) > 3)
        step(s);
    read_transfer_resend(&s->t, s->w->now_ns);
    assert_int_equal(s->pool.used_bytes, 0);
    send_all(s);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    check_bytes(s, true);
    assert_int_equal(s->reads, 2);
    assert_int_equal(s->last_want, 0x38);
    sim_free(s);
}

/* ---- strangers ------------------------------------------------------------------------------ */

static void read_transfer__data_counts_only_for_its_own_ask(void **state)
{
    (void)state;
    static uint8_t bad[SEGMENT];
    memset(bad, 0x55, sizeof bad);
    ReadSim *s = sim_new(50);
    s->next_ask = 1000;
    s->reuse = true;
    read_whole(s, 0, 8192); /* ask 1000 */
    start(s, 0, 8192);      /* ask 1001 */
    const struct {
        uint64_t ask;
        uint16_t index, status;
        size_t len;
    } cases[] = {
        {1000, 0, 0, SEGMENT},       {1002, 0, 0, SEGMENT},
        {1001 + 256, 0, 0, SEGMENT}, {1001 - 256, 0, 0, 1400},
        {0, 0, 0, SEGMENT},          {UINT64_MAX, 0, 0, SEGMENT},
        {1001, 6, 0, SEGMENT},       {1001, 6, 0, 1192},
        {1001, 63, 0, SEGMENT},      {1001, 5, 0, SEGMENT},
        {1001, 0, 0, SEGMENT - 1},   {1001, 0, STATUS_GONE, 1400},
        {1001, 0xFFFF, 0, 1},        {1000, 0xFFFF, STATUS_GONE, 0},
    };
    uint64_t before = s->count.ignored;
    uint64_t deadline = read_transfer_deadline(&s->t);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        WireData m = {.ask = cases[i].ask,
                      .index = cases[i].index,
                      .status = cases[i].status,
                      .filled = 0,
                      .data = bad,
                      .data_len = cases[i].len};
        read_transfer_input(&s->t, &m, s->w->now_ns + 1);
        assert_int_equal(s->t.state, TRANSFER_RUNNING);
        assert_int_equal(s->count.ignored - before, i + 1);
        assert_int_equal(read_transfer_deadline(&s->t), deadline); /* no sign of life either */
    }
    for (size_t i = 0; i < 8192; i++)
        assert_int_equal(s->buf[i], POISON_BYTE);
    finish(s);
    check_bytes(s, true);
    sim_free(s);
}

/* The channel's counter goes on elsewhere meanwhile; numbers stay apart and data finds its ask. */
static void read_transfer__numbers_that_others_take(void **state)
{
    (void)state;
    ReadSim *one = sim_new(599);
    one->pool.window_bytes = 56 * KIB;
    start(one, 0, 2 * WIRE_CHUNK_MAX); /* ask 1 */
    one->next_ask = 3;                 /* somebody else's 2 */
    one->pool.window_bytes = 512 * KIB;
    send_all(one); /* ask 3 */
    WireData m = {.ask = 2, .index = 0, .filled = 3, .data = truth + 5, .data_len = SEGMENT};
    read_transfer_input(&one->t, &m, one->w->now_ns);
    assert_int_equal(one->count.ignored, 1);
    finish(one);
    check_bytes(one, true);
    sim_free(one);
    for (uint64_t seed = 0; seed < 50; seed++) {
        ReadSim *s = sim_new(600 + seed);
        for (int k = 0; k < 2; k++)
            s->w->wires[k].loss_ppm = 50000;
        start(s, 0, 500000);
        while (s->t.state == TRANSFER_RUNNING) {
            s->next_ask += world_below(s->w, seed % 2 ? 5 : 400);
            step(s);
        }
        finish(s);
        assert_int_equal(s->t.state, TRANSFER_COMPLETE);
        check_bytes(s, true);
        sim_free(s);
    }
}

/* Data that was given up for lost comes after all, before its second copy: it counts, once. */
static void read_transfer__late_data_of_an_older_ask_counts(void **state)
{
    (void)state;
    ReadSim *s = sim_new(51);
    start(s, 0, 8192);
    uint64_t now = s->w->now_ns;
    uint8_t out[WIRE_PAYLOAD_MAX];
    WireData late = {.ask = 1, .index = 0, .filled = 3, .data = truth, .data_len = SEGMENT};
    WireData next = {.ask = 1, .index = 1, .filled = 3, .data = truth, .data_len = SEGMENT};
    read_transfer_input(&s->t, &next, now);
    now = read_transfer_deadline(&s->t);
    read_transfer_expire(&s->t, now);
    assert_int_equal(read_transfer_output(&s->t, out, now), WIRE_READ_SIZE);
    assert_int_equal(s->t.chunks[0].missing, 0x3d);
    read_transfer_input(&s->t, &late, now);
    assert_int_equal(s->t.chunks[0].missing, 0x3c);
    assert_memory_equal(s->buf, truth, SEGMENT);
    check_credit(s);
    uint64_t ignored = s->count.ignored;
    late.ask = 2;
    read_transfer_input(&s->t, &late, now);
    assert_int_equal(s->count.ignored, ignored + 1);
    check_credit(s);
    read_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 0);
    sim_free(s);
}

/* Nobody calls output for a while (the session is being set up anew): timers never stand still. */
static void read_transfer__deadline_moves_without_output(void **state)
{
    (void)state;
    ReadSim *s = sim_new(52);
    start(s, 0, 100000);
    for (int i = 0; s->t.state == TRANSFER_RUNNING; i++) {
        uint64_t deadline = read_transfer_deadline(&s->t);
        assert_true(deadline > s->w->now_ns && i < 100);
        s->w->now_ns = deadline;
        read_transfer_expire(&s->t, s->w->now_ns);
    }
    assert_int_equal(s->t.state, TRANSFER_TIMED_OUT);
    read_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 0);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_transfer__sizes_and_offsets),
        cmocka_unit_test(read_transfer__largest),
        cmocka_unit_test(read_transfer__small_read_is_one_ask),
        cmocka_unit_test(read_transfer__asks_as_far_as_the_window_allows),
        cmocka_unit_test(read_transfer__window_grows_only_where_it_held_back),
        cmocka_unit_test(read_transfer__progress_without_credit),
        cmocka_unit_test(read_transfer__clean_wire_with_jitter_sends_nothing_again),
        cmocka_unit_test(read_transfer__round_trip_is_measured),
        cmocka_unit_test(read_transfer__gap_is_asked_again_exactly),
        cmocka_unit_test(read_transfer__lone_lost_tail_costs_one_probe),
        cmocka_unit_test(read_transfer__lost_tail_probes_one_then_asks_the_rest),
        cmocka_unit_test(read_transfer__lost_ask_is_probed_with_one_segment),
        cmocka_unit_test(read_transfer__lost_ask_among_others),
        cmocka_unit_test(read_transfer__asks_out_of_turn_cost_at_most_a_probe),
        cmocka_unit_test(read_transfer__sends_again_at_most_1_2_times_what_was_lost),
        cmocka_unit_test(read_transfer__any_loss_and_order_gives_the_right_bytes),
        cmocka_unit_test(read_transfer__unfilled_blocks_and_neighbours_are_reported),
        cmocka_unit_test(read_transfer__all_unfilled_is_one_answer_a_chunk),
        cmocka_unit_test(read_transfer__block_seen_unfilled_late),
        cmocka_unit_test(read_transfer__empty_answer_is_believed),
        cmocka_unit_test(read_transfer__refusals_end_it_at_once),
        cmocka_unit_test(read_transfer__busy_backs_off_and_is_no_death),
        cmocka_unit_test(read_transfer__silence_is_death_after_probes),
        cmocka_unit_test(read_transfer__slow_host_is_not_dead),
        cmocka_unit_test(read_transfer__stop_of_the_process_is_not_silence),
        cmocka_unit_test(read_transfer__resend_asks_for_what_is_missing),
        cmocka_unit_test(read_transfer__data_counts_only_for_its_own_ask),
        cmocka_unit_test(read_transfer__numbers_that_others_take),
        cmocka_unit_test(read_transfer__late_data_of_an_older_ask_counts),
        cmocka_unit_test(read_transfer__deadline_moves_without_output),
    };
    return cmocka_run_group_tests(tests, make_truth, NULL);
}
