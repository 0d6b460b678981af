/* SPDX-License-Identifier: MIT */
/* The wire format: golden bytes for every message, round trips, and that decoders refuse what is
 * cut off or too long, and leave alone what later builds add. */
#include <string.h>

#include "tests/unit/wire_fixture.h"

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
