/* SPDX-License-Identifier: MIT */
/* The wire format: golden bytes for every message, round trips, and that decoders refuse whatever
 * is cut off, too long or out of range, and leave alone what later builds add. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/case.h"
#include "tests/lib/hex.h"
#include "tests/lib/wire_codecs.h"
#include "tests/lib/wire_golden.h"

static const WireCodec *codec_by_name(const char *name)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++)
        if (strcmp(wire_codecs[i].name, name) == 0)
            return &wire_codecs[i];
    fail_msg("no codec is called %s", name);
    return NULL;
}

static size_t golden_wire_bytes(const WireGolden *g, uint8_t out[WIRE_CODEC_ROOM])
{
    return hex_bytes(g->hex, out, WIRE_CODEC_ROOM);
}

/* Decodes a copy that ends where its memory ends, so that the sanitizer sees every byte read
 * beyond; a refusal must leave the output as it was. */
static bool decodes(const WireCodec *c, const uint8_t *p, size_t len, WireAny *ret)
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

static bool accepted(const WireCodec *c, const uint8_t *p, size_t len)
{
    return decodes(c, p, len, NULL);
}

/* Decode and encode again: the length, 0 when refused. */
static size_t again(const WireCodec *c, const uint8_t *p, size_t len, uint8_t *out)
{
    WireAny m;
    return c->decode(p, len, &m) == 0 ? c->encode(&m, out) : 0;
}

/* ---- golden bytes -------------------------------------------------------------------------- */

TEST(golden__every_codec_has_one)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++) {
        size_t found = 0;
        for (size_t k = 0; k < WIRE_GOLDENS_COUNT; k++)
            found += strcmp(wire_goldens[k].codec, wire_codecs[i].name) == 0;
        if (!found)
            fail_msg("no golden bytes for %s", wire_codecs[i].name);
    }
}

TEST(golden__value_becomes_bytes)
{
    static uint8_t want[WIRE_CODEC_ROOM], got[WIRE_CODEC_ROOM];
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++) {
        const WireGolden *g = &wire_goldens[i];
        size_t len = golden_wire_bytes(g, want);
        memset(got, 0xee, sizeof got);
        print_message("# %s, %s\n", g->codec, g->name);
        assert_int_equal(codec_by_name(g->codec)->encode(g->message, got), len);
        assert_memory_equal(got, want, len);
        assert_int_equal(got[len], 0xee); /* nothing behind it */
    }
}

/* Encoding puts each field at a place of its own, so equal bytes mean equal fields. */
TEST(golden__bytes_become_value)
{
    static uint8_t want[WIRE_CODEC_ROOM], got[WIRE_CODEC_ROOM];
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++) {
        const WireGolden *g = &wire_goldens[i];
        size_t len = golden_wire_bytes(g, want);
        print_message("# %s, %s\n", g->codec, g->name);
        assert_true(accepted(codec_by_name(g->codec), want, len));
        assert_int_equal(again(codec_by_name(g->codec), want, len, got), len);
        assert_memory_equal(got, want, len);
    }
}

TEST(golden__sizes_are_the_named_ones)
{
    static const struct {
        const char *codec;
        size_t size;
    } sizes[] = {
        {"header", WIRE_HEADER_SIZE},
        {"hello", WIRE_HELLO_SIZE},
        {"reset", 8},
        {"read", WIRE_READ_SIZE},
        {"data", WIRE_DATA_HEADER_SIZE},
        {"write", WIRE_WRITE_HEADER_SIZE},
        {"write_ack", WIRE_WRITE_ACK_SIZE},
        {"ping", 24},
        {"goodbye", 8},
        {"request", WIRE_REQUEST_HEADER_SIZE},
        {"reply", WIRE_REPLY_HEADER_SIZE},
    };
    static uint8_t out[WIRE_CODEC_ROOM];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        WireAny zero = {.write.index = WIRE_INDEX_NONE};
        assert_int_equal(codec_by_name(sizes[i].codec)->encode(&zero, out), sizes[i].size);
    }
}

TEST(golden__index_stands_where_bursts_patch_it)
{
    uint8_t data[WIRE_DATA_HEADER_SIZE], write[WIRE_WRITE_HEADER_SIZE];
    wire_data_encode_header(&(WireData){.index = 0x1234}, data);
    wire_write_encode_header(&(WireWrite){.index = 0x1234}, write);
    assert_int_equal(data[WIRE_DATA_INDEX_AT] | data[WIRE_DATA_INDEX_AT + 1] << 8, 0x1234);
    assert_int_equal(write[WIRE_WRITE_INDEX_AT] | write[WIRE_WRITE_INDEX_AT + 1] << 8, 0x1234);
}

/* ---- refusals that every message has --------------------------------------------------------- */

static size_t opaque_len(const WireCodec *c, const void *message)
{
    return c->opaque ? c->opaque(message) : 0;
}

TEST(decode__refuses_every_truncation)
{
    static uint8_t wire[WIRE_CODEC_ROOM];
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++) {
        const WireGolden *g = &wire_goldens[i];
        const WireCodec *c = codec_by_name(g->codec);
        size_t len = golden_wire_bytes(g, wire);
        size_t needed = len - opaque_len(c, g->message);
        for (size_t n = 0; n < needed; n++)
            if (accepted(c, wire, n) != (n > 0 && n == g->earlier))
                fail_msg("%s, %s: %zu of %zu bytes", g->codec, g->name, n, len);
    }
}

/* What a later build puts at the end changes nothing, up to the longest that a message may be. */
TEST(decode__leaves_alone_what_follows)
{
    static uint8_t wire[WIRE_CODEC_ROOM], got[WIRE_CODEC_ROOM];
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++) {
        const WireGolden *g = &wire_goldens[i];
        const WireCodec *c = codec_by_name(g->codec);
        size_t len = golden_wire_bytes(g, wire);
        memset(wire + len, 0xee, sizeof wire - len);
        for (size_t more = 1; len + more <= c->longest; more++) {
            if (!accepted(c, wire, len + more))
                fail_msg("%s, %s: refused with %zu bytes more", g->codec, g->name, more);
            assert_int_equal(again(c, wire, len + more, got), len);
            assert_memory_equal(got, wire, len);
        }
    }
}

TEST(decode__refuses_what_is_too_long)
{
    static uint8_t wire[WIRE_CODEC_ROOM];
    unsigned tried = 0;
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++) {
        const WireGolden *g = &wire_goldens[i];
        const WireCodec *c = codec_by_name(g->codec);
        size_t len = golden_wire_bytes(g, wire);
        /* Behind data or a body it is one more byte of it; so it is behind a bare request. */
        if (opaque_len(c, g->message) > 0 || g->message == &golden_request_bare)
            continue;
        size_t longest = c->longest ? c->longest : len;
        memset(wire + len, 0, sizeof wire - len);
        if (accepted(c, wire, longest + 1))
            fail_msg("%s, %s: %zu bytes were accepted", g->codec, g->name, longest + 1);
        tried++;
    }
    assert_true(tried > 50);
}

/* For each byte that the example's mask marks with @mark, and each of its bits: @check with that
 * bit flipped in @wire. How many there were. */
static unsigned flip_marked(const WireGolden *g, char mark,
                            void (*check)(const WireGolden *g, const uint8_t *wire, size_t len,
                                          size_t at))
{
    static uint8_t wire[WIRE_CODEC_ROOM];
    size_t len = golden_wire_bytes(g, wire), at = 0;
    unsigned tried = 0;
    for (const char *p = g->reserved; *p; p++) {
        if (*p == ' ')
            continue;
        assert_true(at < len);
        p++; /* two characters a byte */
        for (unsigned bit = 0; *p == mark && bit < 8; bit++) {
            wire[at] ^= (uint8_t)(1u << bit);
            check(g, wire, len, at);
            wire[at] ^= (uint8_t)(1u << bit);
            tried++;
        }
        at++;
    }
    assert_true(accepted(codec_by_name(g->codec), wire, len));
    return tried;
}

static void check_refused(const WireGolden *g, const uint8_t *wire, size_t len, size_t at)
{
    if (accepted(codec_by_name(g->codec), wire, len))
        fail_msg("%s, %s: byte %zu must be zero", g->codec, g->name, at);
}

/* It decodes to just the same. */
static void check_not_looked_at(const WireGolden *g, const uint8_t *wire, size_t len, size_t at)
{
    static uint8_t got[WIRE_CODEC_ROOM], want[WIRE_CODEC_ROOM];
    const WireCodec *c = codec_by_name(g->codec);
    if (!accepted(c, wire, len))
        fail_msg("%s, %s: byte %zu is reserved, and looked at", g->codec, g->name, at);
    assert_int_equal(again(c, wire, len, got), golden_wire_bytes(g, want));
    assert_memory_equal(got, want, len);
}

TEST(decode__refuses_what_must_be_zero)
{
    unsigned tried = 0;
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++)
        tried += flip_marked(&wire_goldens[i], 'z', check_refused);
    assert_true(tried > 700); /* the masks are really there */
}

TEST(decode__does_not_look_at_reserved_bytes)
{
    unsigned tried = 0;
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++)
        tried += flip_marked(&wire_goldens[i], 'r', check_not_looked_at);
    assert_true(tried > 600);
}

/* The bytes of which a decoder may lose a bit are those that the golden lines say are reserved. */
TEST(decode__reserved_bytes_are_the_marked_ones)
{
    static uint8_t wire[WIRE_CODEC_ROOM], mask[WIRE_CODEC_ROOM];
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++) {
        const WireGolden *g = &wire_goldens[i];
        const WireCodec *c = codec_by_name(g->codec);
        size_t len = golden_wire_bytes(g, wire), at = 0;
        memset(mask, 0xff, sizeof mask);
        if (c->mask)
            assert_true(c->mask(g->message, mask) <= len);
        for (const char *p = g->reserved; *p; p++) {
            if (*p == ' ')
                continue;
            p++;
            assert_int_equal(mask[at++], *p == 'r' ? 0 : 0xff);
        }
        for (; at < len; at++)
            assert_int_equal(mask[at], 0xff);
    }
}

static bool is_reserved(const WireGolden *g, size_t byte)
{
    for (const char *p = g->reserved; *p; p++)
        if (*p != ' ' && *++p && byte-- == 0)
            return *p == 'r';
    return false;
}

/* @n bytes @got are of a message that is as long as it was, or was taken to end earlier. */
static void check_kept(const WireCodec *c, const uint8_t *wire, size_t len, const uint8_t *got,
                       size_t n)
{
    assert_true(n == len || (n < len && c->longest));
    assert_memory_equal(got, wire, n);
}

/* A flipped bit is refused, or decodes to a value that encodes to just those bytes; of a shorter
 * list what follows is a later build's. */
TEST(decode__any_flipped_bit_is_refused_or_kept)
{
    static uint8_t wire[WIRE_CODEC_ROOM], got[WIRE_CODEC_ROOM];
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++) {
        const WireGolden *g = &wire_goldens[i];
        const WireCodec *c = codec_by_name(g->codec);
        size_t len = golden_wire_bytes(g, wire);
        for (size_t bit = 0; bit < len * 8; bit++) {
            bool in_status = c->status_at && bit / 8 >= c->status_at && bit / 8 < c->status_at + 2;
            wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
            size_t n = again(c, wire, len, got);
            if (n != 0 && !in_status && !is_reserved(g, bit / 8))
                check_kept(c, wire, len, got, n);
            wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

/* ---- ranges -------------------------------------------------------------------------------- */

/* An example with some bytes replaced. */
typedef struct Patch {
    const char *codec, *name; /* of the golden example */
    const char *what;
    size_t at;
    const char *hex;
    bool good;
} Patch;

static const WireGolden *golden_by_name(const char *codec, const char *name)
{
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++)
        if (strcmp(wire_goldens[i].codec, codec) == 0 && strcmp(wire_goldens[i].name, name) == 0)
            return &wire_goldens[i];
    fail_msg("no golden bytes %s, %s", codec, name);
    return NULL;
}

static void check_patches(const Patch *patches, size_t count)
{
    static uint8_t wire[WIRE_CODEC_ROOM];
    for (size_t i = 0; i < count; i++) {
        const Patch *p = &patches[i];
        const WireGolden *g = golden_by_name(p->codec, p->name);
        size_t len = golden_wire_bytes(g, wire);
        assert_true(p->at + hex_bytes(p->hex, wire + p->at, sizeof wire - p->at) <= len);
        if (accepted(codec_by_name(p->codec), wire, len) != p->good)
            fail_msg("%s, %s: %s should be %s", p->codec, p->name, p->what,
                     p->good ? "accepted" : "refused");
    }
}
#define CHECK_PATCHES(table) check_patches(table, sizeof(table) / sizeof(table)[0])

/* Offsets in a RegionAddress. */
enum { AT_REGION = 8, AT_OPENING = 16 };
#define ZERO4 "00000000"
#define ZERO8 "0000000000000000"

TEST(ranges__header_and_sessions)
{
    static const Patch patches[] = {
        {"header", "sealed", "another magic", 0, "d1", false},
        {"header", "sealed", "an unknown flag", 3, "03", false},
        {"header", "sealed", "no flag", 3, "00", true},
        {"header", "sealed", "an unknown type", 2, "ff", true},
        {"header", "hello", "HELLO with a tag", 8, "01", false},
        {"header", "sealed", "RESET with a tag", 2, "03", false},
        {"header", "sealed", "RESET without one", 2, "03 00 74737271 " ZERO8, true},
        {"hello", "imd", "no tag", 0, ZERO8, false},
        {"hello", "imd", "no role", 56, ZERO8 "44434241 00", false},
        {"hello", "imd", "a role past the last", 56, ZERO8 "44434241 06", false},
        {"hello", "imd", "a client with an epoch", 68, "01", false},
        {"hello", "imd", "a client without one", 56, ZERO8 "44434241 01", true},
        {"ping", "leaving", "no flag", 16, ZERO8, true},
        {"ping", "leaving", "an unknown flag", 16, "0200000000000000", false},
    };
    assert_int_equal(ROLE_MAX, 6);
    CHECK_PATCHES(patches);
}

TEST(ranges__read)
{
    enum { ADDRESS = 8, OFFSET = 44, LEN = 52, SEGMENT = 56, WANT = 60 };
    static const Patch patches[] = {
        {"read", "some", "ask 0", 0, ZERO8, false},
        {"read", "some", "region 0", ADDRESS + AT_REGION, ZERO8, false},
        {"read", "some", "opening 0", ADDRESS + AT_OPENING, ZERO4, false},
        {"read", "some", "no length", LEN, ZERO4, false},
        {"read", "some", "one byte", LEN, "01000000 7805 0000 01" /* want */, true},
        {"read", "some", "the longest chunk", LEN, "00e00000", true},
        {"read", "some", "a longer chunk", LEN, "01e00000", false},
        {"read", "some", "an absurd length", LEN, "ffffffff", false},
        {"read", "some", "the least segment", SEGMENT, "8003", true},
        {"read", "some", "a lesser segment", SEGMENT, "7f03", false},
        {"read", "some", "no segment", SEGMENT, "0000", false},
        {"read", "some", "the largest segment", SEGMENT, "00e0 0000 01", true},
        {"read", "some", "a larger segment", SEGMENT, "01e0 0000 01", false},
        {"read", "some", "nothing wanted", WANT, ZERO8, false},
        {"read", "some", "the last segment wanted", WANT, "20", true},
        {"read", "some", "a segment past the last wanted", WANT, "40", false},
        {"read", "some", "the highest bit wanted", WANT, "0100000000000080", false},
        {"read", "some", "64 segments, all wanted", LEN, "00e00000 8003 0000 ffffffffffffffff",
         true},
        {"read", "some", "63 segments, 64 wanted", LEN, "80dc0000 8003 0000 ffffffffffffffff",
         false},
        {"read", "some", "end at 2^64 - 1", OFFSET, "ffdfffffffffffff", true},
        {"read", "some", "end past 2^64 - 1", OFFSET, "00e0ffffffffffff", false},
    };
    CHECK_PATCHES(patches);
}

TEST(ranges__data)
{
    static uint8_t wire[WIRE_CODEC_ROOM];
    const WireCodec *c = codec_by_name("data");
    static const Patch patches[] = {
        {"data", "segment", "ask 0", 0, ZERO8, false},
        {"data", "segment", "the last index", 8, "3f00", true},
        {"data", "segment", "an index past it", 8, "4000", false},
        {"data", "segment", "an index just below none", 8, "feff", false},
        {"data", "segment", "data without an index", 8, "ffff", false},
        {"data", "segment", "data with a refusal", 10, "0100", false},
        {"data", "segment", "data with an unknown status", 10, "ffff", false},
        {"data", "map", "an index without data", 8, "0000", false},
        {"data", "map", "all blocks of a chunk", 12, "ff7f0000", true},
        {"data", "map", "a block past the chunk", 12, "00800000", false},
    };
    CHECK_PATCHES(patches);

    size_t len = golden_wire_bytes(golden_by_name("data", "segment"), wire);
    memset(wire + len, 0, sizeof wire - len);
    assert_true(accepted(c, wire, WIRE_DATA_HEADER_SIZE + WIRE_SEGMENT_MAX));
    assert_false(accepted(c, wire, WIRE_DATA_HEADER_SIZE + WIRE_SEGMENT_MAX + 1));
}

TEST(ranges__write)
{
    enum { KIND = 36, INDEX = 38, TRANSFER = 48, OFFSET = 56, LEN = 64, SEGMENT = 68 };
    static const Patch patches[] = {
        {"write", "last segment", "region 0", AT_REGION, ZERO8, false},
        {"write", "last segment", "opening 0", AT_OPENING, ZERO4, false},
        {"write", "last segment", "an unknown kind", KIND, "03", false},
        {"write", "last segment", "a fill without transfer", KIND, "01", false},
        {"write", "fill", "a write with transfer", KIND, "00", true},
        {"write", "last segment", "void with data", KIND, "02", false},
        {"write", "poll", "void without data", KIND, "02", true},
        {"write", "void", "void of a segment", INDEX, "0000", false},
        {"write", "last segment", "the full segment's index", INDEX, "0000", false},
        {"write", "last segment", "an index past the last", INDEX, "0200", false},
        {"write", "last segment", "a poll with data", INDEX, "ffff", false},
        {"write", "poll", "an index without data", INDEX, "0000", false},
        {"write", "fill", "a poll of a fill with data", INDEX, "ffff", false},
        {"write", "last segment", "a shorter chunk", LEN, "82030000", false},
        {"write", "last segment", "a longer chunk", LEN, "84030000", false},
        {"write", "poll", "no length", LEN, ZERO4, false},
        {"write", "poll", "longer than a chunk", LEN, "01e00000", false},
        {"write", "poll", "an absurd length", LEN, "ffffffff", false},
        {"write", "poll", "the least segment", SEGMENT, "8003", true},
        {"write", "poll", "a lesser segment", SEGMENT, "7f03", false},
        {"write", "poll", "no segment", SEGMENT, "0000", false},
        {"write", "poll", "the largest segment", SEGMENT, "00e0", true},
        {"write", "poll", "a larger segment", SEGMENT, "01e0", false},
        {"write", "poll", "end at 2^64 - 1", OFFSET, "ff1fffffffffffff", true},
        {"write", "poll", "end past 2^64 - 1", OFFSET, "0020ffffffffffff", false},
        {"write", "fill", "transfer 0", TRANSFER, ZERO8, false},
    };
    CHECK_PATCHES(patches);
}

TEST(ranges__write_ack)
{
    enum { TRANSFER = 8, KIND = 16, STATE = 17, STATUS = 18 };
    static const Patch patches[] = {
        {"write_ack", "open", "done", STATE, "01", true},
        {"write_ack", "open", "refused without a reason", STATE, "02", false},
        {"write_ack", "open", "an unknown state", STATE, "03", false},
        {"write_ack", "open", "void", KIND, "02", true},
        {"write_ack", "open", "an unknown kind", KIND, "03", false},
        {"write_ack", "open", "a fill without transfer", KIND, "01", false},
        {"write_ack", "open", "a reason without refusal", STATUS, "0300", false},
        {"write_ack", "refused", "a write with transfer", KIND, "00", true},
        {"write_ack", "refused", "transfer 0", TRANSFER, ZERO8, false},
        {"write_ack", "refused", "open with a reason", STATE, "00", false},
        {"write_ack", "refused", "done with a reason", STATE, "01", false},
        {"write_ack", "refused", "an unknown reason", STATUS, "ff7f", true},
    };
    CHECK_PATCHES(patches);
}

TEST(ranges__client_bodies)
{
    static const Patch patches[] = {
        {"request", "bare", "id 0", 0, ZERO8, false},
        {"reply", "with body", "id 0", 0, ZERO8, false},

        {"open", "both flags", "no length", 40, ZERO8, false},
        {"open", "both flags", "end at 2^64 - 1", 32, "fffffffeffffffff", true},
        {"open", "both flags", "end past 2^64 - 1", 32, "000000ffffffffff", false},
        {"open", "both flags", "released", 48, "04", false},
        {"open", "both flags", "fresh", 48, "0a", true},
        {"open", "both flags", "an unknown flag", 48, "10", false},
        {"open", "both flags", "the highest flag", 51, "80", false},

        {"open_reply", "ip4", "an unknown kind of host", 0, "05 151e 00000000 00000000", false},
        {"open_reply", "ip4", "a host of the simulation", 0, "04 151e 00000000 0a00 0000", true},
        {"open_reply", "ip4", "region 0", 23 + AT_REGION, ZERO8, false},
        {"open_reply", "ip4", "opening 0", 23 + AT_OPENING, ZERO4, false},
        {"open_reply", "ip4", "more than reused", 59, "02", false},
        {"open_reply", "ip4", "no control port", 60, "0000", false},
        {"open_reply", "ip4", "no host", 0, "00 0000 00000000 00000000", false},
        {"open_reply", "ip6", "a scope outside IPv6", 0, "01", false},
        {"open_reply", "ip6", "no scope", 3, ZERO4, true},

        {"close", "release", "region 0", AT_REGION, ZERO8, false},
        {"close", "release", "opening 0", AT_OPENING, ZERO4, false},
        {"close", "release", "free", 36, "00", true},
        {"close", "release", "an unknown mode", 36, "02", false},

        {"alive_reply", "list", "no flag", 0, ZERO4, true},
        {"alive_reply", "list", "both flags", 0, "03", true},
        {"alive_reply", "list", "an unknown flag", 0, "04", false},

        {"moves_reply", "two hosts", "no host", 8, "00000000", true},
        {"moves_reply", "two hosts", "more hosts than bytes", 8, "03000000", false},
        {"moves_reply", "two hosts", "an absurd number of hosts", 8, "ffffffff", false},

        {"claim", "second page", "a page past the last", 4, "02000000", false},
        {"claim", "second page", "no pages", 4, ZERO4 ZERO4, false},
        {"claim", "second page", "fewer names than bytes", 12, "01000000", true},
        {"claim", "second page", "more names than bytes", 12, "03000000", false},
        {"claim", "second page", "an absurd number of names", 12, "ffffffff", false},
        {"claim", "second page", "region 0", 24 + 20 + 8, ZERO8, false},
        {"claim", "second page", "opening 0", 24 + 20 + 16, ZERO4, false},

        {"status_reply", "one host", "more hosts than bytes", 32, "02000000", false},
        {"status_reply", "one host", "an absurd number of hosts", 32, "ffffffff", false},
        {"status_reply", "one host", "an unknown kind of host", 36, "05", false},
        {"status_reply", "one host", "an unknown state", 36 + 23, "04", false},
        {"status_reply", "one host", "a busy host", 36 + 23, "03", true},
        {"status_reply", "one host", "a reason shorter than its bytes", 36 + 80, "05", true},
        {"status_reply", "one host", "a reason longer than the body", 36 + 80, "07", false},
        {"status_reply", "one host", "no text", 36 + 81, "1b", false},
        {"status_reply", "one host", "no address", 36, "00 0000 00000000 000000000000", true},
        {"status_reply", "one host", "no address but a port", 36, "00 0100 00000000 000000000000",
         false},

        {"events_reply", "one event", "more events than bytes", 16, "02000000", false},
        {"events_reply", "one event", "an absurd number of events", 16, "ffffffff", false},
        {"events_reply", "one event", "no number", 20, ZERO8, false},
        {"events_reply", "one event", "the last known kind", 36, "0c", true},
        {"events_reply", "one event", "an unknown kind", 36, "0e", false},
        {"events_reply", "one event", "a reason longer than the body", 76, "07", false},
        {"events_reply", "one event", "no text", 77, "1b", false},
    };
    assert_int_equal(ADDR_KIND_MAX, 5);
    CHECK_PATCHES(patches);
}

TEST(ranges__drains_and_regions)
{
    enum { HOST = 23, ENTRY = 12, USE = ENTRY + HOST + 12, OFFSET = USE + 18 };
    static const Patch patches[] = {
        {"drain", "start", "of the one that asks", 0, "00 0000 00000000 00000000", true},
        {"drain", "start", "a look", HOST, "00", true},
        {"drain", "start", "a cancel", HOST, "02", true},
        {"drain", "start", "an unknown wish", HOST, "03", false},
        {"drain", "start", "no drop", HOST + 1, "00", true},
        {"drain", "start", "more than drop", HOST + 1, "02", false},
        {"drain_reply", "on", "off", 8, "00", true},
        {"drain_reply", "on", "an unknown state", 8, "02", false},
        {"drain_reply", "on", "not listed", 9, "00", true},
        {"drain_reply", "on", "more than listed", 9, "02", false},

        {"regions", "filtered", "an unknown kind of host", 8, "05", false},
        {"regions", "all", "a port of no host", 9, "01", false},
        {"regions_reply", "one region", "none of what follows", 8, "00000000", true},
        {"regions_reply", "one region", "more regions than bytes", 8, "02000000", false},
        {"regions_reply", "one region", "an absurd number of regions", 8, "ffffffff", false},
        {"regions_reply", "one region", "the last known use", USE, "03", true},
        {"regions_reply", "one region", "an unknown use", USE, "04", false},
        {"regions_reply", "one region", "more than retain", USE + 1, "02", false},
        {"regions_reply", "one region", "no length", OFFSET + 8, ZERO8, false},
        {"regions_reply", "one region", "end past 2^64 - 1", OFFSET, "000000ffffffffff", false},
        {"copies_reply", "one region", "not leaving", OFFSET + 16, "00", true},
        {"copies_reply", "one region", "more than leaving", OFFSET + 16, "02", false},
        {"copies_reply", "one region", "an unknown use", USE, "04", false},
        {"drains_reply", "one host", "an unknown state", ENTRY + HOST + 8, "02", false},
        {"drains_reply", "one host", "none of what follows", 8, "00000000", true},
    };
    CHECK_PATCHES(patches);
}

TEST(ranges__rmd_bodies)
{
    enum { STATE = 0, REASON = 17 };
    static const Patch patches[] = {
        {"explain", "offset", "the end of the longest text", 0, "00400000", true},
        {"explain", "offset", "past the end of the longest text", 0, "01400000", false},
        {"explain_reply", "some", "the longest text", 0, "00400000", true},
        {"explain_reply", "some", "a longer text", 0, "01400000", false},
        {"explain_reply", "some", "a page as long as the text", 0, "03000000", true},
        {"explain_reply", "some", "a page longer than the text", 0, "02000000", false},
        {"explain_reply", "some", "more bytes than told", 8, "02000000", true},
        {"explain_reply", "some", "fewer bytes than told", 8, "04000000", false},
        {"explain_reply", "some", "an absurd number", 8, "ffffffff", false},

        {"host", "lending", "an unknown state", STATE, "03", false},
        {"host", "lending", "a state on its way", STATE, "01", true},
        {"host", "lending", "fewer bytes than told", REASON, "05", false},
        {"host", "lending", "more bytes than told", REASON, "03", true},
        {"host", "lending", "an absurd number", REASON, "ff", false},
        {"host", "lending", "the last that prints", REASON + 1, "7e", true},
        {"host", "lending", "a blank", REASON + 1, "20", true},
        {"host", "lending", "what ends a string", REASON + 2, "00", false},
        {"host", "lending", "what moves a terminal's cursor", REASON + 1, "1b", false},
        {"host", "lending", "what deletes", REASON + 1, "7f", false},
        {"host", "lending", "another character set", REASON + 4, "e9", false},
    };
    CHECK_PATCHES(patches);
}

TEST(ranges__imd_bodies)
{
    enum { HINT = 40, LISTED = HINT + 24 };
    static const Patch patches[] = {
        {"join", "two threads", "fewer ports than bytes", 48, "01000000", true},
        {"join", "two threads", "more ports than bytes", 48, "03000000", false},
        {"join", "two threads", "an absurd number of ports", 48, "ffffffff", false},
        {"beat_reply", "list", "no flag", 0, ZERO4, true},
        {"beat_reply", "list", "an unknown flag", 0, "02", false},

        {"listing", "one released", "a page past the last", HINT + 4, "01000000", false},
        {"listing", "one released", "no pages", HINT + 8, ZERO4, false},
        {"listing", "one released", "more regions than bytes", HINT + 12, "02000000", false},
        {"listing", "one released", "an absurd number", HINT + 12, "ffffffff", false},
        {"listing", "one released", "region 0", LISTED, ZERO8, false},
        {"listing", "one released", "opening 0", LISTED + 8, ZERO4, false},
        {"listing", "one released", "no length", LISTED + 84, ZERO8, false},
        {"listing", "one released", "end past 2^64 - 1", LISTED + 76, "000000ffffffffff", false},
        {"listing", "one released", "all flags", LISTED + 92, "07", true},
        {"listing", "one released", "an unknown flag", LISTED + 92, "08", false},

        {"alloc", "evict", "no length", 56, ZERO8, false},
        {"alloc", "evict", "end past 2^64 - 1", 48, "000000ffffffffff", false},
        {"alloc", "evict", "released", 64, "04", false},
        {"alloc", "evict", "fresh", 64, "08", false},
        {"alloc", "evict", "no eviction", 68, "00", true},
        {"alloc", "evict", "more than evict", 68, "02", false},

        {"alloc_reply", "given", "opening 0", HINT + AT_OPENING, ZERO4, false},
        {"alloc_reply", "given", "an address without a region", HINT + AT_REGION, ZERO8, false},
        {"alloc_reply", "refused", "an epoch without a region", HINT, "01", false},
        {"alloc_reply", "refused", "an opening without a region", HINT + AT_OPENING, "01", false},
        {"alloc_reply", "refused", "a secret without a region", HINT + 20, "01", false},
        {"alloc_reply", "refused", "a port without a region", HINT + 36, "01", false},

        {"free", "any opening", "one opening", 16, "01000000", true},
        {"free", "any opening", "region 0", 8, ZERO8, false},
        {"release", "some", "region 0", AT_REGION, ZERO8, false},
        {"release", "some", "opening 0", AT_OPENING, ZERO4, false},
        {"reopen", "reading", "region 0", AT_REGION, ZERO8, false},
        {"reopen", "reading", "opening 0", AT_OPENING, ZERO4, false},
        {"reopen", "reading", "released", 36, "04", false},
    };
    CHECK_PATCHES(patches);
}

/* ---- full bodies --------------------------------------------------------------------------- */

static void check_full(const char *name, const void *m, size_t want_len)
{
    static uint8_t wire[WIRE_CODEC_ROOM], got[WIRE_CODEC_ROOM];
    const WireCodec *c = codec_by_name(name);
    size_t len = c->encode(m, wire);
    assert_int_equal(len, want_len);
    assert_true(len <= WIRE_BODY_MAX);
    assert_true(accepted(c, wire, len));
    assert_int_equal(again(c, wire, len, got), len);
    assert_memory_equal(got, wire, len);
}

TEST(full__largest_lists_fit_a_body)
{
    OpClaim claim = {.pages = 1, .count = CLAIM_NAMES_MAX};
    for (unsigned i = 0; i < CLAIM_NAMES_MAX; i++)
        claim.names[i] = (RegionName){i, i + 1, i + 2};
    check_full("claim", &claim, 24 + CLAIM_NAMES_MAX * 20);

    OpStatusReply status = {.count = STATUS_HOSTS_MAX};
    for (unsigned i = 0; i < STATUS_HOSTS_MAX; i++)
        status.hosts[i] = (HostStatus){.address = addr_sim((uint16_t)i, 7), .regions = i};
    check_full("status_reply", &status, 36 + STATUS_HOSTS_MAX * 81);
    for (unsigned i = 0; i < STATUS_HOSTS_MAX; i++)
        memset(status.hosts[i].reason.text, 'a', REASON_MAX);
    check_full("status_reply", &status, 36 + STATUS_HOSTS_MAX * (81 + REASON_MAX));

    OpEventsReply events = {.count = EVENTS_PAGE_MAX};
    for (unsigned i = 0; i < EVENTS_PAGE_MAX; i++) {
        events.events[i] = (EventEntry){.number = i + 1, .address = addr_sim((uint16_t)i, 7)};
        memset(events.events[i].reason.text, 'a', REASON_MAX);
    }
    check_full("events_reply", &events, 20 + EVENTS_PAGE_MAX * (57 + REASON_MAX));

    OpMovesReply moves = {.count = MOVES_MAX};
    check_full("moves_reply", &moves, 12 + MOVES_MAX * 8);

    OpRegionsReply regions = {.count = REGIONS_PAGE_MAX};
    for (unsigned i = 0; i < REGIONS_PAGE_MAX; i++)
        regions.regions[i] = (RegionStatus){.host = addr_sim((uint16_t)i, 7), .len = i + 1};
    check_full("regions_reply", &regions, 12 + REGIONS_PAGE_MAX * 69);

    OpCopiesReply copies = {.count = COPIES_PAGE_MAX};
    for (unsigned i = 0; i < COPIES_PAGE_MAX; i++)
        copies.copies[i].region = regions.regions[i];
    check_full("copies_reply", &copies, 12 + COPIES_PAGE_MAX * 78);

    OpDrainsReply drains = {.count = DRAINS_PAGE_MAX};
    for (unsigned i = 0; i < DRAINS_PAGE_MAX; i++)
        drains.drains[i].host = addr_sim((uint16_t)i, 7);
    check_full("drains_reply", &drains, 12 + DRAINS_PAGE_MAX * 167);

    OpExplainReply page = {.total = EXPLAIN_MAX, .len = EXPLAIN_PAGE_MAX};
    memset(page.text, 'a', sizeof page.text);
    check_full("explain_reply", &page, 12 + EXPLAIN_PAGE_MAX);

    OpHost host = {.epoch = 1};
    memset(host.reason.text, 'a', REASON_MAX);
    check_full("host", &host, 18 + REASON_MAX);

    OpJoin join = {.ports_count = JOIN_PORTS_MAX};
    for (unsigned i = 0; i < JOIN_PORTS_MAX; i++)
        join.ports[i] = (uint16_t)(1000 + i);
    check_full("join", &join, 52 + JOIN_PORTS_MAX * 2);

    OpListing listing = {.hint.epoch = 3, .pages = 1, .count = LISTING_MAX};
    for (unsigned i = 0; i < LISTING_MAX; i++)
        listing.regions[i] = (RegionListing){
            .address = {3, i + 1, i + 2, {{(uint8_t)i}}}, .len = i + 1, .port = (uint16_t)i};
    check_full("listing", &listing, 64 + LISTING_MAX * 122);
}

/* One element more than a list may have, in bytes that are otherwise right. */
static void check_one_too_many(const char *codec, const char *name, size_t count_at, size_t list_at,
                               size_t element, uint32_t max)
{
    static uint8_t wire[WIRE_CODEC_ROOM];
    const WireCodec *c = codec_by_name(codec);
    (void)golden_wire_bytes(golden_by_name(codec, name), wire);
    for (uint32_t i = 1; i <= max; i++)
        memmove(wire + list_at + i * element, wire + list_at, element);
    for (uint32_t count = max; count <= max + 1; count++) {
        wire[count_at] = (uint8_t)count;
        assert_int_equal(accepted(c, wire, list_at + count * element), count == max);
    }
}

TEST(full__one_element_more_is_refused)
{
    check_one_too_many("claim", "second page", 12, 24, 20, CLAIM_NAMES_MAX);
    check_one_too_many("status_reply", "one host", 32, 36, 87, STATUS_HOSTS_MAX);
    check_one_too_many("events_reply", "one event", 16, 20, 63, EVENTS_PAGE_MAX);
    check_one_too_many("moves_reply", "two hosts", 8, 12, 8, MOVES_MAX);
    check_one_too_many("regions_reply", "one region", 8, 12, 69, REGIONS_PAGE_MAX);
    check_one_too_many("copies_reply", "one region", 8, 12, 78, COPIES_PAGE_MAX);
    check_one_too_many("drains_reply", "one host", 8, 12, 167, DRAINS_PAGE_MAX);
    check_one_too_many("join", "two threads", 48, 52, 2, JOIN_PORTS_MAX);
    check_one_too_many("listing", "one released", 52, 64, 122, LISTING_MAX);
}

TEST(full__longest_request_and_reply)
{
    static uint8_t body[WIRE_BODY_MAX + 1], wire[WIRE_CODEC_ROOM];
    WireRequest request = {.id = 1, .op = OP_OPEN, .body = body, .body_len = WIRE_BODY_MAX};
    WireReply reply = {.id = 1, .op = OP_OPEN, .body = body, .body_len = WIRE_BODY_MAX};
    size_t n = wire_request_encode(&request, wire);
    assert_int_equal(n, WIRE_PAYLOAD_MAX);
    assert_true(accepted(codec_by_name("request"), wire, n));
    wire[n] = 0;
    assert_false(accepted(codec_by_name("request"), wire, n + 1));
    n = wire_reply_encode(&reply, wire);
    assert_true(n <= WIRE_PAYLOAD_MAX);
    assert_true(accepted(codec_by_name("reply"), wire, n));
    wire[n] = 0;
    assert_false(accepted(codec_by_name("reply"), wire, n + 1));
}

/* ---- particular functions -------------------------------------------------------------------- */

TEST(header__names_a_foreign_version)
{
    uint8_t wire[WIRE_HEADER_SIZE];
    WireHeader h = golden_header, ret = {.type = 77, .cluster = 78, .tag = 79};
    h.version = WIRE_VERSION + 1;
    wire_header_encode(&h, wire);
    assert_int_equal(wire_header_decode(wire, sizeof wire, &ret), WIRE_E_VERSION);
    assert_int_equal(ret.version, WIRE_VERSION + 1);
    assert_int_equal(ret.type, 77);
    assert_int_equal(ret.cluster, 78);
    assert_int_equal(ret.tag, 79);
    assert_int_equal(wire_header_decode(wire, sizeof wire - 1, &ret), -EBADMSG);
    wire[0] = 0;
    assert_int_equal(wire_header_decode(wire, sizeof wire, &ret), -EBADMSG);
}

TEST(header__is_followed_by_a_payload)
{
    uint8_t wire[WIRE_HEADER_SIZE + 5] = {0};
    WireHeader ret;
    wire_header_encode(&golden_header, wire);
    assert_int_equal(wire_header_decode(wire, sizeof wire, &ret), 0);
    assert_int_equal(ret.version, golden_header.version);
    assert_int_equal(ret.type, golden_header.type);
    assert_int_equal(ret.flags, golden_header.flags);
    assert_int_equal(ret.cluster, golden_header.cluster);
    assert_int_equal(ret.tag, golden_header.tag);
}

TEST(data__points_into_the_datagram)
{
    uint8_t wire[64];
    WireData m;
    size_t n = hex_bytes(golden_by_name("data", "segment")->hex, wire, sizeof wire);
    assert_int_equal(wire_data_decode(wire, n, &m), 0);
    assert_ptr_equal(m.data, wire + WIRE_DATA_HEADER_SIZE);
    assert_int_equal(m.data_len, 3);
}

/* Every segment of a chunk, with just the length that it must have. */
TEST(write__each_segment_has_its_length)
{
    static uint8_t wire[WIRE_CODEC_ROOM];
    static const uint32_t lens[] = {1,    895,  896,  897,   1791,           1792,
                                    1793, 4096, 8192, 57343, WIRE_CHUNK_MAX, WIRE_CHUNK_MAX - 896};
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        WireWrite m = golden_write, ret;
        m.len = lens[i];
        unsigned count = wire_segment_count(m.len, m.segment);
        for (unsigned k = 0; k <= count; k++) {
            m.index = (uint16_t)k;
            size_t right = k + 1 < count ? m.segment : m.len - (size_t)m.segment * (count - 1);
            (void)wire_write_encode_header(&m, wire);
            size_t n = WIRE_WRITE_HEADER_SIZE + right;
            assert_int_equal(wire_write_decode(wire, n, &ret), k < count ? 0 : -EBADMSG);
            assert_int_equal(wire_write_decode(wire, n - 1, &ret), -EBADMSG);
            assert_int_equal(wire_write_decode(wire, n + 1, &ret), -EBADMSG);
        }
    }
}

/* The body may be made where it will stand. */
TEST(request__body_in_place)
{
    static uint8_t wire[WIRE_PAYLOAD_MAX], want[64];
    size_t n = hex_bytes(golden_by_name("request", "with body")->hex, want, sizeof want);
    WireRequest m = golden_request;
    m.body = memcpy(wire + WIRE_REQUEST_HEADER_SIZE, golden_bytes, sizeof golden_bytes);
    assert_int_equal(wire_request_encode(&m, wire), n);
    assert_memory_equal(wire, want, n);
}

TEST(status__unknown_numbers_count_as_protocol)
{
    uint8_t wire[64];
    WireReply reply;
    for (unsigned status = 0; status <= UINT16_MAX; status++) {
        (void)hex_bytes(golden_by_name("reply", "with body")->hex, wire, sizeof wire);
        wire[10] = (uint8_t)status;
        wire[11] = (uint8_t)(status >> 8);
        assert_int_equal(wire_reply_decode(wire, WIRE_REPLY_HEADER_SIZE, &reply), 0);
        assert_int_equal(reply.status, status < STATUS_MAX ? status : STATUS_PROTOCOL);
    }
}

TEST(status__has_a_text)
{
    static const unsigned numbers[] = {
#define X(name, number, text) number,
#include "proto/status.def"
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_true(*status_text(numbers[i]));
        assert_string_not_equal(status_text(numbers[i]), status_text(STATUS_MAX));
    }
    assert_string_equal(status_text(STATUS_GONE), "no such region");
    assert_string_equal(status_text(4711), "unknown status");
}

TEST(segments__count_and_mask)
{
    assert_int_equal(wire_segment_count(1, WIRE_SEGMENT_MIN), 1);
    assert_int_equal(wire_segment_count(WIRE_SEGMENT_MIN, WIRE_SEGMENT_MIN), 1);
    assert_int_equal(wire_segment_count(WIRE_SEGMENT_MIN + 1, WIRE_SEGMENT_MIN), 2);
    assert_int_equal(wire_segment_count(WIRE_CHUNK_MAX, WIRE_SEGMENT_MIN), WIRE_SEGMENTS_MAX);
    assert_int_equal(wire_segment_count(WIRE_CHUNK_MAX, WIRE_SEGMENT_MAX), 1);
    assert_true(wire_segment_mask(1) == 1);
    assert_true(wire_segment_mask(63) == UINT64_MAX >> 1);
    assert_true(wire_segment_mask(64) == UINT64_MAX);
}

TEST(digest__differs_by_each_field)
{
    RegionName a = {1, 2, 3};
    RegionName others[] = {{2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {2, 1, 3}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_true(region_digest(&a) != region_digest(&others[i]));
}

/* ---- probes --------------------------------------------------------------------------------- */

TEST(probe__only_its_length_is_judged)
{
    static uint8_t bytes[WIRE_PROBE_MAX + 1];
    uint64_t nonce = 0;
    assert_int_equal(wire_probe_encode(0x0807060504030201, WIRE_PROBE_MAX, bytes), WIRE_PROBE_MAX);
    for (uint8_t i = 0; i < WIRE_PROBE_MIN; i++)
        assert_int_equal(bytes[i], i + 1);
    bytes[WIRE_PROBE_MAX - 1] = 0xff;
    assert_int_equal(wire_probe_decode(bytes, WIRE_PROBE_MIN, &nonce), 0);
    assert_int_equal(wire_probe_decode(bytes, WIRE_PROBE_MAX, &nonce), 0);
    assert_int_equal(nonce, 0x0807060504030201);
    assert_int_equal(wire_probe_decode(bytes, WIRE_PROBE_MIN - 1, &nonce), -EBADMSG);
    assert_int_equal(wire_probe_decode(bytes, WIRE_PROBE_MAX + 1, &nonce), -EBADMSG);
}

/* It does not travel with each region, so that it cannot differ. */
TEST(listing__regions_have_the_epoch_of_the_hint)
{
    const OpListing m = {
        .hint = {.epoch = 0x1122334455667788},
        .pages = 1,
        .count = 2,
        .regions = {{.address = {.region = 1, .opening = 1}, .len = 4096},
                    {.address = {.epoch = 9, .region = 2, .opening = 1}, .len = 4096}}};
    uint8_t bytes[WIRE_BODY_MAX];
    OpListing back;
    size_t len = wire_listing_encode(&m, bytes);
    assert_int_equal(wire_listing_decode(bytes, len, &back), 0);
    for (unsigned i = 0; i < m.count; i++)
        assert_int_equal(back.regions[i].address.epoch, m.hint.epoch);
}
