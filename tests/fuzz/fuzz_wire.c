/* SPDX-License-Identifier: MIT */
/* Every decoder of the wire format gets every input. Whatever decodes must encode back to just the
 * same bytes: then nothing was overlooked, and there is one form for one meaning. */
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
    FUZZ_CHECK(c->encode(&m, encoded) == size);
    FUZZ_CHECK(memcmp(encoded, expected, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++)
        try_codec(&wire_codecs[i], data, size);
    return 0;
}
