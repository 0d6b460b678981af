/* SPDX-License-Identifier: MIT */
/* 128-bit random identifiers (clients, cmd instances, capabilities). Pure values. */
#ifndef DODO_BASE_ID_H
#define DODO_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct Id128 {
    uint8_t bytes[16];
} Id128;

static inline bool id128_equal(const Id128 *a, const Id128 *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}
static inline bool id128_is_null(const Id128 *a)
{
    static const Id128 null;
    return id128_equal(a, &null);
}

/* The finalizer of MurmurHash3: every input bit reaches every output bit. */
static inline uint64_t mix64(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    x ^= x >> 33;
    return x;
}
static inline uint64_t id128_hash(const Id128 *a)
{
    uint64_t lo, hi;
    memcpy(&lo, a->bytes, 8);
    memcpy(&hi, a->bytes + 8, 8);
    return mix64(lo ^ mix64(hi));
}

#endif
