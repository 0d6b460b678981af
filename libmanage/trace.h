/* SPDX-License-Identifier: MIT */
/* Recorded runs: in which order a program needs the blocks of a file that its local memory lacks.
 * The next run of the program will need nearly the same in nearly the same order. So the shell
 * keeps that order from one process to the next, for files of regions with DODO_RETAIN. While the
 * reads of a run go along that of an earlier one, what comes next there is fetched before the
 * program asks for it (readahead.c). It is a guess, as any reading ahead: a wrong one costs time
 * only. */
#ifndef DODO_LIBMANAGE_TRACE_H
#define DODO_LIBMANAGE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "libmanage/core.h"

enum {
    TRACES_MAX = 64,       /* files with one */
    TRACE_FOLLOWED = 2,    /* reads that must have been as recorded before anything is fetched */
    TRACE_RANGES_LEAST = 8 /* a shorter run is not worth keeping */
};

typedef struct TraceList {
    CacheRange *ranges;
    unsigned count, room;
} TraceList;

/* In the earlier run: the range that is to be fetched next, of which @part blocks were. */
typedef struct TraceAhead {
    unsigned range;
    uint32_t part;
} TraceAhead;

/* Of a file, as long as the process has room for it. */
typedef struct Trace {
    ListNode link; /* cache->traces, the latest opened first */
    CacheFileId id;
    unsigned regions;
    struct Region *asks;   /* the earlier run's is to be loaded, by a job on that; NULL: no */
    bool recalled;         /* ... has been, or is being */
    TraceList before;      /* of the earlier run */
    TraceList now;         /* of this one */
    uint64_t reads, along; /* what is in `now`; and of that, what was near the expected place */
    /* Where the program is in the earlier run: */
    unsigned next;      /* the range that it needs next */
    unsigned elsewhere; /* ... if it is at the other place where its last read was found */
    unsigned strayed;   /* reads in a row that were not near `next` */
    unsigned lead;      /* how many ranges from `next` on may be fetched */
    TraceAhead ahead;
    TraceAhead far;        /* ... from remote memory alone, while the file is read for `ahead` */
    struct Region *region; /* where the latest read was; NULL: that one is closed */
    uint64_t bytes;        /* of the latest read, in whole blocks */
    bool in_order;         /* ... which went on where another had ended */
    uint32_t stream;       /* what is fetched is for that one (Piece.stream) */
} Trace;

/* Of the file of region @r, which is opened; NULL: none is kept. */
Trace *trace_get(Cache *c, struct Region *r);
/* The region is closing: nothing is recalled for it any more. */
void trace_leave(Cache *c, const struct Region *r);
/* The region is gone. */
void trace_put(Cache *c, struct Region *r);
/* The program needs [from, to) of the region, which is not in local memory, or came there unasked
 * and was not needed before. */
void trace_note(Cache *c, struct Region *r, uint64_t from, uint64_t to, bool in_order);
/* A region whose job is to load now what an earlier run has left (CACHE_RECALL); NULL: none. */
struct Region *trace_asks(Cache *c);
void trace_loaded(Cache *c, const struct Region *r, const CacheResult *result);
/* The region of which [*ret_from, *ret_to) is to be fetched next for @at; NULL: nothing now. The
 * range of the record, of *@ret_bytes, may have begun before. */
struct Region *trace_ahead(const Cache *c, const Trace *t, TraceAhead *at, uint64_t *ret_from,
                           uint64_t *ret_to, uint64_t *ret_bytes);
/* Nothing nearer than half of what may be fetched is to be fetched for t->far. */
void trace_far_half(Trace *t);
/* That was fetched up to @to of the region, or need not be. */
void trace_fetched(const Trace *t, TraceAhead *at, const struct Region *r, uint64_t to);
void traces_free(Cache *c);

#endif
