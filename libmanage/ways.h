/* SPDX-License-Identifier: MIT */
/* What the ways to a file's bytes cost: the file itself, remote memory, and a copy to there; and
 * whether the file is worth local memory. Each
 * file has its own: two files may be on two drives, and the kernel may hold one of them. A file
 * that is opened begins with what the latest other one of its device has taught. */
#ifndef DODO_LIBMANAGE_WAYS_H
#define DODO_LIBMANAGE_WAYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "libmanage/core.h"
#include "libmanage/cost.h"
#include "libmanage/together.h"
#include "libmanage/worth.h"

enum { WAYS_MAX = 64 }; /* files with costs of their own; others share those of another one */

/* Of the latest reads of the file. */
typedef struct FileMean {
    uint64_t sum_ns;
    unsigned count, quick; /* quick: of them, hardly above copying */
} FileMean;

/* TOGETHER: of the file's, one of several that are under way at once. */
enum CostOf { COST_FILE, COST_REMOTE, COST_CLONE, COST_TOGETHER, COSTS };

/* Of the latest reads that were looked at, about: in how many something was so. */
typedef struct Share {
    unsigned looks, found;
} Share;

typedef struct Ways {
    ListNode link; /* cache->ways, the latest used first */
    CacheFileId id;
    unsigned regions;
    Cost cost[COSTS];
    Together together;
    FileMean file_mean[COST_CLASSES];
    Share held_slow; /* of reads of what the kernel said it has: they took long */
    Share lost;      /* of other reads: the kernel does not keep what they brought */
    /* What a read of the file past the cache may take, of a size's class; 0: it is not cheap. Hits
     * look at it without the lock. */
    _Atomic uint64_t cheap_ns[COST_CLASSES];
    unsigned looks;        /* reads that go to remote memory, to see what it costs now */
    unsigned file_looks;   /* or to the file, although remote memory has what they want */
    unsigned apart;        /* reads in a row that were not in order, as far as they count */
    unsigned remote_reads; /* of remote memory, since a region was opened, as far as they count */
    _Atomic bool left; /* worth.left: reads go past the cache, and it gives up the file's pieces */
    Worth worth;
    ListNode pieces; /* of its regions */
} Ways;

/* Of an opened file, for a region; ways_put() when the region is gone. What is known of a file
 * stays as long as there is room. NULL: no memory. */
Ways *ways_get(Cache *c, CacheFileId id);
void ways_put(Ways *w);
/* No file is known to be cheap, until it is measured again. */
void ways_unknown(Cache *c);
/* Reads go past the cache from now on, or no more. */
void ways_set_left(Cache *c, Ways *w, bool left);
/* The policy is another one: what the memory was worth with the old one says nothing. */
void ways_worth_again(Cache *c);
unsigned ways_turns(const Cache *c);
void ways_free(Cache *c); /* all */

#endif
