/* SPDX-License-Identifier: MIT */
/* Regions leave hosts that are being drained (move.c). Not for shells. */
#ifndef DODO_LIBDODO_MOVES_H
#define DODO_LIBDODO_MOVES_H

#include "libdodo/region.h"

enum {
    MOVES_DONE_MAX = 16, /* given up, not freed yet; more wait to be given up */
};

typedef struct Moves {
    bool wanted; /* the manager said that there may be such hosts, and was not asked which */
    uint64_t hosts[MOVES_MAX]; /* their epochs */
    unsigned hosts_count;
    uint64_t until_ns;      /* what it said holds so long */
    uint64_t rate, pace_ns; /* bytes a second, 0: as it comes; nothing is copied before */
    ListNode under_way;     /* of Region */
    ListNode wanting;       /* of Region: without memory, their other copies are to be moved */
    uint64_t rest_until_ns, rest_ns; /* the refraction period of these */
    unsigned at;                     /* the next place of the table that is looked at */
    unsigned count_at;               /* ... for what there is left to copy */
    uint64_t counted, left_blocks, copied_bytes;
    unsigned refused; /* openings elsewhere in a row that found no room */
    RegionAddress done[MOVES_DONE_MAX];
    unsigned done_count;
} Moves;

/* ---- what others ask, under the lock ---- */
/* Is the host of that epoch being drained, as far as the manager has said? */
bool moves_drained(const Client *c, uint64_t epoch);
/* The region, without memory, is to have it as its other copy is on a host that is drained. */
bool move_wants(const Client *c, const Region *r);

/* ---- what the background does ---- */
/* Begins moves, and ends those whose other copy has all. Asks the manager which hosts are drained,
 * if there are any, and to free a copy that was given up. */
void moves_step(Channel *ch, uint64_t now_ns);
/* All below under the lock. When the background has something to do for moves; TIME_NEVER: when
 * something else happens. */
uint64_t moves_due(const Channel *ch);
/* move_wants(), and only while that moves here. */
bool move_target(const Client *c, const Region *r);
/* The manager has answered the opening of its memory. If there is no room for it, others are moved
 * first, which may be smaller. */
void move_answered(Client *c, Region *r, bool got);
/* When the next piece of a copy may be read that could be read at @due_ns. */
uint64_t moves_pace(const Client *c, uint64_t due_ns);
/* So much of what was asked for at @asked_ns is on its way to @to. */
void moves_copied(Client *c, const Region *to, uint64_t bytes, uint64_t asked_ns);

#endif
