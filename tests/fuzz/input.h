/* SPDX-License-Identifier: MIT */
/* A fuzz target's input as numbers; zeros after its end. */
#ifndef DODO_TESTS_FUZZ_INPUT_H
#define DODO_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/id.h"

typedef struct Input {
    const uint8_t *p;
    size_t left;
} Input;

static inline void take(Input *in, void *ret, size_t len)
{
    size_t n = len < in->left ? len : in->left;
    memset(ret, 0, len);
    if (n > 0)
        memcpy(ret, in->p, n);
    in->p += n;
    in->left -= n;
}

static inline uint8_t take_u8(Input *in)
{
    uint8_t v;
    take(in, &v, sizeof v);
    return v;
}

static inline uint16_t take_u16(Input *in)
{
    uint8_t v[2];
    take(in, v, sizeof v);
    return get_u16(v);
}

static inline uint64_t take_u64(Input *in)
{
    uint8_t v[8];
    take(in, v, sizeof v);
    return get_u64(v);
}

/* For an Env: @ctx is a uint64_t, which counts on. */
static inline void fuzz_random(void *ctx, void *buf, size_t len)
{
    uint64_t *random = ctx;
    uint8_t *p = buf;
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)mix64(++*random);
}

#endif
