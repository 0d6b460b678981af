/* SPDX-License-Identifier: MIT */
/* A world for the region cache's core: files, their disk, remote memory, and several threads'
 * calls, all decided by a seed. Files lose what a failed fdatasync was for, remote memory vanishes,
 * jobs take time, and what happens beside a copy happens while it has let go of the lock.
 *
 * Each write fills its range with one value of 1 .. 63, so that what a byte may be is a set of
 * values in 64 bits: what a read may return, and what the disk may hold since the last csync that
 * returned.
 */
#ifndef DODO_TESTS_MANAGE_WORLD_H
#define DODO_TESTS_MANAGE_WORLD_H

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/time.h"
#include "libmanage/core.h"
#include "tests/lib/cache_job.h"
#include "tests/lib/heap_pages.h"
#include "tests/lib/sim_rng.h"

enum {
    WORLD_REGIONS = 3,
    WORLD_SLOTS = 4,      /* threads with a call each */
    WORLD_LANES = 3,      /* for their hits: two share one */
    WORLD_BACKGROUND = 2, /* threads with a job each */
    WORLD_BYTES = 24 * CACHE_BLOCK,
    WORLD_BLOCKS = WORLD_BYTES / CACHE_BLOCK,
};

typedef struct WorldFile {
    int rd; /* -1: not open */
    unsigned flags;
    uint64_t len;
    uint64_t size, disk_size;      /* of the file */
    uint8_t bytes[WORLD_BYTES];    /* what pread gives */
    uint8_t disk[WORLD_BYTES];     /* what a crash leaves */
    bool unsynced[WORLD_BLOCKS];   /* the kernel would write it */
    bool lost[WORLD_BLOCKS];       /* ... would have, but an fdatasync failed */
    bool doubt[WORLD_BLOCKS];      /* ... before the region was opened: nobody knows any more */
    uint64_t model_size;           /* with what is in the cache */
    uint8_t model[WORLD_BYTES];    /* what a read must give */
    uint64_t allowed[WORLD_BYTES]; /* sets of values: of the disk, after a crash now */
    bool remote_open, remote_gone;
    int remote;
    uint8_t remote_bytes[WORLD_BYTES];
    CacheRange earlier[64]; /* what a run is said to have needed of it */
    size_t earlier_count;
    unsigned along; /* reads that went along it */
    bool held[WORLD_BLOCKS];
    unsigned calls; /* in progress */
} WorldFile;

typedef struct WorldJob {
    bool on;
    uint64_t due_ns;
    uint64_t digest; /* of what is written: it must not change meanwhile */
    bool copied;     /* a clone: the program may write there meanwhile */
    uint8_t copy[WORLD_BYTES];
} WorldJob;

enum { STREAM_READS = 8 };

typedef enum WorldOp { OP_READ, OP_WRITE, OP_SYNC, OP_CLOSE, OP_ADVISE, OP_KINDS } WorldOp;

typedef struct WorldSlot {
    bool on, running, woken;
    int streaming; /* reads at so many lengths from each other, of one file; 0: anywhere */
    WorldOp op;
    CacheCall call;
    WorldFile *file;
    WorldJob job;
    uint64_t offset, len;
    uint8_t value;
    uint8_t buf[WORLD_BYTES];
    uint64_t may[WORLD_BYTES]; /* read, sync: sets of values */
    uint64_t size_min;
} WorldSlot;

typedef struct WorldBackground {
    CacheJob cache;
    WorldJob job;
} WorldBackground;

typedef struct World {
    bool locked; /* the core's lock; no thread is there to keep out */
    SimRng rng;
    Cache *cache;
    CacheConfig cfg;
    uint64_t now_ns;
    WorldFile files[WORLD_REGIONS];
    WorldSlot slots[WORLD_SLOTS];
    WorldBackground background[WORLD_BACKGROUND];
    unsigned depth;
    bool quiet; /* nothing runs beside a copy */
    uint32_t file_fail_ppm, sync_fail_ppm, remote_fail_ppm, open_fail_ppm;
    bool full; /* the file system: writes fail with ENOSPC */
    int policy;
    uint64_t refraction_from_ns, refraction_until_ns;
    int remotes_ever;
    uint64_t seed;
    bool trace;
    struct {
        uint64_t reads, writes, syncs, closes, failed_writes, failed_syncs, opens, opens_failed,
            clones, losses, released, remote_reads, fills, parts, jobs, hits, file_hits, beside,
            together, completed /* jobs ahead, of pieces of which a part was here */;
    } happened;
    struct Lane *lanes[WORLD_SLOTS];
} World;

#define WORLD_CHECK(w, condition)                                                              \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "seed %llu: %s:%d: %s\n", (unsigned long long)(w)->seed, __FILE__, \
                    __LINE__, #condition);                                                     \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

/* ---- manage_world_files.c: files and remote memory ---------------------------------------------
 */

uint64_t world_file_has(const WorldFile *f, uint64_t offset, uint64_t len);
/* A job of the core's begins here, and ends. */
void world_job_take(World *w, WorldJob *j, const CacheJob *job);
void world_job_finish(World *w, WorldJob *j, CacheJob *job, CacheResult *result);

/* ---- manage_world_calls.c: the calls of threads -------------------------------------------------
 */

uint64_t world_set_of(uint8_t value); /* a set of this value alone */
/* A call begins: what a read or a sync may find from here on. */
void world_may_begin(World *w, WorldSlot *s);
/* Whether a call that blocks has been woken. */
void world_slot_look(World *w, WorldSlot *s);
void world_slot_start(World *w, WorldSlot *s);
void world_slot_go(World *w, WorldSlot *s); /* one step */
void world_disk_check(World *w);            /* what a crash would leave is allowed */

/* ---- manage_world.c ----------------------------------------------------------------------------
 */

void world_init(World *w, uint64_t seed);
/* Something happens somewhere; @starting: a call may begin, too. */
void world_act(World *w, bool starting);
/* While the core's lock is free: others do something. */
void world_beside(World *w);
/* Nothing can be done now: time goes on to where something can. False: to no such time. */
bool world_wait(World *w);
/* Runs until every call and job is over. */
void world_drain(World *w);

#endif
