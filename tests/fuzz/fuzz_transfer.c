/* SPDX-License-Identifier: MIT */
/* A transfer of either direction fed with any DATA and WRITE_ACK at any time: whatever comes, the
 * credit adds up, no byte counts as here that did not come, time never stands still, and a server
 * that then behaves brings it to an end. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/time.h"
#include "proto/transfer_private.h"
#include "tests/fuzz/fuzz.h"

enum {
    STEPS_MAX = 2000,
    END_STEPS_MAX = 20000,
    LEN_MAX = 6 * WIRE_CHUNK_MAX,
    EMPTY_BYTE = 0xEE, /* in the buffer before anything came */
    DATA_BYTE = 0x11,  /* all that a server ever sends */
};

typedef struct World {
    const uint8_t *p;
    size_t left;
    uint64_t now_ns, next_ask, missed_ns;
    PathEstimate path;
    CreditPool pool;
    TransferCounters count;
    TransferConfig config;
    uint64_t recent[8]; /* READs sent lately: answers are likely to be theirs */
    unsigned recent_count;
    ReadTransfer read;
    WriteTransfer write;
} World;

static const RegionAddress address = {.epoch = 1, .region = 2, .opening = 3};
static uint8_t buf[LEN_MAX + 1], data_bytes[LEN_MAX];

static uint64_t take(World *w, unsigned bytes)
{
    uint64_t v = 0;
    for (; bytes > 0; bytes--) {
        v = v << 8 | (w->left > 0 ? *w->p : 0);
        w->p += w->left > 0;
        w->left -= w->left > 0;
    }
    return v;
}

/* Mostly forward and little, sometimes far, sometimes back, sometimes the exact deadline. */
static void move_time(World *w, uint64_t deadline)
{
    uint64_t how = take(w, 1);
    if (how < 8)
        w->now_ns -= min_u64(w->now_ns, take(w, 3));
    else if (how < 12)
        w->now_ns = time_add(w->now_ns, take(w, 5));
    else if (how < 100 && deadline != TIME_NEVER && deadline > w->now_ns)
        w->now_ns = deadline;
    else
        w->now_ns = time_add(w->now_ns, how * NS_PER_US);
}

static void start_world(World *w)
{
    memset(w, 0, offsetof(World, read));
    /* start() must set all that it goes by. */
    memset(&w->read, 0xA5, sizeof w->read);
    memset(&w->write, 0xA5, sizeof w->write);
    w->now_ns = NS_PER_S;
    w->next_ask = 1;
    credit_init(&w->pool, 1 << 20);
    w->config = (TransferConfig){.deadline_ns = NS_PER_S,
                                 .credit = &w->pool,
                                 .path = &w->path,
                                 .count = &w->count,
                                 .missed_ns = &w->missed_ns};
    if (data_bytes[0] != DATA_BYTE)
        memset(data_bytes, DATA_BYTE, sizeof data_bytes);
}

static void configure(World *w)
{
    static const uint16_t segments[] = {WIRE_SEGMENT_MIN, 1400, 8000, WIRE_SEGMENT_MAX};
    uint64_t how = take(w, 1);
    w->config.segment = segments[how % 4];
    w->pool.window_bytes = 1 + (take(w, 1) << 12);
    if (how & 0x80)
        w->path = (PathEstimate){NS_PER_US * (1 + take(w, 2)), take(w, 2), take(w, 3)};
}

/* ---- reading -------------------------------------------------------------------------------- */

static void read_check(const World *w)
{
    const ReadTransfer *t = &w->read;
    uint64_t asked = 0;
    unsigned done = 0;
    for (unsigned i = 0; i < t->chunks_count; i++) {
        const ReadChunk *c = &t->chunks[i];
        Cut cut = {.len = c->len, .segment = t->config.segment, .last = c->last};
        FUZZ_CHECK((c->asked & ~c->missing) == 0);
        asked += cut_bytes(&cut, c->asked);
        done += !c->missing;
    }
    FUZZ_CHECK(t->p.flight.bytes == asked);
    FUZZ_CHECK(w->pool.used_bytes == asked - t->p.flight.given + t->p.flight.owed);
    FUZZ_CHECK((t->state == TRANSFER_COMPLETE) == (done == t->chunks_count));
    FUZZ_CHECK(buf[t->len] == EMPTY_BYTE);
}

static size_t read_output(World *w, WireRead *ret)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    size_t n = read_transfer_output(&w->read, out, w->now_ns);
    if (n == 0)
        return 0;
    FUZZ_CHECK(wire_read_decode(out, n, ret) == 0);
    FUZZ_CHECK(ret->ask >= w->recent[(w->recent_count + 7) % 8]);
    w->recent[w->recent_count++ % 8] = ret->ask;
    return n;
}

static void read_answer(World *w)
{
    uint64_t how = take(w, 1);
    uint64_t ask = how < 200 ? w->recent[how % 8] : take(w, how < 240 ? 1 : 8);
    uint64_t index = take(w, 1);
    WireData m = {.ask = ask, .filled = 0x7fff, .data = data_bytes};
    m.index = index >= 224 ? WIRE_INDEX_NONE : (uint16_t)(index % 64);
    if (m.index == WIRE_INDEX_NONE)
        m.status = (uint16_t)(index >= 252 ? take(w, 2) : index >= 240 ? STATUS_BUSY : STATUS_OK);
    if (how & 0x10)
        m.filled = (uint32_t)take(w, 2) & 0x7fff;
    if (m.index != WIRE_INDEX_NONE) {
        /* The length that fits one of the chunks, or any. */
        const ReadChunk *c = &w->read.chunks[how % w->read.chunks_count];
        Cut cut = {.len = c->len, .segment = w->config.segment, .last = c->last};
        m.data_len = how < 250 && m.index <= c->last ? cut_segment_len(&cut, m.index)
                                                     : take(w, 2) % sizeof data_bytes;
    }
    read_transfer_input(&w->read, &m, w->now_ns);
}

static void read_step(World *w)
{
    WireRead m;
    switch (take(w, 1) % 16) {
    case 0:
        move_time(w, read_transfer_deadline(&w->read));
        break;
    case 1:
        read_transfer_expire(&w->read, w->now_ns);
        FUZZ_CHECK(read_transfer_deadline(&w->read) > w->now_ns);
        break;
    case 2:
        w->next_ask += take(w, 1) * 3;
        break;
    case 3:
        if (take(w, 1) < 16)
            read_transfer_resend(&w->read, w->now_ns);
        break;
    case 4:
        if (take(w, 1) < 16)
            w->missed_ns += take(w, 4);
        break;
    case 5:
    case 6:
    case 7:
        (void)read_output(w, &m);
        break;
    default:
        read_answer(w);
    }
}

/* A server with everything, at once. */
static void read_serve(World *w, const WireRead *m)
{
    for (uint64_t want = m->want; want; want &= want - 1) {
        uint32_t at = map_lowest(want) * (uint32_t)m->segment;
        WireData d = {.ask = m->ask,
                      .index = (uint16_t)map_lowest(want),
                      .filled = 0x7fff,
                      .data = data_bytes,
                      .data_len = m->len - at < m->segment ? m->len - at : m->segment};
        read_transfer_input(&w->read, &d, w->now_ns);
    }
}

static void read_end(World *w)
{
    WireRead m;
    for (int i = 0; w->read.state == TRANSFER_RUNNING; i++) {
        FUZZ_CHECK(i < END_STEPS_MAX);
        if (read_output(w, &m) > 0) {
            read_serve(w, &m);
        } else {
            uint64_t deadline = read_transfer_deadline(&w->read);
            w->now_ns = deadline > w->now_ns ? deadline : w->now_ns + 1;
            read_transfer_expire(&w->read, w->now_ns);
        }
        read_check(w);
    }
    const ReadTransfer *t = &w->read;
    for (size_t i = 0; t->state == TRANSFER_COMPLETE && i < t->len; i++)
        FUZZ_CHECK(buf[i] == DATA_BYTE ||
                   read_transfer_unfilled(t, (t->offset + i) / WIRE_BLOCK_SIZE));
    read_transfer_end(&w->read);
}

static void run_read(World *w)
{
    size_t len = 1 + take(w, 3) % LEN_MAX;
    memset(buf, EMPTY_BYTE, len + 1);
    read_transfer_start(&w->read, &w->config, &address, take(w, 2), buf, len, &w->next_ask,
                        w->now_ns);
    for (int i = 0; i < STEPS_MAX && w->left > 0; i++) {
        read_step(w);
        read_check(w);
    }
    read_end(w);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_check(const World *w)
{
    const WriteTransfer *t = &w->write;
    uint64_t flight = 0;
    unsigned done = 0;
    const unsigned begun = t->p.next_chunk;
    FUZZ_CHECK(begun <= t->chunks_count && begun <= TRANSFER_CHUNKS_MAX);
    for (unsigned i = 0; i < begun; i++) {
        const WriteChunk *c = &t->chunks[i];
        Cut cut = {.len = c->len, .segment = t->config.segment, .last = c->last};
        FUZZ_CHECK((c->flight & c->received) == 0 && (c->flight & ~c->sent) == 0);
        FUZZ_CHECK((t->p.open >> i & 1) == (c->state == WRITE_OPEN));
        FUZZ_CHECK((t->p.open >> i & 1) || !c->flight);
        flight += cut_bytes(&cut, c->flight);
        done += c->state != WRITE_OPEN;
    }
    FUZZ_CHECK(t->p.flight.bytes == flight);
    FUZZ_CHECK(w->pool.used_bytes == flight - t->p.flight.given + t->p.flight.owed);
    FUZZ_CHECK((t->state == TRANSFER_COMPLETE) == (done == t->chunks_count));
    FUZZ_CHECK(((t->p.poll_wanted | t->p.hold) & ~t->p.open) == 0);
}

/* True when something was sent; *ret is a message of it. */
static bool write_output(World *w, WireWrite *ret)
{
    static uint8_t out[WIRE_WRITE_HEADER_SIZE + WIRE_SEGMENT_MAX];
    Burst b;
    size_t n;
    int what = write_transfer_output(&w->write, &b, out, &n, w->now_ns);
    if (what == WRITE_NOTHING)
        return false;
    if (what == WRITE_BURST) {
        for (uint64_t want = b.want; want; want &= want - 1) {
            n = burst_payload(&b, map_lowest(want), out);
            FUZZ_CHECK(wire_write_decode(out, n, ret) == 0);
        }
    }
    FUZZ_CHECK(wire_write_decode(out, n, ret) == 0);
    FUZZ_CHECK(ret->kind == w->write.kind);
    return true;
}

static void write_answer(World *w)
{
    uint64_t how = take(w, 1);
    uint64_t chunk = how < 240 ? how % w->write.chunks_count : take(w, 8);
    bool fill = w->write.kind == WRITE_FILL;
    WireWriteAck m = {.kind = how < 250 ? w->write.kind : (uint8_t)(how % WRITE_KIND_MAX),
                      .number = w->write.number + (fill ? 0 : chunk),
                      .transfer = fill ? w->write.transfer + chunk : 0,
                      .grant = (uint32_t)take(w, 1) << (how & 15)};
    uint64_t state = take(w, 1);
    if (state < 200) {
        m.state = WRITE_OPEN;
        m.received = state & 1 ? map_below((unsigned)(state / 4)) : take(w, 8);
    } else if (state < 220) {
        m.state = WRITE_DONE;
    } else {
        m.state = WRITE_REFUSED;
        m.status = state < 240 ? STATUS_BUSY : state < 254 ? STATUS_STALE : (uint16_t)take(w, 2);
    }
    write_transfer_input(&w->write, &m, w->now_ns);
}

static void write_step(World *w)
{
    WireWrite m;
    switch (take(w, 1) % 16) {
    case 0:
        move_time(w, write_transfer_deadline(&w->write));
        break;
    case 1:
        write_transfer_expire(&w->write, w->now_ns);
        FUZZ_CHECK(write_transfer_deadline(&w->write) > w->now_ns);
        break;
    case 2:
        if (take(w, 1) < 16)
            write_transfer_resend(&w->write, w->now_ns);
        break;
    case 3:
        if (take(w, 1) < 16)
            w->missed_ns += take(w, 4);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        (void)write_output(w, &m);
        break;
    default:
        write_answer(w);
    }
}

static void write_end(World *w)
{
    WireWrite m;
    for (int i = 0; w->write.state == TRANSFER_RUNNING; i++) {
        FUZZ_CHECK(i < END_STEPS_MAX);
        if (write_output(w, &m)) {
            WireWriteAck done = {.number = m.number,
                                 .transfer = m.transfer,
                                 .kind = m.kind,
                                 .state = WRITE_DONE,
                                 .grant = 1000000};
            write_transfer_input(&w->write, &done, w->now_ns);
        } else {
            uint64_t deadline = write_transfer_deadline(&w->write);
            w->now_ns = deadline > w->now_ns ? deadline : w->now_ns + 1;
            write_transfer_expire(&w->write, w->now_ns);
        }
        write_check(w);
    }
    write_transfer_end(&w->write);
}

static void run_write(World *w)
{
    enum WriteKind kind = (enum WriteKind)(take(w, 1) % WRITE_KIND_MAX);
    size_t len = 1 + take(w, 3) % LEN_MAX;
    write_transfer_start(&w->write, &w->config, &address, kind, take(w, 2),
                         kind == WRITE_VOID ? NULL : data_bytes, len, 100,
                         kind == WRITE_FILL ? 1000 : 0, w->now_ns);
    for (int i = 0; i < STEPS_MAX && w->left > 0; i++) {
        write_step(w);
        write_check(w);
    }
    write_end(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
    static World w;
    start_world(&w);
    w.p = p;
    w.left = len;
    configure(&w);
    if (take(&w, 1) & 1)
        run_read(&w);
    else
        run_write(&w);
    FUZZ_CHECK(w.pool.used_bytes == 0);
    return 0;
}
