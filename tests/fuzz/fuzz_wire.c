/* SPDX-License-Identifier: MIT */
/* Every decoder of the wire format gets every input. Whatever decodes must encode back to just the
 * same bytes, but for reserved ones and for what a later build put at the end: then nothing else
 * was overlooked, and there is one form for one meaning. */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/wire_codecs.h"

/* An unknown status decodes as PROTOCOL: put that into the input before it is compared. */
static void name_status(uint8_t *p, size_t at)
{
    unsigned status = p[at] | (unsigned)p[at + 1] << 8;
    if (strcmp(status_text(status), status_text(STATUS_MAX)) == 0) {
        p[at] = STATUS_PROTOCOL;
        p[at + 1] = 0;
    }
}

static void check_refusal(const WireAny *m, int r)
{
    static const WireAny untouched;
    WireAny copy = *m;
    FUZZ_CHECK(r == -EBADMSG || r == WIRE_E_VERSION);
    if (r == WIRE_E_VERSION)
        copy.header.version = 0; /* the one field that tells which */
    FUZZ_CHECK(memcmp(&copy, &untouched, sizeof copy) == 0);
}

static void leave_out_reserved(const WireCodec *c, const WireAny *m, uint8_t *p)
{
    static uint8_t mask[WIRE_CODEC_ROOM];
    size_t len = c->mask(m, mask);
    for (size_t i = 0; i < len; i++)
        p[i] &= mask[i];
}

/* What follows the @known bytes says nothing. */
static void check_without_more(const WireCodec *c, const uint8_t *data, size_t known,
                               const uint8_t *encoded)
{
    static uint8_t again[WIRE_CODEC_ROOM];
    WireAny m;
    FUZZ_CHECK(c->decode(data, known, &m) == 0);
    FUZZ_CHECK(c->encode(&m, again) == known);
    FUZZ_CHECK(memcmp(again, encoded, known) == 0);
}

/* The message ended where an earlier build's does: what @encoded has behind that is zero. */
static void check_earlier(const uint8_t *encoded, size_t size, size_t known)
{
    for (size_t i = size; i < known; i++)
        FUZZ_CHECK(encoded[i] == 0);
}

static void try_codec(const WireCodec *c, const uint8_t *data, size_t size)
{
    static uint8_t encoded[WIRE_CODEC_ROOM], expected[WIRE_CODEC_ROOM];
    WireAny m;

    memset(&m, 0, sizeof m);
    int r = c->decode(data, size, &m);
    if (r != 0) {
        check_refusal(&m, r);
        return;
    }
    FUZZ_CHECK(size <= sizeof expected);
    memcpy(expected, data, size);
    if (c->status_at)
        name_status(expected, c->status_at);
    if (c->mask)
        leave_out_reserved(c, &m, expected);
    size_t known = c->encode(&m, encoded);
    FUZZ_CHECK(known >= size || size <= c->longest);
    FUZZ_CHECK(memcmp(encoded, expected, known < size ? known : size) == 0);
    check_earlier(encoded, size, known);
    if (known < size)
        check_without_more(c, data, known, encoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++)
        try_codec(&wire_codecs[i], data, size);
    return 0;
}
