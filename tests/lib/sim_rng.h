/* SPDX-License-Identifier: MIT */
/* The simulation's randomness: xoshiro256** (Blackman, Vigna), seeded through splitmix64. One
 * generator per concern, split from the seed, so that more draws in one place do not reshuffle
 * all others. */
#ifndef DODO_TESTS_SIM_RNG_H
#define DODO_TESTS_SIM_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct SimRng {
    uint64_t s[4];
} SimRng;

static inline void sim_rng_init(SimRng *r, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed ^ (stream * 0xd1342543de82ef95ull);
    for (int i = 0; i < 4; i++) {
        uint64_t z = (x += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        r->s[i] = z ^ (z >> 31);
    }
}
static inline uint64_t sim_rng_u64(SimRng *r)
{
    uint64_t *s = r->s, t = s[1] << 17, x = s[1] * 5;
    uint64_t result = ((x << 7) | (x >> 57)) * 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}
/* Uniform in [0, n); 0 for n == 0. */
static inline uint64_t sim_rng_below(SimRng *r, uint64_t n)
{
    return n ? sim_rng_u64(r) % n : (sim_rng_u64(r), 0);
}
/* Uniform in [lo, hi]. */
static inline uint64_t sim_rng_between(SimRng *r, uint64_t lo, uint64_t hi)
{
    return lo + sim_rng_below(r, hi - lo + 1);
}
/* Log-uniform in [lo, hi], lo > 0: small values as often as large ones. */
static inline uint64_t sim_rng_spread(SimRng *r, uint64_t lo, uint64_t hi)
{
    unsigned bits = 0;
    while (lo << bits <= hi / 2)
        bits++;
    uint64_t top = lo << sim_rng_below(r, bits + 1);
    uint64_t v = sim_rng_between(r, top, top * 2 - 1);
    return v > hi ? hi : v;
}
static inline bool sim_rng_chance(SimRng *r, uint32_t ppm)
{
    return sim_rng_u64(r) % 1000000 < ppm;
}
static inline void sim_rng_fill(SimRng *r, void *buf, size_t len)
{
    uint8_t *p = buf;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t v = sim_rng_u64(r);
        memcpy(p, &v, 8);
    }
    if (len) {
        uint64_t v = sim_rng_u64(r);
        memcpy(p, &v, len);
    }
}

#endif
