/* SPDX-License-Identifier: MIT */
/* What the core's files share. All functions here are called with the lock held. They are in the
 * order of the files from the bottom up: none calls one that stands below it. */
#ifndef DODO_LIBMANAGE_CORE_PRIVATE_H
#define DODO_LIBMANAGE_CORE_PRIVATE_H

#include <stdatomic.h>

#include "base/hmap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/time.h"
#include "libmanage/buffers.h"
#include "libmanage/core.h"
#include "libmanage/cost.h"
#include "libmanage/fill.h"
#include "libmanage/guards.h"
#include "libmanage/policies/policies.h"
#include "libmanage/trace.h"
#include "libmanage/ways.h"
#include "libmanage/worth.h"

enum {
    PIECES_TOGETHER = 16, /* that one job of the background writes or copies */
    PIECES_BESIDE = PIECES_TOGETHER / CACHE_BESIDE, /* ... so that jobs beside each other copy as
                                                       many in all */
};
enum { DROPS_ENOUGH = 64 }; /* in a row: victims need neither be written nor copied */
enum { LEAF_PIECES = 64, STREAMS = 16, LANES = 64, LANE_RECORDS = 256, LANE_ALIGN = 128 };

/* What a lane's claim says: descriptor, count, first piece. */
enum { CLAIM_PIECES = 64, CLAIM_COUNT_SHIFT = 32, CLAIM_RD_SHIFT = 40 };

/* A part of a region's directory, made when the first of its pieces comes, and freed with the last
 * one. Where they lie far apart, each has its own. */
typedef struct Leaf {
    /* For hits: a map of the pieces that there are, which blocks of each they may copy, and its
     * data. */
    _Atomic uint64_t present[LEAF_PIECES / 64];
    _Atomic uint64_t readable[LEAF_PIECES];
    uint8_t *_Atomic data[LEAF_PIECES];
    /* The generation in which the policy last heard of a hit on the piece. */
    _Atomic uint8_t heard[LEAF_PIECES];
    struct Piece *pieces[LEAF_PIECES];
} Leaf;

/* What a hit has read: of local memory, or of the file, with how long that took. Of the file only
 * those that are measured are put down. The run ends with it: hits that followed each other. */
typedef struct HitRecord {
    uint64_t region, offset, run_from, file_ns, at_ns;
    uint32_t len;
    int rd;
    bool file;
} HitRecord;

/* Of one thread at a time: of the one that has put its claim there. The tail is the lock's. */
typedef struct Lane {
    _Alignas(LANE_ALIGN) _Atomic uint64_t claim; /* descriptor, count, first piece; 0: free */
    _Atomic uint32_t head;
    /* Ever; only the claimant adds. Hits: those of which the policy does not hear. */
    _Atomic uint64_t file_reads, file_bytes, hits, hit_bytes;
    /* The latest run of hits of which there is no record yet. */
    _Atomic int run_rd;
    _Atomic uint64_t run_region, run_from, run_to, run_len; /* len: of the last one */
    _Alignas(LANE_ALIGN) _Atomic uint32_t tail;
    /* Into the cache's statistics. */
    uint64_t file_reads_taken, file_bytes_taken, hits_taken, hit_bytes_taken;
    uint64_t run_taken_region, run_taken_to; /* streams have followed it to here */
    unsigned threads;                        /* that have it */
    _Alignas(LANE_ALIGN) HitRecord records[LANE_RECORDS];
} Lane;

/* A piece's places in lists. */
typedef struct PieceLinks {
    ListNode dirty;    /* region->writeback.dirty: by when it became so */
    ListNode unsynced; /* region->writeback.unsynced */
    ListNode ahead;    /* cache->ahead.pieces: fetched, not asked for yet; by age */
    ListNode claimed;  /* cache->hits.claimed */
    ListNode keep;     /* cache->keep.due */
    ListNode file;     /* region->ways->pieces */
} PieceLinks;

typedef struct Piece {
    struct manage_entry entry; /* first: the policy's half */
    PieceLinks links;
    struct Region *region;
    Leaf *leaf;
    uint64_t index;
    uint8_t *data;
    uint32_t len;
    uint32_t stream;       /* ahead: for that one */
    uint32_t read_bytes;   /* length of the reads that brought it here; 0: none did */
    bool in_order;         /* ... which followed each other */
    uint32_t kept_ns;      /* what copying it for the next run took; part of keep.spent_ns */
    uint64_t valid, dirty; /* maps of blocks; dirty ones are valid */
    uint64_t from_remote;  /* valid ones that remote memory gave: never written to the file */
    uint64_t unasked; /* fetched ahead in a file with a record, and not asked for yet: hits leave
                         them to calls, which put them down */
    uint64_t passed;  /* on their way here: a call has asked for them, and reads past the cache */
    uint64_t unsynced, syncing; /* written to the file: not synced yet, or just being so */
    uint64_t dirty_epoch;
    uint64_t failed_at;   /* region->writeback.failures, when it could not be written last */
    unsigned pins;        /* readers that copy from it */
    bool writer;          /* somebody copies into it */
    bool direct;          /* somebody writes the file there, past it */
    CacheCall *wanted_by; /* a write that waits for its readers: no more of them begin */
    bool ahead, known /* to the policy */, stuck /* could not be written a while ago */;
    CacheJob *job;           /* is reading into it, or writing from it */
    const CacheJob *cloning; /* copies it to remote memory, from a copy of its own */
} Piece;

/* CLOSING: nobody may read it any more, and it is closed when its last job is over. */
enum RemoteState { REMOTE_NONE, REMOTE_OPENING, REMOTE_OPEN, REMOTE_CLOSING, REMOTE_CLOSE_JOB };

/* A region's memory at other hosts. */
typedef struct RegionRemote {
    uint8_t state; /* enum RemoteState */
    bool wanted;
    bool used;               /* since it is open */
    bool held;               /* it has data of an earlier run, */
    uint64_t *held_blocks;   /* ... of these blocks, a bit each; NULL: maybe of all */
    struct RemoteMap **maps; /* what it holds of the pieces of each leaf; NULL: as `held` says */
    ListNode all_maps;
    unsigned file_writes; /* jobs that write the file alone */
    bool raced;           /* ... beside an OPEN_REMOTE */
    unsigned jobs;
    int rd;
    uint64_t not_before_ns;
} RegionRemote;

/* What the program has written: on its way to the file, and through a sync. */
typedef struct Writeback {
    ListNode dirty, unsynced;    /* pieces */
    uint64_t lone, lone_syncing; /* writes of what is not cached (any more), as Piece.unsynced */
    bool syncing;
    bool written;      /* since an fdatasync began that did not fail */
    uint64_t failures; /* write-backs that failed, ever */
    int failure;       /* errno of the last one */
    int error;         /* of a write-back that no csync or cclose has reported yet */
    uint64_t sync_failures;
    int lost_error; /* a sync failed for data that is in no cache any more */
    bool lost_told; /* ... by a cclose */
} Writeback;

typedef struct Region {
    /* What a hit looks at. */
    Leaf *_Atomic *leaves;
    _Atomic bool remote_is_open;
    _Atomic uint64_t size; /* bytes that its part of the file has, with what is dirty */
    void *file;
    CacheFileId id;
    HmapNode place_node; /* cache->regions.places: by its file and where it begins there */
    Ways *ways;
    Trace *trace; /* of its file; NULL: none is kept */
    uint64_t number;
    int rd;

    unsigned flags;
    ListNode link; /* cache->regions.all */
    uint64_t len;
    uint64_t leaf_count;
    unsigned calls, jobs;
    bool closing;
    uint8_t advice; /* DODO_CADVISE_*, of those that last */
    RegionRemote remote;
    Writeback writeback;
    CacheCall *direct; /* that write past the cache: nothing may be fetched there meanwhile */
} Region;

/* Reads that follow each other at a fixed distance; a sequential one's is its length. */
typedef struct Stream {
    Region *region; /* NULL: free */
    uint32_t id;
    uint64_t last, len; /* the last read */
    int64_t stride;
    bool recorded;     /* by an earlier run; else it is a guess */
    bool of_file;      /* nothing is fetched from remote memory */
    bool joins;        /* reads of the file that are under way; else it waits for them */
    unsigned run;      /* reads that were as expected, one after the other */
    uint64_t window;   /* bytes to be ahead */
    uint64_t ahead_to; /* sequential: looked at up to here */
    uint64_t fetched;  /* else: reads ahead of `last` that were looked at */
    uint64_t part;     /* ... and bytes of the next one, which are never fetched twice */
    uint64_t used;     /* when, in reads of all */
} Stream;

/* Copies for the next run, of pieces that need not leave (keep.c). */
typedef struct Keep {
    ListNode due; /* pieces of retained regions that were not looked at, the longest here first */
    unsigned due_count;
    unsigned jobs; /* under way */
    uint64_t spent_ns;
    Cost cpu; /* what one takes of the program's processors */
} Keep;

/* Reads of a file that are under way together, ahead of the program. */
typedef struct AheadBatch {
    bool starved;         /* there was room for another one, and nothing to read */
    unsigned reads, left; /* of all; under way */
    unsigned over;        /* measured: those that ended since then, and their bytes */
    uint64_t since_ns, bytes;
} AheadBatch;

/* What a hit looks at, side by side: between two reads a program's data takes the caches. */
typedef struct Hits {
    unsigned piece_shift; /* the logarithm of a piece's size */
    unsigned open_len;
    Region *_Atomic *open; /* by descriptor: those that hits may read */
    _Atomic bool wanted;   /* somebody waits for a hit to end */
    /* The policy hears of one hit on a piece in each generation; 0: of every hit. A new generation
     * begins when a part of the pieces has left. The number comes round: a hit on what was not hit
     * for so long may go unheard. */
    _Atomic uint8_t generation;
    Lane *lanes[LANES];
    /* What no hit looks at. */
    unsigned lane_count;
    uint64_t left_in_generation; /* pieces */
    ListNode claimed;            /* victims that could not be taken because of a hit */
} Hits;

typedef struct Regions {
    Region **table; /* by descriptor */
    unsigned table_len, count;
    ListNode all;
    Hmap places;
    uint64_t ever;
} Regions;

typedef struct Policies {
    const struct manage_policy *active;
    void *self;
    const struct manage_policy *registered[CACHE_POLICIES_MAX];
    int registered_count;
    struct manage_directory dir;
} Policies;

/* Local memory, and how room is made in it. */
typedef struct LocalMemory {
    uint64_t used_bytes; /* of all pieces */
    uint64_t dirty_bytes;
    Buffers buffers; /* the kept ones with used_bytes no more than the limit */
    unsigned evicting;
    unsigned drops; /* victims that just left without a job, one after the other */
    unsigned stuck;
    uint64_t stuck_until_ns;
} LocalMemory;

/* Huge pages for local memory. */
typedef struct Collapse {
    uint64_t at; /* as local_bytes is so much, they are worth it; then UINT64_MAX */
    bool running;
    unsigned parts; /* of the buffers, that have been asked for */
} Collapse;

/* Regions' memory at other hosts. */
typedef struct Remotes {
    unsigned wanted, closing;
    uint64_t refraction_until_ns;
    uint64_t retain_patience_ns, retain_until_ns; /* until: 0 before anything was waited for */
} Remotes;

/* What is fetched before the program asks. */
typedef struct AheadState {
    ListNode pieces;
    uint64_t bytes;
    Stream streams[STREAMS];
    uint32_t stream_ids;
    uint64_t reads;
    bool wanted;    /* a stream may have something to fetch */
    unsigned files; /* jobs that read files */
    AheadBatch batch;
} AheadState;

typedef struct WaysTable {
    ListNode all;
    unsigned count;
    unsigned files_left; /* that are read past the cache, as it is not worth it */
} WaysTable;

typedef struct Traces {
    ListNode all; /* the latest opened first */
    unsigned count, asking;
    uint64_t bytes; /* of their lists */
} Traces;

/* What reads have cost less than without the cache. */
typedef struct Saved {
    uint64_t local_ns, remote_ns, reads;
    uint64_t told; /* of what was counted, when that was last asked for: it only grows */
} Saved;

struct Cache {
    Hits hits;
    CacheConfig cfg;
    CacheHooks hooks;
    Regions regions;
    Policies policies;
    LocalMemory local;
    Collapse collapse;
    uint64_t uses, epoch;
    Remotes remotes;
    bool ending; /* all is written through */
    AheadState ahead;
    Keep keep;
    Fill fill;
    Traces traces;
    bool background_idle;
    CacheCall *waiters;
    WaysTable ways;
    Cost copy; /* between the program's memory and local memory */
    struct manage_stats stats;
    Saved saved;
};

/* ---- wait.c --------------------------------------------------------------------------------- */

void background_wake(Cache *c);
void waiters_wake(Cache *c);
void call_job(CacheCall *call);
void call_block(Cache *c, CacheCall *call, uint64_t until_ns);
void call_unblock(CacheCall *call);
/* Until a hit has ended: it wakes who waits, or nearly always. */
void call_block_hit(Cache *c, CacheCall *call, uint64_t now_ns);
void call_over(CacheCall *call, ssize_t result, int error);
/* The call has nothing to do with its region any more. */
void call_leave(Cache *c, CacheCall *call);

/* ---- leaf.c, piece.c: the directory --------------------------------------------------------- */

static inline void cache_lock(Cache *c)
{
    if (c->hooks.lock)
        c->hooks.lock(c->hooks.ctx);
}
static inline void cache_unlock(Cache *c)
{
    if (c->hooks.unlock)
        c->hooks.unlock(c->hooks.ctx);
}
static inline bool is_same_file(CacheFileId a, CacheFileId b)
{
    return a.device == b.device && a.inode == b.inode;
}
static inline Piece *piece_of(struct manage_entry *e)
{
    return CONTAINER_OF(e, Piece, entry);
}
static inline uint64_t buffers_kept(const Cache *c)
{
    return c->local.buffers.kept_count * c->cfg.piece_bytes;
}
/* Something that is not cached may never reach the disk. */
static inline void region_lost(Region *r, int error)
{
    r->writeback.lost_error = error;
    r->writeback.lost_told = false;
}

static inline Leaf *leaf_of(const Region *r, uint64_t index) /* NULL: not made yet */
{
    return r->leaves[index / LEAF_PIECES];
}
uint64_t piece_start(const Cache *c, uint64_t index);
uint32_t piece_len(const Cache *c, const Region *r, uint64_t index);
Piece *piece_find(const Region *r, uint64_t index);
/* Frees the part of the directory with that piece, if it says nothing. */
void leaf_release(Cache *c, Region *r, uint64_t index);
/* There must be room. NULL: no memory. It is unknown to the policy and holds nothing. */
Piece *piece_new(Cache *c, Region *r, uint64_t index);
void piece_drop(Cache *c, Piece *p); /* whatever it holds */
void piece_flags(Piece *p);          /* after anything that makes it busy or not */
bool piece_busy(const Piece *p);
/* Nothing of it may be cloned now, or written to the file. */
static inline bool piece_no_clone(const Piece *p)
{
    return p->job || p->writer || p->cloning || p->direct;
}
static inline bool piece_no_write(const Piece *p)
{
    return p->job || p->writer || (p->cloning && GUARD(CLONE_BESIDE));
}
/* The policy is another one. */
void generation_reset(Cache *c);
/* The program reads or writes the piece: the policy hears of it. */
void piece_use(Cache *c, Piece *p, bool writing);
void piece_dirty(Cache *c, Piece *p, uint64_t blocks);
void piece_clean(Cache *c, Piece *p, uint64_t blocks);
void piece_unstick(Cache *c, Piece *p);
/* A write waits until nobody copies from the piece. Until it has had the piece, or waits for
 * something else, no new reader begins: else there could always be one. */
void piece_want(Piece *p, CacheCall *call);
void piece_unwant(Cache *c, Piece *p, const CacheCall *call); /* wakes who waited behind it */
/* Blocks of piece @index that [from, to) of the region touches. */
uint64_t piece_mask(const Cache *c, uint64_t index, uint64_t from, uint64_t to);
/* All blocks of a whole piece. */
static inline uint64_t piece_all(const Cache *c)
{
    return UINT64_MAX >> (64 - c->cfg.piece_bytes / CACHE_BLOCK);
}

/* What remote memory is believed to hold of the piece (remote_map.c). Of one of which nothing was
 * noted it holds what it has from an earlier run. */
uint64_t remote_held(const Cache *c, const Region *r, uint64_t index);
/* ... and of the block at @offset? */
bool remote_holds_at(const Cache *c, const Region *r, uint64_t offset);
/* Makes the map that the piece's blocks are noted in. False: no memory for it. Where remote memory
 * has something from an earlier run, each piece that is here has its map. */
bool remote_map_make(const Cache *c, Region *r, uint64_t index);
/* Whether there is one: something was noted of the piece, or of its neighbours. */
bool remote_map_exists(const Region *r, uint64_t index);
void remote_map_add(const Cache *c, Region *r, uint64_t index,
                    uint64_t blocks); /* as far as it can be */
void remote_map_remove(const Cache *c, Region *r, uint64_t index, uint64_t blocks);
/* A part has brought these blocks: those that were not held before are marked. A read asks for
 * blocks: takes away their marks, and returns which had one. */
void brought_add(const Cache *c, Region *r, uint64_t index, uint64_t blocks);
uint64_t brought_take(const Cache *c, Region *r, uint64_t index, uint64_t blocks);
/* The piece is gone: frees what says nothing. */
void remote_map_release(const Cache *c, Region *r, uint64_t index);
/* Nothing is held. */
void remote_map_forget(Region *r);
/* It holds what it has from an earlier run, but for what is dirty here. False: no memory for it. */
bool remote_map_restore(const Cache *c, Region *r);
bool remote_map_check(const Cache *c, const Region *r);

/* The next piece that is not being written, from @*at on, an index; NULL: none, or the region has
 * no remote memory. */
Piece *piece_next(const Region *r, uint64_t *at);
/* May the next run find it in remote memory? Nobody may write the file through the region. */
static inline bool region_is_kept(const Region *r)
{
    const unsigned kept = DODO_RETAIN | DODO_RDONLY;
    return (r->flags & kept) == kept;
}
/* No copy of it is due for the next run any more. */
void piece_keep_over(Cache *c, Piece *p);

/* Asks for huge pages for what the pieces are in. */
void collapse_begin(Cache *c);
uint64_t collapse_after(const Cache *c); /* bytes that hits have read */

/* ---- claim.c -------------------------------------------------------------------------------- */

/* Hits may read what is valid of it, if the policy knows it and nobody writes into it. */
void piece_open(Piece *p);
/* No hit begins to read it until it is opened. False: one is at it; the caller waits by
 * call_block_hit(). */
bool piece_take(Cache *c, Piece *p);
/* It leaves. False: a hit is at it; it is busy for the policy as long as that lasts. */
bool evict(Cache *c, Piece *p);
/* A victim that a hit was copying from is none any more when it has ended. */
void claimed_look(Cache *c);
/* The part of the directory with that piece, which nothing finds any more; NULL: a hit may be at
 * it, and it stays. */
Leaf *leaf_take(Cache *c, Region *r, uint64_t index);
/* Hits may read it, or not; then, when region_take() says so, none does. */
void region_admit(Cache *c, Region *r);
void region_refuse(Cache *c, const Region *r);
bool region_take(Cache *c, const Region *r);

/* ---- place.c -------------------------------------------------------------------------------- */

CacheFileId place_of(const Cache *c, const void *file);
void place_add(Cache *c, Region *r, CacheFileId id);
void place_remove(Cache *c, Region *r);
/* A region that begins there and is not being closed; NULL: none. */
Region *place_find(const Cache *c, CacheFileId id);

/* ---- file_cost.c ---------------------------------------------------------------------------- */

/* How much a read that took @ns counts. One that waited for a processor or a drive counts no more
 * than a limit. */
uint64_t sample_ns(const Cache *c, uint64_t bytes, uint64_t ns);
/* A read of what the kernel said it has took @ns. Was it as fast as from memory? */
bool file_held_note(const Cache *c, Region *r, uint64_t bytes, uint64_t ns);
/* The file was read there, in @ns. Does the kernel keep that, or had it kept it? */
void file_kept_note(const Cache *c, Region *r, uint64_t offset, uint64_t len, uint64_t ns);
/* Would the kernel's cache serve what is read again? Some files it does not keep, and of some it
 * asks a server each time. Nothing known counts as yes. */
bool kernel_caches(const Region *r);
/* A read of the file was measured. @held: the kernel had it, which says nothing of the drive. */
void file_cost_add(const Cache *c, Region *r, uint64_t bytes, uint64_t ns, bool held,
                   uint64_t now_ns);
/* A file as cheap as this one: copying what it gives into the cache costs more than it saves. */
bool file_is_cheap(const Cache *c, const Region *r, uint64_t bytes);
/* So many were measured that it is known whether it is. */
bool file_is_known(const Cache *c, const Region *r, uint64_t bytes);
/* Do several reads of the file at once take clearly less time than one after the other, as far as
 * was measured? */
bool together_pays(const Region *r, uint64_t bytes);
/* Asking pays where the other places are far slower: remote memory, or an expensive file. */
bool kernel_is_asked(const Cache *c, const Region *r, uint64_t bytes, uint8_t source);

/* ---- remote.c ------------------------------------------------------------------------------- */

bool remote_pays(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns);
/* Of what remote memory has: does a read of the program's go to the file all the same, to see what
 * that costs? So it is after a while, where an earlier run has left all of the file in remote
 * memory. */
bool file_is_looked_at(const Region *r, uint64_t bytes);
/* A read of the file took @ns, of what remote memory has: a look begins, goes on or ends. Does @ns
 * count as what the file costs? */
bool file_look_counts(const Cache *c, Region *r, uint64_t bytes, uint64_t ns, uint64_t now_ns);
/* So much cheaper that it is worth making a copy? @in_order: of what is read one after the other.
 */
bool clone_pays(const Cache *c, const Region *r, uint64_t bytes, bool in_order, uint64_t now_ns);
/* Since when what was measured of a way counts; where it saves little it is measured again sooner.
 */
uint64_t cost_since(const Cache *c, const Cost *cost, uint64_t bytes, uint64_t now_ns);
/* Has nobody measured yet, or of late, what reading from it costs? */
bool remote_unproven(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns);
/* What a clone of that takes; 0: nobody knows. */
uint64_t clone_ns(const Region *r, uint64_t bytes);
/* A read from it, or a clone, took @ns. */
void remote_cost_add(Cache *c, Region *r, uint64_t bytes, uint64_t ns, uint64_t now_ns);
/* A read of the program's took @ns. One that comes after a while finds hosts asleep and says little
 * of those that follow: then some more go there, and the last of them count. */
void remote_read_note(Cache *c, Region *r, uint64_t bytes, uint64_t ns, uint64_t now_ns);
void clone_cost_add(Cache *c, Region *r, uint64_t bytes, uint64_t ns, uint64_t now_ns);
/* It holds these blocks now; whole ones, or the region's end. */
void remote_holds(Cache *c, Region *r, uint64_t from, uint64_t to);
/* The job that opens it is over. */
void remote_opened(Cache *c, Region *r, const CacheResult *result, uint64_t now_ns);
/* Nobody may read it any more; it is closed when its last job is over. */
void remote_lost(Cache *c, Region *r, uint64_t now_ns);
/* The background shall open its remote memory, if it may then. */
void remote_want(Cache *c, Region *r);
bool remote_may_open(const Cache *c, const Region *r, uint64_t now_ns);

/* ---- job.c ---------------------------------------------------------------------------------- */

/* A job on the region, without pieces. */
void job_begin(CacheJob *job, Region *r, uint8_t kind, uint64_t now_ns);
/* ... on the pieces that hold [from, to), which become busy. */
void job_begin_pieces(Cache *c, CacheJob *job, Region *r, uint8_t kind, uint64_t from, uint64_t to,
                      uint64_t now_ns);
/* ... between the region and the caller's @buf. */
void job_begin_buffer(CacheJob *job, Region *r, uint8_t kind, uint64_t from, uint64_t to,
                      uint8_t *buf, uint64_t now_ns);
/* Takes in what came of it. 0; -errno of the file; JOB_REMOTE_LOST: read it elsewhere. Wakes who
 * waits. */
enum { JOB_REMOTE_LOST = 1 };
int job_end(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns);

bool direct_overlaps(const Cache *c, const Region *r, uint64_t index, const CacheCall *but);
/* The job that writes what is dirty in pieces next to each other, beginning with @p's first. */
void write_out(Cache *c, CacheJob *job, Piece *p, uint64_t pieces_max, uint64_t now_ns);
/* ... that copies what remote memory does not hold. @alike: together with @p, only pieces that were
 * last used at about the same time and so leave soon, too. False: it holds everything. */
bool clone_out(Cache *c, CacheJob *job, Piece *p, uint64_t pieces_max, bool alike, uint64_t now_ns);

/* ---- let_go.c ------------------------------------------------------------------------------- */

/* A read of the program's is over. Whether the cache is worth its memory is decided by such
 * reads. */
void worth_note(Cache *c, const Region *r, uint64_t bytes, bool in_order, uint64_t ns,
                enum WorthFrom from, uint64_t now_ns);

/* ---- saved.c -------------------------------------------------------------------------------- */

/* A read that needed no file, nor memory of the kernel's, took @ns. */
void saved_read(Cache *c, const Region *r, uint64_t bytes, uint64_t ns, bool remote);
/* So many hits, of @bytes in all. */
void saved_hits(Cache *c, const Region *r, uint64_t reads, uint64_t bytes);

/* ---- reclaim.c ------------------------------------------------------------------------------ */

enum Room {
    ROOM_YES,
    ROOM_JOB,  /* a victim leaves by @job */
    ROOM_WAIT, /* others are on their way out */
    ROOM_NONE
};
/* Makes room for @bytes; each time at most one victim by a job. */
enum Room room_make(Cache *c, uint64_t bytes, CacheJob *job, uint64_t now_ns);
/* Without a job, and without a victim out of [first, first + count) of @r. @cold: no victim that
 * was used more than once, or that the background has yet to copy to remote memory. */
bool room_at_once(Cache *c, uint64_t bytes, const Region *r, uint64_t first, uint64_t count,
                  bool cold, uint64_t now_ns);

/* The background's job that makes room up to the low-water mark, if one is needed. */
bool reclaim_take(Cache *c, CacheJob *job, uint64_t now_ns);
/* One more victim's copy, beside those that are under way. */
bool reclaim_more(Cache *c, CacheJob *job, uint64_t now_ns);
/* Pieces that could not be written are tried again, after a while. */
void reclaim_unstick(Cache *c, uint64_t now_ns);

/* Is the clean piece worth a copy in remote memory, which is open? */
bool clone_is_due(const Cache *c, const Piece *p, uint64_t now_ns);
/* How much of the clone of @p is to be read back, to see what remote memory costs: as much as is
 * read at a time. 0: that is known, or the clone is far shorter and says too little. */
uint64_t probe_len(const Cache *c, const CacheJob *job, const Piece *p, uint64_t now_ns);

/* ---- keep.c --------------------------------------------------------------------------------- */

/* The background's job that copies pieces for the next run, if enough of them are due. */
bool keep_take(Cache *c, CacheJob *job, uint64_t now_ns);
/* One more, beside those that are under way. */
bool keep_more(Cache *c, CacheJob *job, uint64_t now_ns);
/* The program has read from a file: is there something to copy? */
void keep_wake(Cache *c);
/* The next piece of a region that is retained and is not in remote memory; NULL: there is none, or
 * too little time for it. */
Piece *keep_next(const Cache *c, const Region *r, uint64_t *at, uint64_t now_ns);

/* ---- fetch.c -------------------------------------------------------------------------------- */

/* Where the block at @offset is best read from. */
uint8_t fetch_source(const Cache *c, const Region *r, uint64_t offset, uint64_t bytes,
                     uint64_t now_ns);
/* End of the run of blocks from @offset on that are missing here (and held there, if @source is
 * CACHE_READ_REMOTE), within its piece, before @limit. */
uint64_t missing_end(const Cache *c, const Region *r, uint64_t offset, uint64_t limit,
                     uint8_t source);
/* A read that must leave the cache; sets call->job or makes it wait. */
void fetch_for_read(Cache *c, CacheCall *call, Piece *p, uint64_t now_ns);
/* The block at @offset of @p, which a write covers in part: the rest is the file's. */
void fetch_for_write(Cache *c, CacheCall *call, Piece *p, uint64_t offset, uint64_t now_ns);

/* ---- readahead.c ---------------------------------------------------------------------------- */

/* The program has read, and goes on with fetching if that is part of a stream. True: it reads one
 * after the other. */
bool stream_note(Cache *c, Region *r, uint64_t offset, uint64_t len);
/* Whether the file's latest reads were not in order, more of them in a row than it takes to find a
 * stream. */
bool stream_none(const Region *r);
/* Reads behind each other, [from, to), found all in local memory: they begin no stream, and nothing
 * is fetched for them. @len: of the last one. */
void stream_follow(Cache *c, Region *r, uint64_t from, uint64_t to, uint64_t len);
void stream_forget(Cache *c, const Region *r);
bool ahead_take(Cache *c, CacheJob *job, uint64_t now_ns);
/* A further read of the file ahead, where that pays or is to be measured, for a thread that is
 * about to carry out @first. */
bool batch_more(Cache *c, CacheJob *first, CacheJob *job, uint64_t now_ns);
/* A job is over: perhaps the last one of a batch. */
void batch_note(Cache *c, const CacheJob *job, uint64_t now_ns);

/* ---- region.c ------------------------------------------------------------------------------- */

Region *region_find(Cache *c, int rd); /* also one that is being closed */
/* Its descriptor, or -errno. The file stays the caller's if it fails. */
int region_begin(Cache *c, uint64_t len, uint64_t size, void *file, unsigned flags);
void region_free(Cache *c, Region *r); /* out of the table; its file stays the caller's */

/* ---- hit.c ---------------------------------------------------------------------------------- */

/* Takes the lock, and in what hits have read: before anything is decided. */
void cache_enter(Cache *c);
void lanes_free(Cache *c);
/* With the lock held, the hit ends. Its region, which may be closing, but stays until the lock is
 * given up. */
Region *hit_give(Cache *c, CacheHit *h);

#endif
