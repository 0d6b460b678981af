/* SPDX-License-Identifier: MIT */
/* The data core under test: messages go in encoded and come out decoded, as on the wire. */
#ifndef DODO_TESTS_UNIT_IMD_DATA_FIXTURE_H
#define DODO_TESTS_UNIT_IMD_DATA_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/id.h"
#include "base/time.h"
#include "imd/data.h"

enum {
    BLOCK = WIRE_BLOCK_SIZE,
    POOL_BYTES = 64 * BLOCK,
    SEGMENT = 1024,
    EPOCH = 0x1122,
    REGION = 5,
    REGION_BYTES = 10 * BLOCK + 100, /* the last block is partial */
    PAYLOAD_MAX = WIRE_WRITE_HEADER_SIZE + WIRE_CHUNK_MAX,
};

typedef struct Fixture {
    uint8_t pool[POOL_BYTES];
    uint8_t pattern[WIRE_CHUNK_MAX]; /* what writes write */
    uint64_t random;
    ImdData *d;
    /* the last answer */
    unsigned answers;
    void *session;
    uint8_t type;
    WireWriteAck ack;
    WirePing pong;
    WireData data; /* of the last datagram */
    uint64_t sent; /* segments of the burst */
    uint8_t got[WIRE_CHUNK_MAX];
    uint64_t now_ns;
} Fixture;

enum { SESSION_ONE, SESSION_TWO };
#define WRITE_AGE_NS (30 * NS_PER_S)
extern int sessions[2]; /* stand for sessions: only their addresses count */

void fake_random(void *ctx, void *buf, size_t len);
void sink_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len);
void sink_burst(void *ctx, void *session, const Burst *burst);
ImdRegion region_named(uint64_t id, uint64_t pool_offset, uint64_t len);
RegionAddress address_of(const ImdRegion *r);
RegionAddress the_address(void);
int setup(void **state);
int teardown(void **state);

/* ---- one message in ------------------------------------------------------------------------- */

void input(Fixture *f, void *session, uint8_t type, const uint8_t *payload, size_t len);
void read_as(Fixture *f, const RegionAddress *a, uint64_t offset, uint32_t len, uint16_t segment);
void read_at(Fixture *f, uint64_t offset, uint32_t len);
WireWrite write_of(uint64_t number, uint64_t offset, uint32_t len);
WireWrite fill_of(uint64_t transfer, uint64_t number, uint64_t offset, uint32_t len);
/* Segment @index of @m, the chunk's data at @data; WIRE_INDEX_NONE polls. True: it was answered. */
bool send_data(Fixture *f, void *session, WireWrite m, unsigned index, const uint8_t *data);
bool send_segment(Fixture *f, WireWrite m, unsigned index);
void expect_ack(const Fixture *f, enum WriteState state, enum Status status);
void expect_refused(Fixture *f, WireWrite m, unsigned index, enum Status status);
/* All segments in order: one answer, at the end. */
void send_all(Fixture *f, WireWrite m);
void send_void(Fixture *f, uint64_t number, uint64_t offset, uint32_t len);
void expect_filled(Fixture *f, const char *blocks);
const uint8_t *memory_at(const Fixture *f, uint64_t offset);

#endif
