/* SPDX-License-Identifier: MIT */
/* Writing with loss, duplicates and reordering: every byte arrives, and no more is sent again than
 * was lost. */
#include "tests/lib/case.h"
#include "tests/unit/transfer_loss.h"
#include "tests/unit/transfer_write_sim.h"

TEST(write_transfer__gap_is_sent_again_exactly)
{
    WriteSim *s = sim_new(10);
    write_whole(s, WRITE_DATA, 0, 8192);
    s->w->wires[TO_SERVER].drop_mask = 0x06;
    uint64_t begin = s->w->now_ns;
    write_whole(s, WRITE_DATA, 0, 8192);
    assert_int_equal(s->bursts, 2);
    assert_int_equal(s->polls, 0);
    assert_int_equal(s->last_want, 0x06);
    assert_int_equal(s->data_again, 2);
    assert_true(s->w->now_ns - begin < 2 * (100 + 80) * NS_PER_US + 50 * NS_PER_US);
    sim_free(s);
}

/* Who loses sends less at a time; for one burst of losses that is said once. */
TEST(write_transfer__loss_halves_the_credit)
{
    WriteSim *s = sim_new(16);
    write_whole(s, WRITE_DATA, 0, 64 * KIB);
    uint64_t before = s->pool.window_bytes;
    s->w->wires[TO_SERVER].drop_mask = 0x06;
    write_whole(s, WRITE_DATA, 0, 8192);
    assert_int_equal(s->data_again, 2);
    assert_in_range(s->pool.window_bytes, before / 2, before / 2 + 8192);
    sim_free(s);
}

TEST(write_transfer__lone_lost_tail_costs_one_poll)
{
    WriteSim *s = sim_new(11);
    write_whole(s, WRITE_DATA, 0, 8192);
    s->w->wires[TO_SERVER].drop_mask = 0x20;
    uint64_t begin = s->w->now_ns;
    write_whole(s, WRITE_DATA, 0, 8192);
    assert_int_equal(s->polls, 1);
    assert_int_equal(s->last_want, 0x20);
    assert_int_equal(s->data_again, 1);
    assert_true(s->w->now_ns - begin < NS_PER_MS);
    sim_free(s);
}

TEST(write_transfer__all_lost_is_found_by_a_poll)
{
    static const enum WriteKind kinds[] = {WRITE_DATA, WRITE_FILL};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        WriteSim *s = sim_new(12);
        write_whole(s, kinds[i], 0, 8192);
        s->w->wires[TO_SERVER].drop_mask = 0x3f;
        write_whole(s, kinds[i], 0, 8192);
        assert_int_equal(s->polls, 1);
        assert_int_equal(s->data_again, 6);
        sim_free(s);
    }
}

TEST(write_transfer__lost_ack_sends_no_data_again)
{
    static const enum WriteKind kinds[] = {WRITE_DATA, WRITE_FILL, WRITE_VOID};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        WriteSim *s = sim_new(13);
        write_whole(s, kinds[i], 0, 8192);
        s->w->wires[TO_CLIENT].drop_mask = 1;
        write_whole(s, kinds[i], 0, 8192);
        assert_int_equal(s->polls, kinds[i] == WRITE_VOID ? 2 : 1);
        assert_int_equal(s->data_again, 0);
        sim_free(s);
    }
}

/* The end of a chunk is lost and later chunks get through: no need to wait for a time-out. */
TEST(write_transfer__chunk_that_others_overtook_is_polled)
{
    WriteSim *s = sim_new(14);
    s->pool.window_bytes = s->pool.cap_bytes;
    write_whole(s, WRITE_DATA, 0, 8192);
    s->path.srtt_ns = 100 * NS_PER_MS; /* a time-out would take for ever */
    s->path.rttvar_ns = 0;
    s->w->wires[TO_SERVER].drop_mask = (uint64_t)1 << 40;
    uint64_t begin = s->w->now_ns;
    write_whole(s, WRITE_DATA, 0, 3 * WIRE_CHUNK_MAX);
    assert_int_equal(s->polls, 1);
    assert_int_equal(s->data_again, 1);
    assert_true(s->w->now_ns - begin < 25 * NS_PER_MS + NS_PER_MS); /* one gap, srtt / 4 */
    sim_free(s);
}

/* An acknowledgment tells of what had come when it was sent, not of what was sent since. */
TEST(write_transfer__old_ack_does_not_condemn_what_was_sent_after)
{
    WriteSim *s = sim_new(15);
    Burst b;
    uint8_t poll[WIRE_WRITE_HEADER_SIZE];
    size_t n;
    uint64_t now = s->w->now_ns;
    write_transfer_start(&s->t, &s->config, &address, WRITE_DATA, 0, truth, 8192, 9, 0, now);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_BURST);
    WireWriteAck ack = {.number = 9, .kind = WRITE_DATA, .grant = 100000, .received = 0x09};
    write_transfer_input(&s->t, &ack, now); /* 1 and 2 are missing below 3 */
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_NOTHING);
    now = write_transfer_deadline(&s->t);
    assert_int_equal(now, s->w->now_ns + 50 * NS_PER_US);
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_BURST);
    assert_int_equal(b.want, 0x06);
    /* The same again, and one that knows a later segment of the first burst: nothing is known of
     * the second burst yet. */
    write_transfer_input(&s->t, &ack, now + 1);
    ack.received = 0x19;
    write_transfer_input(&s->t, &ack, now + 2);
    now += 60 * NS_PER_US;
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_NOTHING);
    /* The second of them came: so the first is lost again, and what is left of the first burst. */
    ack.received = 0x1d;
    write_transfer_input(&s->t, &ack, now);
    now += 50 * NS_PER_US;
    assert_int_equal(write_transfer_output(&s->t, &b, poll, &n, now), WRITE_BURST);
    assert_int_equal(b.want, 0x22);
    /* What overtook on the way back takes nothing away. */
    ack.received = 0x01;
    write_transfer_input(&s->t, &ack, now);
    assert_int_equal(s->t.chunks[0].received, 0x1d);
    check_credit(s);
    write_transfer_end(&s->t);
    assert_int_equal(s->pool.used_bytes, 0);
    sim_free(s);
}

TEST(write_transfer__reordered_segments_are_not_sent_again)
{
    WriteSim *s = sim_new(16);
    s->w->wires[TO_SERVER].reorder_ppm = 50000;
    s->w->wires[TO_SERVER].reorder_ns = 40 * NS_PER_US;
    for (int i = 0; i < 200; i++)
        write_whole(s, WRITE_DATA, 0, 57344);
    assert_int_equal(s->data_again, 0);
    sim_free(s);
}

TEST(write_transfer__sends_again_at_most_1_2_times_what_was_lost)
{
    for (size_t i = 0; i < ARRAY_SIZE(loss_cases); i++) {
        WriteSim *s = sim_new(1000 + i);
        wires_lossy(s->w, &loss_cases[i]);
        while (s->data_lost < loss_enough(&loss_cases[i]))
            write_whole(s, world_chance(s->w, 500000) ? WRITE_DATA : WRITE_FILL, 4096,
                        loss_lens[world_below(s->w, ARRAY_SIZE(loss_lens))]);
        assert_few_again(&loss_cases[i], s->data, s->data_lost, s->data_again);
        sim_free(s);
    }
}

TEST(write_transfer__any_loss_and_order_gets_the_bytes_there)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        WriteSim *s = sim_new(5000 + seed);
        s->config.deadline_ns = 20 * NS_PER_S;
        wires_any_loss(s->w);
        s->config.segment = (uint16_t)(WIRE_SEGMENT_MIN + world_below(s->w, 10000));
        s->grant = (uint32_t)world_below(s->w, 300 * KIB);
        for (int k = 0; k < 4; k++) {
            enum WriteKind kind = (enum WriteKind)world_below(s->w, WRITE_KIND_MAX);
            s->forget_ppm = kind == WRITE_FILL && seed % 3 == 0 ? 5000 : 0;
            s->stale = kind == WRITE_FILL && seed % 2 == 0 ? world_random(s->w) : 0;
            s->busy = seed % 5 == 0 ? 3 : 0;
            write_whole(s, kind, world_below(s->w, 10000), 1 + world_below(s->w, 300000));
        }
        sim_free(s);
    }
}

int main(void)
{
    return cases_run(make_truth, NULL);
}
