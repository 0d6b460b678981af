/* SPDX-License-Identifier: MIT */
/* What the wire format's decoders refuse as out of range, and the longest that they take. */
#include <string.h>

#include "tests/unit/wire_fixture.h"

/* ---- ranges -------------------------------------------------------------------------------- */

/* An example with some bytes replaced. */
typedef struct Patch {
    const char *codec, *name; /* of the golden example */
    const char *what;
    size_t at;
    const char *hex;
    bool good;
} Patch;

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
