/* SPDX-License-Identifier: MIT */
/* What a data thread decides: whose READ is answered when, what the owner's cap allows, when the
 * good-byes are said. The data core below is the real one. */
#include "imd/serve.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "tests/lib/case.h"

enum {
    POOL_BYTES = 1 << 20,
    EPOCH = 7,
    SEGMENT = 1024,
    REGION_BYTES = 512 << 10,
    CAP_BYTES = 10 << 20, /* a second */
    ANSWERS_MAX = 1024,
};
#define LEAVE_NS (2 * NS_PER_S)

typedef struct Fixture {
    uint8_t pool[POOL_BYTES];
    Pace pace;
    ImdServe serve;
    ImdRegion region;
    uint64_t now_ns, random;
    /* the answers to READs, and the last one to a WRITE */
    unsigned reads, busy;
    void *readers[ANSWERS_MAX];
    WireWriteAck ack;
    unsigned acks, probe_acks;
} Fixture;

static int sessions[3]; /* stand for sessions: only their addresses count */

static void fake_random(void *ctx, void *buf, size_t len)
{
    Fixture *f = ctx;
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)buf)[i] = (uint8_t)mix64(++f->random);
}

static void note_reader(Fixture *f, void *session)
{
    assert_true(f->reads < ANSWERS_MAX);
    f->readers[f->reads++] = session;
}

static void sink_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    Fixture *f = ctx;
    WireData data;
    if (type == WIRE_WRITE_ACK) {
        assert_int_equal(wire_write_ack_decode(payload, len, &f->ack), 0);
        f->acks++;
        return;
    }
    assert_int_equal(type, WIRE_DATA);
    assert_int_equal(wire_data_decode(payload, len, &data), 0);
    if (data.status == STATUS_BUSY)
        f->busy++;
    else
        note_reader(f, session);
}

static void sink_burst(void *ctx, void *session, const Burst *burst)
{
    (void)burst;
    note_reader(ctx, session);
}

static void sink_probe_ack(void *ctx, void *session, const uint8_t *payload, size_t len)
{
    Fixture *f = ctx;
    assert_ptr_equal(session, &sessions[0]);
    assert_true(len > 0);
    f->probe_acks++;
}

static void make(Fixture **ret, uint64_t cap_bytes)
{
    Fixture *f = *ret = calloc(1, sizeof *f);
    assert_non_null(f);
    f->now_ns = NS_PER_S;
    pace_init(&f->pace, cap_bytes, 0);
    const Env env = {.random = fake_random, .ctx = f};
    const ImdDataSink sink = {
        .message = sink_message, .burst = sink_burst, .probe_ack = sink_probe_ack, .ctx = f};
    const ImdServeConfig config = {.data = {.epoch = EPOCH,
                                            .pool = f->pool,
                                            .pool_bytes = POOL_BYTES,
                                            .writes_max = 4,
                                            .write_age_ns = 60 * NS_PER_S,
                                            .fills_max = 3,
                                            .grant_bytes = 1 << 20},
                                   .leave_deadline_ns = LEAVE_NS,
                                   .pace = &f->pace};
    assert_int_equal(serve_init(&f->serve, &config, &env, &sink), 0);
    f->region = (ImdRegion){.region = 5, .opening = 1, .capability = {{9}}, .len = REGION_BYTES};
    const ImdCommand add = {.kind = IMD_ADD, .region = f->region};
    assert_int_equal(serve_obey(&f->serve, &add, f->now_ns), 0);
}

static void drop(Fixture *f)
{
    serve_deinit(&f->serve);
    free(f);
}

static RegionAddress address(const Fixture *f)
{
    return (RegionAddress){EPOCH, f->region.region, f->region.opening, f->region.capability};
}

static void ask(Fixture *f, unsigned session, uint64_t offset, uint32_t len)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    WireRead m = {
        .ask = 1, .address = address(f), .offset = offset, .len = len, .segment = SEGMENT};
    m.want = wire_segment_mask(wire_segment_count(len, SEGMENT));
    serve_message(&f->serve, &sessions[session], WIRE_READ, out, wire_read_encode(&m, out),
                  f->now_ns);
}

/* The first segment of a fill of @len. */
static void fill_begin(Fixture *f, unsigned session, uint32_t len)
{
    static uint8_t out[WIRE_WRITE_HEADER_SIZE + SEGMENT];
    WireWrite m = {
        .address = address(f), .kind = WRITE_FILL, .transfer = 1, .len = len, .segment = SEGMENT};
    size_t header = wire_write_encode_header(&m, out);
    memset(out + header, 0x5a, SEGMENT);
    serve_message(&f->serve, &sessions[session], WIRE_WRITE, out, sizeof out, f->now_ns);
}

/* A whole write of @len, its segments one after the other. */
static void write_all(Fixture *f, unsigned session, uint64_t number, uint32_t len)
{
    static uint8_t out[WIRE_WRITE_HEADER_SIZE + SEGMENT];
    WireWrite m = {.address = address(f),
                   .kind = WRITE_DATA,
                   .number = number,
                   .len = len,
                   .segment = SEGMENT};
    for (unsigned i = 0; i < wire_segment_count(len, SEGMENT); i++) {
        size_t n = len - i * SEGMENT < SEGMENT ? len - i * SEGMENT : SEGMENT;
        m.index = (uint16_t)i;
        size_t header = wire_write_encode_header(&m, out);
        memset(out + header, 0x5a, n);
        serve_message(&f->serve, &sessions[session], WIRE_WRITE, out, header + n, f->now_ns);
    }
}

/* Answers as the thread does, as time passes, for so long. */
static void serve_for(Fixture *f, uint64_t ns)
{
    uint64_t end = f->now_ns + ns;
    while (serve_deadline(&f->serve, f->now_ns) <= end && serve_waits(&f->serve)) {
        uint64_t due = serve_deadline(&f->serve, f->now_ns);
        if (due > f->now_ns)
            f->now_ns = due;
        serve_answer(&f->serve, f->now_ns);
    }
    f->now_ns = end;
}

TEST(reads__of_who_asks_for_little_come_first)
{
    Fixture *f;
    make(&f, 0);
    for (unsigned i = 0; i < 6; i++)
        ask(f, 0, i * 32768ull, 32768);
    ask(f, 1, 0, 1024);
    assert_int_equal(f->reads, 0); /* they wait for their turn */
    assert_true(serve_waits(&f->serve));
    for (unsigned i = 0; i < 7; i++)
        serve_answer(&f->serve, f->now_ns);
    assert_int_equal(f->reads, 7);
    assert_true(f->readers[0] == &sessions[1] || f->readers[1] == &sessions[1]);
    assert_false(serve_waits(&f->serve));
    drop(f);
}

TEST(answers__not_all_in_one_turn)
{
    Fixture *f;
    make(&f, 0);
    for (unsigned i = 0; i < 8; i++)
        ask(f, 0, i * 32768ull, 32768);
    serve_answer(&f->serve, f->now_ns);
    assert_in_range(f->reads, 1, 5); /* somebody may have come meanwhile */
    assert_true(serve_ready(&f->serve, f->now_ns));
    drop(f);
}

TEST(reads__of_a_closed_session_are_forgotten)
{
    Fixture *f;
    make(&f, CAP_BYTES);
    for (unsigned i = 0; i < 8; i++)
        ask(f, 0, i * 32768ull, 32768);
    ask(f, 1, 0, 1024);
    serve_closed(&f->serve, &sessions[0]);
    serve_for(f, NS_PER_S);
    assert_int_equal(f->reads, 1);
    assert_ptr_equal(f->readers[0], &sessions[1]);
    assert_int_equal(f->serve.reads_bytes, 0);
    drop(f);
}

TEST(fills__of_a_closed_session_are_forgotten)
{
    Fixture *f;
    make(&f, 0);
    size_t bytes = imd_data_bytes(f->serve.data);
    for (unsigned session = 0; session < 2; session++)
        fill_begin(f, session, 8192);
    size_t both = imd_data_bytes(f->serve.data);
    assert_true(both > bytes);
    serve_closed(&f->serve, &sessions[0]);
    assert_int_equal(imd_data_bytes(f->serve.data) - bytes, (both - bytes) / 2);
    serve_closed(&f->serve, &sessions[1]);
    assert_int_equal(imd_data_bytes(f->serve.data), bytes);
    drop(f);
}

TEST(cap__answers_no_faster)
{
    Fixture *f;
    make(&f, CAP_BYTES);
    const uint64_t start = f->now_ns;
    for (unsigned i = 0; i < 60; i++) {
        ask(f, i % 3, i % 8 * 32768ull, 32768);
        serve_for(f, 10 * NS_PER_MS);
    }
    double seconds = (double)(f->now_ns - start) / (double)NS_PER_S;
    assert_in_range(f->reads, 17, (uint64_t)(seconds * CAP_BYTES / 32768) + 3);
    drop(f);
}

/* Who would wait too long is refused, and comes again; what has been answered does not count. */
TEST(cap__refuses_what_would_wait_too_long)
{
    Fixture *f;
    make(&f, CAP_BYTES);
    for (unsigned i = 0; i < 20; i++)
        ask(f, i % 3, 0, 57344); /* 1.1 MB: 100 ms */
    unsigned waiting = 20 - f->busy;
    assert_in_range(f->busy, 1, 18);
    serve_for(f, 2 * NS_PER_S);
    assert_int_equal(f->reads, waiting);
    unsigned busy = f->busy;
    for (unsigned round = 0; round < 20; round++) { /* slowly: none is refused any more */
        ask(f, 0, 0, 57344);
        serve_for(f, 100 * NS_PER_MS);
    }
    assert_int_equal(f->busy, busy);
    assert_int_equal(f->reads, waiting + 20);
    drop(f);
}

TEST(cap__writes_begin_while_little_is_owed)
{
    Fixture *f;
    make(&f, CAP_BYTES);
    write_all(f, 0, 1, 16384);
    assert_int_equal(f->ack.state, WRITE_DONE);
    pace_charge(&f->pace, CAP_BYTES / 10, 0, f->now_ns); /* 100 ms */
    write_all(f, 0, 2, 16384);
    assert_int_equal(f->ack.state, WRITE_REFUSED);
    assert_int_equal(f->ack.status, STATUS_BUSY);
    f->now_ns += NS_PER_S;
    write_all(f, 0, 2, 16384);
    assert_int_equal(f->ack.state, WRITE_DONE);
    drop(f);
}

/* What is refused costs nothing: else those that come again and again would keep every one out. */
TEST(cap__refused_writes_are_not_charged)
{
    Fixture *f;
    make(&f, CAP_BYTES);
    pace_charge(&f->pace, CAP_BYTES / 10, 0, f->now_ns); /* 100 ms */
    for (unsigned i = 0; i < 100; i++) {                 /* 1.6 MB: 160 ms */
        write_all(f, i % 3, 1, 16384);
        assert_int_equal(f->ack.state, WRITE_REFUSED);
    }
    f->now_ns += 100 * NS_PER_MS;
    write_all(f, 0, 1, 16384);
    assert_int_equal(f->ack.state, WRITE_DONE);
    drop(f);
}

TEST(cap__that_goes_lets_writes_begin)
{
    Fixture *f;
    make(&f, CAP_BYTES);
    pace_charge(&f->pace, CAP_BYTES, 0, f->now_ns);
    write_all(f, 0, 1, 16384);
    assert_int_equal(f->ack.state, WRITE_REFUSED);
    pace_set(&f->pace, 0, 0);
    write_all(f, 0, 1, 16384);
    assert_int_equal(f->ack.state, WRITE_DONE);
    drop(f);
}

/* What a client may send without waiting is a part of the cap, and changes with it. */
TEST(cap__another_one_grants_writers_less)
{
    Fixture *f;
    make(&f, CAP_BYTES);
    write_all(f, 0, 1, SEGMENT);
    assert_in_range(f->ack.grant, 4 * SEGMENT + 1, UINT32_MAX);
    serve_pace_bytes(&f->serve, 4 * SEGMENT);
    write_all(f, 0, 2, SEGMENT);
    assert_int_equal(f->ack.grant, 4 * SEGMENT);
    serve_pace_bytes(&f->serve, 1); /* a segment at least */
    write_all(f, 0, 3, SEGMENT);
    assert_int_equal(f->ack.grant, SEGMENT);
    drop(f);
}

TEST(leaving__when_no_write_is_under_way)
{
    Fixture *f;
    make(&f, 0);
    const ImdCommand leave = {.kind = IMD_LEAVE};
    assert_false(serve_parts(&f->serve, f->now_ns));
    assert_int_equal(serve_obey(&f->serve, &leave, f->now_ns), 0);
    assert_true(serve_parts(&f->serve, f->now_ns));
    assert_false(serve_parts(&f->serve, f->now_ns)); /* once */
    drop(f);
}

TEST(leaving__waits_for_a_write_up_to_the_deadline)
{
    uint8_t out[WIRE_WRITE_HEADER_SIZE];
    Fixture *f;
    make(&f, 0);
    WireWrite m = {.address = address(f),
                   .kind = WRITE_DATA,
                   .number = 1,
                   .index = WIRE_INDEX_NONE,
                   .len = 16384,
                   .segment = SEGMENT};
    serve_message(&f->serve, &sessions[0], WIRE_WRITE, out, wire_write_encode_header(&m, out),
                  f->now_ns);
    const ImdCommand leave = {.kind = IMD_LEAVE};
    assert_int_equal(serve_obey(&f->serve, &leave, f->now_ns), 0);
    assert_false(serve_parts(&f->serve, f->now_ns));
    assert_int_equal(serve_deadline(&f->serve, f->now_ns), f->now_ns + LEAVE_NS);
    f->now_ns += LEAVE_NS - 1;
    assert_false(serve_parts(&f->serve, f->now_ns));
    f->now_ns++;
    assert_true(serve_parts(&f->serve, f->now_ns));
    drop(f);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Each packet that goes out or comes in costs one of the cap's, whatever it says. */
TEST(cap__counts_each_packet)
{
    enum { PACKETS = 1000 }; /* a second: one takes 1 ms */
    uint8_t out[WIRE_PAYLOAD_MAX];
    Fixture *f;
    make(&f, 0);
    write_all(f, 0, 1, 16 * SEGMENT);
    pace_set(&f->pace, 0, PACKETS);
    f->now_ns += 3600 * NS_PER_S;
    pace_charge(&f->pace, 0, 1, f->now_ns); /* nothing is saved up from now on */
    while (pace_debt_ns(&f->pace, f->now_ns) == 0)
        pace_charge(&f->pace, 0, 1, f->now_ns);
    uint64_t before = pace_debt_ns(&f->pace, f->now_ns);
    serve_message(&f->serve, &sessions[0], WIRE_PROBE, out, wire_probe_encode(7, 100, out),
                  f->now_ns);
    assert_int_equal(f->probe_acks, 1);
    assert_int_equal(pace_debt_ns(&f->pace, f->now_ns) - before, 2 * NS_PER_S / PACKETS);
    before = pace_debt_ns(&f->pace, f->now_ns);
    f->now_ns += 3600 * NS_PER_S; /* a burst of 16 segments, and the READ itself */
    pace_charge(&f->pace, 0, 1, f->now_ns);
    while (pace_debt_ns(&f->pace, f->now_ns) == 0)
        pace_charge(&f->pace, 0, 1, f->now_ns);
    before = pace_debt_ns(&f->pace, f->now_ns);
    f->now_ns += before; /* just nothing owed */
    ask(f, 0, 0, 16 * SEGMENT);
    f->now_ns += NS_PER_S / PACKETS;
    serve_answer(&f->serve, f->now_ns);
    assert_int_equal(f->reads, 1);
    assert_int_equal(pace_debt_ns(&f->pace, f->now_ns), 16 * NS_PER_S / PACKETS);
    drop(f);
}

/* Nobody reads what is kept for the next run. */
TEST(orders__close_a_region)
{
    Fixture *f;
    make(&f, 0);
    const ImdCommand close_it = {.kind = IMD_CLOSE, .region = f->region};
    assert_int_equal(serve_obey(&f->serve, &close_it, f->now_ns), 0);
    ask(f, 0, 0, 1024);
    serve_for(f, NS_PER_S);
    assert_int_equal(imd_data_stats(f->serve.data)->reads, 0);
    assert_int_equal(imd_data_regions(f->serve.data), 1);
    drop(f);
}

/* What was opened again is read by its new address alone; what was dropped not at all. */
TEST(orders__change_who_may_read)
{
    Fixture *f;
    make(&f, 0);
    ask(f, 0, 0, 1024);
    serve_for(f, NS_PER_S);
    unsigned bursts = f->reads;
    assert_int_equal(bursts, 1);
    uint64_t reads = imd_data_stats(f->serve.data)->reads;
    ImdCommand again = {.kind = IMD_REOPEN, .region = f->region};
    again.region.opening++;
    again.region.capability.bytes[0]++;
    assert_int_equal(serve_obey(&f->serve, &again, f->now_ns), 0);
    ask(f, 0, 0, 1024);
    serve_for(f, NS_PER_S);
    assert_int_equal(imd_data_stats(f->serve.data)->reads, reads);
    f->region = again.region;
    ask(f, 0, 0, 1024);
    serve_for(f, NS_PER_S);
    assert_int_equal(imd_data_stats(f->serve.data)->reads, reads + 1);
    const ImdCommand drop_it = {.kind = IMD_DROP, .region = f->region};
    assert_int_equal(serve_obey(&f->serve, &drop_it, f->now_ns), 0);
    ask(f, 0, 0, 1024);
    serve_for(f, NS_PER_S);
    assert_int_equal(imd_data_stats(f->serve.data)->reads, reads + 1);
    drop(f);
}
