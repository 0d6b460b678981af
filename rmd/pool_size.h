/* SPDX-License-Identifier: MIT */
/* How much memory a host could lend (the paper's 3.1): what is in use, the kernel's own reserve
 * and a headroom of 15 % of all stay with the owner. From texts of /proc. Pure. */
#ifndef DODO_RMD_POOL_SIZE_H
#define DODO_RMD_POOL_SIZE_H

#include <stdbool.h>
#include <stdint.h>

enum { HEADROOM_PERCENT = 15 };

typedef struct MemoryState {
    uint64_t total_bytes;
    /* Free memory, and file cache that was used once, is not mapped, not dirty, and kept by the
     * kernel as cache; never more than the kernel itself says is available. The active file cache,
     * used more than once, is the owner's working set: none of it counts. */
    uint64_t spare_bytes;
    /* Free too, but on the processors' own lists, which the kernel counts as neither free nor
     * available. Programs that end and an imd that gives back leave an eighth of all memory there,
     * at most, and it stays there. Only who runs on that processor takes it at once. */
    uint64_t aside_bytes;
    uint64_t programs_bytes;    /* anonymous and shared memory of all programs, imd's too */
    uint64_t inactive_bytes;    /* of spare_bytes: file cache */
    uint64_t active_bytes;      /* file cache that does not count */
    uint64_t evicted_bytes;     /* ever: written to swap, or read again soon after it had to go */
    uint64_t evicted_ns;        /* when that was read */
    uint64_t reclaimed_bytes;   /* ever, for want of free memory; not by a control group's limit */
    bool strict;                /* the kernel promises no more memory than there is */
    uint64_t commit_left_bytes; /* what may still be promised; if strict */
    uint64_t reserve_bytes;     /* the zones' low marks: below them the kernel begins to reclaim */
    uint64_t limit_bytes;       /* of the control groups that rmd and imd are in; 0: none */
    uint64_t limit_left_bytes;  /* what may still be used of it */
} MemoryState;

/* @meminfo, @zoneinfo: the files' texts. 0, or -EINVAL: something that is needed is not there. */
int memory_state_parse(const char *meminfo, const char *zoneinfo, uint64_t page_bytes,
                       MemoryState *ret);
/* @vmstat: the file's text; what is not there counts as none. A kernel that does not tell what it
 * reclaims is taken to have reclaimed all that it evicts. */
void memory_state_evicted(MemoryState *m, const char *vmstat, uint64_t page_bytes);
/* @meminfo; @overcommit: the text of vm.overcommit_memory. */
void memory_state_commit(MemoryState *m, const char *meminfo, const char *overcommit);
uint64_t memory_headroom_bytes(const MemoryState *m);
/* A control group limits rmd and imd to @limit_bytes, @left_bytes are left. A sixteenth of it is
 * for what they need beside the pool. A limit above what the host has is none. */
void memory_state_limit(MemoryState *m, uint64_t limit_bytes, uint64_t left_bytes);
/* What may be lent in all while @held_bytes already are; 0: more than that must come back. */
uint64_t memory_lendable_bytes(const MemoryState *m, uint64_t held_bytes);
/* What could be lent if nothing were in use; within the limit of a control group, as that is now.
 */
uint64_t memory_ceiling_bytes(const MemoryState *m, uint64_t held_bytes);

#endif
