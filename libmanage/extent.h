/* SPDX-License-Identifier: MIT */
/* Extents. A drive that has moved its head for one read brings what lies around it in hardly more
 * time. Where that pays, a read that misses brings an extent of its region into remote memory. The
 * extra time is spent. A later read that finds a part of the extent there has earned the time that
 * the file would have taken longer (ledger.h).
 *
 * The size of extents follows from the time that they take. It doubles as long as an extent takes
 * no more than twice the time of its read alone. At that size, moving the head and reading on cost
 * the same. */
#ifndef DODO_LIBMANAGE_EXTENT_H
#define DODO_LIBMANAGE_EXTENT_H

#include "libmanage/core.h"
#include "libmanage/ledger.h"

struct Region;

/* Pure values. */
typedef struct Extents {
    uint64_t most_bytes; /* 0: there are none */
    uint64_t bytes;      /* of the next one: a power of two */
    uint64_t extra_ns;   /* what one takes longer than its read alone, on average; 0: not known */
    Ledger ledger;
} Extents;

/* @most_bytes: a power of two, or 0. @percent: of the ledger. */
void extents_init(Extents *e, uint64_t most_bytes, unsigned percent);
/* May a read that takes @alone_ns by itself bring an extent? How much longer it will probably take
 * then, [ns]; 0: it may not. */
uint64_t extents_may(const Extents *e, uint64_t alone_ns);
/* It begins: as much is spent from now on. */
void extents_begin(Extents *e, uint64_t expected_ns);
/* It took @ns, where its read alone takes @alone_ns. @whole: more came than was asked for. */
void extents_took(Extents *e, uint64_t expected_ns, uint64_t ns, uint64_t alone_ns, bool whole);

/* Of the cache; with the lock held. */

/* Is the file so expensive for reads of @bytes that an extent may be read with the next one? As
 * extents_may(). */
uint64_t extent_may(const Cache *c, const struct Region *r, uint64_t bytes);
/* The extent of a read of [from, to), whole blocks: widens both as far as remote memory holds
 * nothing there. False: there is no more than the read. */
bool extent_around(const Cache *c, const struct Region *r, uint64_t *from, uint64_t *to);
/* The call's job, READ_FILL, has the extent of the call. */
void extent_begin(Cache *c, CacheCall *call);
/* A job of a call has read, or failed: what it took and saved is put down. */
void extent_note(Cache *c, const CacheJob *job, const CacheResult *result);
/* What remote memory holds of its extent now has come with it. */
void extent_brought(Cache *c, const CacheJob *job);

#endif
