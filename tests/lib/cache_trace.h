/* SPDX-License-Identifier: MIT */
/* Traces of a program's reads, piece by piece, as the studies of data-intensive programs know them
 * (the paper's 4.5 and 5.2): generated, so that anyone gets the same ones, and two recorded. */
#ifndef DODO_TESTS_CACHE_TRACE_H
#define DODO_TESTS_CACHE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "tests/lib/cache_trace_recorded.h"
#include "tests/lib/sim_rng.h"

enum { TRACE_PIECES = 1024, TRACE_LEN = 16384 };

/* Pieces 0 .. TRACE_PIECES - 1 into @at, TRACE_LEN of them. */
typedef void (*TraceFn)(SimRng *rng, uint16_t *at);

/* All data, from the beginning to the end, again and again. */
static inline void trace_loop(SimRng *rng, uint16_t *at)
{
    (void)rng;
    for (unsigned i = 0; i < TRACE_LEN; i++)
        at[i] = (uint16_t)(i % TRACE_PIECES);
}
/* Forward and back. */
static inline void trace_triangle(SimRng *rng, uint16_t *at)
{
    (void)rng;
    for (unsigned i = 0; i < TRACE_LEN; i++) {
        unsigned k = i % (2 * TRACE_PIECES);
        at[i] = (uint16_t)(k < TRACE_PIECES ? k : 2 * TRACE_PIECES - 1 - k);
    }
}
/* The paper's synthetic hotcold: 80 of 100 reads go to 20 of 100 pieces. */
static inline void trace_hotcold(SimRng *rng, uint16_t *at)
{
    const unsigned hot = TRACE_PIECES / 5;
    for (unsigned i = 0; i < TRACE_LEN; i++)
        at[i] =
            (uint16_t)(sim_rng_chance(rng, 800000) ? sim_rng_below(rng, hot)
                                                   : hot + sim_rng_below(rng, TRACE_PIECES - hot));
}
/* The k-th most popular piece is read in proportion to 1/k; which one that is, is shuffled. */
static inline void trace_zipf(SimRng *rng, uint16_t *at)
{
    static uint16_t name[TRACE_PIECES];
    static uint64_t sum[TRACE_PIECES]; /* of the weights, in 2^-32 */
    for (unsigned k = 0; k < TRACE_PIECES; k++) {
        unsigned other = (unsigned)sim_rng_below(rng, k + 1);
        name[k] = name[other];
        name[other] = (uint16_t)k;
        sum[k] = (k ? sum[k - 1] : 0) + (1ull << 32) / (k + 1);
    }
    for (unsigned i = 0; i < TRACE_LEN; i++) {
        uint64_t x = sim_rng_below(rng, sum[TRACE_PIECES - 1]);
        unsigned lo = 0, hi = TRACE_PIECES - 1;
        while (lo < hi) {
            unsigned mid = (lo + hi) / 2;
            if (sum[mid] > x)
                hi = mid;
            else
                lo = mid + 1;
        }
        at[i] = name[lo];
    }
}
static inline void trace_random(SimRng *rng, uint16_t *at)
{
    for (unsigned i = 0; i < TRACE_LEN; i++)
        at[i] = (uint16_t)sim_rng_below(rng, TRACE_PIECES);
}
/* Every 16th piece, then those next to them: a matrix by its columns. */
static inline void trace_strided(SimRng *rng, uint16_t *at)
{
    (void)rng;
    for (unsigned i = 0; i < TRACE_LEN; i++) {
        unsigned k = i % TRACE_PIECES;
        at[i] = (uint16_t)(k * 16 % TRACE_PIECES + k * 16 / TRACE_PIECES);
    }
}
/* A scan, a hot phase, a loop over a part, and so on. */
static inline void trace_phases(SimRng *rng, uint16_t *at)
{
    for (unsigned i = 0; i < TRACE_LEN; i++) {
        unsigned phase = i / TRACE_PIECES % 4, base = i / (4 * TRACE_PIECES) * 128;
        if (phase == 0)
            at[i] = (uint16_t)(i % TRACE_PIECES);
        else if (phase == 2)
            at[i] = (uint16_t)((base + i % 300) % TRACE_PIECES);
        else
            at[i] = (uint16_t)((base + sim_rng_below(rng, 100 * phase)) % TRACE_PIECES);
    }
}
/* A hot eighth, and a scan of the rest between its reads. */
static inline void trace_scan_hot(SimRng *rng, uint16_t *at)
{
    const unsigned hot = TRACE_PIECES / 8;
    for (unsigned i = 0; i < TRACE_LEN; i++)
        at[i] = (uint16_t)(i % 2 ? sim_rng_below(rng, hot) : hot + i / 2 % (TRACE_PIECES - hot));
}
/* A dense matrix of 32 x 32 pieces, factored from the left: for each column all columns before it.
 */
static inline void trace_factor(SimRng *rng, uint16_t *at)
{
    (void)rng;
    for (unsigned i = 0; i < TRACE_LEN;)
        for (unsigned column = 0; column < 32; column++)
            for (unsigned before = 0; before <= column; before++)
                for (unsigned row = before; row < 32 && i < TRACE_LEN; row++)
                    at[i++] = (uint16_t)(before * 32 + row);
}
/* A window of a sixteenth that moves on slowly. */
static inline void trace_window(SimRng *rng, uint16_t *at)
{
    for (unsigned i = 0; i < TRACE_LEN; i++)
        at[i] = (uint16_t)((i / 16 + sim_rng_below(rng, TRACE_PIECES / 16)) % TRACE_PIECES);
}

static const struct Trace {
    const char *name;
    TraceFn make; /* or recorded: */
    const uint16_t (*runs)[2];
    unsigned runs_count;
} traces[] = {
#define RECORDED(name) NULL, name, sizeof name / sizeof *name
    {"sequential loop", trace_loop},
    {"triangle scan", trace_triangle},
    {"hotcold", trace_hotcold},
    {"Zipf", trace_zipf},
    {"random", trace_random},
    {"strided loop", trace_strided},
    {"mixed phases", trace_phases},
    {"scan and hot set", trace_scan_hot},
    {"factorization", trace_factor},
    {"moving window", trace_window},
    {"dmine, recorded", RECORDED(recorded_dmine)},
    {"lu, recorded", RECORDED(recorded_lu)},
#undef RECORDED
};
enum { TRACES = sizeof traces / sizeof *traces };

/* How many reads they are, at most TRACE_LEN. */
static inline unsigned trace_make(unsigned which, uint16_t *at)
{
    const struct Trace *t = &traces[which];
    unsigned len = 0;
    SimRng rng;
    sim_rng_init(&rng, 1999, which);
    if (t->make) {
        t->make(&rng, at);
        return TRACE_LEN;
    }
    for (unsigned i = 0; i < t->runs_count; i++)
        for (unsigned k = 0; k < t->runs[i][1] && len < TRACE_LEN; k++)
            at[len++] = (uint16_t)(t->runs[i][0] + k);
    return len;
}

#endif
