/* SPDX-License-Identifier: MIT */
/* Two copies of a region (DODO_MIRROR). */
#ifndef DODO_LIBDODO_MIRROR_H
#define DODO_LIBDODO_MIRROR_H

#include "libdodo/calls.h"

/* ---- copies.c: all under the lock ---- */
/* The one that has what both share: writes under way. */
static inline Region *region_home(const Region *r)
{
    return r->mirror.second ? r->mirror.twin : (Region *)(uintptr_t)r;
}
/* The other copy, if it is active; or NULL. */
static inline Region *mirror_other(const Region *r)
{
    return r->mirror.twin && r->mirror.twin->active ? r->mirror.twin : NULL;
}
/* Makes them the two copies of a region. */
void mirror_pair(Region *first, Region *second);
/* The copy that a read of these blocks asks: one that has them; of two, the one that answers
 * sooner, behind the reads which wait for it. */
Region *mirror_reader(const Client *c, Region *r, uint64_t first, uint64_t last, uint64_t now_ns);
/* Blocks that both copies have. */
uint64_t mirror_common(const Region *r);
/* The copy that has more. */
Region *mirror_fuller(Region *r);
/* It is asked; it has answered what it was asked at @asked_ns, @brief: in one piece. */
void mirror_asked(Region *r, uint64_t now_ns);
void mirror_answered(Client *c, Region *r, bool brief, uint64_t asked_ns, uint64_t now_ns);
/* It has done something else that it was asked for. */
void mirror_heard(Client *c, Region *r, uint64_t now_ns);
/* How long a read waits for a copy that says nothing, before it asks the other one. */
uint64_t mirror_patience_ns(const Client *c, const Region *r);
/* It says nothing: whether it is lost is found out in the background. */
void mirror_silent(Client *c, Region *r);
/* Host @epoch has the other copy. */
bool mirror_together(const Region *r, uint64_t epoch);
/* Can a copy of all blocks in [first, last] be read, as far as is known? */
bool mirror_holds(const Region *r, uint64_t first, uint64_t last);
/* It may lack blocks that the other one has. */
void mirror_uneven(Client *c, Region *r);

/* ---- mirror.c ---- */
/* When a copy that nobody has asked for long is to be; TIME_NEVER: there is none. Under the lock.
 */
uint64_t mirror_look_due(const Client *c);
/* It is *ret. False: none now. */
bool mirror_look_start(Client *c, uint64_t now_ns, FillTarget *ret, size_t *ret_len);
/* Steps the read of a copy. As any read that fails, it leaves no copy that is read again. */
enum RunResult mirror_step(Call *call, uint64_t now_ns);
extern const CallOps look_ops;

/* ---- reopen.c ---- */
/* The region or member whose time to ask for memory has come, or NULL; and the time of the next
 * one. Under the lock. */
Region *reopen_due(Client *c, uint64_t now_ns, uint64_t *ret_next_ns);
void reopen_start(Channel *ch, uint64_t now_ns);

/* ---- heal.c ---- */
enum { HEAL_NOW_NS = 1 }; /* Mirror.heal_ns: at once */
/* Under the lock: a fill for it was refused. */
void mirror_refused(Client *c, Region *r, uint64_t now_ns);
/* Under the lock: a fill for it was dropped, as its host has no memory for any now. */
void mirror_rests(Client *c, Region *r);
/* When there is something to heal; TIME_NEVER: nothing, or not before other fills are made. Under
 * the lock. */
uint64_t heal_due(Client *c);
/* The program has asked a host for @bytes: pieces are short beside its calls. */
void heal_beside(Client *c, uint64_t bytes);
/* The next piece to be read from @ret_from, for the item's. False: none now. */
bool heal_start(Client *c, uint64_t now_ns, FillTarget *ret_from, FillItem **ret_item);
extern const CallOps heal_ops;

#endif
