/* SPDX-License-Identifier: MIT */
/* W-TinyLFU (Einziger, Friedman, Manes: "TinyLFU: A Highly Efficient Cache Admission Policy", ACM
 * ToS 2017), as a part of policies.
 *
 * What comes is in the window, by recency. What the window has no room for any more is a candidate
 * for the main part: it stays if it was used more often than what would go instead. How often
 * pieces are used, also those that are not here, a sketch estimates. The main part has those used
 * once (probation) and again (protected). So a scan passes through a small window, and a loop that
 * is longer than the cache keeps a part of itself. A window of the whole cache is LRU.
 *
 * Like the policies: called with a lock held, pure. An entry's state is this one's. */
#ifndef DODO_LIBMANAGE_POLICIES_TINY_LFU_H
#define DODO_LIBMANAGE_POLICIES_TINY_LFU_H

#include "dodo/manage.h"

typedef struct TinyLfu TinyLfu;

/* For entries of @limit in all, in the unit of their lengths, and at most @pieces of them. The
 * window has room for one. NULL: no memory. */
TinyLfu *tiny_lfu_new(uint64_t limit, uint64_t pieces);
void tiny_lfu_free(TinyLfu *t);
/* @share: of the cache, 0 to 1. What is too much for it goes as pieces are used, a few for each
 * use. */
void tiny_lfu_set_window(TinyLfu *t, double share);
/* It comes, or is used again. */
void tiny_lfu_use(TinyLfu *t, struct manage_entry *e);
/* What should leave, of what is not busy. NULL: nothing. */
struct manage_entry *tiny_lfu_victim(TinyLfu *t);
/* It leaves; taking it out of its list is the caller's. */
void tiny_lfu_removed(TinyLfu *t, struct manage_entry *e);

#endif
