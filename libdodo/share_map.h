/* SPDX-License-Identifier: MIT */
/* The maps by which processes share regions (sharing.h): a file each, in the user's state
 * directory, mapped by all of them. A lock on its first byte makes the opener, one on its second
 * byte says that somebody is there; the kernel drops both when a process ends, however it does. No
 * descriptor stays open for it. The last one that leaves removes the file; what killed ones leave,
 * the next process of that user does. What is lost with a map is that processes share. Any thread.
 */
#ifndef DODO_LIBDODO_SHARE_MAP_H
#define DODO_LIBDODO_SHARE_MAP_H

#include <time.h>

#include "libdodo/core.h"
#include "libdodo/settings.h"

/* Processes share only with those that are of the same cluster. Before the first join. */
void share_map_cluster(const Settings *s);
/* All maps of this process together take no more, [bytes]; without a call: any. Before the first
 * join. */
void share_map_limit(uint64_t bytes);
/* Answers @ask. */
void share_map_join(ShareAsk *ask);
void share_map_end(Share *share);
/* The process is in exit(): nothing is joined any more, and the files that nobody else has go,
 * unless another thread is at the maps until then (realtime). */
void share_map_exit(const struct timespec *until);
/* For fork: nothing is being joined or ended in between. */
void share_map_lock_all(void);
void share_map_unlock_all(void);
/* In the child of a fork, which has none of the maps: the locks are the parent's alone. */
void share_map_abandon_all(void);

#endif
