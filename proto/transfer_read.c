/* SPDX-License-Identifier: MIT */
/* Reading: READs out, DATA straight into the caller's buffer.
 *
 * Every segment under way belongs to one READ, the latest that asked for it. The imd serves READs
 * in the order in which they come, and their segments in the order of their index. So data from one
 * place shows what should have come before it: a gap. A READ of several segments that got no answer
 * at all may only be late or out of turn, so one segment of it is asked for first: when that comes,
 * the rest is known to be lost. */
#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "proto/rules.h"
#include "proto/transfer_private.h"

enum { READ_ASKS_SPARE = 16 }; /* numbers kept free for probes, which must always go out */

/* ---- chunks and asks ------------------------------------------------------------------------ */

static inline Cut chunk_cut(const ReadTransfer *t, const ReadChunk *c)
{
    return (Cut){.len = c->len, .segment = t->config.segment, .last = c->last};
}

/* The first ask of every transfer has the same place: short reads use little of the table. */
static inline ReadAsk *ask_slot(ReadTransfer *t, uint64_t ask)
{
    return &t->asks[(ask - t->p.first_ask) % READ_ASKS_MAX];
}

static inline uint64_t ask_to_wire(const ReadTransfer *t, uint64_t ask)
{
    return ask << t->config.lane_bits | t->config.lane;
}

/* 0, which no ask has: it is another lane's. */
static inline uint64_t ask_from_wire(const ReadTransfer *t, uint64_t ask)
{
    uint64_t lane = ask & map_below(t->config.lane_bits);
    return lane == t->config.lane ? ask >> t->config.lane_bits : 0;
}

static ReadAsk *ask_find(ReadTransfer *t, uint64_t ask)
{
    if (ask < t->p.first_ask || ask > t->p.last_ask || t->p.last_ask - ask >= READ_ASKS_MAX)
        return NULL;
    ReadAsk *a = ask_slot(t, ask);
    return a->ask == ask && ask != 0 ? a : NULL;
}

static inline uint64_t ask_under_way(const ReadTransfer *t, const ReadAsk *a)
{
    return a->map & t->chunks[a->chunk].asked;
}

static void find_oldest(ReadTransfer *t)
{
    while (t->p.oldest_ask <= t->p.last_ask && ask_under_way(t, ask_slot(t, t->p.oldest_ask)) == 0)
        t->p.oldest_ask++;
}

/* The segments of @map are not under way any more. */
static void chunk_land(ReadTransfer *t, ReadChunk *c, uint64_t map)
{
    map &= c->asked;
    if (!map)
        return;
    Cut cut = chunk_cut(t, c);
    c->asked &= ~map;
    flight_land(&t->p.flight, &t->config, cut_bytes(&cut, map));
}

/* They are here, or will not come. */
static void chunk_settle(ReadTransfer *t, ReadChunk *c, uint64_t map)
{
    chunk_land(t, c, map);
    if (!(c->missing & map))
        return;
    c->missing &= ~map;
    t->progress++;
    if (c->missing)
        return;
    t->p.whole |= (uint64_t)1 << (c - t->chunks);
    if (++t->p.done_chunks == t->chunks_count)
        t->state = TRANSFER_COMPLETE;
}

/* What is under way by @a and in @map must be asked for again. */
static void ask_again(ReadTransfer *t, ReadAsk *a, uint64_t map)
{
    map &= ask_under_way(t, a);
    a->map &= ~map;
    chunk_land(t, &t->chunks[a->chunk], map);
    if (map && a->chunk < t->p.next_chunk)
        t->p.next_chunk = a->chunk;
}

static void ask_lost(ReadTransfer *t, ReadAsk *a, uint64_t map)
{
    a->lossy = true;
    ask_again(t, a, map);
}

/* ---- start and end -------------------------------------------------------------------------- */

static unsigned blocks_of(uint64_t offset, size_t len)
{
    return (unsigned)((offset + len - 1) / WIRE_BLOCK_SIZE - offset / WIRE_BLOCK_SIZE + 1);
}

static void chunk_start(ReadTransfer *t, ReadChunk *c, uint32_t offset)
{
    size_t left = t->len - offset;
    c->offset = offset;
    c->len = left < WIRE_CHUNK_MAX ? (uint32_t)left : WIRE_CHUNK_MAX;
    c->last = (uint8_t)(wire_segment_count(c->len, t->config.segment) - 1);
    c->missing = wire_segment_mask(c->last + 1u);
    c->asked = 0;
    c->ever = 0;
    c->unfilled = 0;
    c->blocks = (uint16_t)map_below(blocks_of(t->offset + offset, c->len));
}

static bool is_waiting(const ReadTransfer *t)
{
    return t->p.flight.bytes > 0;
}

void read_transfer_start(ReadTransfer *t, const TransferConfig *config,
                         const RegionAddress *address, uint64_t offset, void *buf, size_t len,
                         uint64_t *next_ask, uint64_t now_ns)
{
    assert(len > 0 && len <= TRANSFER_BYTES_MAX && buf);
    assert(config->segment >= WIRE_SEGMENT_MIN && config->segment <= WIRE_SEGMENT_MAX);
    t->config = *config;
    t->address = *address;
    t->offset = offset;
    t->len = len;
    t->buf = buf;
    t->edges = NULL;
    t->body = 0;
    t->body_end = len;
    t->next_ask = next_ask;
    t->state = TRANSFER_RUNNING;
    t->status = STATUS_OK;
    t->progress = 0;
    t->chunks_count = (uint16_t)((len + WIRE_CHUNK_MAX - 1) / WIRE_CHUNK_MAX);
    memset(&t->p, 0, sizeof t->p);
    clock_start(&t->p.clock, config, now_ns);
    if (*next_ask == 0)
        *next_ask = 1;
    t->p.first_ask = *next_ask;
    t->p.last_ask = *next_ask - 1;
    t->p.oldest_ask = *next_ask;
    /* Only what this transfer uses: a read of one chunk must not pay for 64. */
    memset(t->unfilled, 0, (blocks_of(offset, len) / 64 + 1) * sizeof t->unfilled[0]);
    for (unsigned i = 0; i < t->chunks_count; i++)
        chunk_start(t, &t->chunks[i], i * (uint32_t)WIRE_CHUNK_MAX);
}

void read_transfer_edges(ReadTransfer *t, uint8_t *edges, size_t head, size_t tail)
{
    assert(head + tail <= t->len && (edges || head + tail == 0));
    t->edges = edges;
    t->edges_tail = head;
    t->body = head;
    t->body_end = t->len - tail;
}

bool read_transfer_starved(const ReadTransfer *t)
{
    return flight_is_starved(&t->p.flight);
}

bool read_transfer_busy(const ReadTransfer *t, uint64_t now_ns)
{
    return now_ns < t->p.clock.busy_until_ns;
}

uint16_t read_transfer_chunks(const ReadTransfer *t)
{
    return t->p.done_chunks;
}

bool read_transfer_held(const ReadTransfer *t)
{
    return t->p.flight.starved;
}

void read_transfer_end(ReadTransfer *t)
{
    flight_end(&t->p.flight, &t->config);
}

/* ---- sending -------------------------------------------------------------------------------- */

/* The table has room for READ_ASKS_MAX numbers: older ones give way. */
static void make_room(ReadTransfer *t, uint64_t ask)
{
    for (; t->p.oldest_ask <= t->p.last_ask && ask - t->p.oldest_ask >= READ_ASKS_MAX;
         t->p.oldest_ask++)
        ask_lost(t, ask_slot(t, t->p.oldest_ask), UINT64_MAX);
    /* Numbers that others took meanwhile. */
    uint64_t skipped = t->p.last_ask + 1;
    if (ask - skipped > READ_ASKS_MAX)
        skipped = ask - READ_ASKS_MAX;
    for (; skipped < ask; skipped++)
        *ask_slot(t, skipped) = (ReadAsk){0};
    if (t->p.oldest_ask > t->p.last_ask)
        t->p.oldest_ask = ask;
}

static uint64_t new_ask_number(ReadTransfer *t)
{
    uint64_t ask = max_u64(*t->next_ask, t->p.last_ask + 1);
    if (RULE(ASK_ECHO))
        *t->next_ask = ask + 1; /* no other call's will have it */
    make_room(t, ask);
    t->p.last_ask = ask;
    return ask;
}

/* @waiting: something was under way before. */
static size_t send_ask(ReadTransfer *t, unsigned chunk, uint64_t want, bool probe, bool waiting,
                       uint8_t *out, uint64_t now_ns)
{
    ReadChunk *c = &t->chunks[chunk];
    uint64_t ask = new_ask_number(t);
    *ask_slot(t, ask) = (ReadAsk){.ask = ask,
                                  .guard = ask,
                                  .map = want,
                                  .sent_ns = now_ns,
                                  .missed_ns = missed_so_far(&t->config),
                                  .chunk = (uint16_t)chunk,
                                  .probe = probe};
    COUNT(t, asks, 1);
    COUNT(t, resent, map_count(want & c->ever));
    c->asked |= want;
    c->ever |= want;
    clock_sent(&t->p.clock, waiting, now_ns);
    WireRead m = {.ask = ask_to_wire(t, ask),
                  .address = t->address,
                  .offset = t->offset + c->offset,
                  .len = c->len,
                  .segment = t->config.segment,
                  .want = want};
    return wire_read_encode(&m, out);
}

/* One segment of the oldest ask. Its answer settles all that was asked for before. */
static size_t send_probe(ReadTransfer *t, uint8_t *out, uint64_t now_ns)
{
    uint64_t next = *t->next_ask > t->p.last_ask ? *t->next_ask : t->p.last_ask + 1;
    for (uint64_t ask = t->p.oldest_ask; ask <= t->p.last_ask; ask++) {
        ReadAsk *a = ask_slot(t, ask);
        if (!a->replied && a->guard == a->ask)
            a->guard = next;
    }
    ReadAsk *oldest = ask_slot(t, t->p.oldest_ask);
    unsigned chunk = oldest->chunk;
    uint64_t map = ask_under_way(t, oldest);
    uint64_t one = map & -map;
    /* It stays charged, it only changes hands. */
    oldest->map &= ~one;
    return send_ask(t, chunk, one, true, true, out, now_ns);
}

static size_t send_missing(ReadTransfer *t, uint8_t *out, uint64_t now_ns)
{
    const ReadChunk *c = NULL;
    uint64_t want = 0;
    bool waiting = is_waiting(t);
    if (waiting && clock_is_silent(&t->p.clock))
        return 0;
    for (; t->p.next_chunk < t->chunks_count; t->p.next_chunk++) {
        c = &t->chunks[t->p.next_chunk];
        want = c->missing & ~c->asked;
        if (want)
            break;
    }
    if (!want)
        return 0;
    /* The table of asks is full but for the probes' spare room: wait until the oldest is over. */
    if (t->p.last_ask - t->p.oldest_ask + 1 >= READ_ASKS_MAX - READ_ASKS_SPARE &&
        t->p.flight.bytes > 0)
        return 0;
    Cut cut = chunk_cut(t, c);
    uint64_t credit =
        flight_take(&t->p.flight, &t->config, cut_bytes(&cut, want), cut_least(&cut, want));
    if (credit == 0)
        return 0;
    want = cut_fit(&cut, want, credit);
    flight_land(&t->p.flight, &t->config, credit - cut_bytes(&cut, want));
    return send_ask(t, t->p.next_chunk, want, false, waiting, out, now_ns);
}

size_t read_transfer_output(ReadTransfer *t, uint8_t *out, uint64_t now_ns)
{
    read_transfer_expire(t, now_ns);
    t->p.flight.starved = false;
    if (t->state != TRANSFER_RUNNING || now_ns < t->p.clock.busy_until_ns)
        return 0;
    find_oldest(t);
    bool probe = t->p.clock.probe_due && t->p.oldest_ask <= t->p.last_ask;
    t->p.clock.probe_due = false;
    return probe ? send_probe(t, out, now_ns) : send_missing(t, out, now_ns);
}

/* ---- gaps ----------------------------------------------------------------------------------- */

/* What of @a should have come before segment @index of ask @front did. */
static uint64_t ask_passed(const ReadTransfer *t, const ReadAsk *a, uint64_t front, unsigned index)
{
    if (a->guard > front)
        return 0;
    uint64_t map = ask_under_way(t, a);
    return a->ask == front ? map & map_below(index) : map;
}

static bool any_passed(ReadTransfer *t)
{
    for (uint64_t ask = t->p.oldest_ask; ask <= t->p.front_ask; ask++)
        if (ask_passed(t, ask_slot(t, ask), t->p.front_ask, t->p.front_index))
            return true;
    return false;
}

/* A gap appeared: what is missing now has until path_reorder_ns() to come. What is passed by later
 * data while the timer runs gets its own turn. */
static void watch_gap(ReadTransfer *t, uint64_t now_ns)
{
    find_oldest(t);
    if (t->p.clock.gap_ns != TIME_NEVER || !any_passed(t))
        return;
    t->p.clock.gap_ns = now_ns;
    t->p.gap_ask = t->p.front_ask;
    t->p.gap_index = t->p.front_index;
}

static void gap_over(ReadTransfer *t, uint64_t now_ns)
{
    bool lost = false;
    for (uint64_t ask = t->p.oldest_ask; ask <= t->p.gap_ask; ask++) {
        ReadAsk *a = ask_slot(t, ask);
        uint64_t map = ask_passed(t, a, t->p.gap_ask, t->p.gap_index);
        if (!map)
            continue;
        if (!a->replied && a->guard == a->ask && map_count(map) > 1) {
            t->p.clock.probe_due = true;
            continue;
        }
        ask_lost(t, a, map);
        lost = true;
    }
    if (lost)
        note_loss(&t->config, now_ns);
    t->p.clock.gap_ns = TIME_NEVER;
    if (!t->p.clock.probe_due)
        watch_gap(t, now_ns);
}

/* Data of segment @index of @ask came: nothing before it is still to be expected. */
static void move_front(ReadTransfer *t, uint64_t ask, unsigned index, uint64_t now_ns)
{
    if (ask > t->p.front_ask || (ask == t->p.front_ask && index > t->p.front_index)) {
        t->p.front_ask = ask;
        t->p.front_index = (uint16_t)index;
    }
    watch_gap(t, now_ns);
}

/* ---- unfilled blocks ------------------------------------------------------------------------ */

/* The blocks that bytes [from, to) of the chunk lie in come from the file. */
static void mark_unfilled(ReadTransfer *t, const ReadChunk *c, uint32_t from, uint32_t to)
{
    uint64_t base = t->offset / WIRE_BLOCK_SIZE;
    uint64_t first = (t->offset + c->offset + from) / WIRE_BLOCK_SIZE - base;
    uint64_t last = (t->offset + c->offset + to - 1) / WIRE_BLOCK_SIZE - base;
    for (uint64_t i = first; i <= last; i++)
        t->unfilled[i / 64] |= (uint64_t)1 << i % 64;
    t->p.any_unfilled = true;
}

/* Segments of @map will not come. Their bytes are missing in whatever block they lie. */
static void give_up_segments(ReadTransfer *t, ReadChunk *c, uint64_t map)
{
    map &= c->missing;
    for (uint64_t m = map; m; m &= m - 1) {
        Cut cut = chunk_cut(t, c);
        uint32_t from = map_lowest(m) * (uint32_t)cut.segment;
        mark_unfilled(t, c, from, from + cut_segment_len(&cut, map_lowest(m)));
    }
    chunk_settle(t, c, map);
}

/* A block seen unfilled once stays so for this transfer, whatever later answers say. */
static void note_filled(ReadTransfer *t, ReadChunk *c, uint32_t filled)
{
    unsigned news = c->blocks & ~filled & ~(unsigned)c->unfilled;
    if (!news)
        return;
    c->unfilled |= (uint16_t)news;
    uint64_t start = t->offset + c->offset;
    uint64_t first = start / WIRE_BLOCK_SIZE;
    for (; news; news &= news - 1) {
        uint64_t at = (first + map_lowest(news)) * WIRE_BLOCK_SIZE;
        uint32_t from = at > start ? (uint32_t)(at - start) : 0;
        uint64_t end = at + WIRE_BLOCK_SIZE - start;
        uint32_t to = end < c->len ? (uint32_t)end : c->len;
        mark_unfilled(t, c, from, to);
        give_up_segments(t, c,
                         map_below((to - 1) / t->config.segment + 1) &
                             ~map_below(from / t->config.segment));
    }
}

bool read_transfer_unfilled(const ReadTransfer *t, uint64_t block)
{
    uint64_t first = t->offset / WIRE_BLOCK_SIZE;
    if (t->state != TRANSFER_COMPLETE || block < first ||
        block - first >= blocks_of(t->offset, t->len))
        return true;
    return t->unfilled[(block - first) / 64] >> (block - first) % 64 & 1;
}

uint64_t read_transfer_take_whole(ReadTransfer *t)
{
    uint64_t whole = t->p.whole;
    t->p.whole = 0;
    return whole;
}

uint16_t read_transfer_chunk_filled(const ReadTransfer *t, unsigned chunk)
{
    const ReadChunk *c = &t->chunks[chunk];
    assert(chunk < t->chunks_count && !c->missing);
    return c->blocks & (uint16_t)~c->unfilled;
}

void read_transfer_discard(ReadTransfer *t, uint64_t block)
{
    uint64_t i = block - t->offset / WIRE_BLOCK_SIZE;
    assert(t->state == TRANSFER_COMPLETE && i < blocks_of(t->offset, t->len));
    t->unfilled[i / 64] |= (uint64_t)1 << i % 64;
    t->p.any_unfilled = true;
}

bool read_transfer_all_filled(const ReadTransfer *t)
{
    return t->state == TRANSFER_COMPLETE && !t->p.any_unfilled;
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* Some of it belongs to the edges. */
static void place_split(const ReadTransfer *t, size_t at, const uint8_t *data, size_t len)
{
    size_t end = at + len;
    size_t head = at < t->body ? (end < t->body ? end : t->body) - at : 0;
    size_t tail = end > t->body_end ? end - (at > t->body_end ? at : t->body_end) : 0;
    size_t middle = len - head - tail;
    if (head > 0)
        memcpy(t->edges + at, data, head);
    if (middle > 0)
        memcpy(t->buf + (at + head - t->body), data + head, middle);
    if (tail > 0)
        memcpy(t->edges + t->edges_tail + (end - tail - t->body_end), data + head + middle, tail);
}

/* Bytes that came, to where they belong; @at counts from the transfer's start. */
static inline void place(const ReadTransfer *t, size_t at, const uint8_t *data, size_t len)
{
    if (at >= t->body && at + len <= t->body_end)
        memcpy(t->buf + (at - t->body), data, len);
    else
        place_split(t, at, data, len);
}

static bool is_well_formed(const ReadTransfer *t, const ReadChunk *c, const WireData *m)
{
    if (m->index == WIRE_INDEX_NONE)
        return m->data_len == 0;
    Cut cut = chunk_cut(t, c);
    return m->status == STATUS_OK && m->index <= c->last &&
           m->data_len == cut_segment_len(&cut, m->index);
}

/* The first answer to an ask gives a round-trip sample: ask numbers leave no doubt whose. */
static void note_reply(ReadTransfer *t, ReadAsk *a, uint64_t now_ns)
{
    if (a->replied)
        return;
    a->replied = true;
    a->first_ns = now_ns;
    if (a->ask > t->p.sample_after && sample_is_good(&t->config, a->sent_ns, a->missed_ns, now_ns))
        path_sample_rtt(t->config.path, clock_since(a->sent_ns, now_ns));
}

/* All that was asked for has come, or is known not to. */
static void ask_over(ReadTransfer *t, const ReadAsk *a, uint64_t now_ns)
{
    if (a->probe || a->lossy || a->ask <= t->p.sample_after)
        return;
    flight_succeed(&t->p.flight, &t->config, a->got);
    if (a->got >= CREDIT_LEAST && a->got > t->config.segment &&
        sample_is_good(&t->config, a->sent_ns, a->missed_ns, now_ns))
        path_sample_rate(t->config.path, a->got - t->config.segment,
                         clock_since(a->first_ns, now_ns));
}

static void take_segment(ReadTransfer *t, ReadChunk *c, ReadAsk *a, const WireData *m,
                         uint64_t now_ns)
{
    uint64_t bit = (uint64_t)1 << m->index;
    COUNT(t, datagrams, 1);
    if (!(c->missing & bit)) {
        COUNT(t, ignored, 1);
        return;
    }
    place(t, c->offset + (size_t)m->index * t->config.segment, m->data, m->data_len);
    chunk_settle(t, c, bit);
    a->got += (uint32_t)m->data_len;
    if (a->probe) /* so what had been sent before was lost */
        note_loss(&t->config, now_ns);
    if (!ask_under_way(t, a))
        ask_over(t, a, now_ns);
}

static void take_status(ReadTransfer *t, ReadAsk *a, const WireData *m, uint64_t now_ns)
{
    if (m->status == STATUS_BUSY) {
        clock_busy(&t->p.clock, now_ns);
        ask_again(t, a, UINT64_MAX);
    } else if (m->status != STATUS_OK) {
        t->state = TRANSFER_REFUSED;
        t->status = status_known(m->status);
    } else {
        /* No segment that this ask wanted can be sent. */
        give_up_segments(t, &t->chunks[a->chunk], ask_under_way(t, a));
        move_front(t, a->ask, WIRE_SEGMENTS_MAX, now_ns);
    }
}

/* The fast path for nearly all that comes: a segment of an ask that has been answered before, in
 * its turn, and not the ask's last. Does exactly what the general path would do. False: it is not
 * of that kind. */
static inline bool take_next(ReadTransfer *t, ReadAsk *a, const WireData *m, uint64_t now_ns)
{
    ReadChunk *c = &t->chunks[a->chunk];
    if (m->status != STATUS_OK || m->index > c->last || !a->replied || a->probe)
        return false;
    uint64_t bit = (uint64_t)1 << m->index, under_way = a->map & c->asked;
    Cut cut = chunk_cut(t, c);
    bool next = (c->missing & under_way & -under_way) == bit && under_way != bit &&
                t->p.oldest_ask == a->ask && t->p.front_ask <= a->ask &&
                t->p.clock.gap_ns == TIME_NEVER;
    if (!next || m->data_len != cut_segment_len(&cut, m->index) ||
        (c->blocks & ~m->filled & ~(unsigned)c->unfilled) != 0)
        return false;
    place(t, c->offset + (size_t)m->index * cut.segment, m->data, m->data_len);
    clock_heard(&t->p.clock, now_ns);
    clock_served(&t->p.clock);
    COUNT(t, datagrams, 1);
    c->asked &= ~bit;
    c->missing &= ~bit;
    flight_land(&t->p.flight, &t->config, m->data_len);
    t->progress++;
    a->got += (uint32_t)m->data_len;
    t->p.front_ask = a->ask;
    t->p.front_index = m->index;
    return true;
}

void read_transfer_input(ReadTransfer *t, const WireData *m, uint64_t now_ns)
{
    ReadAsk *a = t->state == TRANSFER_RUNNING ? ask_find(t, ask_from_wire(t, m->ask)) : NULL;
    if (a && take_next(t, a, m, now_ns))
        return;
    ReadChunk *c = a ? &t->chunks[a->chunk] : NULL;
    if (!c || !is_well_formed(t, c, m)) {
        COUNT(t, ignored, 1);
        return;
    }
    clock_heard(&t->p.clock, now_ns);
    note_reply(t, a, now_ns);
    if (m->status == STATUS_OK) {
        clock_served(&t->p.clock);
        note_filled(t, c, m->filled);
    }
    if (m->index != WIRE_INDEX_NONE) {
        take_segment(t, c, a, m, now_ns);
        move_front(t, a->ask, m->index, now_ns);
    } else {
        take_status(t, a, m, now_ns);
    }
}

/* ---- time ----------------------------------------------------------------------------------- */

uint64_t read_transfer_deadline(const ReadTransfer *t)
{
    if (t->state != TRANSFER_RUNNING)
        return TIME_NEVER;
    return clock_deadline(&t->p.clock, &t->config, is_waiting(t), t->p.flight.bytes);
}

void read_transfer_expire(ReadTransfer *t, uint64_t now_ns)
{
    if (t->state != TRANSFER_RUNNING)
        return;
    if (clock_is_dead(&t->p.clock, &t->config, is_waiting(t), now_ns)) {
        t->state = TRANSFER_TIMED_OUT;
        return;
    }
    clock_check_busy(&t->p.clock, now_ns);
    if (clock_gap_over(&t->p.clock, &t->config, now_ns))
        gap_over(t, now_ns);
    if (clock_check_probe(&t->p.clock, &t->config, is_waiting(t), t->p.flight.bytes, now_ns) &&
        RULE(SILENT_CREDIT))
        flight_give_back(&t->p.flight, &t->config);
}

uint64_t read_transfer_silent_ns(const ReadTransfer *t, uint64_t now_ns)
{
    return clock_silence(&t->p.clock, is_waiting(t), now_ns);
}

void read_transfer_resend(ReadTransfer *t, uint64_t now_ns)
{
    if (t->state != TRANSFER_RUNNING)
        return;
    for (uint64_t ask = t->p.oldest_ask; ask <= t->p.last_ask; ask++)
        ask_lost(t, ask_slot(t, ask), UINT64_MAX);
    find_oldest(t);
    clock_heard(&t->p.clock, now_ns);
    t->p.clock.gap_ns = TIME_NEVER;
    t->p.clock.busy_until_ns = 0;
    t->p.sample_after = t->p.last_ask;
}
