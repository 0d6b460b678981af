/* SPDX-License-Identifier: MIT */
/* The core of one data thread of the idle memory daemon: regions, filled blocks, reads served
 * without state, writes and fills by transaction. A region belongs to one data thread: only that
 * thread reads, writes and frees it. Pure: the pool's memory is given at init, datagrams' payloads
 * come in, effects go out through the sink. Serving allocates memory for write and fill
 * transactions alone, whose number is limited (beyond it: BUSY).
 *
 * The rules it keeps are named with RULE() where they are kept. */
#ifndef DODO_IMD_DATA_H
#define DODO_IMD_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "imd/extents.h"
#include "proto/burst.h"
#include "proto/wire.h"

typedef struct ImdData ImdData;

/* Effects. None may call back into the core; all borrow their arguments until return. @session is
 * the Session of the message being answered. */
typedef struct ImdDataSink {
    void (*message)(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len);
    /* Must be sent (or copied) before it returns: the memory may change afterwards. */
    void (*burst)(void *ctx, void *session, const Burst *burst);
    /* A PROBE_ACK, which may be longer than other messages. NULL: we take no large datagrams. */
    void (*probe_ack)(void *ctx, void *session, const uint8_t *payload, size_t len);
    void *ctx;
} ImdDataSink;

typedef struct ImdDataConfig {
    uint64_t epoch;
    uint8_t *pool; /* kept */
    uint64_t pool_bytes;
    unsigned writes_max;   /* open write transactions, all regions */
    uint64_t write_age_ns; /* an open write not heard for so long gives way to new ones; 0: never */
    unsigned fills_max;    /* open fill transactions, all regions; the oldest gives way */
    uint32_t grant_bytes;  /* receive room granted to writers */
    uint32_t pace_bytes;   /* ... but no more than it, for the cap's sake; 0: there is none */
} ImdDataConfig;

typedef struct ImdRegion {
    uint64_t region;
    uint32_t opening;
    Id128 capability;
    uint64_t pool_offset;
    uint64_t len;
    ImdExtents *extents; /* its memory; outlives the region; NULL: there is enough for all of it */
} ImdRegion;

/* Counts since the start. Writes and fills count when they are whole, reads_unfilled counts reads
 * that touched an unfilled block, denied counts wrong regions, openings and capabilities. For
 * fills_no_room there was no memory, extents_unfilled went back. */
typedef struct ImdDataStats {
    uint64_t reads, read_bytes, writes, write_bytes, fills, fill_bytes;
    uint64_t fills_refused, writes_repeated, denied, busy, voided, reads_unfilled, malformed;
    uint64_t writes_aged, fills_no_room, extents_unfilled;
} ImdDataStats;

enum { IMD_SERVED_WORDS = sizeof(Served) / sizeof(uint64_t) };
/* Of the counts, what the manager hears. */
static inline Served imd_data_served(const ImdDataStats *s)
{
    return (Served){.read_bytes = s->read_bytes,
                    .write_bytes = s->write_bytes,
                    .fill_bytes = s->fill_bytes,
                    .reads = s->reads,
                    .reads_unfilled = s->reads_unfilled};
}

/* Of the open writes and fills: what has not come yet. */
typedef struct ImdAwaited {
    uint64_t bytes, segments;
} ImdAwaited;

ImdData *imd_data_new(const ImdDataConfig *config, const Env *env, const ImdDataSink *sink);
ImdData *imd_data_free(ImdData *d);

/* From the control thread, as messages that the shell delivers in order.
 * add: 0 or -ENOMEM (bookkeeping). A new region has no filled block. */
int imd_data_add(ImdData *d, const ImdRegion *region);
/* Open writes and fills end; the range may be used for another region when it returned. */
void imd_data_drop(ImdData *d, uint64_t region);
/* New opening and capability; filled blocks stay, write numbers start again, transactions end. */
void imd_data_reopen(ImdData *d, uint64_t region, uint32_t opening, const Id128 *capability);
/* No capability opens it until it is reopened (released: nobody's). Open transactions end; blocks
 * with an unfinished write stay unfilled. */
void imd_data_close(ImdData *d, uint64_t region);
/* The blocks of its chosen extents are unfilled, and these go. Writes and fills under way fill none
 * of them any more. */
void imd_data_unfill(ImdData *d, uint64_t region);
/* Leaving: new reads and writes get LEAVING, open writes may finish. */
void imd_data_leave(ImdData *d);
bool imd_data_idle(const ImdData *d); /* no write transaction is open */

/* A READ, WRITE or PING of an established session. */
void imd_data_input(ImdData *d, void *session, uint8_t type, const uint8_t *payload, size_t len,
                    uint64_t now_ns);
/* More came and went than the cap allows: new writes and fills are BUSY until that is over. Those
 * under way go on, and everything else is answered. */
void imd_data_pace(ImdData *d, bool over);
/* Another config.pace_bytes. */
void imd_data_pace_bytes(ImdData *d, uint32_t bytes);
/* A READ whose turn it is. */
void imd_data_read(ImdData *d, void *session, const WireRead *read, uint64_t now_ns);
/* One that there is no time for: BUSY, its client asks again later. */
void imd_data_busy(ImdData *d, void *session, const WireRead *read);
/* A session died: the effects must name it no more. */
void imd_data_session_closed(ImdData *d, void *session);

const ImdDataStats *imd_data_stats(const ImdData *d);
ImdAwaited imd_data_awaited(const ImdData *d);
size_t imd_data_bytes(const ImdData *d); /* allocated for bookkeeping: accounted to the byte */
/* For tests and the simulation. */
bool imd_data_block_filled(const ImdData *d, uint64_t region, uint64_t block);
size_t imd_data_regions(const ImdData *d);
/* Invariants: no block is filled while a write of it is under way; every open write is one that may
 * be; all memory and all expected bytes are accounted for. */
bool imd_data_check(const ImdData *d);

#endif
