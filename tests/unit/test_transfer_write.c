/* SPDX-License-Identifier: MIT */
/* Writing over a simulated wire: chunks, credit, grants, refusals, silence, strangers. Every byte
 * arrives or its chunk is refused, and every byte of credit is given back. */
#include "tests/lib/case.h"
#include "tests/unit/transfer_write_sim.h"

/* ---- without faults ------------------------------------------------------------------------- */

TEST(write_chunk_count__no_block_in_two_chunks)
{
    static const struct {
        uint64_t offset;
        size_t len;
        unsigned count;
    } cases[] = {
        {0, 0, 0},
        {0, 1, 1},
        {0, WIRE_CHUNK_MAX, 1},
        {0, WIRE_CHUNK_MAX + 1, 2},
        {4095, 1, 1},
        {4095, 57344, 2},
        {4095, 53249, 1},
        {4095, 53250, 2},
        {4096, 57344, 1},
        {8191, 100000, 2},
        {57343, 2, 1},
        {(uint64_t)1 << 60, 57345, 2},
        {4095, 0, 0},
        {1, TRANSFER_BYTES_MAX, 65},
        {0, TRANSFER_BYTES_MAX, 64},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(write_chunk_count(cases[i].offset, cases[i].len), cases[i].count);
}

TEST(write_transfer__chunks_cover_the_range_and_end_at_blocks)
{
    static const struct {
        uint64_t offset;
        size_t len;
    } cases[] = {{0, 1}, {5, 57344}, {4095, 200000}, {4096, 200000}, {100, 4 * WIRE_CHUNK_MAX}};
    WriteSim *s = sim_new(1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        write_whole(s, WRITE_DATA, cases[i].offset, cases[i].len);
        uint64_t at = 0;
        for (unsigned k = 0; k < s->t.chunks_count; k++) {
            const WriteChunk *c = &s->t.chunks[k];
            assert_int_equal(c->offset, at);
            assert_in_range(c->len, 1, WIRE_CHUNK_MAX);
            at += c->len;
            if (k + 1u < s->t.chunks_count)
                assert_int_equal((cases[i].offset + at) % WIRE_BLOCK_SIZE, 0);
        }
        assert_int_equal(at, cases[i].len);
    }
    sim_free(s);
}

TEST(write_transfer__sizes_kinds_and_offsets)
{
    static const size_t lens[] = {1, 896, 4096, 8192, 57343, 57344, 57345, 65536, 262144, 1000003};
    static const uint64_t offsets[] = {0, 1, 4095, 4096, 123456};
    static const uint16_t segments[] = {WIRE_SEGMENT_MIN, 1400, 8000, WIRE_SEGMENT_MAX};
    WriteSim *s = sim_new(2);
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
        for (size_t j = 0; j < ARRAY_SIZE(offsets); j++)
            for (size_t k = 0; k < ARRAY_SIZE(segments); k++) {
                s->config.segment = segments[k];
                write_whole(s, WRITE_DATA, offsets[j], lens[i]);
                write_whole(s, WRITE_FILL, offsets[j], lens[i]);
                write_whole(s, WRITE_VOID, offsets[j], lens[i]);
            }
    assert_int_equal(s->data_again, 0);
    assert_int_equal(s->count.resent, 0);
    sim_free(s);
}

TEST(write_transfer__largest)
{
    WriteSim *s = sim_new(3);
    write_whole(s, WRITE_DATA, 4096, TRANSFER_BYTES_MAX);
    assert_int_equal(s->t.chunks_count, TRANSFER_CHUNKS_MAX);
    write_whole(s, WRITE_VOID, 4096, TRANSFER_BYTES_MAX);
    assert_int_equal(s->data_again, 0);
    sim_free(s);
}

TEST(write_transfer__small_write_is_one_burst_and_one_ack)
{
    WriteSim *s = sim_new(4);
    s->w->wires[TO_SERVER] = s->w->wires[TO_CLIENT] = (Wire){.delay_ns = 300 * NS_PER_US};
    uint64_t begin = s->w->now_ns;
    write_whole(s, WRITE_DATA, 8192, 8192);
    assert_int_equal(s->bursts, 1);
    assert_int_equal(s->polls, 0);
    assert_int_equal(s->count.datagrams, 6);
    assert_int_equal(s->w->now_ns - begin, 600 * NS_PER_US);
    assert_int_equal(s->path.srtt_ns, 600 * NS_PER_US);
    sim_free(s);
}

TEST(write_transfer__numbers_and_names)
{
    static const struct {
        enum WriteKind kind;
        uint64_t number, transfer, numbers[3], transfers[3];
    } cases[] = {
        {WRITE_DATA, 7, 0, {7, 8, 9}, {0, 0, 0}},
        {WRITE_VOID, 7, 0, {7, 8, 9}, {0, 0, 0}},
        {WRITE_FILL, 7, 50, {7, 7, 7}, {50, 51, 52}},
    };
    WriteSim *s = sim_new(5);
    s->pool.window_bytes = s->pool.cap_bytes;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        write_transfer_start(&s->t, &s->config, &address, cases[i].kind, 4096,
                             cases[i].kind == WRITE_VOID ? NULL : truth, 3 * WIRE_CHUNK_MAX,
                             cases[i].number, cases[i].transfer, 1);
        for (unsigned k = 0; k < 3; k++) {
            Burst b;
            uint8_t out[WIRE_WRITE_HEADER_SIZE + WIRE_SEGMENT_MAX];
            size_t n;
            WireWrite m;
            int what = write_transfer_output(&s->t, &b, out, &n, 1);
            assert_int_equal(what, cases[i].kind == WRITE_VOID ? WRITE_POLL : WRITE_BURST);
            if (what == WRITE_BURST)
                n = burst_payload(&b, map_lowest(b.want), out);
            assert_int_equal(wire_write_decode(out, n, &m), 0);
            assert_int_equal(m.kind, cases[i].kind);
            assert_int_equal(m.number, cases[i].numbers[k]);
            assert_int_equal(m.transfer, cases[i].transfers[k]);
            assert_int_equal(m.offset, 4096 + k * WIRE_CHUNK_MAX);
        }
        write_transfer_end(&s->t);
    }
    sim_free(s);
}

TEST(write_transfer__clean_wire_with_jitter_sends_nothing_again)
{
    static const struct {
        uint64_t delay_us, jitter_us, rate;
    } wires[] = {
        {50, 0, 125000000},   {50, 50, 125000000},   {20, 200, 1250000000},
        {500, 500, 12500000}, {5000, 1000, 1250000}, {5, 5, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(wires); i++) {
        WriteSim *s = sim_new(100 + i);
        for (int k = 0; k < 2; k++) {
            s->w->wires[k].delay_ns = wires[i].delay_us * NS_PER_US;
            s->w->wires[k].jitter_ns = wires[i].jitter_us * NS_PER_US;
            s->w->wires[k].bytes_per_s = wires[i].rate;
        }
        for (int k = 0; k < 200; k++)
            write_whole(s, k % 2 ? WRITE_DATA : WRITE_FILL, 4096, k % 4 == 0 ? 500000 : 8192);
        assert_int_equal(s->data_again, 0);
        assert_int_equal(s->count.resent, 0);
        sim_free(s);
    }
}

/* ---- credit and grant ----------------------------------------------------------------------- */

/* A window of less than a chunk: a poll behind each burst, not a time-out. */
TEST(write_transfer__small_window_is_kept_moving_by_polls)
{
    WriteSim *s = sim_new(6);
    write_whole(s, WRITE_DATA, 0, 8192);
    s->pool.window_bytes = 16 * KIB;
    uint64_t begin = s->w->now_ns;
    write_whole(s, WRITE_DATA, 0, 57344);
    assert_in_range(s->polls, 2, 4);
    assert_int_equal(s->data_again, 0);
    /* Four or five round trips of 100 us and the bytes' own 460 us. */
    assert_true(s->w->now_ns - begin < 5 * 120 * NS_PER_US + 500 * NS_PER_US);
    sim_free(s);
}

TEST(write_transfer__grant_bounds_what_is_in_flight)
{
    static const uint32_t grants[] = {0, 1000, 8 * KIB, 20 * KIB, 100 * KIB};
    for (size_t i = 0; i < ARRAY_SIZE(grants); i++) {
        WriteSim *s = sim_new(7);
        s->pool.window_bytes = s->pool.cap_bytes;
        s->grant = grants[i];
        start(s, WRITE_DATA, 0, 800000);
        while (s->t.state == TRANSFER_RUNNING) {
            uint64_t most = s->t.p.flight.bytes > grants[i] ? s->t.p.flight.bytes : grants[i];
            step(s);
            if (s->acks > 0)
                assert_true(s->t.p.flight.bytes <= (most > SEGMENT ? most : SEGMENT));
        }
        finish(s);
        assert_int_equal(s->t.state, TRANSFER_COMPLETE);
        assert_int_equal(s->data_again, 0);
        sim_free(s);
    }
}

/* Where whole chunks are under way their acknowledgments make room: no poll is needed. */
TEST(write_transfer__pipeline_needs_no_polls)
{
    WriteSim *s = sim_new(9);
    s->pool.window_bytes = 80 * KIB;
    start(s, WRITE_DATA, 0, 3 * WIRE_CHUNK_MAX);
    assert_int_equal(s->bursts, 2); /* a chunk, and a part of the next */
    assert_int_equal(s->polls, 0);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_int_equal(s->polls, 0);
    sim_free(s);
}

/* The answer to a poll says nothing about what was sent after the poll. */
TEST(write_transfer__poll_tells_of_what_was_sent_before_it)
{
    WriteSim *s = sim_new(17);
    Burst b;
    uint8_t poll[WIRE_WRITE_HEADER_SIZE];
    size_t n;
    uint64_t now = 1;
    s->pool.window_bytes = 16 * KIB;
    write_transfer_start(&s->t, &s->config, &address, WRITE_DATA, 0, truth, 57344, 9, 0, now);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_BURST);
    assert_int_equal(b.want, 0x7ff);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_POLL);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_NOTHING);
    now = write_transfer_deadline(&s->t);
    s->pool.window_bytes = 32 * KIB;
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_POLL);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_NOTHING); /* silence */
    clock_heard(&s->t.p.clock, now);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_BURST);
    assert_int_equal(b.want & 0x7ff, 0);
    uint64_t second = b.want;
    WireWriteAck ack = {.number = 9, .kind = WRITE_DATA, .grant = 1 << 20, .received = 0x3ff};
    s->pool.window_bytes = 512 * KIB;
    write_transfer_input(&s->t, &ack, now);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_BURST);
    assert_int_equal(b.want & (0x7ff | second), 0x400);
    write_transfer_end(&s->t);
    sim_free(s);
}

/* What was suspected before a fill started again is not suspect any more. */
TEST(write_transfer__suspicion_does_not_outlive_a_resend)
{
    WriteSim *s = sim_new(18);
    Burst b;
    uint8_t poll[WIRE_WRITE_HEADER_SIZE];
    size_t n;
    WireWriteAck ack = {
        .number = 77, .transfer = 9, .kind = WRITE_FILL, .grant = 1 << 20, .received = 0x21};
    write_transfer_start(&s->t, &s->config, &address, WRITE_FILL, 0, truth, 8192, 77, 9, 1);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, 1), WRITE_BURST);
    write_transfer_input(&s->t, &ack, 1); /* 1 to 4 are missing below 5 */
    write_transfer_resend(&s->t, 2);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, 2), WRITE_BURST);
    assert_int_equal(b.want, 0x3f);
    ack.received = 0x05;
    write_transfer_input(&s->t, &ack, 3);
    uint64_t now = write_transfer_deadline(&s->t);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_BURST);
    assert_int_equal(b.want, 0x02);
    write_transfer_end(&s->t);
    sim_free(s);
}

TEST(write_transfer__progress_without_credit)
{
    WriteSim *s = sim_new(8);
    Burst b;
    uint8_t poll[WIRE_WRITE_HEADER_SIZE];
    size_t n;
    assert_int_equal(credit_take(&s->pool, 64 * KIB, 1, false), 64 * KIB);
    write_transfer_start(&s->t, &s->config, &address, WRITE_DATA, 0, truth, 100000, 1, 0, 1);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, 1), WRITE_BURST);
    assert_in_range(s->t.p.flight.bytes, 1, CREDIT_LEAST);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, 1), WRITE_POLL);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, 1), WRITE_NOTHING);
    write_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 64 * KIB);
    credit_return(&s->pool, 64 * KIB);
    s->pool.window_bytes = 1;
    write_whole(s, WRITE_DATA, 0, 100000);
    sim_free(s);
}

/* ---- refusals, silence ---------------------------------------------------------------------- */

TEST(write_transfer__refusals_end_it_at_once)
{
    static const struct {
        enum WriteKind kind;
        uint16_t status, told;
    } cases[] = {
        {WRITE_DATA, STATUS_GONE, STATUS_GONE},       {WRITE_DATA, STATUS_EPOCH, STATUS_EPOCH},
        {WRITE_FILL, STATUS_LEAVING, STATUS_LEAVING}, {WRITE_VOID, STATUS_INVALID, STATUS_INVALID},
        {WRITE_DATA, STATUS_STALE, STATUS_STALE},     {WRITE_DATA, 9999, STATUS_PROTOCOL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        WriteSim *s = sim_new(30 + i);
        s->status = cases[i].status;
        start(s, cases[i].kind, 0, 500000);
        finish(s);
        assert_int_equal(s->t.state, TRANSFER_REFUSED);
        assert_int_equal(s->t.status, cases[i].told);
        assert_int_equal(write_transfer_deadline(&s->t), TIME_NEVER);
        sim_free(s);
    }
}

TEST(write_transfer__stale_fills_are_counted_the_others_done)
{
    WriteSim *s = sim_new(40);
    s->stale = 0x15;
    write_whole(s, WRITE_FILL, 0, 7 * WIRE_CHUNK_MAX);
    assert_int_equal(s->t.refused_chunks, 3);
    s->stale = UINT64_MAX;
    write_whole(s, WRITE_FILL, 0, 7 * WIRE_CHUNK_MAX);
    assert_int_equal(s->t.refused_chunks, 7);
    sim_free(s);
}

/* After BUSY a write asks before it sends its data again. */
TEST(write_transfer__busy_backs_off_and_asks_first)
{
    WriteSim *s = sim_new(41);
    s->config.deadline_ns = 100 * NS_PER_MS;
    s->busy = 6 + 10; /* the burst, then polls only */
    uint64_t begin = s->w->now_ns;
    write_whole(s, WRITE_DATA, 0, 8192);
    assert_int_equal(s->polls, 11);
    assert_int_equal(s->data_again, 6);
    /* 1 + 2 + .. + 32 + 5 * 50 ms */
    assert_in_range(s->w->now_ns - begin, 313 * NS_PER_MS, 320 * NS_PER_MS);
    s->busy = 3;
    write_whole(s, WRITE_FILL, 0, 8192);
    s->busy = 3; /* taken from the fourth segment on: the poll tells, only three go again */
    uint64_t again = s->data_again;
    write_whole(s, WRITE_DATA, 0, 8192);
    assert_int_equal(s->data_again - again, 3);
    sim_free(s);
}

TEST(write_transfer__silence_is_death_after_polls)
{
    WriteSim *s = sim_new(42);
    write_whole(s, WRITE_DATA, 0, 8192);
    s->w->wires[TO_CLIENT].cut = true;
    uint64_t begin = s->w->now_ns;
    start(s, WRITE_DATA, 0, 8192);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_TIMED_OUT);
    assert_int_equal(s->w->now_ns - begin, NS_PER_S);
    assert_in_range(s->polls, 4, 20);
    assert_int_equal(s->data_again, 0);
    sim_free(s);
}

TEST(write_transfer__stop_of_the_process_is_not_silence)
{
    WriteSim *s = sim_new(43);
    write_whole(s, WRITE_DATA, 0, 8192);
    uint64_t srtt = s->path.srtt_ns, missed = 0;
    s->config.missed_ns = &missed;
    start(s, WRITE_DATA, 0, 8192);
    missed += 10 * NS_PER_S; /* the listening clock stood */
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_int_equal(s->path.srtt_ns, srtt);
    sim_free(s);
}

/* A renewed session: a write asks what is there, a fill (known by its session) starts again. */
TEST(write_transfer__stop_before_it_began_is_no_matter)
{
    static const enum WriteKind kinds[] = {WRITE_DATA, WRITE_FILL, WRITE_VOID};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        WriteSim *s = sim_new(56);
        uint64_t missed = 10 * NS_PER_S;
        s->config.missed_ns = &missed;
        write_whole(s, kinds[i], 0, 8192);
        assert_true(s->path.srtt_ns > 0);
        sim_free(s);
    }
}

TEST(write_transfer__resend)
{
    static const struct {
        enum WriteKind kind;
        uint64_t drop, received, again;
    } cases[] = {{WRITE_DATA, 0x30, 0x0f, 2}, {WRITE_FILL, 0x02, 0, 6}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        WriteSim *s = sim_new(44);
        s->w->wires[TO_SERVER].drop_mask = cases[i].drop;
        start(s, cases[i].kind, 0, 8192);
        while (s->slots[0].received != cases[i].received && !s->t.chunks[0].received)
            step(s);
        world_empty(s->w);
        if (cases[i].kind == WRITE_FILL)
            s->slots[0] = (Slot){0};
        write_transfer_resend(&s->t, s->w->now_ns);
        assert_int_equal(s->pool.used_bytes, 0);
        send_all(s);
        finish(s);
        assert_int_equal(s->t.state, TRANSFER_COMPLETE);
        assert_int_equal(s->data_again, cases[i].again);
        sim_free(s);
    }
}

/* A new session shows that the host is there: its silence begins again. */
TEST(write_transfer__resend_ends_a_silence)
{
    WriteSim *s = sim_new(46);
    s->config.deadline_ns = 100 * NS_PER_MS;
    s->w->wires[TO_SERVER].cut = true;
    start(s, WRITE_DATA, 0, 8192);
    uint64_t begin_ns = s->w->now_ns;
    uint64_t patience_ns = write_transfer_deadline(&s->t) - begin_ns;
    while (s->w->now_ns < begin_ns + 80 * NS_PER_MS)
        step(s);
    assert_int_equal(s->t.state, TRANSFER_RUNNING);
    assert_true(write_transfer_silent_ns(&s->t, s->w->now_ns) >= 80 * NS_PER_MS);
    write_transfer_resend(&s->t, s->w->now_ns);
    send_all(s);
    assert_int_equal(write_transfer_silent_ns(&s->t, s->w->now_ns), 0);
    uint64_t again_ns = s->w->now_ns;
    assert_int_equal(write_transfer_deadline(&s->t) - again_ns, patience_ns);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_TIMED_OUT);
    assert_int_equal(s->w->now_ns, again_ns + 100 * NS_PER_MS);
    sim_free(s);
}

/* The imd dropped an open fill, but we hold that half of it is there: a poll finds out. */
TEST(write_transfer__forgotten_fill_is_offered_again)
{
    WriteSim *s = sim_new(45);
    write_whole(s, WRITE_FILL, 0, 8192);
    s->w->wires[TO_SERVER].drop_mask = 0x02;
    start(s, WRITE_FILL, 0, 8192);
    while (!s->t.chunks[0].received)
        step(s);
    s->slots[0] = (Slot){0};
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_memory_equal(s->memory, truth, 8192);
    sim_free(s);
}

/* An earlier try of the same write, in another session, left something at the imd. */
TEST(write_transfer__takes_over_what_is_there_already)
{
    WriteSim *s = sim_new(46);
    write_whole(s, WRITE_DATA, 0, 8192);
    s->w->wires[TO_SERVER].drop_mask = 0x3f;
    start(s, WRITE_DATA, 0, 8192);
    memcpy(s->memory, truth, 5 * SEGMENT);
    s->slots[0] = (Slot){.received = 0x1f, .expected = 5};
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_int_equal(s->data_again, 1);
    sim_free(s);
}

/* ---- strangers ------------------------------------------------------------------------------ */

TEST(write_transfer__acks_of_others_are_ignored)
{
    static const WireWriteAck strangers[] = {
        {.number = 99, .kind = WRITE_DATA, .state = WRITE_DONE},
        {.number = 102, .kind = WRITE_DATA, .state = WRITE_DONE},
        {.number = UINT64_MAX, .kind = WRITE_DATA, .state = WRITE_DONE},
        {.number = 100, .kind = WRITE_VOID, .state = WRITE_DONE},
        {.number = 100, .transfer = 100, .kind = WRITE_FILL, .state = WRITE_DONE},
        {.number = 99, .kind = WRITE_DATA, .state = WRITE_REFUSED, .status = STATUS_GONE},
        /* the same number, of another region on the same session */
        {.number = 100, .transfer = 7, .kind = WRITE_DATA, .state = WRITE_DONE},
    };
    WriteSim *s = sim_new(50);
    s->next_number = 100;
    start(s, WRITE_DATA, 0, 2 * WIRE_CHUNK_MAX);
    uint64_t deadline = write_transfer_deadline(&s->t);
    for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
        write_transfer_input(&s->t, &strangers[i], s->w->now_ns + 1);
        assert_int_equal(s->t.state, TRANSFER_RUNNING);
        assert_int_equal(s->count.ignored, i + 1);
        assert_int_equal(s->t.p.open, 3);
        assert_int_equal(write_transfer_deadline(&s->t), deadline);
    }
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    sim_free(s);
}

/* A VOID has no segments: an answer that speaks of some changes nothing, it is asked again. */
TEST(write_transfer__void_answered_open_is_asked_again)
{
    WriteSim *s = sim_new(52);
    start(s, WRITE_VOID, 0, 8192);
    WireWriteAck m = {.number = 1, .kind = WRITE_VOID, .state = WRITE_OPEN, .received = 3};
    write_transfer_input(&s->t, &m, s->w->now_ns);
    assert_int_equal(s->t.state, TRANSFER_RUNNING);
    s->w->wires[TO_SERVER].drop_mask = 1;
    world_empty(s->w);
    finish(s);
    assert_int_equal(s->t.state, TRANSFER_COMPLETE);
    assert_int_equal(s->polls, 3);
    sim_free(s);
}

TEST(write_transfer__deadline_moves_without_output)
{
    WriteSim *s = sim_new(51);
    start(s, WRITE_DATA, 0, 100000);
    for (int i = 0; s->t.state == TRANSFER_RUNNING; i++) {
        uint64_t deadline = write_transfer_deadline(&s->t);
        assert_true(deadline > s->w->now_ns && i < 100);
        s->w->now_ns = deadline;
        write_transfer_expire(&s->t, s->w->now_ns);
    }
    assert_int_equal(s->t.state, TRANSFER_TIMED_OUT);
    write_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 0);
    sim_free(s);
}

int main(void)
{
    return cases_run(make_truth, NULL);
}
