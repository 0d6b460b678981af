/* SPDX-License-Identifier: MIT */
/*
 * libmanage: a local cache of regions over libdodo.
 *
 * The program opens regions of files and reads and writes them; the library keeps what it can in
 * local memory, moves what does not fit to remote memory, and what fits nowhere stays on the disk.
 * The calls and their meaning are those of
 *   S. Koussih, A. Acharya, S. Setia: "Dodo: A User-level System for Exploiting Idle Memory in
 *   Workstation Clusters", HPDC 1999 (sections 3.3, 4.5; Figures 4, 5),
 * with types widened to size_t, off_t, ssize_t.
 *
 * Regions are cached in pieces of a few blocks, so that a region may be larger than the cache; a
 * region no longer than a piece is cached as a whole. Each piece is in one of four states: cached
 * locally, remotely, in both, or on the disk alone. Writes stay in local memory until dodo_csync(),
 * dodo_cclose(), normal exit, or until the room is needed (as stdio's do), unless the region is
 * opened with DODO_MANAGE_WRITE_THROUGH. The calls fail only for the caller's mistakes and the
 * backing file's errors: without remote memory, or without a cluster, the cache is a plain local
 * one.
 *
 * Every call may be made from any thread, at the same time, on the same descriptor too. None is
 * async-signal-safe. EINTR never surfaces. A child of fork(2) starts with no regions. The library
 * prints nothing unasked.
 */
#ifndef DODO_MANAGE_H
#define DODO_MANAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <dodo/dodo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With the short names, struct manage_policy is DodoManagePolicy, and so on. */
#ifdef DODO_NO_SHORT_NAMES
#define DODO_TAG_(name, short_name) name
#else
#define DODO_TAG_(name, short_name) short_name
#endif

/** Flags of dodo_copen_flags(), beside libdodo's DODO_RDONLY, DODO_RETAIN, DODO_STRIPE,
 * DODO_MIRROR. */
enum {
    /** Each dodo_cwrite() has written the backing file when it returns, and fails as it fails. */
    DODO_MANAGE_WRITE_THROUGH = 256
};

/** Replacement policies; dodo_manage_register_policy() gives further numbers. */
enum {
    /** The piece that was used least recently goes first. */
    DODO_MANAGE_LRU = 0,
    /** The piece that was used most recently goes first: for loops longer than the cache. */
    DODO_MANAGE_MRU = 1,
    /** What came first stays; what finds no room is read past the cache (the paper's 4.5). */
    DODO_MANAGE_FIRST_IN = 2,
    /** What was used more often stays (W-TinyLFU), or what was used more recently, whichever finds
     *  more for this program: the default, for programs whose habits are not known. */
    DODO_MANAGE_ADAPTIVE = 3,
    /** What is used again while it is new stays; cheap, and resistant to scans (S3-FIFO). */
    DODO_MANAGE_S3_FIFO = 4,
    /** The oldest piece that was not used of late goes first (SIEVE). */
    DODO_MANAGE_SIEVE = 5
};

/**
 * dodo_copen() - open a cached region
 * @len:    length of the region, [bytes], at least 1
 * @fd:     backing file, open for reading and writing, a regular file; the library opens its own
 *          description of it, so @fd may be closed or reused afterwards
 * @offset: where the region starts in the file, [bytes], at least 0; need not be inside the file
 *
 * At normal exit, when all exit handlers have run, what is dirty is written and made durable. No
 * call in progress is waited for. dodo_copen(3) says what holds when a signal handler calls exit().
 *
 * Returns: a region descriptor >= 0 for the other calls of this header (not for libdodo's); -1 with
 *          errno set. Reads no file data.
 * Errors:  EINVAL  @fd is no open descriptor, not open for reading and writing, or not a regular
 *                  file; @len < 1; @offset < 0; @offset + @len is 2^62 or more: correct
 *                  the call
 *          EBUSY   the range is part of an open region already, of the cache or of dodo_mopen(),
 *                  here or in another process of this host: close that one first; or somebody
 *                  has locked the file to its end (l_len 0): see dodo_mopen(3)
 *          ENOMEM  this process has no memory for the region's record: close some
 *          EACCES  the library cannot open the file for writing a second time (no /proc, or a
 *                  permission given up): open the region before, or with DODO_RDONLY
 *          EMFILE, ENFILE, or another errno of opening the file: as open(2) says
 * Time:    no traffic; the background asks for remote memory when it is needed.
 * Threads: safe.  Ownership: the descriptor is the caller's until dodo_cclose() returned 0.
 * Source:  paper 3.3, Figure 4.  Since: 0.1
 */
DODO_API int dodo_copen(size_t len, int fd, off_t offset);

/**
 * dodo_copen_flags() - dodo_copen() with flags
 * @len, @fd, @offset: as of dodo_copen()
 * @flags:  any of DODO_RDONLY (a descriptor open for reading is enough, dodo_cwrite() fails),
 *          DODO_RETAIN (what is in remote memory stays there for the next run, and the order of
 *          the reads is kept for it), DODO_STRIPE (its remote memory may be on several hosts),
 *          DODO_MIRROR (it is there twice, on two hosts), DODO_FALLBACK (always the case here),
 *          DODO_MANAGE_WRITE_THROUGH; 0 is dodo_copen()
 *
 * Returns and errors as dodo_copen(), and EINVAL for an unknown flag.
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API int dodo_copen_flags(size_t len, int fd, off_t offset, unsigned flags);

/**
 * dodo_cread() - read from a cached region
 * @rd:     region descriptor
 * @offset: first byte wanted, from the region's start, [bytes]
 * @buf:    destination, @len bytes, any alignment; not kept
 * @len:    bytes wanted; 0 checks the arguments and returns 0
 *
 * Returns: bytes placed in @buf: @len, or fewer at the region's end or at the backing file's end
 *          (0 there); -1 with errno set. Every byte is the one last written by dodo_cwrite(), or
 *          one that a dodo_cwrite() running beside it is writing.
 * Errors:  EINVAL  @rd is not open, @offset < 0 or beyond the region's end, @buf NULL with
 *                  @len > 0, @len > SSIZE_MAX
 *          EIO, or another errno of reading the backing file
 * On error: @buf[0..@len) is unspecified.
 * Time:    if room is needed, at most one eviction for each piece that comes; for remote memory
 *          never longer than its silence deadline, once.
 * Threads: safe; reads run in parallel, also on one region.
 * Source:  paper 3.3.  Since: 0.1
 */
DODO_API ssize_t dodo_cread(int rd, off_t offset, void *buf, size_t len);

/**
 * dodo_cwrite() - write to a cached region
 * @rd:     region descriptor, not DODO_RDONLY
 * @offset: where, from the region's start, [bytes]
 * @buf:    source, @len bytes; not kept
 * @len:    bytes to write; 0 checks the arguments and returns 0
 *
 * The data is in local memory when it returns; dodo_csync() puts it on the disk. If no room can
 * be made for it, it is written to the backing file instead.
 *
 * Returns: bytes taken: @len, or fewer at the region's end or when the file took fewer; -1 with
 *          errno set, and then nothing of this call was taken.
 * Errors:  EINVAL  as dodo_cread(), or the region is read-only
 *          ENOSPC, EDQUOT, EFBIG, EIO, ...: unwritten data fills the cache and the file does not
 *                  take it, or DODO_MANAGE_WRITE_THROUGH: make room, write again; what earlier
 *                  calls wrote is kept
 *          EIO, ...: the rest of a block that @offset or @offset + @len is in cannot be read from
 *                  the file, its only source
 * Threads: safe; writes to a piece queue behind each other and its readers.
 * Source:  paper 3.3.  Since: 0.1
 */
DODO_API DODO_CHECK ssize_t dodo_cwrite(int rd, off_t offset, const void *buf, size_t len);

/**
 * dodo_csync() - wait until a region is on the disk and in remote memory
 * @rd:     region descriptor
 *
 * Writes what was written to the region before this call to the backing file, makes it durable
 * (fdatasync(2)), and copies what is cached locally to remote memory where that is available; if
 * only the copying fails, the call succeeds. After a failed fdatasync the next call writes the data
 * again, as far as it is still cached. If some is not, each further call fails with that errno, for
 * nobody can say what the disk has of it: close the region, and write it again.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EINVAL  @rd is not open
 *          EIO, ENOSPC, EDQUOT, ...: of writing the file, now or since the last call of this kind:
 *                  the data stays in the cache; fix the file and call again
 * Threads: safe.  Source: paper 3.3, Figure 4.  Since: 0.1
 */
DODO_API DODO_CHECK int dodo_csync(int rd);

/**
 * dodo_cclose() - write a region back and close it
 * @rd:     region descriptor
 *
 * As dodo_csync(), except that remote memory is given back (DODO_RETAIN: kept, and given what is in
 * local memory, for at most 3 % of the time that the reads have taken), and that a region that
 * wrote nothing since its last sync waits for no fdatasync of others' writes. Waits for calls in
 * progress on @rd; others fail with EINVAL meanwhile. The descriptor that was given to dodo_copen()
 * is not touched. A failed fdatasync of data that is no longer cached is reported once: the second
 * call closes the region.
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EINVAL  @rd is not open, or is being closed: nothing to be done
 *          EIO, ENOSPC, EDQUOT, ...: as dodo_csync(): the region is still open and its data still
 *                  in the cache; fix the file and call again
 * Threads: safe.  Source: paper 3.3.  Since: 0.1
 */
DODO_API DODO_CHECK int dodo_cclose(int rd);

/** Advice for dodo_cadvise(). The first four hold for the region until the next of them. */
enum dodo_cadvise_advice {
    DODO_CADVISE_NORMAL = 0,     /**< nothing is known of the reads to come */
    DODO_CADVISE_SEQUENTIAL = 1, /**< one after the other: read ahead from the first one on */
    DODO_CADVISE_RANDOM = 2,     /**< at random places: nothing is read ahead */
    DODO_CADVISE_NOREUSE = 3,    /**< once: what is read does not enter the local cache */
    DODO_CADVISE_WILLNEED = 4,   /**< the range will be read soon */
    DODO_CADVISE_DONTNEED = 5    /**< it will not: what is not dirty of it leaves local memory */
};

/**
 * dodo_cadvise() - say how a region will be read
 * @rd:     region descriptor
 * @offset: first byte that it is about, from the region's start, [bytes]
 * @len:    how many bytes; 0: up to the region's end. NORMAL, SEQUENTIAL, RANDOM and NOREUSE hold
 *          for all of the region, whatever the range
 * @advice: one of DODO_CADVISE_*
 *
 * It changes how long reads take and what is cached, never what they return. The kernel gets the
 * same advice for the file (posix_fadvise(2)), as far as it reads it for this process. WILLNEED
 * announces the range to remote memory instead, if the region has some (dodo_prefetch(3)).
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EINVAL  @rd is not open, @offset < 0 or beyond the region's end, no such advice: fix
 *                  the call
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API int dodo_cadvise(int rd, off_t offset, size_t len, int advice);

/**
 * dodo_csetPolicy() - choose the replacement policy of the cache
 * @policy: DODO_MANAGE_LRU, DODO_MANAGE_MRU, DODO_MANAGE_FIRST_IN, DODO_MANAGE_ADAPTIVE,
 *          DODO_MANAGE_S3_FIFO, DODO_MANAGE_SIEVE, or a number from dodo_manage_register_policy()
 *
 * What is cached stays so; the new policy hears of each piece, in the order of their last use.
 *
 * Returns: 0; -1 with errno set, and then nothing has changed.
 * Errors:  EINVAL  there is no such policy
 *          ENOMEM  the policy could not be made: this process has no memory
 * Threads: safe.  Source: paper 3.3, Figure 4.  Since: 0.1
 */
DODO_API int dodo_csetPolicy(int policy);

/* ---- statistics and policies ---------------------------------------------------------------- */

/** What the cache has done. A cread counts once, as the farthest place that it had to go to: a
 * local hit needed none, a disk read needed the file. The bytes are counted where each came from.
 */
typedef struct DODO_TAG_(DodoManageStats, manage_stats) {
    uint64_t local_hits, local_bytes;     /**< creads, and bytes for them, from local memory */
    uint64_t remote_hits, remote_bytes;   /**< ... from remote memory */
    uint64_t disk_reads, disk_bytes;      /**< ... from the backing file */
    uint64_t bypasses, bypass_bytes;      /**< of the two above: read past the local cache */
    uint64_t writes, write_bytes;         /**< cwrites */
    uint64_t evictions, eviction_bytes;   /**< pieces evicted from local memory for room */
    uint64_t clones, clone_bytes;         /**< pieces copied to remote memory */
    uint64_t writebacks, writeback_bytes; /**< pieces written to the backing file */
    uint64_t readaheads, readahead_bytes; /**< pieces fetched before they were asked for */
    uint64_t readahead_used;              /**< of those, asked for later */
    uint64_t refractions;                 /**< times that remote memory was unavailable */
    uint64_t regions, cached_bytes, dirty_bytes, limit_bytes; /**< now */
    uint64_t extents, extent_bytes; /**< parts of files that were read into remote memory
                                         unasked; how much they brought, in all */
    uint64_t extent_spent_ns;  /**< how much longer reads took beside them, with the time to ask
                                    the kernel for them, [ns]: at most 3 % of the time that reads
                                    took, and what was earned */
    uint64_t extent_earned_ns; /**< how much longer later reads would have taken without, [ns] */
    uint64_t reserved[4];
} DodoManageStats;

/**
 * dodo_manage_stats() - report what the cache has done since the program started
 * @st:     filled in
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EINVAL  @st is NULL
 * Threads: safe; the figures are of one instant.  Source: beyond the paper.  Since: 0.1
 */
DODO_API int dodo_manage_stats(DodoManageStats *st);

/** What dodo_manage_set() sets. */
enum DODO_TAG_(DodoManageOption, manage_option) {
    DODO_MANAGE_CACHE_BYTES = 1, /**< limit of the data cached locally, [bytes] (DODO_CACHE_SIZE) */
    DODO_MANAGE_READAHEAD_BYTES = 2 /**< its part for data read ahead, [bytes]; 0: none */
};

/**
 * dodo_manage_set() - set the cache's size and its reading ahead
 * @option: one of these: DODO_MANAGE_CACHE_BYTES, DODO_MANAGE_READAHEAD_BYTES
 * @value:  its value
 *
 * Returns: 0; -1 with errno set.
 * Errors:  EINVAL  unknown option
 *          EBUSY   the cache is in use already: set it before the first dodo_copen()
 * Threads: safe.  Source: beyond the paper.  Since: 0.1
 */
DODO_API int dodo_manage_set(int option, uint64_t value);

/* ---- your own policies ---------------------------------------------------------------------- */

/** A piece of a region in local memory, as policies see it. The library's, but for the first and
 *  the last two fields, which are the policy's. */
typedef struct DODO_TAG_(DodoManageEntry, manage_entry) DodoManageEntry;
struct DODO_TAG_(DodoManageEntry, manage_entry) {
    DodoManageEntry *prev, *next;   /**< the policy's list; both itself: in none. The library takes
                                         an entry out of it when the piece leaves */
    DodoManageEntry *older, *newer; /**< of all entries, in the order of arrival; NULL ends */
    uint64_t region;                /**< the region's number: each dodo_copen() has another one */
    uint64_t offset;                /**< of the piece in its region, [bytes] */
    uint64_t
        last_use;  /**< counts uses of all pieces that the policy heard of: the larger, the later */
    uint64_t uses; /**< reads and writes of it that the policy heard of */
    uint32_t length;   /**< [bytes] */
    uint32_t flags;    /**< DODO_MANAGE_ENTRY_* */
    uint64_t state[2]; /**< 0 when the piece comes, or the policy */
};

/** Flags of a manage_entry. */
enum {
    DODO_MANAGE_ENTRY_BUSY = 1, /**< in use just now: cannot leave */
    DODO_MANAGE_ENTRY_DIRTY = 2 /**< not on the disk yet: leaving costs a write */
};

/** The local cache directory. */
typedef struct DODO_TAG_(DodoManageDirectory, manage_directory) {
    DodoManageEntry *oldest, *newest; /**< all pieces that the policy knows */
    uint64_t entries;
    uint64_t bytes;       /**< cached, [bytes] */
    uint64_t limit_bytes; /**< at most */
} DodoManageDirectory;

/** A policy: the procedures of the paper's 3.3. They are called with a lock held, one at a time,
 * and must not call the library, wait, or take long. */
typedef struct DODO_TAG_(DodoManagePolicy, manage_policy) {
    size_t size;      /**< sizeof(DodoManagePolicy), for later versions */
    const char *name; /**< for the log; kept */
    /** Its state for a cache of @limit_bytes; NULL: no memory. NULL here: it has none. */
    void *(*create)(uint64_t limit_bytes);
    /** Its state goes; entries may still be on its lists, but nobody looks at them. */
    void (*destroy)(void *self);
    /** State management: the program reads, or writes, @e. The first such call is its arrival. */
    void (*read)(void *self, DodoManageEntry *e);
    void (*write)(void *self, DodoManageEntry *e);
    /** Reclamation: which piece, not busy, leaves to make room? NULL: none, and the read goes past
     *  the cache. May be asked again without the last answer having left. */
    DodoManageEntry *(*reclaim)(void *self, const DodoManageDirectory *dir);
    /** @e leaves, and is still in its list; NULL here: taking it out of that is all there is to
     *  do. */
    void (*removed)(void *self, DodoManageEntry *e);
    unsigned flags; /**< DODO_MANAGE_POLICY_* */
} DodoManagePolicy;

/** Flags of a manage_policy. */
enum {
    /** It need not hear of each read that finds all in local memory: of a piece it hears of one
     * such read until an eighth of the cache has been replaced. Hits are cheaper. */
    DODO_MANAGE_POLICY_COARSE = 1
};

/**
 * dodo_manage_register_policy() - add a policy
 * @policy: its procedures; read, write and reclaim must be there; kept until the program ends
 *
 * Returns: its number, for dodo_csetPolicy(); -1 with errno set.
 * Errors:  EINVAL  @policy is NULL, its size too small for the procedures, or one missing
 *          ENOSPC  16 are registered already
 * Threads: safe.  Ownership: @policy stays the caller's, unchanged.
 * Source:  paper 3.3, 4.5.  Since: 0.1
 */
DODO_API int dodo_manage_register_policy(const DodoManagePolicy *policy);

/** For policies: @e leaves the list that it is in. */
static inline void dodo_manage_entry_unlink(DodoManageEntry *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
    e->prev = e->next = e;
}

/** For policies: @e leaves its list and enters another, before @at (a list's head: at its end). */
static inline void dodo_manage_entry_move_before(DodoManageEntry *at, DodoManageEntry *e)
{
    dodo_manage_entry_unlink(e);
    e->prev = at->prev;
    e->next = at;
    at->prev->next = e;
    at->prev = e;
}

#ifndef DODO_NO_SHORT_NAMES
/* The paper's names, and others without a prefix. */
#define MANAGE_WRITE_THROUGH DODO_MANAGE_WRITE_THROUGH
#define MANAGE_LRU DODO_MANAGE_LRU
#define MANAGE_MRU DODO_MANAGE_MRU
#define MANAGE_FIRST_IN DODO_MANAGE_FIRST_IN
#define MANAGE_ADAPTIVE DODO_MANAGE_ADAPTIVE
#define MANAGE_S3_FIFO DODO_MANAGE_S3_FIFO
#define MANAGE_SIEVE DODO_MANAGE_SIEVE
#define MANAGE_CACHE_BYTES DODO_MANAGE_CACHE_BYTES
#define MANAGE_READAHEAD_BYTES DODO_MANAGE_READAHEAD_BYTES
#define MANAGE_ENTRY_BUSY DODO_MANAGE_ENTRY_BUSY
#define MANAGE_ENTRY_DIRTY DODO_MANAGE_ENTRY_DIRTY
#define MANAGE_POLICY_COARSE DODO_MANAGE_POLICY_COARSE
static inline int copen(size_t len, int fd, off_t offset)
{
    return dodo_copen(len, fd, offset);
}
static inline ssize_t cread(int rd, off_t offset, void *buf, size_t len)
{
    return dodo_cread(rd, offset, buf, len);
}
DODO_CHECK static inline ssize_t cwrite(int rd, off_t offset, const void *buf, size_t len)
{
    return dodo_cwrite(rd, offset, buf, len);
}
DODO_CHECK static inline int cclose(int rd)
{
    return dodo_cclose(rd);
}
DODO_CHECK static inline int csync(int rd)
{
    return dodo_csync(rd);
}
static inline int csetPolicy(int policy)
{
    return dodo_csetPolicy(policy);
}
static inline int manage_stats(DodoManageStats *st)
{
    return dodo_manage_stats(st);
}
static inline int manage_register_policy(const DodoManagePolicy *policy)
{
    return dodo_manage_register_policy(policy);
}
static inline void manage_entry_unlink(DodoManageEntry *e)
{
    dodo_manage_entry_unlink(e);
}
static inline void manage_entry_move_before(DodoManageEntry *at, DodoManageEntry *e)
{
    dodo_manage_entry_move_before(at, e);
}
#endif

#undef DODO_TAG_

#ifdef __cplusplus
}
#endif

#endif
