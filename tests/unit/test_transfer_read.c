/* SPDX-License-Identifier: MIT */
/* Reading over a simulated wire: sizes, credit, unfilled blocks, refusals, silence, strangers.
 * Every byte is right or its block is reported, and every byte of credit is given back. */
#include "tests/lib/case.h"
#include "tests/unit/transfer_read_sim.h"

/* ---- without faults ------------------------------------------------------------------------- */

TEST(read_transfer__sizes_and_offsets)
{
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

TEST(read_transfer__largest)
{
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

TEST(read_transfer__small_read_is_one_ask)
{
    ReadSim *s = sim_new(3);
    read_whole(s, 8192, 8192);
    assert_int_equal(s->reads, 1);
    assert_int_equal(s->count.asks, 1);
    assert_int_equal(s->count.datagrams, 6);
    sim_free(s);
}

/* 64 KiB of credit at first: more than one chunk is asked for before anything came. */
TEST(read_transfer__asks_as_far_as_the_window_allows)
{
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

TEST(read_transfer__window_grows_only_where_it_held_back)
{
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
TEST(read_transfer__progress_without_credit)
{
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

TEST(read_transfer__clean_wire_with_jitter_sends_nothing_again)
{
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
            s->w->wires[k].bytes_per_s = wires[i].rate;
        }
        for (int k = 0; k < 200; k++)
            read_whole(s, 4096, k % 4 == 0 ? 500000 : 8192);
        assert_int_equal(s->data_again, 0);
        assert_int_equal(s->count.resent, 0);
        sim_free(s);
    }
}

TEST(read_transfer__round_trip_is_measured)
{
    ReadSim *s = sim_new(7);
    for (int k = 0; k < 2; k++)
        s->w->wires[k] = (Wire){.delay_ns = 300 * NS_PER_US, .bytes_per_s = 0};
    read_whole(s, 0, 4096);
    assert_int_equal(s->path.srtt_ns, 600 * NS_PER_US);
    s->w->wires[TO_CLIENT].bytes_per_s = 10000000;
    for (int i = 0; i < 100; i++)
        read_whole(s, 0, 57344);
    assert_in_range(s->path.bytes_per_s, 9000000, 11000000);
    sim_free(s);
}

/* ---- unfilled blocks ------------------------------------------------------------------------ */

TEST(read_transfer__unfilled_blocks_and_neighbours_are_reported)
{
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

TEST(read_transfer__all_unfilled_is_one_answer_a_chunk)
{
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
TEST(read_transfer__block_seen_unfilled_late)
{
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
TEST(read_transfer__empty_answer_is_believed)
{
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

TEST(read_transfer__refusals_end_it_at_once)
{
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
        s->status = STATUS_OK; /* the next one knows nothing of it */
        read_whole(s, 0, 8192);
        assert_int_equal(s->t.status, STATUS_OK);
        sim_free(s);
    }
}

/* BUSY for longer than the deadline: the host lives, so the read waits and is then served. */
TEST(read_transfer__busy_backs_off_and_is_no_death)
{
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

TEST(read_transfer__silence_is_death_after_probes)
{
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
TEST(read_transfer__slow_host_is_not_dead)
{
    ReadSim *s = sim_new(42);
    s->w->wires[TO_CLIENT].bytes_per_s = 20000; /* 8 KiB take 0.4 s */
    s->config.deadline_ns = 300 * NS_PER_MS;
    read_whole(s, 0, 65536);
    sim_free(s);
}

TEST(read_transfer__stop_of_the_process_is_not_silence)
{
    ReadSim *s = sim_new(43);
    read_whole(s, 0, 8192);
    uint64_t srtt = s->path.srtt_ns, missed = 0;
    s->config.missed_ns = &missed;
    start(s, 0, 8192);
    missed += 10 * NS_PER_S; /* the listening clock stood */
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_int_equal(s->path.srtt_ns, srtt); /* it measured nothing */
    sim_free(s);
}

TEST(read_transfer__stop_before_it_began_is_no_matter)
{
    ReadSim *s = sim_new(44);
    uint64_t missed = 10 * NS_PER_S;
    s->config.missed_ns = &missed;
    read_whole(s, 0, 8192);
    assert_true(s->path.srtt_ns > 0);
    sim_free(s);
}

/* What a dead host was asked for holds up another's read for a time-out, not for the deadline; and
 * no more is asked of it than a segment at a time. */
TEST(read_transfer__silent_host_holds_up_no_other)
{
    ReadSim *s = sim_new(47);
    static ReadTransfer live;
    CreditShare together = {0};
    uint64_t now = 1;
    uint8_t out[WIRE_PAYLOAD_MAX];
    s->config.together = &together;
    read_transfer_start(&s->t, &s->config, &address, 0, s->buf, 4 * WIRE_CHUNK_MAX, &s->next_ask,
                        now);
    read_transfer_start(&live, &s->config, &address, 0, s->buf, WIRE_CHUNK_MAX, &s->next_ask, now);
    while (read_transfer_output(&s->t, out, now))
        ;
    assert_int_equal(read_transfer_output(&live, out, now), 0);
    assert_true(read_transfer_held(&live));
    now = read_transfer_deadline(&s->t);
    assert_true(read_transfer_output(&s->t, out, now) > 0); /* the probe */
    assert_int_equal(read_transfer_output(&s->t, out, now), 0);
    assert_true(read_transfer_output(&live, out, now) > 0);
    assert_int_equal(live.p.flight.bytes, WIRE_CHUNK_MAX);
    read_transfer_end(&live);
    read_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 0);
    assert_int_equal(together.bytes, 0);
    sim_free(s);
}

TEST(read_transfer__resend_asks_for_what_is_missing)
{
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

/* A new session shows that the host is there: its silence begins again. */
TEST(read_transfer__resend_ends_a_silence)
{
    ReadSim *s = sim_new(46);
    s->config.deadline_ns = 100 * NS_PER_MS;
    s->w->wires[TO_SERVER].cut = true;
    start(s, 0, 8192);
    uint64_t begin_ns = s->w->now_ns;
    uint64_t patience_ns = read_transfer_deadline(&s->t) - begin_ns;
    while (s->w->now_ns < begin_ns + 80 * NS_PER_MS)
        step(s);
    assert_int_equal(s->t.state, TRANSFER_RUNNING);
    assert_true(read_transfer_silent_ns(&s->t, s->w->now_ns) >= 80 * NS_PER_MS);
    read_transfer_resend(&s->t, s->w->now_ns);
    send_all(s);
    assert_int_equal(read_transfer_silent_ns(&s->t, s->w->now_ns), 0);
    uint64_t again_ns = s->w->now_ns;
    assert_int_equal(read_transfer_deadline(&s->t) - again_ns, patience_ns);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_TIMED_OUT);
    assert_int_equal(s->w->now_ns, again_ns + 100 * NS_PER_MS);
    sim_free(s);
}

/* The host that was busy may have started again since. */
TEST(read_transfer__resend_waits_for_no_busy_host)
{
    ReadSim *s = sim_new(45);
    s->busy = 1;
    start(s, 0, 8192);
    while (!read_transfer_busy(&s->t, s->w->now_ns))
        step(s);
    uint64_t before_ns = s->w->now_ns;
    read_transfer_resend(&s->t, before_ns);
    assert_false(read_transfer_busy(&s->t, before_ns));
    unsigned reads = s->reads;
    send_all(s);
    while (s->reads == reads)
        step(s);
    assert_in_range(s->w->now_ns - before_ns, 0, NS_PER_MS - 1);
    finish(s);
    check_bytes(s, true);
    sim_free(s);
}

/* ---- strangers ------------------------------------------------------------------------------ */

TEST(read_transfer__data_counts_only_for_its_own_ask)
{
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
TEST(read_transfer__numbers_that_others_take)
{
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

/* What an earlier read of the same state asked for is not asked for by numbers that others took
 * since: nothing is lost here, so nothing is asked for twice. */
TEST(read_transfer__numbers_that_others_take_ask_for_nothing)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        ReadSim *s = sim_new(800 + seed);
        s->reuse = true;
        read_whole(s, 0, 500000);
        uint64_t resent = s->count.resent;
        start(s, 0, 500000);
        while (s->t.state == TRANSFER_RUNNING) {
            s->next_ask += world_below(s->w, 3);
            step(s);
        }
        finish(s);
        check_bytes(s, true);
        assert_int_equal(s->count.resent, resent);
        sim_free(s);
    }
}

/* Data that was given up for lost comes after all, before its second copy: it counts, once. */
TEST(read_transfer__late_data_of_an_older_ask_counts)
{
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

/* Nobody calls output for a while (the session is being set up again): timers never stand still. */
TEST(read_transfer__deadline_moves_without_output)
{
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
    return cases_run(make_truth, NULL);
}
