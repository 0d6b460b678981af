/* SPDX-License-Identifier: MIT */
/* The idle memory daemon's local directory of regions (the paper's 4.2) together with the pool
 * they lie in: each entry owns one range, and a range is owned by one entry. Pure. */
#ifndef DODO_IMD_DIRECTORY_H
#define DODO_IMD_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "base/hmap.h"
#include "base/list.h"
#include "imd/data.h"
#include "imd/pool.h"
#include "proto/wire.h"

struct Job;

/* Only OPEN and RELEASED rest; in the others a command to the data thread is under way. */
enum EntryState {
    ENTRY_ADDING,
    ENTRY_OPEN,
    ENTRY_CLOSING,
    ENTRY_RELEASED,
    ENTRY_REOPENING,
    ENTRY_SHRINKING, /* some of its memory goes */
    ENTRY_DROPPING,
};

/* That a region was released clean: the only ticket to open it again. */
typedef struct ReleaseRecord {
    bool valid;
    uint32_t opening; /* the one it was released in */
    Stamp stamp;      /* of the file then */
    uint64_t released_ns;
} ReleaseRecord;

typedef struct Entry {
    HmapNode node;       /* Directory.by_region */
    ListNode in_order;   /* Directory.entries, by age */
    ListNode in_release; /* Directory.released while RELEASED, else alone */
    uint8_t state;       /* enum EntryState */
    uint8_t rest;        /* SHRINKING: the state that it comes back to */
    bool purging;        /* DROPPING: no data thread has it any more; SHRINKING: ... what goes */
    unsigned thread;
    uint64_t pool_offset;
    uint64_t command;      /* under way; 0: none. The owner's, like the next two */
    ListNode in_commanded; /* entries with a command under way */
    ListNode jobs;         /* requests that wait for it */
    struct Job *job;       /* the request that the command is for; NULL: none */
    ImdExtents *extents;
    uint64_t going_bytes; /* of its memory, that are on their way back */
    RegionAddress address;
    Id128 client; /* who has it open; null when released */
    FileKey key;
    uint64_t offset, len;
    uint32_t flags; /* REGION_RDONLY, REGION_RETAIN */
    ReleaseRecord record;
} Entry;

typedef struct Directory {
    Pool *pool;
    Hmap by_region;
    ListNode entries;
    ListNode released; /* least recently released first */
    uint64_t epoch;
    uint64_t next_region;
    uint64_t limit_bytes;    /* of the pool, that may be in use */
    uint64_t released_bytes; /* of the pool, held by RELEASED entries */
    uint64_t dropping_bytes; /* of the pool, coming back */
    uint64_t going_bytes;    /* the sum of the entries' */
    uint64_t extent_bytes;
    ImdSpace space;                        /* what is filled of the pool */
    uint64_t thread_bytes[JOIN_PORTS_MAX]; /* of the pool, by data thread */
    uint16_t ports[JOIN_PORTS_MAX];        /* of the data threads */
    unsigned threads;
    unsigned regions_max;
} Directory;

int directory_init(Directory *d, const Env *env, uint64_t epoch, uint64_t pool_bytes,
                   uint64_t extent_bytes, const uint16_t *ports, unsigned threads,
                   unsigned regions_max);
/* The owner ended its jobs before. */
void directory_deinit(Directory *d);

Entry *directory_find(const Directory *d, uint64_t region);
/* A new entry in state ADDING, with a new id and capability. 0; DIRECTORY_E_FULL: no
 * room in the pool, or too many regions; -ENOMEM. */
enum { DIRECTORY_E_FULL = 1 };
int directory_take(Directory *d, const Env *env, const OpAlloc *request, Entry **ret);
/* Gives its range back and frees it. */
void directory_give(Directory *d, Entry *e);
/* Keeps the list of released entries and the sums. */
void directory_set_state(Directory *d, Entry *e, enum EntryState state);
/* Reserved by regions. */
uint64_t directory_used_bytes(const Directory *d);
/* Of it, what holds data, or is on its way back. */
uint64_t directory_filled_bytes(const Directory *d);
/* Nothing more is given, and nothing more filled, than this. */
void directory_limit(Directory *d, uint64_t bytes);
/* What is filled beyond the limit, even when all that is going has gone. */
uint64_t directory_excess(const Directory *d);
/* So much of the entry's memory is on its way back from now on. */
void directory_going(Directory *d, Entry *e, uint64_t bytes);
/* What the entry takes of the pool. */
uint64_t directory_entry_bytes(const Entry *e);
/* Could @len fit if all that may go went? */
bool directory_could_fit(const Directory *d, uint64_t len);

void directory_hint(const Directory *d, ImdHint *ret);
/* XOR of region_digest() over what a listing shows. */
uint64_t directory_digest(const Directory *d);
/* The entry as a listing shows it; false: it shows it not (not yet, or no more). */
bool directory_listing(const Directory *d, const Entry *e, RegionListing *ret);
/* All that a listing shows, in one array for the caller to free; NULL with *ret_count 0 when there
 * is nothing, or with -ENOMEM. */
int directory_snapshot(const Directory *d, RegionListing **ret, size_t *ret_count);
bool directory_check(const Directory *d);

#endif
