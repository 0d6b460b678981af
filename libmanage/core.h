/* SPDX-License-Identifier: MIT */
/* The region cache's core: pieces of regions in local memory, what is known of remote memory, the
 * policies, reclamation (the paper's Figure 5), reading ahead, and every call as a state machine.
 * Pure: times and results of jobs come in, jobs go out. The shell carries the jobs out: reads and
 * writes of files, and libdodo's calls.
 *
 * A region is cached in pieces of config.piece_bytes; the last one is as long as it is. A piece
 * knows which of its blocks of 4 KiB are valid and which are dirty. At most one job at a time works
 * on a piece, and nothing is written into a piece while a job or a reader uses it.
 *
 * Locking: there is one lock, the hooks'. Each function here takes it for a few instructions, and
 * releases it while it copies bytes between the caller's buffer and a piece, which is pinned
 * meanwhile. So calls run in parallel except for the bookkeeping, on different regions and on one,
 * and jobs are carried out with no lock held. With the lock held, only unlock, wake,
 * wake_background, file_held, file_id and the policy's procedures are called. Reads that find
 * everything in local memory take no lock at all (cache_hit_begin(); hit.c says why that is right).
 *
 * Where remote memory is read, it holds the same as the file: while a region's remote memory is
 * open, each write of its file goes to both (CACHE_WRITE with `both`). */
#ifndef DODO_LIBMANAGE_CORE_H
#define DODO_LIBMANAGE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "dodo/manage.h"
#include "libdodo/program_page.h"

typedef struct Cache Cache;
typedef struct CacheCall CacheCall;
typedef struct CacheJob CacheJob;

enum {
    CACHE_BLOCK = 4096,
    CACHE_PIECE_BLOCKS_MAX = 64,
    CACHE_JOB_PIECES = 64,
    CACHE_POLICIES_MAX = 16 /* registered ones */
};

/* ---- the cache ------------------------------------------------------------------------------ */

/* A file: the same for all its openings; and where in it a region begins. */
typedef struct CacheFileId {
    uint64_t device, inode;
    uint64_t offset;
} CacheFileId;

/* Blocks of a file that follow each other. */
typedef struct CacheRange {
    uint32_t block, blocks;
} CacheRange;

typedef struct CacheHooks {
    void (*lock)(void *ctx); /* both NULL where there is one thread */
    void (*unlock)(void *ctx);
    /* A call that is CACHE_BLOCKED may go on: cache_call_step() it. Any thread's. */
    void (*wake)(void *ctx, CacheCall *call);
    /* There is something for cache_background_take(). False: no thread took notice, and the core
     * asks again. */
    bool (*wake_background)(void *ctx);
    /* Has the kernel all of that in memory, so that the file is read for hardly more than a copy?
     * It asks no drive and does not wait. With the lock held. NULL: nobody knows. */
    bool (*file_held)(void *ctx, const void *file, uint64_t offset, uint64_t len);
    /* Which file is it, from where on? With the lock held. NULL: all count as one, whose reads
     * cost the same. */
    CacheFileId (*file_id)(void *ctx, const void *file);
    /* The region is gone: close its file. Not with the lock held. */
    void (*file_release)(void *ctx, void *file);
    void *ctx;
} CacheHooks;

typedef struct CacheConfig {
    uint64_t limit_bytes; /* of the pieces together, never exceeded; less than a piece: no cache */
    uint32_t piece_bytes; /* power of two, CACHE_BLOCK .. 64 blocks */
    uint64_t low_water_bytes; /* free space below which the background reclaims; 0: never */
    uint64_t readahead_bytes; /* of pieces that came ahead, and that no read asked for yet, at most;
                                 0: no reading ahead */
    uint64_t extent_bytes;    /* read at once for remote memory, at most; 0: nothing is */
    unsigned spend_percent;   /* of the time that reads take: for what nobody has asked for */
    uint64_t refraction_ns;   /* after remote memory was unavailable */
    uint64_t
        write_retry_ns;     /* after a piece could not be written, before reclamation tries again */
    uint64_t cost_fresh_ns; /* a measured cost older than this is measured again */
    unsigned bypass_factor; /* a file that costs less than so many times the copying is read past
                               the cache; 0: never */
    unsigned known_reads;   /* the file is not read ahead before so many reads were measured */
    unsigned regions_max;
    unsigned lanes; /* threads whose hits take no lock, at most; 0: none do */
    bool remote;    /* false: there is no cluster */
    bool lets_go;   /* a cache of which the kernel's would make more gives it its memory */
    /* Whole pieces have a mapping of it for themselves, and keep its memory for others until none
     * is left; NULL: they are of the heap. */
    const struct BufferPages *pages;
} CacheConfig;
/* Defaults for a cache of @limit_bytes. */
void cache_config_init(CacheConfig *config, uint64_t limit_bytes);

/* NULL: no memory, or a piece_bytes out of range. */
Cache *cache_new(const CacheConfig *config, const CacheHooks *hooks);
/* No call or job may be under way. What is dirty is lost; files are released. */
Cache *cache_free(Cache *c);

/* Opens a region of @len bytes; @size: how many of them the file has now. @flags: DODO_*, MANAGE_*.
 * Returns a descriptor, or -EINVAL, -ENOMEM, -EMFILE; then @file is still the caller's. */
int cache_open(Cache *c, uint64_t len, uint64_t size, void *file, unsigned flags);
/* Next open descriptor after @rd (-1 starts), or -1. */
int cache_region_next(Cache *c, int rd);

/* 0; -EINVAL: no such policy; -ENOMEM. */
int cache_set_policy(Cache *c, int policy);
/* Its number; -EINVAL, -ENOSPC. */
int cache_register_policy(Cache *c, const struct manage_policy *policy);

void cache_stats(Cache *c, struct manage_stats *ret);
/* What this has done for the program, for its page: under the hooks' lock. False: that is not new.
 */
bool cache_figures(Cache *c, ProgramFigures *ret);
/* What the shell measured: copying @bytes took @ns; the least counts. Costs of files and of remote
 * memory are taken from the results of jobs. */
void cache_copy_cost(Cache *c, uint64_t bytes, uint64_t ns);

/* The paper's four states (3.3), of the piece that holds the region's byte @offset. */
enum CacheState { CACHE_DISK, CACHE_LOCAL, CACHE_REMOTE, CACHE_BOTH };
int cache_state(Cache *c, int rd, uint64_t offset); /* -EINVAL */
/* Is all of that in local memory, or on its way there? */
bool cache_has(Cache *c, int rd, uint64_t offset, uint64_t len);
/* How often it has begun to let go, and been kept again, in all; for tests. */
unsigned cache_turns(Cache *c);
/* Invariants, for tests: lists, counts and flags agree; the limit is kept. */
bool cache_check(Cache *c);

/* ---- jobs ----------------------------------------------------------------------------------- */

enum CacheJobKind {
    CACHE_READ_FILE,   /* preadv(file): whole, or to the file's end */
    CACHE_READ_REMOTE, /* dodo_mreadv(remote): as above */
    CACHE_READ_FILL, /* the same for what remote memory does not hold: read from the file, and left
                        there. (libdodo's mread does just that) */
    CACHE_FILL,  /* dodo_mfill_file(remote): that of the file goes there, and nowhere else. Count:
                    its  bytes that came */
    CACHE_WRITE, /* pwritev(file); `both`: dodo_mwritev(remote), or each half by itself */
    CACHE_CLONE, /* what the file holds too: to remote memory alone */
    CACHE_OPEN_REMOTE,  /* dodo_mopen_flags(len, file, flags) */
    CACHE_CLOSE_REMOTE, /* dodo_mclose(remote) */
    CACHE_SYNC,         /* fdatasync(file) */
    CACHE_SIZE,         /* fstat(file): how many bytes the region's part of the file has */
    CACHE_RECALL, /* into the result: what an earlier run has left of the file. Whatever comes of it
                   */
    CACHE_ASK,    /* os_ask_for_all(file): the drive is to begin with that. Nobody waits for it */
    CACHE_ADVISE /* posix_fadvise(file) as `advice` says; `both`: remote memory has a part of it, so
                    that WILLNEED is dodo_prefetch(remote). Whatever comes of it */
};

/* In the caller's storage. What stands in it before `region`, and iov, is what is to be
 * done. */
struct CacheJob {
    uint8_t kind, advice;
    bool both;
    bool together; /* READ_FILE: with others of a batch. Ask for all of them before reading one */
    void *file;
    int remote; /* as OPEN_REMOTE gave it */
    unsigned flags;
    uint64_t offset, len; /* in the region, [bytes] */
    uint64_t probe;       /* CLONE: so much of it is read back then, for nothing but read_ns */
    int iov_count;
    /* private */
    struct Region *region;
    uint64_t first, pieces; /* of the region; 0: the caller's buffer */
    uint64_t start_ns, sync_failures;
    bool keeps, waited;      /* a copy for the next run; the program waits for it, */
    uint64_t keeps_ns;       /* and it was to take so long */
    uint64_t fill_busy_ns;   /* noted: how long parts were being read when it began (fill.h) */
    bool evict, ahead, held; /* held: by the kernel */
    bool noted, drive; /* of a call, and it says what fills cost; it reads an expensive file */
    struct iovec iov[CACHE_JOB_PIECES]; /* not private; last, as few of them are used */
};

typedef struct CacheResult {
    ssize_t count;    /* reads, writes: bytes of the file; CLONE: bytes taken; SIZE: its bytes; else
                         0; -1: failed */
    int error;        /* errno of the file; a read from remote memory has none */
    int remote_error; /* 0, or the errno of remote memory. READ_REMOTE and READ_FILL have then read
                       * nothing. An errno means that the region's remote memory is lost, and
                       * CLOSE_REMOTE follows; OPEN_REMOTE's does not */
    int remote;       /* OPEN_REMOTE */
    bool held;        /* OPEN_REMOTE: an earlier run's data is there (DODO_RETAIN) */
    uint64_t *held_blocks;    /* ... which of the region's blocks that may be, a bit each; NULL:
                                       all. It stays the shell's */
    const CacheRange *ranges; /* RECALL: what an earlier run of a program needed of the file, in
                               * order. They stay the shell's */
    size_t ranges_count;
    bool beside;      /* other jobs were carried out beside it: what a read took says little */
    uint64_t ns;      /* how long it took */
    uint64_t cpu_ns;  /* CLONE: the thread's processor time for it; 0: not measured */
    uint64_t read_ns; /* a probe's reading; 0: there was none */
} CacheResult;

/* The next job for a background thread into @job. False: none now; look again when woken, or at
 * cache_background_deadline(). Any number of threads may take jobs. */
bool cache_background_take(Cache *c, CacheJob *job, uint64_t now_ns);
/* Jobs that are carried out beside each other, at most; reads of a file that go together, at most.
 */
enum { CACHE_BESIDE = 8, CACHE_TOGETHER = 32 };
/* Does it read from remote memory, or write there? */
bool cache_job_is_remote(const CacheJob *job);
/* Whether the job is one of those that may be. */
bool cache_job_goes_beside(const CacheJob *job);
/* A further job, for a thread that is about to carry out @first. False: there is none. */
bool cache_background_more(Cache *c, CacheJob *first, CacheJob *job, uint64_t now_ns);
/* A copy of what is local of a region that is retained, for the next run, before its cclose or the
 * end of the process. *@at: 0 at first. Several may be carried out beside each other. False: there
 * is none, or it would take more of this run than it may. */
bool cache_keep_take(Cache *c, int rd, uint64_t *at, CacheJob *job, uint64_t now_ns);
/* A shell that carries out a CLONE copies the bytes before it asks a host. From then on the program
 * may write there, however long the host takes. The file may not be written until the job is over:
 * what the host gets must not be older. */
void cache_clone_copied(Cache *c, const CacheJob *job);
void cache_background_done(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns);
uint64_t cache_background_deadline(Cache *c); /* TIME_NEVER */

/* A part of the cache's memory that is to be moved to huge pages. Each part comes once, when hits
 * have read several times as much as it holds. It is announced as jobs are. False: none now. */
bool cache_collapse_take(Cache *c, void **ret_at, size_t *ret_bytes);

/* ---- the end of the process ------------------------------------------------------------------ */

/* What this run has needed of a file, for the next one (CACHE_RECALL). */
typedef struct CacheRecord {
    CacheFileId file; /* its offset says nothing */
    const CacheRange *ranges;
    size_t count;
} CacheRecord;
/* The next one worth keeping, from *at on, 0 at first. The caller holds the lock until it needs
 * @ret no more. False: that was the last one. */
bool cache_recorded(Cache *c, unsigned *at, CacheRecord *ret);

typedef struct CacheEnd {
    /* private; zero at the beginning */
    struct ListNode *region, *dirty;
    uint64_t map;
    bool begun, synced;
} CacheEnd;

/* What must be written and synced before the process ends: the next job, whose result nobody needs.
 * The caller holds the lock from the first job to the last, while it carries them out. So it waits
 * for no other call or job, however long those take. Later writes are written through. */
bool cache_end_take(CacheEnd *end, Cache *c, CacheJob *job, uint64_t now_ns);

/* ---- hits ----------------------------------------------------------------------------------- */

/* A read that needs no lock: from local memory, or from a file that costs hardly more than a copy.
 * Any other read begins with cache_read_start(). The thread makes no other call until the read has
 * ended. */
enum CacheHitKind {
    CACHE_HIT_NONE,  /* cache_read_start() it; nothing to be ended */
    CACHE_HIT_LOCAL, /* cache_hit_copy(), cache_hit_end() */
    CACHE_HIT_FILE   /* read h->file at the offset; all: cache_hit_file_end(), else or when that
                        failed: cache_hit_read_start() */
};
typedef struct CacheHit {
    void *file;
    bool measure; /* how long reading it takes; not each time, for clocks cost, too */
    bool ask;     /* FILE: only if file_held() says so; else as when it failed */
    /* private */
    uint64_t cheap_ns; /* what it may take; 0: anything */
    bool heard;        /* the policy has heard of a hit on all of it lately */
    struct Lane *lane;
    struct Region *region;
    uint64_t offset;
    size_t len;
    int rd;
} CacheHit;

/* A lane for a thread, to be given back at its end; NULL: none. Threads may share one. */
struct Lane *cache_lane(Cache *c);
void cache_lane_give(Cache *c, struct Lane *lane);
enum CacheHitKind cache_hit_begin(CacheHit *h, Cache *c, struct Lane *lane, int rd, off_t offset,
                                  size_t len);
void cache_hit_copy(const CacheHit *h, const Cache *c, void *buf);
void cache_hit_end(CacheHit *h, Cache *c);
/* @ns: how long reading it took; 0: not measured. */
void cache_hit_file_end(CacheHit *h, Cache *c, uint64_t ns, uint64_t now_ns);
/* The hit ends and continues as a call. The call reads the same region, even if another thread is
 * closing it. */
void cache_hit_read_start(CacheCall *call, CacheHit *h, Cache *c, void *buf, uint64_t now_ns);

/* ---- calls ---------------------------------------------------------------------------------- */

enum CacheNeed {
    CACHE_JOB,     /* do call->job, then cache_call_done() */
    CACHE_BLOCKED, /* until hooks.wake or call->until_ns, then cache_call_step() */
    CACHE_OVER     /* result, error */
};

typedef struct CacheCallLinks {
    struct CacheCall *next, **prev; /* of those that wait */
    struct CacheCall *next_direct;  /* of the region's that write past the cache */
} CacheCallLinks;
/* Of a read. */
typedef struct CacheCallRead {
    uint64_t drive_end, drive_bytes; /* where it has ended that came from the drive */
    uint64_t far_bytes;              /* that did not come from local memory */
    uint64_t began_ns;
} CacheCallRead;
/* What is written past the cache. */
typedef struct CacheCallDirect {
    uint64_t from, to;
    uint64_t doubt_from; /* from here to the end, that failed */
} CacheCallDirect;
/* Of a sync. */
typedef struct CacheCallSync {
    uint64_t epoch;                         /* of what it must write */
    uint64_t sync_failures, write_failures; /* of the region, when it began to write */
} CacheCallSync;

/* In the caller's storage. */
struct CacheCall {
    uint8_t need;
    uint64_t until_ns; /* BLOCKED: at the latest; TIME_NEVER */
    ssize_t result;    /* when over: bytes, or 0; -1 with error */
    int error;
    /* private */
    uint8_t kind, phase;
    bool waiting, sized, from_remote, from_disk, from_kernel, past_cache, in_order;
    CacheCallLinks links;
    struct Region *region;
    void *file; /* of a region that was closed: to be released */
    uint8_t *buf;
    uint64_t at, start, end; /* in the region */
    uint64_t touched;        /* pieces before it were counted as used by this call */
    CacheCallRead read;
    CacheCallDirect direct;
    CacheCallSync sync;
    uint64_t file_size; /* what a read has found that went beyond the known end */
    uint64_t tail;      /* the piece that it wants, to move that end: its index + 1; 0: none */
    int failed;         /* errno that a sync, or a write past the cache, met */
    CacheJob job;       /* not private; last, as a hit never touches it */
};

/* Each begins a call; look at need. Wrong arguments end it at once. */
void cache_read_start(CacheCall *call, Cache *c, int rd, off_t offset, void *buf, size_t len,
                      uint64_t now_ns);
void cache_write_start(CacheCall *call, Cache *c, int rd, off_t offset, const void *buf, size_t len,
                       uint64_t now_ns);
void cache_sync_start(CacheCall *call, Cache *c, int rd, uint64_t now_ns);
void cache_close_start(CacheCall *call, Cache *c, int rd, uint64_t now_ns);
/* Keeps what is in remote memory for the next run, if the region has DODO_RETAIN, as a close does,
 * but leaves the region open: the file serves it. All calls of this kind together wait for others'
 * jobs no longer than @patience_ns; after that nothing is kept. */
void cache_retain_start(CacheCall *call, Cache *c, int rd, uint64_t patience_ns, uint64_t now_ns);
/* Advice is DODO_CADVISE_*. */
void cache_advise_start(CacheCall *call, Cache *c, int rd, off_t offset, size_t len, int advice,
                        uint64_t now_ns);
void cache_call_step(CacheCall *call, Cache *c, uint64_t now_ns);
void cache_call_done(CacheCall *call, Cache *c, const CacheResult *result, uint64_t now_ns);

#endif
