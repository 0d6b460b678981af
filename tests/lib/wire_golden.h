/* SPDX-License-Identifier: MIT */
/* Golden bytes: for each message a value and, written by hand from the layout and not by the
 * encoder, what it looks like on the wire. A change here is a change of the protocol. */
#ifndef DODO_TESTS_LIB_WIRE_GOLDEN_H
#define DODO_TESTS_LIB_WIRE_GOLDEN_H

#include <stdint.h>

#include "proto/wire.h"

typedef struct WireGolden {
    const char *codec;   /* WireCodec.name */
    const char *name;    /* of this example */
    const void *message; /* the codec's struct */
    const char *hex;     /* digits, spaces ignored, one group a field */
    /* Like @hex: `zz` where a byte must be zero, `rr` where it is reserved, anything elsewhere. */
    const char *reserved;
    size_t earlier; /* so many bytes of it an earlier build sends, which are enough; 0: all */
} WireGolden;

#define GOLDEN_CAPABILITY                                                                       \
    {                                                                                           \
        {                                                                                       \
            0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, \
                0xce, 0xcf                                                                      \
        }                                                                                       \
    }
#define GOLDEN_ADDRESS                                                        \
    {                                                                         \
        0x0102030405060708, 0x1112131415161718, 0x21222324, GOLDEN_CAPABILITY \
    }
#define HEX_CAPABILITY "c0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
#define HEX_ADDRESS "0807060504030201 1817161514131211 24232221 " HEX_CAPABILITY " "
#define ANY_ADDRESS "................ ................ ........ ................................ "

#define GOLDEN_ID                                                                               \
    {                                                                                           \
        {                                                                                       \
            0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, \
                0xae, 0xaf                                                                      \
        }                                                                                       \
    }
#define HEX_ID "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf "
#define GOLDEN_KEY                                                                              \
    {                                                                                           \
        {                                                                                       \
            0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, \
                0xfe, 0xff, 0xe0, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea,   \
                0xeb, 0xec, 0xed, 0xee, 0xef                                                    \
        }                                                                                       \
    }
#define HEX_KEY "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeffe0e1e2e3e4e5e6e7e8e9eaebecedeeef "
#define GOLDEN_STAMP                                               \
    {                                                              \
        0x3132333435363738, 0x4142434445464748, 0x5152535455565758 \
    }
#define HEX_STAMP "3837363534333231 4847464544434241 5857565554535251 "
#define GOLDEN_HINT                                                           \
    {                                                                         \
        0x6162636465666768, 0x40000000, 0x10000000, 0x50000000, 0x00010203, 0 \
    }
#define HEX_HINT \
    "6867666564636261 0000004000000000 0000001000000000 0000005000000000 03020100 00000000 "
#define RESERVED_HINT \
    "................ ................ ................ ................ ........ rrrrrrrr "

/* ---- header and sessions ------------------------------------------------------------------- */

static const WireHeader golden_header = {WIRE_VERSION, WIRE_READ, WIRE_FLAG_SEALED, 0x71727374,
                                         0x8182838485868788};
static const WireHeader golden_header_hello = {WIRE_VERSION, WIRE_HELLO, 0, 0x71727374, 0};
static const WireHello golden_hello = {.tag = 0x0102030405060708,
                                       .salt = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
                                                0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f},
                                       .peer_salt = {0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
                                                     0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e,
                                                     0x2f},
                                       .self = GOLDEN_ID,
                                       .epoch = 0x3132333435363738,
                                       .key_id = 0x41424344,
                                       .role = ROLE_IMD,
                                       .mac = {0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
                                               0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f}};
static const WireHello golden_hello_later = {.tag = 0x0102030405060708,
                                             .self = GOLDEN_ID,
                                             .role = ROLE_CLIENT,
                                             .features = 0x6162636465666768};
static const uint64_t golden_u64 = 0x0102030405060708;
static const WirePing golden_ping = {0x0102030405060708, 0x1112131415161718, PONG_LEAVING};

/* ---- reads and writes ---------------------------------------------------------------------- */

static const uint8_t golden_bytes[] = {0xd1, 0xd2, 0xd3};
static const WireRead golden_read = {.ask = 0x9192939495969798,
                                     .address = GOLDEN_ADDRESS,
                                     .offset = 0x0000000100000200,
                                     .len = 8192,
                                     .segment = 1400,
                                     .want = 0x25};
static const WireData golden_data = {.ask = 0x9192939495969798,
                                     .index = 5,
                                     .filled = 0x4003,
                                     .data = golden_bytes,
                                     .data_len = sizeof golden_bytes};
static const WireData golden_data_map = {
    .ask = 0x9192939495969798, .index = WIRE_INDEX_NONE, .filled = 0x0001};
static const WireData golden_data_refused = {
    .ask = 0x9192939495969798, .index = WIRE_INDEX_NONE, .status = STATUS_GONE};
/* 899 bytes in segments of 896: the second has three. */
static const WireWrite golden_write = {.address = GOLDEN_ADDRESS,
                                       .kind = WRITE_DATA,
                                       .index = 1,
                                       .number = 0xb1b2b3b4b5b6b7b8,
                                       .offset = 0x0000000100000200,
                                       .len = 899,
                                       .segment = 896,
                                       .data = golden_bytes,
                                       .data_len = sizeof golden_bytes};
static const WireWrite golden_write_fill = {.address = GOLDEN_ADDRESS,
                                            .kind = WRITE_FILL,
                                            .index = 0,
                                            .number = 7,
                                            .transfer = 0x0908070605040302,
                                            .offset = 4096,
                                            .len = 3,
                                            .segment = 1400,
                                            .data = golden_bytes,
                                            .data_len = sizeof golden_bytes};
static const WireWrite golden_write_poll = {.address = GOLDEN_ADDRESS,
                                            .kind = WRITE_DATA,
                                            .index = WIRE_INDEX_NONE,
                                            .number = 8,
                                            .offset = 4096,
                                            .len = WIRE_CHUNK_MAX,
                                            .segment = 1400};
static const WireWrite golden_write_void = {.address = GOLDEN_ADDRESS,
                                            .kind = WRITE_VOID,
                                            .index = WIRE_INDEX_NONE,
                                            .number = 8,
                                            .offset = 4096,
                                            .len = 100,
                                            .segment = 1400};
static const WireWriteAck golden_write_ack = {.number = 0xb1b2b3b4b5b6b7b8,
                                              .kind = WRITE_DATA,
                                              .state = WRITE_OPEN,
                                              .grant = 0x00010000,
                                              .received = 0x8000000000000005};
static const WireWriteAck golden_write_ack_refused = {.number = 7,
                                                      .transfer = 0x0908070605040302,
                                                      .kind = WRITE_FILL,
                                                      .state = WRITE_REFUSED,
                                                      .status = STATUS_STALE};
static const WireRequest golden_request = {.id = 0x0102030405060708,
                                           .settled = 0x0102030405060700,
                                           .op = OP_ALIVE,
                                           .body = golden_bytes,
                                           .body_len = sizeof golden_bytes};
static const WireRequest golden_request_bare = {.id = 1, .settled = 1, .op = OP_LEAVE};
static const WireReply golden_reply = {.id = 0x0102030405060708,
                                       .op = OP_ALLOC,
                                       .status = STATUS_NO_MEMORY,
                                       .body = golden_bytes,
                                       .body_len = sizeof golden_bytes};

/* ---- bodies -------------------------------------------------------------------------------- */

static const OpOpen golden_open = {.key = GOLDEN_KEY,
                                   .offset = 0x0000000200000000,
                                   .len = 0x0000000001000000,
                                   .flags = REGION_RDONLY | REGION_RETAIN,
                                   .stamp = GOLDEN_STAMP,
                                   .avoid_count = 2,
                                   .avoid = {0x0102030405060708, 0x1112131415161718}};
static const OpOpenReply golden_open_reply = {
    .host = {.kind = ADDR_IP4, .port = 7701, .host = {10, 0, 0, 1}},
    .address = GOLDEN_ADDRESS,
    .reused = 1,
    .control_port = 0x1a2b};
static const OpOpenReply golden_open_reply_ip6 = {
    .host = {.kind = ADDR_IP6, .port = 7701, .scope = 2, .host = {0xfe, 0x80, [15] = 1}},
    .address = GOLDEN_ADDRESS,
    .control_port = 1};
static const OpClose golden_close = {
    .address = GOLDEN_ADDRESS, .mode = CLOSE_RELEASE, .stamp = GOLDEN_STAMP};
static const OpAlive golden_alive = {.regions = 0x01020304, .digest = 0x1112131415161718};
static const OpReport golden_report = {.epoch = 0x6162636465666768, .fault = HOST_FAULT_SLOW};
static const OpOpen golden_open_fresh = {.len = 1, .flags = REGION_RETAIN | REGION_FRESH};
static const OpAliveReply golden_alive_reply = {ALIVE_WANT_LIST};
static const OpAliveReply golden_alive_reply_move = {ALIVE_MOVE};
static const OpMoves golden_moves = {
    .left_bytes = 0x0102030405060708, .copied_bytes = 0x1112131415161718, .refused = 0x21222324};
static const OpMovesReply golden_moves_reply = {
    .rate = 0x0102030405060708, .count = 2, .epochs = {0x6162636465666768, 0x1112131415161718}};
static const OpClaim golden_claim = {.list = 0x01020304,
                                     .page = 1,
                                     .pages = 2,
                                     .count = 2,
                                     .before = 0x1112131415161718,
                                     .names = {{0x0102030405060708, 0x1112131415161718, 0x21222324},
                                               {0x0102030405060708, 0x1112131415161719, 1}}};
static const OpClaim golden_claim_empty = {.list = 1, .pages = 1, .before = 1};
static const OpStatus golden_status = {0x0102030405060708};
static const OpStatusReply golden_status_reply = {
    .next = 0x0102030405060708,
    .regions = 0x11,
    .clients = 0x22,
    .uptime_ms = 0x33,
    .count = 1,
    .hosts = {{.address = {.kind = ADDR_MAC, .port = 9, .host = {2, 0, 0, 0, 0, 1}},
               .state = HOST_SILENT,
               .epoch = 0x6162636465666768,
               .pool_bytes = 0x80000000,
               .free_bytes = 0x40000000,
               .largest_free_bytes = 0x10000000,
               .regions = 0x44,
               .read_bytes = 0x55,
               .write_bytes = 0x66,
               .reason = {"load 2"}}}};
static const OpEvents golden_events = {0x0102030405060708};
static const OpEventsReply golden_events_reply = {
    .instance = 0x1112131415161718,
    .last = 0x22,
    .count = 1,
    .events = {{.number = 0x21,
                .age_ms = 0x33,
                .kind = EVENT_HOST_BUSY,
                .address = {.kind = ADDR_IP4, .port = 9, .host = {10, 0, 0, 1}},
                .id = 0x6162636465666768,
                .regions = 0x44,
                .reason = {"load 2"}}}};
static const OpTake golden_take = {0x0102030405060708, 0x1112131415161718};
static const OpTakeReply golden_take_reply = {
    .from = {{.kind = ADDR_IP4, .port = 9, .host = {10, 0, 0, 1}}, 0x1234, GOLDEN_ADDRESS},
    .to = {{.kind = ADDR_IP4, .port = 8, .host = {10, 0, 0, 2}}, 0x5678, GOLDEN_ADDRESS},
    .len = 0x0000000001000000,
    .stamp = GOLDEN_STAMP};
static const OpDrain golden_drain = {.host = {.kind = ADDR_IP4, .port = 9, .host = {10, 0, 0, 1}},
                                     .what = DRAIN_START,
                                     .drop = 1,
                                     .rate = 0x0102030405060708};
static const OpDrainReply golden_drain_reply = {.epoch = 0x6162636465666768,
                                                .state = DRAIN_ON,
                                                .listed = 1,
                                                .silent_s = 0x12,
                                                .open_regions = 0x11,
                                                .open_bytes = 0x1122,
                                                .kept_regions = 0x22,
                                                .kept_bytes = 0x2233,
                                                .busy_regions = 0x33,
                                                .host_regions = 0x44,
                                                .clients = 0x55,
                                                .asking = 0x66,
                                                .refused = 0x77,
                                                .left_bytes = 0x88,
                                                .copied_bytes = 0x99,
                                                .dead_ms = 0x7530};
static const OpDrains golden_drains = {0x0102030405060708};
static const OpDrainsReply golden_drains_reply = {
    .next = 0x0102030405060708,
    .count = 1,
    .drains = {{.host = {.kind = ADDR_IP4, .port = 9, .host = {10, 0, 0, 1}},
                .progress = {.epoch = 0x6162636465666768,
                             .state = DRAIN_ON,
                             .listed = 1,
                             .silent_s = 0x12,
                             .open_regions = 0x11,
                             .open_bytes = 0x1122,
                             .kept_regions = 0x22,
                             .kept_bytes = 0x2233,
                             .busy_regions = 0x33,
                             .host_regions = 0x44,
                             .clients = 0x55,
                             .asking = 0x66,
                             .refused = 0x77,
                             .left_bytes = 0x88,
                             .copied_bytes = 0x99,
                             .dead_ms = 0x7530},
                .limit = 0x1111,
                .ahead = 0x2222,
                .pace = 0x3333,
                .seconds = 0x4444}}};
static const OpRegions golden_regions = {
    .cursor = 0x0102030405060708,
    .host = {.kind = ADDR_IP4, .port = 9, .host = {10, 0, 0, 1}},
    .client = 0x1112131415161718};
static const OpRegions golden_regions_all = {.cursor = 0};
static const OpRegionsReply golden_regions_reply = {
    .next = 0x0102030405060708,
    .count = 1,
    .regions = {{.host = {.kind = ADDR_IP4, .port = 9, .host = {10, 0, 0, 1}},
                 .region = 0x1112131415161718,
                 .opening = 0x21222324,
                 .use = REGION_USE_OPEN,
                 .retain = 1,
                 .client = GOLDEN_ID,
                 .offset = 0x0000000200000000,
                 .len = 0x0000000001000000}}};
static const OpCopiesReply golden_copies_reply = {
    .next = 0x0102030405060708,
    .count = 1,
    .copies = {{.region = {.host = {.kind = ADDR_IP4, .port = 9, .host = {10, 0, 0, 1}},
                           .region = 0x1112131415161718,
                           .opening = 0x21222324,
                           .use = REGION_USE_OPEN,
                           .retain = 1,
                           .client = GOLDEN_ID,
                           .offset = 0x0000000200000000,
                           .len = 0x0000000001000000},
                .leaves = 1,
                .piece = 0x3132333435363738}}};
static const OpExplain golden_explain = {0x00000400};
static const OpExplainReply golden_explain_reply = {
    .total = 0x0401, .version = 0x08070605, .len = 3, .text = {0xd1, 0xd2, 0xd3}};
static const OpExplainReply golden_explain_reply_past = {.total = 0x0401};
static const OpHost golden_host = {.state = HOST_OWNER_LENDING,
                                   .epoch = 0x6162636465666768,
                                   .lendable_bytes = 0x40000000,
                                   .reason = {"idle"}};
static const OpHost golden_host_bare = {.state = HOST_OWNER_BUSY};
static const OpJoin golden_join = {
    .hint = GOLDEN_HINT, .pool_bytes = 0x80000000, .ports_count = 2, .ports = {7701, 7702}};
static const OpBeat golden_beat = {
    .hint = GOLDEN_HINT, .digest = 0x1112131415161718, .served = {0x55, 0x66, 0x77, 0x88, 0x99}};
static const OpBeatReply golden_beat_reply = {BEAT_WANT_LIST, 0x2122232425262728};
static const OpListing golden_listing = {
    .hint = GOLDEN_HINT,
    .list = 0x01020304,
    .page = 0,
    .pages = 1,
    .count = 1,
    .before = 0x1112131415161718,
    .regions = {{.address = {0x6162636465666768, 0x1112131415161718, 0x21222324, GOLDEN_CAPABILITY},
                 .client = GOLDEN_ID,
                 .key = GOLDEN_KEY,
                 .offset = 0x0000000200000000,
                 .len = 0x0000000001000000,
                 .flags = REGION_RETAIN | REGION_RELEASED,
                 .stamp = GOLDEN_STAMP,
                 .port = 7701}}};
static const OpPart golden_part = {GOLDEN_HINT};
static const OpAlloc golden_alloc = {.client = GOLDEN_ID,
                                     .key = GOLDEN_KEY,
                                     .offset = 0x0000000200000000,
                                     .len = 0x0000000001000000,
                                     .flags = REGION_RETAIN,
                                     .evict = 1};
static const OpAllocReply golden_alloc_reply = {
    .hint = GOLDEN_HINT, .address = GOLDEN_ADDRESS, .port = 7701};
static const OpAllocReply golden_alloc_reply_none = {.hint = GOLDEN_HINT};
static const OpFree golden_free = {0x0102030405060708, 0x1112131415161718, 0};
static const OpRelease golden_release = {GOLDEN_ADDRESS, GOLDEN_STAMP};
static const OpReopen golden_reopen = {.epoch = 0x0102030405060708,
                                       .region = 0x1112131415161718,
                                       .opening = 0x21222324,
                                       .client = GOLDEN_ID,
                                       .flags = REGION_RDONLY,
                                       .stamp = GOLDEN_STAMP};
static const OpFreeReply golden_free_reply = {GOLDEN_HINT};

/* clang-format off */
static const WireGolden wire_goldens[] = {
    {"header", "sealed", &golden_header, "d0 01 10 01 74737271 8887868584838281", ""},
    {"header", "hello", &golden_header_hello, "d0 01 01 00 74737271 0000000000000000", ""},
    {"hello", "imd", &golden_hello,
     "0807060504030201 101112131415161718191a1b1c1d1e1f 202122232425262728292a2b2c2d2e2f " HEX_ID
     "3837363534333231 44434241 02 000000 00000000000000000000000000000000 "
     "505152535455565758595a5b5c5d5e5f",
     "................ ................................ ................................ "
     "................................ ................ ........ .. rrrrrr "
     "................rrrrrrrrrrrrrrrr"},
    {"hello", "of a later build", &golden_hello_later,
     "0807060504030201 00000000000000000000000000000000 00000000000000000000000000000000 " HEX_ID
     "0000000000000000 00000000 01 000000 6867666564636261 0000000000000000 "
     "00000000000000000000000000000000",
     "................ ................................ ................................ "
     "................................ ................ ........ .. rrrrrr "
     "................rrrrrrrrrrrrrrrr"},
    {"reset", "tag", &golden_u64, "0807060504030201", ""},
    {"goodbye", "epoch", &golden_u64, "0807060504030201", ""},
    {"ping", "leaving", &golden_ping, "0807060504030201 1817161514131211 0100000000000000",
     "................ ................ ..zzzzzzzzzzzzzz"},
    {"read", "some", &golden_read,
     "9897969594939291 " HEX_ADDRESS "0002000001000000 00200000 7805 0000 2500000000000000",
     "................ " ANY_ADDRESS "................ ........ .... rrrr"},
    {"data", "segment", &golden_data, "9897969594939291 0500 0000 03400000 d1d2d3", ""},
    {"data", "map", &golden_data_map, "9897969594939291 ffff 0000 01000000", ""},
    {"data", "refused", &golden_data_refused, "9897969594939291 ffff 0100 00000000", ""},
    {"write", "last segment", &golden_write,
     HEX_ADDRESS "00 00 0100 b8b7b6b5b4b3b2b1 0000000000000000 0002000001000000 83030000 8003 0000 "
     "d1d2d3",
     ANY_ADDRESS ".. rr .... ................ ................ ................ ........ .... rrrr"},
    {"write", "fill", &golden_write_fill,
     HEX_ADDRESS "01 00 0000 0700000000000000 0203040506070809 0010000000000000 03000000 7805 0000 "
     "d1d2d3",
     ANY_ADDRESS ".. rr .... ................ ................ ................ ........ .... rrrr"},
    {"write", "poll", &golden_write_poll,
     HEX_ADDRESS "00 00 ffff 0800000000000000 0000000000000000 0010000000000000 00e00000 7805 0000",
     ANY_ADDRESS ".. rr .... ................ ................ ................ ........ .... rrrr"},
    {"write", "void", &golden_write_void,
     HEX_ADDRESS "02 00 ffff 0800000000000000 0000000000000000 0010000000000000 64000000 7805 0000",
     ANY_ADDRESS ".. rr .... ................ ................ ................ ........ .... rrrr"},
    {"write_ack", "open", &golden_write_ack,
     "b8b7b6b5b4b3b2b1 0000000000000000 00 00 0000 00000100 0500000000000080",
     "................ ................ .. .. zzzz"},
    {"write_ack", "refused", &golden_write_ack_refused,
     "0700000000000000 0203040506070809 01 02 0400 00000000 0000000000000000", ""},
    {"request", "with body", &golden_request,
     "0807060504030201 0007060504030201 0300 000000000000 d1d2d3",
     "................ ................ .... rrrrrrrrrrrr"},
    {"request", "bare", &golden_request_bare,
     "0100000000000000 0100000000000000 0500 000000000000",
     "................ ................ .... rrrrrrrrrrrr"},
    {"reply", "with body", &golden_reply, "0807060504030201 2000 0500 00000000 d1d2d3",
     "................ .... .... rrrrrrrr"},

    {"open", "both flags", &golden_open,
     HEX_KEY "0000000002000000 0000000100000000 03000000 " HEX_STAMP
             " 02000000 0807060504030201 1817161514131211",
     ""},
    {"open", "fresh", &golden_open_fresh,
     "0000000000000000000000000000000000000000000000000000000000000000 0000000000000000 "
     "0100000000000000 0a000000 0000000000000000 0000000000000000 0000000000000000 00000000", ""},
    {"open_reply", "ip4", &golden_open_reply,
     "01 151e 00000000 0a000001000000000000000000000000 " HEX_ADDRESS "01 2b1a",
     ".. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz " ANY_ADDRESS ".. ...."},
    {"open_reply", "ip6", &golden_open_reply_ip6,
     "02 151e 02000000 fe800000000000000000000000000001 " HEX_ADDRESS "00 0100", ""},
    {"close", "release", &golden_close, HEX_ADDRESS "01 " HEX_STAMP, ""},
    {"alive", "some", &golden_alive, "04030201 1817161514131211", ""},
    {"alive_reply", "list", &golden_alive_reply, "01000000", "..zzzzzz"},
    {"alive_reply", "move", &golden_alive_reply_move, "02000000", "..zzzzzz"},
    {"moves", "some", &golden_moves, "0807060504030201 1817161514131211 24232221 00000000",
     "................ ................ ........ rrrrrrrr"},
    {"moves_reply", "two hosts", &golden_moves_reply,
     "0807060504030201 02000000 6867666564636261 1817161514131211", ""},
    {"report", "slow", &golden_report, "6867666564636261 01 00000000000000",
     "................ .. rrrrrrrrrrrrrr"},
    {"claim", "second page", &golden_claim,
     "04030201 01000000 02000000 02000000 1817161514131211 "
     "0807060504030201 1817161514131211 24232221 "
     "0807060504030201 1917161514131211 01000000", ""},
    {"claim", "empty", &golden_claim_empty,
     "01000000 00000000 01000000 00000000 0100000000000000", ""},
    {"status", "cursor", &golden_status, "0807060504030201", ""},
    {"status_reply", "one host", &golden_status_reply,
     "0807060504030201 1100000000000000 2200000000000000 3300000000000000 01000000 "
     "03 0900 00000000 02000000000100000000000000000000 02 6867666564636261 "
     "0000008000000000 0000004000000000 0000001000000000 4400000000000000 "
     "5500000000000000 6600000000000000 06 6c6f61642032",
     "................ ................ ................ ................ ........ "
     ".. .... zzzzzzzz ............zzzzzzzzzzzzzzzzzzzz"},
    {"events", "after", &golden_events, "0807060504030201", ""},
    {"events_reply", "one event", &golden_events_reply,
     "1817161514131211 2200000000000000 01000000 "
     "2100000000000000 3300000000000000 04 01 0900 00000000 0a000001000000000000000000000000 "
     "6867666564636261 4400000000000000 06 6c6f61642032",
     "................ ................ ........ "
     "................ ................ .. .. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz"},
    {"take", "one", &golden_take, "0807060504030201 1817161514131211",
     "................ ................"},
    {"take_reply", "one", &golden_take_reply,
     "01 0900 00000000 0a000001000000000000000000000000 3412 " HEX_ADDRESS
     "01 0800 00000000 0a000002000000000000000000000000 7856 " HEX_ADDRESS
     "0000000100000000 " HEX_STAMP,
     ".. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz .... " ANY_ADDRESS
     ".. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz .... " ANY_ADDRESS},
    {"drain", "start", &golden_drain,
     "01 0900 00000000 0a000001000000000000000000000000 01 01 000000000000 0807060504030201",
     ".. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz .. .. rrrrrrrrrrrr"},
    {"drain_reply", "on", &golden_drain_reply,
     "6867666564636261 01 01 0000 12000000 1100000000000000 2211000000000000 2200000000000000 "
     "3322000000000000 3300000000000000 4400000000000000 5500000000000000 6600000000000000 "
     "7700000000000000 8800000000000000 9900000000000000 3075000000000000",
     "................ .. .. rrrr"},
    {"drains", "cursor", &golden_drains, "0807060504030201", ""},
    {"drains_reply", "one host", &golden_drains_reply,
     "0807060504030201 01000000 01 0900 00000000 0a000001000000000000000000000000 "
     "6867666564636261 01 01 0000 12000000 1100000000000000 2211000000000000 2200000000000000 "
     "3322000000000000 3300000000000000 4400000000000000 5500000000000000 6600000000000000 "
     "7700000000000000 8800000000000000 9900000000000000 3075000000000000 "
     "1111000000000000 2222000000000000 3333000000000000 4444000000000000",
     "................ ........ .. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz "
     "................ .. .. rrrr"},
    {"regions", "filtered", &golden_regions,
     "0807060504030201 01 0900 00000000 0a000001000000000000000000000000 1817161514131211",
     "................ .. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz"},
    {"regions", "all", &golden_regions_all,
     "0000000000000000 00 0000 00000000 00000000000000000000000000000000 0000000000000000", ""},
    {"regions_reply", "one region", &golden_regions_reply,
     "0807060504030201 01000000 01 0900 00000000 0a000001000000000000000000000000 "
     "1817161514131211 24232221 00 01 " HEX_ID "0000000002000000 0000000100000000",
     "................ ........ .. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz"},
    {"copies", "filtered", &golden_regions,
     "0807060504030201 01 0900 00000000 0a000001000000000000000000000000 1817161514131211",
     "................ .. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz"},
    {"copies_reply", "one region", &golden_copies_reply,
     "0807060504030201 01000000 01 0900 00000000 0a000001000000000000000000000000 "
     "1817161514131211 24232221 00 01 " HEX_ID "0000000002000000 0000000100000000 "
     "01 3837363534333231",
     "................ ........ .. .... zzzzzzzz ........zzzzzzzzzzzzzzzzzzzzzzzz"},
    {"explain", "offset", &golden_explain, "00040000", ""},
    {"explain_reply", "some", &golden_explain_reply, "01040000 05060708 03000000 d1d2d3", ""},
    {"explain_reply", "past the end", &golden_explain_reply_past, "01040000 00000000 00000000", ""},
    {"host", "lending", &golden_host, "02 6867666564636261 0000004000000000 04 69646c65", ""},
    {"host", "busy", &golden_host_bare, "00 0000000000000000 0000000000000000 00", ""},
    {"join", "two threads", &golden_join,
     HEX_HINT "0000008000000000 02000000 151e 161e", RESERVED_HINT},
    {"beat", "some", &golden_beat,
     HEX_HINT "1817161514131211 5500000000000000 6600000000000000 7700000000000000 "
     "8800000000000000 9900000000000000", RESERVED_HINT},
    {"beat_reply", "list", &golden_beat_reply, "01000000 2827262524232221", "..zzzzzz", 4},
    {"listing", "one released", &golden_listing,
     HEX_HINT "04030201 00000000 01000000 01000000 1817161514131211 "
     "1817161514131211 24232221 " HEX_CAPABILITY HEX_ID HEX_KEY
     "0000000002000000 0000000100000000 06000000 " HEX_STAMP "151e", RESERVED_HINT},
    {"part", "hint", &golden_part, HEX_HINT, RESERVED_HINT},
    {"alloc", "evict", &golden_alloc,
     HEX_ID HEX_KEY "0000000002000000 0000000100000000 02000000 01", ""},
    {"alloc_reply", "given", &golden_alloc_reply, HEX_HINT HEX_ADDRESS "151e", RESERVED_HINT},
    {"alloc_reply", "refused", &golden_alloc_reply_none,
     HEX_HINT "0000000000000000 0000000000000000 00000000 00000000000000000000000000000000 0000",
     RESERVED_HINT},
    {"free", "any opening", &golden_free, "0807060504030201 1817161514131211 00000000", ""},
    {"release", "some", &golden_release, HEX_ADDRESS HEX_STAMP, ""},
    {"reopen", "reading", &golden_reopen,
     "0807060504030201 1817161514131211 24232221 " HEX_ID "01000000 " HEX_STAMP, ""},
    {"free_reply", "hint", &golden_free_reply, HEX_HINT, RESERVED_HINT},
};
/* clang-format on */
enum { WIRE_GOLDENS_COUNT = sizeof wire_goldens / sizeof wire_goldens[0] };

#endif
