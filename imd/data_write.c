/* SPDX-License-Identifier: MIT */
/* Writes by transaction, and voids: the remote half of an mwrite. A write's blocks are unfilled
 * while it is under way, so a torn write is never read. */
#include "imd/data_priv.h"

#include <stdlib.h>
#include <string.h>

/* ---- acknowledgments ------------------------------------------------------------------------ */

/* The receive room, which the writes under way share (the paper's 4.4: the sender learns how much
 * the receiver has room for). Never less than a segment, so that nobody starves. */
static uint32_t write_grant(const ImdData *d, uint16_t segment)
{
    uint32_t share = d->config.grant_bytes / (d->writes_open > 0 ? d->writes_open : 1);
    uint32_t least = d->writes_open > 1 ? segment : GRANT_ALONE_MIN_BYTES;
    uint32_t grant = share > least ? share : least, most = d->config.pace_bytes;
    if (most == 0 || grant <= most)
        return grant;
    return most > segment ? most : segment;
}

static void write_answer(ImdData *d, void *session, const WireWrite *m, WireWriteAck *ack)
{
    uint8_t out[WIRE_WRITE_ACK_SIZE];
    ack->number = m->number;
    ack->transfer = m->transfer;
    ack->kind = m->kind;
    ack->grant = write_grant(d, m->segment);
    d->sink.message(d->sink.ctx, session, WIRE_WRITE_ACK, out, wire_write_ack_encode(ack, out));
}

void write_ack(ImdData *d, void *session, const WireWrite *m, enum WriteState state,
               uint64_t received)
{
    write_answer(d, session, m, &(WireWriteAck){.state = state, .received = received});
}

void write_refuse(ImdData *d, void *session, const WireWrite *m, enum Status status)
{
    write_answer(d, session, m, &(WireWriteAck){.state = WRITE_REFUSED, .status = status});
}

bool pace_refuses_silently(const ImdData *d, const WireWrite *m)
{
    return d->paced && m->index != WIRE_INDEX_NONE && m->index != 0;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool number_finished(const DataRegion *r, uint64_t number)
{
    return number_window_below(&r->numbers, number) || number_window_marked(&r->numbers, number);
}

/* Numbers start at 1; one too far ahead could not be remembered as finished. */
static bool number_sane(const DataRegion *r, uint64_t number)
{
    return number != 0 &&
           (number_window_below(&r->numbers, number) || number_window_has(&r->numbers, number));
}

/* ---- transactions --------------------------------------------------------------------------- */

static DataWrite *write_find(const DataRegion *r, uint64_t number)
{
    LIST_FOREACH(node, &r->writes) {
        DataWrite *w = CONTAINER_OF(node, DataWrite, in_region);
        if (w->number == number)
            return w;
    }
    return NULL;
}

uint32_t blocks_being_written(const DataRegion *r, const BlockSpan *s, const DataWrite *but)
{
    uint32_t map = 0;
    LIST_FOREACH(node, &r->writes) {
        const DataWrite *w = CONTAINER_OF(node, DataWrite, in_region);
        if (w == but)
            continue;
        BlockSpan other = block_span(r, w->chunk.offset, w->chunk.len);
        map |= blocks_common(s, &other, other.touched);
    }
    return map;
}

static void write_heard(ImdData *d, DataWrite *w)
{
    w->tick = d->tick;
    list_remove(&w->in_order);
    list_push_back(&d->writes, &w->in_order);
}

/* The clients that began these are gone, or never meant to end them. Their blocks stay unfilled and
 * their numbers unfinished: a client that comes back begins again. */
static void writes_age(ImdData *d)
{
    const uint64_t age = imd_use_tick(d->config.write_age_ns);
    LIST_FOREACH(node, &d->writes) {
        DataWrite *w = CONTAINER_OF(node, DataWrite, in_order);
        if (age == 0 || d->tick < w->tick + age)
            return;
        d->stats.writes_aged++;
        data_write_end(d, w);
    }
}

static DataWrite *write_begin(ImdData *d, DataRegion *r, const WireWrite *m)
{
    writes_age(d);
    if (d->writes_open >= d->config.writes_max)
        return NULL;
    DataWrite *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    BlockSpan span = block_span(r, m->offset, m->len);
    w->number = m->number;
    w->were_filled = blocks_filled(r, &span);
    w->homeless = span.touched & ~blocks_house(d, r, &span, span.whole);
    assembly_begin(&w->chunk, m, &d->awaited);
    if (RULE(WRITE_UNFILLS))
        blocks_unfill(r, &span, span.touched);
    blocks_note_write(r, &span, m->number);
    list_push_back(&r->writes, &w->in_region);
    list_init(&w->in_order);
    write_heard(d, w);
    d->writes_open++;
    d->bytes += sizeof *w;
    return w;
}

void data_write_end(ImdData *d, DataWrite *w)
{
    list_remove(&w->in_region);
    list_remove(&w->in_order);
    assembly_end(&w->chunk, &d->awaited);
    d->writes_open--;
    d->bytes -= sizeof *w;
    free(w);
}

static void write_complete(ImdData *d, DataRegion *r, DataWrite *w)
{
    BlockSpan span = block_span(r, w->chunk.offset, w->chunk.len);
    uint32_t fill = span.touched;
    /* Covered blocks are filled; of the others those whose remaining bytes were good before. */
    if (RULE(PARTIAL_WRITE))
        fill &= span.whole | w->were_filled;
    if (RULE(WRITE_UNFILLS))
        fill &= ~blocks_being_written(r, &span, w);
    fill &= ~w->homeless;
    blocks_fill(r, &span, fill);
    extents_note_filled(d, r, &span, fill);
    number_window_end(&r->numbers, w->number);
    d->stats.writes++;
    d->stats.write_bytes += w->chunk.len;
    data_write_end(d, w);
}

/* But for the blocks of @homeless. */
static void segment_store(const ImdData *d, const DataRegion *r, const WireWrite *m,
                          uint32_t homeless)
{
    uint64_t start = m->offset + (uint64_t)m->index * m->segment;
    if (homeless == 0) {
        memcpy(region_memory(d, r, start), m->data, m->data_len);
        return;
    }
    BlockSpan span = block_span(r, m->offset, m->len);
    BlockSpan part = block_span(r, start, (uint32_t)m->data_len);
    uint32_t here = blocks_common(&span, &part, part.touched) & ~homeless;
    for (unsigned i = 0; i < span.count; i++)
        if (here & 1u << i)
            block_store(d, r, m, &span, i);
}

/* The open write that @m belongs to, begun if need be; NULL: refused with *ret_status. */
static DataWrite *write_open(ImdData *d, DataRegion *r, const WireWrite *m, enum Status *ret_status)
{
    DataWrite *w = write_find(r, m->number);
    if (w) {
        write_heard(d, w);
        *ret_status = STATUS_INVALID;
        return assembly_matches(&w->chunk, m, &d->awaited) ? w : NULL;
    }
    if (d->leaving) {
        *ret_status = STATUS_LEAVING;
        return NULL;
    }
    w = d->paced ? NULL : write_begin(d, r, m);
    if (!w) {
        d->stats.busy++;
        *ret_status = STATUS_BUSY;
    }
    return w;
}

void data_write(ImdData *d, void *session, DataRegion *r, const WireWrite *m)
{
    enum Status status = STATUS_OK;
    if (!number_sane(r, m->number)) {
        write_refuse(d, session, m, STATUS_INVALID);
        return;
    }
    if (RULE(WRITE_ONCE) && number_finished(r, m->number)) {
        d->stats.writes_repeated++;
        write_ack(d, session, m, WRITE_DONE, 0);
        return;
    }
    DataWrite *w = write_open(d, r, m, &status);
    if (!w) {
        if (status != STATUS_BUSY || !pace_refuses_silently(d, m))
            write_refuse(d, session, m, status);
        return;
    }
    unsigned seen = 0;
    if (m->index != WIRE_INDEX_NONE) {
        seen = assembly_take(&w->chunk, m->index, &d->awaited);
        if (seen & SEGMENT_NEW)
            segment_store(d, r, m, w->homeless);
    }
    if (assembly_complete(&w->chunk)) {
        write_complete(d, r, w);
        write_ack(d, session, m, WRITE_DONE, 0);
    } else if (m->index == WIRE_INDEX_NONE || (seen & SEGMENT_GAP)) {
        write_ack(d, session, m, WRITE_OPEN, w->chunk.received);
    }
}

/* An open write's number may be and is not finished; its blocks are unfilled. */
bool data_writes_check(const DataRegion *r)
{
    LIST_FOREACH(node, &r->writes) {
        const DataWrite *w = CONTAINER_OF(node, DataWrite, in_region);
        BlockSpan span = block_span(r, w->chunk.offset, w->chunk.len);
        if (!number_sane(r, w->number) || (RULE(WRITE_ONCE) && number_finished(r, w->number)) ||
            assembly_complete(&w->chunk) || blocks_filled(r, &span) != 0)
            return false;
    }
    return true;
}

/* ---- voids ---------------------------------------------------------------------------------- */

/* What a write under way remembers as good is good no more. */
static void writes_forget_filled(DataRegion *r, const BlockSpan *s)
{
    LIST_FOREACH(node, &r->writes) {
        DataWrite *w = CONTAINER_OF(node, DataWrite, in_region);
        BlockSpan other = block_span(r, w->chunk.offset, w->chunk.len);
        w->were_filled &= ~blocks_common(&other, s, s->touched);
    }
}

/* Since @number was over there, another write has begun and ended, or what was read from the file
 * has come: the VOID comes again, and late. */
static uint32_t blocks_voided_before(const DataRegion *r, const BlockSpan *s, uint64_t number)
{
    return blocks_done_after(r, s, number) & ~blocks_being_written(r, s, NULL);
}

/* The file half of write @m->number failed: nobody knows what its blocks hold in the file. Taken
 * also while leaving, and however often it comes: it only makes blocks unfilled. Writes of common
 * blocks follow each other, and a fill is no older than those: what came since is good. */
void data_void(ImdData *d, void *session, DataRegion *r, const WireWrite *m)
{
    DataWrite *w = write_find(r, m->number);
    if (!number_sane(r, m->number) ||
        (w && (w->chunk.offset != m->offset || w->chunk.len != m->len))) {
        write_refuse(d, session, m, STATUS_INVALID);
        return;
    }
    if (w)
        data_write_end(d, w);
    BlockSpan span = block_span(r, m->offset, m->len);
    blocks_unfill(r, &span, span.touched & ~blocks_voided_before(r, &span, m->number));
    blocks_note_write(r, &span, m->number);
    writes_forget_filled(r, &span);
    extents_note_unfilled(r, &span);
    number_window_end(&r->numbers, m->number);
    d->stats.voided++;
    write_ack(d, session, m, WRITE_DONE, 0);
}
