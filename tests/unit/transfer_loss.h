/* SPDX-License-Identifier: MIT */
/* Wires that lose, double and reorder, and the measure of what is sent again, for the tests of both
 * directions. A test file includes this once. */
#ifndef DODO_TESTS_TRANSFER_LOSS_H
#define DODO_TESTS_TRANSFER_LOSS_H

#include "tests/lib/case.h"
#include "tests/unit/transfer_sim.h"

typedef struct LossCase {
    uint32_t loss_ppm, dup_ppm, reorder_ppm;
    uint64_t delay_us, jitter_us;
} LossCase;

static const LossCase loss_cases[] = {
    {1000, 0, 0, 50, 0},           {1000, 1000, 1000, 50, 10}, {1000, 10000, 10000, 50, 0},
    {10000, 1000, 1000, 50, 20},   {10000, 0, 0, 500, 100},    {10000, 10000, 10000, 100, 10},
    {50000, 10000, 10000, 50, 10}, {50000, 0, 0, 20, 0},       {50000, 20000, 5000, 2000, 300},
};

/* Of one case's transfers, in bytes. */
static const size_t loss_lens[] = {8192, 8192, 8192, 57344, 200000, 1000000};

static inline void wires_lossy(SimWorld *w, const LossCase *c)
{
    for (int k = 0; k < 2; k++) {
        Wire *wire = &w->wires[k];
        wire->delay_ns = c->delay_us * NS_PER_US;
        wire->jitter_ns = c->jitter_us * NS_PER_US;
        wire->loss_ppm = c->loss_ppm;
        wire->dup_ppm = c->dup_ppm;
        wire->reorder_ppm = c->reorder_ppm;
        wire->reorder_ns = 40 * NS_PER_US;
    }
}

static inline void wires_any_loss(SimWorld *w)
{
    for (int k = 0; k < 2; k++) {
        Wire *wire = &w->wires[k];
        wire->loss_ppm = (uint32_t)world_below(w, 300000);
        wire->dup_ppm = (uint32_t)world_below(w, 300000);
        wire->reorder_ppm = (uint32_t)world_below(w, 500000);
        wire->reorder_ns = world_below(w, NS_PER_MS);
        wire->jitter_ns = world_below(w, NS_PER_MS);
    }
}

/* So many datagrams must be lost before the case's measure is one. */
static inline uint64_t loss_enough(const LossCase *c)
{
    return c->loss_ppm > 1000 ? 400 : 150;
}

/* The measure of selective repeats: datagrams sent again at most 1.2 times those lost. */
static inline void assert_few_again(const LossCase *c, uint64_t sent, uint64_t lost, uint64_t again)
{
    print_message("# loss %u ppm: %llu sent, %llu lost, %llu again\n", c->loss_ppm,
                  (unsigned long long)sent, (unsigned long long)lost, (unsigned long long)again);
    assert_true(again * 10 <= lost * 12);
}

#endif
