/* SPDX-License-Identifier: MIT */
/* Inside of the data core. From the bottom up: data_extent.c (memory); data_region.c and
 * data_block.c (filled blocks); data_read.c and data_write.c (writes and voids); data_fill.c;
 * data.c (life, dispatch). Nobody else includes this. */
#ifndef DODO_IMD_DATA_PRIV_H
#define DODO_IMD_DATA_PRIV_H

#include "base/hmap.h"
#include "base/list.h"
#include "imd/data.h"
#include "proto/numbers.h"
#include "proto/rules.h"

enum {
    GRANT_ALONE_MIN_BYTES = 64 << 10, /* one chunk's worth */
};

typedef struct DataRegion {
    HmapNode node; /* ImdData.regions, by id */
    ImdRegion name;
    bool open;                       /* false: released, no capability opens it */
    uint64_t used;                   /* the tick of the last use that was noted, ... */
    unsigned used_extent;            /* ... and its extent */
    uint64_t blocks;                 /* the last one may be partial: "to the region's end" */
    NumberWindow numbers;            /* of its writes, from 1 */
    ListNode writes;                 /* DataWrite, open */
    ListNode fills;                  /* DataFill, open */
    uint64_t *filled;                /* bit per block */
    uint64_t last_write[/*blocks*/]; /* twice the number of the last write that touched the block;
                                        one more if it was filled after that */
} DataRegion;

/* The segments of one chunk as they come in. */
typedef struct Assembly {
    uint64_t offset;   /* in the region */
    uint64_t received; /* bit per segment */
    uint32_t len;
    uint16_t segment;
    uint16_t expected; /* one beyond the highest segment seen: a later one shows a gap */
} Assembly;

typedef struct DataWrite {
    ListNode in_region;
    ListNode in_order; /* ImdData.writes */
    uint64_t tick;     /* heard last */
    uint64_t number;
    uint32_t were_filled; /* bit per touched block: was filled when the write began */
    uint32_t homeless;    /* ... it has no memory: nothing is stored, and it stays unfilled */
    Assembly chunk;
} DataWrite;

typedef struct DataFill {
    ListNode in_region;
    ListNode in_order; /* ImdData.fills, oldest first */
    void *session;     /* with the transfer and the region its name */
    uint64_t transfer;
    uint64_t number;
    uint32_t skipped; /* bit per touched block: was already filled when a segment for it came, or
                         has no memory */
    Assembly chunk;
} DataFill;

struct ImdData {
    ImdDataConfig config;
    ImdDataSink sink;
    Hmap regions;
    ListNode fills;  /* all open fills, oldest first */
    ListNode writes; /* all open writes, least recently heard first */
    unsigned writes_open;
    unsigned fills_open;
    bool leaving;
    bool paced; /* imd_data_pace() */
    ImdAwaited awaited;
    uint64_t tick; /* of the message being taken in */
    size_t bytes;  /* allocated, but for the map's buckets */
    ImdDataStats stats;
};

/* ---- data_block.c --------------------------------------------------------------------------- */

/* The blocks that a range touches: at most WIRE_CHUNK_BLOCKS_MAX, maps are relative to the first.
 */
typedef struct BlockSpan {
    uint64_t first;
    unsigned count;
    uint32_t touched; /* a bit for each */
    uint32_t whole;   /* those that the range covers, the last one to the region's end */
} BlockSpan;

BlockSpan block_span(const DataRegion *r, uint64_t offset, uint32_t len);
uint32_t blocks_filled(const DataRegion *r, const BlockSpan *s);
void blocks_fill(DataRegion *r, const BlockSpan *s, uint32_t map);
void blocks_unfill(DataRegion *r, const BlockSpan *s, uint32_t map);
/* The blocks of @s that were last written by a number above @number. */
uint32_t blocks_written_after(const DataRegion *r, const BlockSpan *s, uint64_t number);
/* ... or filled after a write with this one or a lower one. */
uint32_t blocks_done_after(const DataRegion *r, const BlockSpan *s, uint64_t number);
void blocks_note_write(DataRegion *r, const BlockSpan *s, uint64_t number);
/* Those of @map were filled, by what is no older than their last write. */
void blocks_note_fill(DataRegion *r, const BlockSpan *s, uint32_t map);
/* The blocks of @s that also are among @other's, whose map is @map. */
uint32_t blocks_common(const BlockSpan *s, const BlockSpan *other, uint32_t map);

/* The part of a segment of @m that lies in block @i of the span is stored. */
void block_store(const ImdData *d, const DataRegion *r, const WireWrite *m, const BlockSpan *s,
                 unsigned i);

/* What has not come yet counts in @awaited, from here to assembly_end(). */
void assembly_begin(Assembly *a, const WireWrite *m, ImdAwaited *awaited);
void assembly_end(const Assembly *a, ImdAwaited *awaited);
ImdAwaited assembly_missing(const Assembly *a);
/* The same chunk? Cut otherwise (the path's MTU changed), it starts again. */
bool assembly_matches(Assembly *a, const WireWrite *m, ImdAwaited *awaited);
enum { SEGMENT_NEW = 1, SEGMENT_GAP = 2 };
/* Notes segment @index: 0 for a duplicate, or SEGMENT_NEW, with SEGMENT_GAP when it leaves a gap
 * below it, or closes one. */
unsigned assembly_take(Assembly *a, unsigned index, ImdAwaited *awaited);
bool assembly_complete(const Assembly *a);

/* ---- data_region.c -------------------------------------------------------------------------- */

/* NULL: there is none of that id. */
DataRegion *data_region_find(const ImdData *d, uint64_t region);
uint8_t *region_memory(const ImdData *d, const DataRegion *r, uint64_t offset);
/* Finds the region that @a opens and checks the range: STATUS_OK, EPOCH, GONE or INVALID. */
uint16_t region_open(ImdData *d, const RegionAddress *a, uint64_t offset, uint32_t len,
                     DataRegion **ret);

/* ---- data_extent.c -------------------------------------------------------------------------- */

/* The extents of [offset, offset + len) are used now. */
void extents_note_use(ImdData *d, DataRegion *r, uint64_t offset, uint32_t len);
/* The blocks of @s that have memory, after it was taken for those of @map as far as there is any.
 */
uint32_t blocks_house(ImdData *d, DataRegion *r, const BlockSpan *s, uint32_t map);
/* Blocks of @s were unfilled: the extents that have no filled one any more rest. */
void extents_note_unfilled(DataRegion *r, const BlockSpan *s);
/* The blocks of @map were filled. Their extents may have come to rest since memory was taken for
 * them: then they are in use again. */
void extents_note_filled(ImdData *d, DataRegion *r, const BlockSpan *s, uint32_t map);
/* What is filled has memory, which does not rest. */
bool data_extents_check(const DataRegion *r);

/* ---- data_read.c, data_write.c, data_fill.c ---------------------------------------------------
 */

void data_read(ImdData *d, void *session, const WireRead *m);
void read_refuse(ImdData *d, void *session, const WireRead *m, enum Status status);
/* For the cap's sake: not the first message of its kind, which is answered for all. */
bool pace_refuses_silently(const ImdData *d, const WireWrite *m);

void data_write(ImdData *d, void *session, DataRegion *r, const WireWrite *m);
void data_void(ImdData *d, void *session, DataRegion *r, const WireWrite *m);
void data_write_end(ImdData *d, DataWrite *w);
bool data_writes_check(const DataRegion *r);
/* The blocks of @s that an open write touches, @but apart (may be NULL). */
uint32_t blocks_being_written(const DataRegion *r, const BlockSpan *s, const DataWrite *but);
void write_ack(ImdData *d, void *session, const WireWrite *m, enum WriteState state,
               uint64_t received);
void write_refuse(ImdData *d, void *session, const WireWrite *m, enum Status status);

void data_fill(ImdData *d, void *session, DataRegion *r, const WireWrite *m);
void data_fill_end(ImdData *d, DataFill *f);

#endif
