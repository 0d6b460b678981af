/* SPDX-License-Identifier: MIT */
/* What the tests of the wire format share: golden examples by name, and decoders that are watched.
 */
#ifndef DODO_TESTS_WIRE_FIXTURE_H
#define DODO_TESTS_WIRE_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "tests/lib/case.h"
#include "tests/lib/hex.h"
#include "tests/lib/wire_codecs.h"
#include "tests/lib/wire_golden.h"

static inline const WireCodec *codec_by_name(const char *name)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++)
        if (strcmp(wire_codecs[i].name, name) == 0)
            return &wire_codecs[i];
    fail_msg("no codec is called %s", name);
    return NULL;
}

static inline size_t golden_wire_bytes(const WireGolden *g, uint8_t out[WIRE_CODEC_ROOM])
{
    return hex_bytes(g->hex, out, WIRE_CODEC_ROOM);
}

/* Decodes a copy that ends where its memory ends, so that the sanitizer sees every byte read
 * beyond; a refusal must leave the output as it was. */
static inline bool decodes(const WireCodec *c, const uint8_t *p, size_t len, WireAny *ret)
{
    uint8_t *copy = malloc(len ? len : 1);
    WireAny *out = malloc(sizeof *out), *before = malloc(sizeof *before);
    assert_non_null(copy);
    assert_non_null(out);
    assert_non_null(before);
    memcpy(copy, p, len);
    memset(out, 0xa5, sizeof *out);
    memset(before, 0xa5, sizeof *before);
    int r = c->decode(copy + (len ? 0 : 1), len, out);
    if (r == WIRE_E_VERSION)
        out->header.version = 0xa5; /* which may be set then */
    else if (r != 0)
        assert_int_equal(r, -EBADMSG);
    if (r != 0)
        assert_memory_equal(out, before, sizeof *out);
    else
        assert_memory_equal((uint8_t *)out + c->size, (uint8_t *)before + c->size,
                            sizeof *out - c->size);
    if (r == 0 && ret)
        *ret = *out;
    free(copy);
    free(out);
    free(before);
    return r == 0;
}

static inline bool accepted(const WireCodec *c, const uint8_t *p, size_t len)
{
    return decodes(c, p, len, NULL);
}

/* Decode and encode again: the length, 0 when refused. */
static inline size_t again(const WireCodec *c, const uint8_t *p, size_t len, uint8_t *out)
{
    WireAny m;
    return c->decode(p, len, &m) == 0 ? c->encode(&m, out) : 0;
}

static inline const WireGolden *golden_by_name(const char *codec, const char *name)
{
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++)
        if (strcmp(wire_goldens[i].codec, codec) == 0 && strcmp(wire_goldens[i].name, name) == 0)
            return &wire_goldens[i];
    fail_msg("no golden bytes %s, %s", codec, name);
    return NULL;
}

#endif
