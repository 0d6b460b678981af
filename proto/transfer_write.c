/* SPDX-License-Identifier: MIT */
/* Writing and filling: bursts and polls out, WRITE_ACKs in.
 *
 * Acknowledgments are all that is known of a chunk, and each says only what had been received when
 * it was sent. So a segment in flight counts as lost only when something that was sent after it is
 * known to have come: a later segment of the chunk (then the reorder time must pass first), or a
 * poll sent after a silence. Whether a whole chunk arrived is never guessed: if a later chunk was
 * acknowledged first, a poll asks. */
#include <assert.h>
#include <string.h>

#include "proto/rules.h"
#include "proto/transfer_private.h"

enum {
    CHUNK_AMBIGUOUS = 1, /* something of it was sent twice: no round-trip samples */
    CHUNK_NUDGED = 2,    /* polled since its last burst, because there was no room to send more */
    CHUNK_POLLED = 4,    /* an answer to a poll is awaited that says what of `polled` is lost */
};

#define GRANT_NONE UINT64_MAX

static inline uint64_t chunk_bit(unsigned i)
{
    return (uint64_t)1 << i;
}
static_assert(TRANSFER_CHUNKS_MAX <= 64, "sets of chunks are 64-bit maps");

static inline Cut chunk_cut(const WriteTransfer *t, const WriteChunk *c)
{
    return (Cut){.len = c->len, .segment = t->config.segment, .last = c->last};
}

/* A VOID has no data: a poll is all of it. */
static uint64_t chunk_pending(const WriteTransfer *t, const WriteChunk *c)
{
    if (t->kind == WRITE_VOID)
        return 0;
    Cut cut = chunk_cut(t, c);
    return cut_all(&cut) & ~c->received & ~c->flight;
}

/* Is it the imd's turn to say something about it? */
static bool chunk_awaits(const WriteTransfer *t, unsigned i)
{
    const WriteChunk *c = &t->chunks[i];
    return (t->p.hold & chunk_bit(i)) || c->flight || !chunk_pending(t, c);
}

/* Is it the imd's turn with any of them? */
static bool is_waiting(const WriteTransfer *t)
{
    if (t->p.flight.bytes > 0)
        return true;
    for (uint64_t open = t->p.open; open; open &= open - 1)
        if (chunk_awaits(t, map_lowest(open)))
            return true;
    return false;
}

/* ---- start and end -------------------------------------------------------------------------- */

unsigned write_chunk_count(uint64_t offset, size_t len)
{
    uint64_t lead = offset % WIRE_BLOCK_SIZE;
    return len == 0 ? 0 : (unsigned)((lead + len + WIRE_CHUNK_MAX - 1) / WIRE_CHUNK_MAX);
}

void write_transfer_start(WriteTransfer *t, const TransferConfig *config,
                          const RegionAddress *address, enum WriteKind kind, uint64_t offset,
                          const void *data, size_t len, uint64_t number, uint64_t transfer,
                          uint64_t now_ns)
{
    assert(len > 0 && write_chunk_count(offset, len) <= TRANSFER_CHUNKS_MAX);
    assert((data != NULL) == (kind != WRITE_VOID) && (transfer != 0 || kind != WRITE_FILL));
    assert(config->segment >= WIRE_SEGMENT_MIN && config->segment <= WIRE_SEGMENT_MAX);
    t->config = *config;
    t->address = *address;
    t->kind = (uint8_t)kind;
    t->offset = offset;
    t->len = len;
    t->data = data;
    t->number = number;
    t->transfer = transfer;
    t->state = TRANSFER_RUNNING;
    t->status = STATUS_OK;
    t->chunks_count = (uint16_t)write_chunk_count(offset, len);
    t->refused_chunks = 0;
    t->progress = 0;
    memset(&t->p, 0, sizeof t->p);
    t->p.grant = GRANT_NONE;
    clock_start(&t->p.clock, config, now_ns);
}

static void chunk_begin(WriteTransfer *t)
{
    unsigned i = t->p.next_chunk++;
    WriteChunk *c = &t->chunks[i];
    uint64_t lead = t->offset % WIRE_BLOCK_SIZE;
    uint64_t from = i == 0 ? 0 : (uint64_t)i * WIRE_CHUNK_MAX - lead;
    uint64_t to = (uint64_t)(i + 1) * WIRE_CHUNK_MAX - lead;
    memset(c, 0, offsetof(WriteChunk, burst_of));
    c->offset = (uint32_t)from;
    c->len = (uint32_t)((to < t->len ? to : t->len) - from);
    c->last = (uint8_t)(wire_segment_count(c->len, t->config.segment) - 1);
    c->state = WRITE_OPEN;
    t->p.open |= chunk_bit(i);
    if (t->kind == WRITE_VOID)
        t->p.poll_wanted |= chunk_bit(i);
}

static void flight_drop(WriteTransfer *t, WriteChunk *c, uint64_t map)
{
    Cut cut = chunk_cut(t, c);
    map &= c->flight;
    if (!map)
        return;
    c->flight &= ~map;
    flight_land(&t->p.flight, &t->config, cut_bytes(&cut, map));
}

static void chunk_finish(WriteTransfer *t, unsigned i, enum WriteState state)
{
    WriteChunk *c = &t->chunks[i];
    flight_drop(t, c, UINT64_MAX);
    c->state = (uint8_t)state;
    t->progress++;
    t->p.open &= ~chunk_bit(i);
    t->p.poll_wanted &= ~chunk_bit(i);
    t->p.hold &= ~chunk_bit(i);
    if (++t->p.done_chunks == t->chunks_count)
        t->state = TRANSFER_COMPLETE;
}

bool write_transfer_starved(const WriteTransfer *t)
{
    return flight_is_starved(&t->p.flight);
}

bool write_transfer_busy(const WriteTransfer *t, uint64_t now_ns)
{
    return now_ns < t->p.clock.busy_until_ns;
}

bool write_transfer_sent(const WriteTransfer *t)
{
    for (uint64_t open = t->p.open; open; open &= open - 1)
        if (chunk_pending(t, &t->chunks[map_lowest(open)]))
            return false;
    return t->p.next_chunk == t->chunks_count;
}

uint16_t write_transfer_chunks(const WriteTransfer *t)
{
    return t->p.done_chunks;
}

bool write_transfer_held(const WriteTransfer *t)
{
    return t->p.flight.starved;
}

void write_transfer_end(WriteTransfer *t)
{
    flight_end(&t->p.flight, &t->config);
}

/* ---- sending -------------------------------------------------------------------------------- */

static uint64_t chunk_name(const WriteTransfer *t, unsigned i)
{
    return t->transfer ? t->transfer + i : 0;
}

static void fill_message(const WriteTransfer *t, unsigned i, WireWrite *m)
{
    const WriteChunk *c = &t->chunks[i];
    *m = (WireWrite){
        .address = t->address,
        .kind = t->kind,
        .index = WIRE_INDEX_NONE,
        .number = t->number + (t->kind == WRITE_FILL ? 0 : i),
        .transfer = chunk_name(t, i),
        .offset = t->offset + c->offset,
        .len = c->len,
        .segment = t->config.segment,
    };
}

static void note_sent(WriteTransfer *t, unsigned i, bool waiting, uint64_t now_ns)
{
    t->chunks[i].order = ++t->p.order;
    t->p.suspect_chunks &= ~chunk_bit(i);
    t->p.passed_chunks &= ~chunk_bit(i);
    clock_sent(&t->p.clock, waiting, now_ns);
}

/* A round trip begins. */
static void chunk_stamp(const WriteTransfer *t, WriteChunk *c, uint64_t now_ns)
{
    c->sent_ns = now_ns;
    c->missed_ns = missed_so_far(&t->config);
}

/* Asks what has been received. @telling: so much time has passed that what was sent before the
 * poll and is not in its answer must be lost. */
static int send_poll(WriteTransfer *t, unsigned i, bool telling, uint8_t *poll, size_t *ret_len,
                     bool waiting, uint64_t now_ns)
{
    WriteChunk *c = &t->chunks[i];
    WireWrite m;
    bool first_void = t->kind == WRITE_VOID && c->order == 0;
    t->p.poll_wanted &= ~chunk_bit(i);
    if (telling) {
        c->flags |= CHUNK_POLLED | (first_void ? 0 : CHUNK_AMBIGUOUS);
        c->polled = c->flight;
    }
    if (first_void)
        chunk_stamp(t, c, now_ns);
    c->flags |= CHUNK_NUDGED;
    note_sent(t, i, waiting, now_ns);
    COUNT(t, asks, 1);
    fill_message(t, i, &m);
    *ret_len = wire_write_encode_header(&m, poll);
    return WRITE_POLL;
}

static int send_burst(WriteTransfer *t, unsigned i, uint64_t want, Burst *ret_burst, bool waiting,
                      uint64_t now_ns)
{
    WriteChunk *c = &t->chunks[i];
    Cut cut = chunk_cut(t, c);
    WireWrite m;
    COUNT(t, datagrams, map_count(want));
    COUNT(t, resent, map_count(want & c->sent));
    c->flight |= want;
    c->sent |= want;
    c->suspect &= ~want;
    c->passed &= ~want;
    c->polled &= ~want;
    c->flags &= (uint8_t)~CHUNK_NUDGED;
    c->bursts++;
    chunk_stamp(t, c, now_ns);
    for (uint64_t m64 = want; m64; m64 &= m64 - 1)
        c->burst_of[map_lowest(m64)] = (uint8_t)c->bursts;
    note_sent(t, i, waiting, now_ns);
    if (c->full_order == 0 && c->sent == cut_all(&cut))
        c->full_order = c->order;
    fill_message(t, i, &m);
    burst_init_write(ret_burst, &m, want, t->data + c->offset);
    return WRITE_BURST;
}

/* Segments of chunk @i that credit and grant allow to send now, charged; 0: none. */
static uint64_t take_room(WriteTransfer *t, unsigned i)
{
    const WriteChunk *c = &t->chunks[i];
    Cut cut = chunk_cut(t, c);
    uint64_t pending = chunk_pending(t, c);
    uint64_t in_flight = t->p.flight.bytes;
    uint64_t want = cut_bytes(&cut, pending), least = cut_least(&cut, pending);
    if (t->p.grant != GRANT_NONE) {
        uint64_t room = t->p.grant > in_flight ? t->p.grant - in_flight : 0;
        uint64_t one = cut_segment_len(&cut, map_lowest(pending));
        if (room < least && in_flight > 0)
            return 0;
        if (room < one) /* nothing is under way that could bring a larger grant */
            room = one;
        want = want < room ? want : room;
        least = least < want ? least : want;
    }
    uint64_t credit = flight_take(&t->p.flight, &t->config, want, least);
    if (credit == 0)
        return 0;
    uint64_t map = cut_fit(&cut, pending, credit);
    flight_land(&t->p.flight, &t->config, credit - cut_bytes(&cut, map));
    return map;
}

/* Is there no room to send more, and nothing under way that the imd acknowledges by itself? Then
 * the chunk that stopped in the middle needs a poll right behind its burst, or the window stays
 * closed until the tail timer. */
static uint64_t chunk_to_nudge(const WriteTransfer *t)
{
    uint64_t stuck = 0;
    for (uint64_t open = t->p.open; open; open &= open - 1) {
        const WriteChunk *c = &t->chunks[map_lowest(open)];
        if (!chunk_pending(t, c))
            return 0;
        if (c->flight && !(c->flags & CHUNK_NUDGED) && !stuck)
            stuck = open & -open;
    }
    return stuck;
}

/* The next chunk with something to send, begun if it has to be; TRANSFER_CHUNKS_MAX: none. */
static unsigned chunk_to_send(WriteTransfer *t)
{
    for (uint64_t open = t->p.open & ~t->p.hold; open; open &= open - 1)
        if (chunk_pending(t, &t->chunks[map_lowest(open)]))
            return map_lowest(open);
    if (t->p.next_chunk == t->chunks_count)
        return TRANSFER_CHUNKS_MAX;
    chunk_begin(t);
    return t->p.next_chunk - 1u;
}

/* The chunk that has been silent for longest. */
static uint64_t chunk_to_probe(const WriteTransfer *t)
{
    uint64_t oldest = 0;
    uint32_t order = UINT32_MAX;
    for (uint64_t open = t->p.open; open; open &= open - 1) {
        unsigned i = map_lowest(open);
        if (t->chunks[i].order < order && chunk_awaits(t, i)) {
            order = t->chunks[i].order;
            oldest = chunk_bit(i);
        }
    }
    return oldest;
}

int write_transfer_output(WriteTransfer *t, Burst *ret_burst, uint8_t poll[WIRE_WRITE_HEADER_SIZE],
                          size_t *ret_poll_len, uint64_t now_ns)
{
    write_transfer_expire(t, now_ns);
    bool waiting = is_waiting(t);
    t->p.flight.starved = false;
    if (t->state != TRANSFER_RUNNING || now_ns < t->p.clock.busy_until_ns)
        return WRITE_NOTHING;
    if (t->p.clock.probe_due) {
        t->p.clock.probe_due = false;
        t->p.poll_wanted |= chunk_to_probe(t);
    }
    if (t->kind == WRITE_VOID && !t->p.poll_wanted && t->p.next_chunk < t->chunks_count)
        chunk_begin(t);
    if (t->p.poll_wanted)
        return send_poll(t, map_lowest(t->p.poll_wanted), true, poll, ret_poll_len, waiting,
                         now_ns);
    if (t->kind == WRITE_VOID || (waiting && clock_is_silent(&t->p.clock)))
        return WRITE_NOTHING;
    unsigned i = chunk_to_send(t);
    if (i == TRANSFER_CHUNKS_MAX)
        return WRITE_NOTHING;
    uint64_t want = take_room(t, i);
    if (want)
        return send_burst(t, i, want, ret_burst, waiting, now_ns);
    uint64_t stuck = chunk_to_nudge(t);
    if (stuck)
        return send_poll(t, map_lowest(stuck), false, poll, ret_poll_len, waiting, now_ns);
    return WRITE_NOTHING;
}

/* ---- loss ----------------------------------------------------------------------------------- */

static void chunk_lost(WriteTransfer *t, WriteChunk *c, uint64_t map, uint64_t now_ns)
{
    map &= c->flight;
    if (!map)
        return;
    c->flags |= CHUNK_AMBIGUOUS;
    flight_drop(t, c, map);
    note_loss(&t->config, now_ns);
}

/* In flight, although segments that were sent after them have come. */
static uint64_t chunk_passed(const WriteChunk *c)
{
    uint64_t came = c->received & c->sent;
    if (!came || !c->flight)
        return 0;
    if (c->bursts == 1)
        return c->flight & map_below(map_highest(came));
    /* Age in bursts; within a burst they are sent in order of their index. */
    unsigned best_age = 256, best = 0;
    for (uint64_t m = came; m; m &= m - 1) {
        unsigned i = map_lowest(m), age = (uint8_t)(c->bursts - c->burst_of[i]);
        if (age <= best_age) {
            best_age = age;
            best = i;
        }
    }
    uint64_t passed = 0;
    for (uint64_t m = c->flight; m; m &= m - 1) {
        unsigned i = map_lowest(m), age = (uint8_t)(c->bursts - c->burst_of[i]);
        if (age > best_age || (age == best_age && i < best))
            passed |= m & -m;
    }
    return passed;
}

/* The gap timer gives what is missing now until path_reorder_ns(); what is noticed while it runs
 * gets its own turn. True: the former. */
static bool watch_gap(WriteTransfer *t, uint64_t now_ns)
{
    if (t->p.clock.gap_ns == TIME_NEVER)
        t->p.clock.gap_ns = now_ns;
    return t->p.clock.gap_ns == now_ns;
}

static void suspect_segments(WriteTransfer *t, WriteChunk *c, uint64_t now_ns)
{
    uint64_t passed = chunk_passed(c) & ~c->suspect & ~c->passed;
    if (!passed)
        return;
    if (watch_gap(t, now_ns))
        c->suspect |= passed;
    else
        c->passed |= passed;
}

/* What was sent as number @order has come: of chunks whose last burst or poll was sent before it
 * we should have heard. */
static void suspect_chunks(WriteTransfer *t, uint32_t order, uint64_t now_ns)
{
    uint64_t passed = 0;
    for (uint64_t open = t->p.open; open; open &= open - 1)
        if (t->chunks[map_lowest(open)].order < order && chunk_awaits(t, map_lowest(open)))
            passed |= open & -open;
    passed &= ~t->p.suspect_chunks & ~t->p.passed_chunks;
    if (!passed)
        return;
    if (watch_gap(t, now_ns))
        t->p.suspect_chunks |= passed;
    else
        t->p.passed_chunks |= passed;
}

static void gap_over(WriteTransfer *t, uint64_t now_ns)
{
    bool more = false;
    for (uint64_t open = t->p.open; open; open &= open - 1) {
        WriteChunk *c = &t->chunks[map_lowest(open)];
        chunk_lost(t, c, c->suspect, now_ns);
        c->suspect = c->passed & c->flight;
        c->passed = 0;
        more |= c->suspect != 0;
        if ((t->p.suspect_chunks & open & -open) && chunk_awaits(t, map_lowest(open)))
            t->p.poll_wanted |= open & -open;
    }
    t->p.suspect_chunks = t->p.passed_chunks & t->p.open;
    t->p.passed_chunks = 0;
    more |= t->p.suspect_chunks != 0;
    t->p.clock.gap_ns = more ? now_ns : TIME_NEVER;
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* TRANSFER_CHUNKS_MAX: none of ours. */
static unsigned chunk_find(const WriteTransfer *t, const WireWriteAck *m)
{
    uint64_t i = t->kind == WRITE_FILL ? m->transfer - t->transfer : m->number - t->number;
    if (t->state != TRANSFER_RUNNING || m->kind != t->kind || i >= t->p.next_chunk)
        return TRANSFER_CHUNKS_MAX;
    /* The same number of another region, or of an earlier opening of this one. */
    if (RULE(ASK_ECHO) && m->transfer != chunk_name(t, (unsigned)i))
        return TRANSFER_CHUNKS_MAX;
    return (unsigned)i;
}

/* The segment sent last has come, and it was sent once: that took a round trip. */
static void sample_rtt(const WriteTransfer *t, const WriteChunk *c, uint64_t news, uint64_t now_ns)
{
    if ((c->flags & CHUNK_AMBIGUOUS) ||
        !sample_is_good(&t->config, c->sent_ns, c->missed_ns, now_ns))
        return;
    if (t->kind == WRITE_VOID || news >> map_highest(c->sent) & 1)
        path_sample_rtt(t->config.path, clock_since(c->sent_ns, now_ns));
}

static void chunk_done(WriteTransfer *t, unsigned i, uint64_t now_ns)
{
    WriteChunk *c = &t->chunks[i];
    Cut cut = chunk_cut(t, c);
    uint32_t came = c->flags & CHUNK_POLLED ? c->order : c->full_order;
    if (c->flight || t->kind == WRITE_VOID)
        sample_rtt(t, c, c->flight, now_ns);
    if (!(c->flags & CHUNK_AMBIGUOUS))
        flight_succeed(&t->p.flight, &t->config, cut_bytes(&cut, c->flight));
    chunk_finish(t, i, WRITE_DONE);
    suspect_chunks(t, came, now_ns);
}

static void chunk_open(WriteTransfer *t, unsigned i, uint64_t received, uint64_t now_ns)
{
    WriteChunk *c = &t->chunks[i];
    Cut cut = chunk_cut(t, c);
    bool answer = c->flags & CHUNK_POLLED;
    if (t->kind == WRITE_VOID)
        return; /* makes no sense: the tail timer asks again */
    /* It may be more than this transfer sent: an earlier try of the same write sent it.
     * Acknowledgments may overtake each other, so what was received once counts as received. But
     * the imd may have dropped a fill and begun it again: the answer to a poll shows that. */
    t->progress += (received & ~c->received) != 0;
    c->received = answer ? received : c->received | received;
    uint64_t news = received & c->flight;
    if (news) {
        sample_rtt(t, c, news, now_ns);
        if (!(c->flags & CHUNK_AMBIGUOUS))
            flight_succeed(&t->p.flight, &t->config, cut_bytes(&cut, news));
        flight_drop(t, c, news);
    }
    if (answer) {
        c->flags &= (uint8_t)~CHUNK_POLLED;
        t->p.hold &= ~chunk_bit(i);
        chunk_lost(t, c, c->polled, now_ns);
        suspect_chunks(t, c->order, now_ns);
    }
    suspect_segments(t, c, now_ns);
}

/* Nothing that is under way counts any more. Ask before sending data twice; a fill that the imd
 * may not know any more is offered again from its start. */
static void chunk_restart(WriteTransfer *t, unsigned i)
{
    WriteChunk *c = &t->chunks[i];
    flight_drop(t, c, UINT64_MAX);
    c->polled = 0;
    c->flags &= (uint8_t)~CHUNK_POLLED;
    c->flags |= CHUNK_AMBIGUOUS;
    if (t->kind == WRITE_FILL) {
        c->received = 0;
    } else {
        t->p.hold |= chunk_bit(i);
        t->p.poll_wanted |= chunk_bit(i);
    }
}

static void take_refusal(WriteTransfer *t, unsigned i, uint16_t status, uint64_t now_ns)
{
    if (status == STATUS_BUSY) {
        clock_busy(&t->p.clock, now_ns);
        chunk_restart(t, i);
    } else if (status == STATUS_STALE && t->kind == WRITE_FILL) {
        t->refused_chunks++;
        chunk_finish(t, i, WRITE_REFUSED);
    } else {
        t->state = TRANSFER_REFUSED;
        t->status = status_known(status);
    }
}

void write_transfer_input(WriteTransfer *t, const WireWriteAck *m, uint64_t now_ns)
{
    unsigned i = chunk_find(t, m);
    if (i == TRANSFER_CHUNKS_MAX) {
        COUNT(t, ignored, 1);
        return;
    }
    clock_heard(&t->p.clock, now_ns);
    if (!(t->p.open & chunk_bit(i))) {
        COUNT(t, ignored, 1);
        return;
    }
    if (m->state == WRITE_REFUSED) {
        take_refusal(t, i, m->status, now_ns);
        return;
    }
    clock_served(&t->p.clock);
    t->p.grant = m->grant;
    if (m->state == WRITE_DONE)
        chunk_done(t, i, now_ns);
    else
        chunk_open(t, i, m->received, now_ns);
}

/* ---- time ----------------------------------------------------------------------------------- */

uint64_t write_transfer_deadline(const WriteTransfer *t)
{
    if (t->state != TRANSFER_RUNNING)
        return TIME_NEVER;
    return clock_deadline(&t->p.clock, &t->config, is_waiting(t), t->p.flight.bytes);
}

void write_transfer_expire(WriteTransfer *t, uint64_t now_ns)
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

uint64_t write_transfer_silent_ns(const WriteTransfer *t, uint64_t now_ns)
{
    return clock_silence(&t->p.clock, is_waiting(t), now_ns);
}

void write_transfer_resend(WriteTransfer *t, uint64_t now_ns)
{
    if (t->state != TRANSFER_RUNNING)
        return;
    for (uint64_t open = t->p.open; open; open &= open - 1)
        chunk_restart(t, map_lowest(open));
    clock_heard(&t->p.clock, now_ns);
    t->p.clock.gap_ns = TIME_NEVER;
    t->p.clock.busy_until_ns = 0;
    t->p.suspect_chunks = t->p.passed_chunks = 0;
}
