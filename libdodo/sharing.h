/* SPDX-License-Identifier: MIT */
/* Processes of a user on one host that read the same part of the same file share a region's memory:
 * see sharing.c. All functions under the client's lock, but for those that say otherwise. */
#ifndef DODO_LIBDODO_SHARING_H
#define DODO_LIBDODO_SHARING_H

#include "libdodo/calls.h"
#include "libdodo/shared_map.h"

/* May this opening share? Without the lock. */
bool share_wanted(const Client *c, const FileGiven *given, unsigned flags);
ShareName share_name(const FileKey *key, const Stamp *stamp, uint64_t offset, uint64_t len);

/* What a process that has joined does next. */
enum ShareTurn {
    SHARE_OPEN,  /* it is the opener, or alone: it asks the manager for the region */
    SHARE_GUEST, /* the region is at *ret_place */
    SHARE_WAIT,  /* the opener is about to open it */
    SHARE_STALE, /* the opener has not noticed yet that the region is gone from where it was */
    SHARE_ALONE, /* it leaves, and goes on alone: the file has changed, or the opener has no memory
                    either */
};
enum ShareTurn share_turn(const Share *share, const RegionAddress *lost, OpOpenReply *ret_place);

bool region_shares(const Region *r);
/* The region has its memory, or not any more: the others hear of it, if it is ours. */
void share_publish(Region *r);
void share_withdraw(Region *r);
/* The file serves, until the background knows more. */
void share_waits(Client *c, Region *r, uint64_t now_ns);
void share_waits_no_more(Region *r);
/* A region without members, or a member of one, joins as the call found. */
void share_join(Client *c, Region *r, const CallOpen *open, uint64_t now_ns);
/* From now on the region shares nothing. */
void share_leave(Region *r);
/* What unfills blocks counts as a write, which a region that others read has none of. True: nobody
 * else reads it, and from now on nobody can. */
bool share_for_oneself(Region *r);
/* Its copy takes its place (move.c). */
void share_hand_over(Region *from, Region *to);
/* The file has given other bytes for a block than to another process. */
void share_changed(Region *r);
bool share_has_changed(const Region *r);
/* Before a read: if the file has changed, the region's memory is given up, and other is asked for.
 */
void share_look(Client *c, Region *r, uint64_t now_ns);
/* The opener closes: does any other process read it? */
bool share_others(const Region *r);
/* The region is to be retained: this process asks for it, or one that it shares it with did. */
bool share_retains(const Region *r);

#endif
