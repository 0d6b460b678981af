/* SPDX-License-Identifier: MIT */
/* Reading with loss, duplicates and reordering: the right bytes, and no more sent again than was
 * lost. */
#include "tests/lib/case.h"
#include "tests/unit/transfer_loss.h"
#include "tests/unit/transfer_read_sim.h"

/* What was lost in the middle is asked for again, exactly that, a reorder time after its gap. */
TEST(read_transfer__gap_is_asked_again_exactly)
{
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

TEST(read_transfer__lone_lost_tail_costs_one_probe)
{
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
TEST(read_transfer__lost_tail_probes_one_then_asks_the_rest)
{
    ReadSim *s = sim_new(12);
    read_whole(s, 0, 8192);
    s->w->wires[TO_CLIENT].drop_mask = 0x3c;
    read_whole(s, 0, 8192);
    assert_int_equal(s->reads, 3);
    assert_int_equal(s->last_want, 0x38);
    assert_int_equal(s->data_again, 4);
    sim_free(s);
}

TEST(read_transfer__lost_ask_is_probed_with_one_segment)
{
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
TEST(read_transfer__lost_ask_among_others)
{
    ReadSim *s = sim_new(14);
    s->pool.window_bytes = 512 * KIB;
    read_whole(s, 0, 8192);
    s->w->wires[TO_SERVER].drop_mask = 2;
    read_whole(s, 0, 4 * WIRE_CHUNK_MAX);
    assert_int_equal(s->reads, 5); /* three came at first, a probe, the rest */
    assert_int_equal(s->data_again, 0);
    sim_free(s);
}

TEST(read_transfer__asks_out_of_turn_cost_at_most_a_probe)
{
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

TEST(read_transfer__sends_again_at_most_1_2_times_what_was_lost)
{
    for (size_t i = 0; i < ARRAY_SIZE(loss_cases); i++) {
        ReadSim *s = sim_new(1000 + i);
        wires_lossy(s->w, &loss_cases[i]);
        while (s->data_lost < loss_enough(&loss_cases[i]))
            read_whole(s, 4096, loss_lens[world_below(s->w, ARRAY_SIZE(loss_lens))]);
        assert_few_again(&loss_cases[i], s->data, s->data_lost, s->data_again);
        sim_free(s);
    }
}

TEST(read_transfer__any_loss_and_order_gives_the_right_bytes)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        ReadSim *s = sim_new(5000 + seed);
        s->config.deadline_ns = 20 * NS_PER_S;
        wires_any_loss(s->w);
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

int main(void)
{
    return cases_run(make_truth, NULL);
}
