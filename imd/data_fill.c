/* SPDX-License-Identifier: MIT */
/* Fills: what the backing file holds, offered for unfilled blocks. A fill touches only blocks that
 * it covers whole and that are not filled, and never overtakes a write. */
#include "imd/data_priv.h"

#include <stdlib.h>

static DataFill *fill_find(const DataRegion *r, const void *session, uint64_t transfer)
{
    LIST_FOREACH(node, &r->fills) {
        DataFill *f = CONTAINER_OF(node, DataFill, in_region);
        if (f->session == session && f->transfer == transfer)
            return f;
    }
    return NULL;
}

static DataFill *fill_begin(ImdData *d, DataRegion *r, void *session, const WireWrite *m,
                            uint32_t skipped)
{
    if (d->config.fills_max == 0)
        return NULL;
    if (d->fills_open >= d->config.fills_max)
        data_fill_end(d, CONTAINER_OF(d->fills.next, DataFill, in_order));
    DataFill *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->session = session;
    f->transfer = m->transfer;
    f->number = m->number;
    f->skipped = skipped;
    assembly_begin(&f->chunk, m, &d->awaited);
    list_push_back(&r->fills, &f->in_region);
    list_push_back(&d->fills, &f->in_order);
    d->fills_open++;
    d->bytes += sizeof *f;
    return f;
}

void data_fill_end(ImdData *d, DataFill *f)
{
    list_remove(&f->in_region);
    list_remove(&f->in_order);
    assembly_end(&f->chunk, &d->awaited);
    d->fills_open--;
    d->bytes -= sizeof *f;
    free(f);
}

/* Stores a segment where the fill may: blocks that it covers whole and nobody filled yet. */
static void segment_store(const ImdData *d, DataRegion *r, DataFill *f, const WireWrite *m,
                          const BlockSpan *s)
{
    uint64_t start = m->offset + (uint64_t)m->index * m->segment;
    BlockSpan part = block_span(r, start, (uint32_t)m->data_len);
    uint32_t here = blocks_common(s, &part, part.touched);
    uint32_t filled = blocks_filled(r, s);
    for (unsigned i = 0; i < s->count; i++)
        if (here & s->whole & ~filled & ~f->skipped & 1u << i)
            block_store(d, r, m, s, i);
    f->skipped |= here & filled;
}

static void fill_complete(ImdData *d, DataRegion *r, DataFill *f, const BlockSpan *s)
{
    const uint32_t fill = s->whole & ~f->skipped;
    blocks_fill(r, s, fill);
    blocks_note_fill(r, s, fill);
    extents_note_filled(d, r, s, fill);
    d->stats.fills++;
    d->stats.fill_bytes += f->chunk.len;
    data_fill_end(d, f);
}

/* Older than a write of one of its blocks, or beside one under way. */
static bool fill_is_stale(const DataRegion *r, const BlockSpan *s, uint64_t number)
{
    if (RULE(FILL_COUNTER) && blocks_written_after(r, s, number))
        return true;
    return blocks_being_written(r, s, NULL) != 0;
}

static void fill_refuse(ImdData *d, void *session, const WireWrite *m, DataFill *f,
                        enum Status status)
{
    if (f)
        data_fill_end(d, f);
    if (status == STATUS_STALE)
        d->stats.fills_refused++;
    write_refuse(d, session, m, status);
}

static void fill_take(ImdData *d, void *session, DataRegion *r, DataFill *f, const WireWrite *m,
                      const BlockSpan *s)
{
    unsigned seen = 0;
    if (m->index != WIRE_INDEX_NONE) {
        seen = assembly_take(&f->chunk, m->index, &d->awaited);
        if (seen & SEGMENT_NEW)
            segment_store(d, r, f, m, s);
    }
    if (RULE(FILL_COMPLETE) && !assembly_complete(&f->chunk)) {
        if (m->index == WIRE_INDEX_NONE || (seen & SEGMENT_GAP))
            write_ack(d, session, m, WRITE_OPEN, f->chunk.received);
        return;
    }
    fill_complete(d, r, f, s);
    write_ack(d, session, m, WRITE_DONE, 0);
}

/* Its first message is answered for all. As too old, which every client takes calmly. */
static void fill_refuse_homeless(ImdData *d, void *session, const WireWrite *m)
{
    if (m->index != 0 && m->index != WIRE_INDEX_NONE)
        return;
    d->stats.fills_no_room++;
    write_refuse(d, session, m, STATUS_STALE);
}

void data_fill(ImdData *d, void *session, DataRegion *r, const WireWrite *m)
{
    BlockSpan span = block_span(r, m->offset, m->len);
    DataFill *f = fill_find(r, session, m->transfer);
    if (f && (f->number != m->number || !assembly_matches(&f->chunk, m, &d->awaited))) {
        fill_refuse(d, session, m, NULL, STATUS_INVALID);
        return;
    }
    if (d->leaving || fill_is_stale(r, &span, m->number)) {
        fill_refuse(d, session, m, f, d->leaving ? STATUS_LEAVING : STATUS_STALE);
        return;
    }
    /* Nothing that it could fill: it was done before, or another fill was quicker. */
    const uint32_t empty = span.whole & ~blocks_filled(r, &span);
    if (!f && empty == 0) {
        write_ack(d, session, m, WRITE_DONE, 0);
        return;
    }
    if (!f && !d->paced) {
        const uint32_t homeless = empty & ~blocks_house(d, r, &span, empty);
        if (homeless == empty) {
            fill_refuse_homeless(d, session, m);
            return;
        }
        f = fill_begin(d, r, session, m, homeless);
    }
    if (!f) {
        d->stats.busy++;
        if (!pace_refuses_silently(d, m))
            write_refuse(d, session, m, STATUS_BUSY);
        return;
    }
    fill_take(d, session, r, f, m, &span);
}
