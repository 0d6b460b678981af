/* SPDX-License-Identifier: MIT */
/* A region as the core has it: its memory, its file, its members and copies. Not for shells. */
#ifndef DODO_LIBDODO_REGION_H
#define DODO_LIBDODO_REGION_H

#include "base/list.h"
#include "libdodo/shared_map.h"
#include "proto/rules.h"

/* One write under way, linked in its region: its blocks are not read remotely meanwhile. */
typedef struct WriteRecord {
    ListNode link;
    uint64_t first_block, last_block;
} WriteRecord;

/* What is known of the blocks at one address. */
typedef struct RegionBlocks {
    uint64_t *filled; /* what we saw filled, a bit a block; NULL: not tracked */
    uint64_t filled_count;
    uint64_t given_up;  /* the write counter, when blocks were last unfilled on purpose */
    BlockCheck *checks; /* one a block; NULL: none are kept */
    uint64_t seed;      /* of the checks */
    uint64_t rest_ns;   /* no fills before: the host has no memory for them */
} RegionBlocks;

/* A striped or mirrored region has no memory of its own: its members are regions. It has the file,
 * the flags and the calls in progress for all of them. A mirrored one has two members for each
 * stripe, its copies; without DODO_STRIPE it is one stripe. */
typedef struct Stripes {
    struct Region *parent; /* of a member */
    struct Region **of;    /* the first copies of all stripes, then the second ones; NULL: none */
    unsigned count;        /* stripes */
    unsigned members, active;
    unsigned waiting; /* members that wait for what another process opens (sharing.c) */
    uint64_t len;     /* of each stripe; the last one may be shorter */
} Stripes;

/* A region that other processes have, too (sharing.c). */
typedef struct Sharing {
    Share *share; /* NULL: it is this process's alone, */
    bool over;    /* ... or is so from now on */
    bool may;     /* of a member that is about to be opened: FileGiven.shareable */
    bool guest;   /* its memory was opened by another process, which claims it */
    bool waits;   /* for another process to open it: the file serves until then */
    uint64_t wait_ns;
} Sharing;

/* One of the two copies of a stripe (copies.c). */
typedef struct Mirror {
    struct Region *twin;  /* the other one; NULL: there are no copies */
    bool second;          /* the other one comes first: it has what both share */
    bool spare;           /* no memory is wanted for it, but for the other one (move.c) */
    ListNode moving;      /* in Client.moves.under_way: its memory is to be elsewhere */
    uint64_t answer_ns;   /* how long a short read took of late; 0: not known */
    uint64_t asked_ns;    /* since when it owes an answer; 0: it owes none */
    unsigned reads;       /* of the program, that wait for it */
    uint64_t answered_ns; /* when it last gave one to a read */
    uint64_t heard_ns;    /* ... or to anything else */
    ListNode heard;       /* in Client.copies.all, by that time */
    ListNode uneven;      /* in Client.copies.uneven: it lacks blocks that the other one has */
    bool again;           /* ... also some before heal_at */
    uint64_t heal_at;     /* the next block that is looked at */
    uint64_t heal_ns;     /* not before; 0: to be set */
    uint64_t heal_wait_ns;
} Mirror;

/* Where its memory is, and what is there. */
typedef struct RegionMemory {
    Addr host;
    uint16_t control_port; /* of @host, by which people know it */
    RegionAddress address;
    Numbers numbers; /* of the writes to this address */
    RegionBlocks blocks;
} RegionMemory;

/* Of the program's calls. */
typedef struct RegionCounts {
    uint64_t hits, misses, written_bytes;
} RegionCounts;

/* How it comes to memory (again). */
typedef struct RegionReopen {
    uint64_t at_ns;    /* FALLBACK or a member, and inactive: try again then */
    uint64_t asked_id; /* of the request for memory that mopen left to the background; 0: none */
    ListNode link;     /* in Client.regions.idle, .copies.lone or .moves.wanting, by that time */
} RegionReopen;

typedef struct Region {
    int rd;
    bool active;  /* the address below is good as far as we know */
    bool closing; /* mclose has begun: no new calls */
    bool claimed; /* part of the client's claims (digest) */
    bool written; /* in this opening */
    bool reused;
    bool retainable;
    bool carried;   /* it has no file, nor checksums (call_take.c) */
    bool cached;    /* FileGiven.cached */
    bool counted;   /* among those of the program */
    unsigned flags; /* DODO_* */
    unsigned refs;  /* calls in progress */
    uint64_t len, file_offset;
    void *file;
    FileKey key;
    Stamp stamp; /* at the opening, before the first fill */
    RegionMemory memory;
    ListNode writes; /* under way: WriteRecord. A first copy has those of both */
    Call *offers;    /* under way; one with members has those of theirs */
    RegionCounts counts;
    uint64_t inode; /* of the file, for the log */
    RegionReopen reopen;
    ListNode link; /* in Client.regions.all, by age; its members come after it */
    Stripes stripe;
    Mirror mirror;
    Sharing sharing;
} Region;

/* Under the lock: the host of an active region, as dodo status names it. */
Addr client_region_named(const Region *r);
bool region_write_overlaps(const Region *r, uint64_t first_block, uint64_t last_block);
/* The stripe that holds @offset of the region (the last one holds its end), its first copy, and the
 * offset in that stripe; the region itself if it has no members. */
Region *region_part(Region *r, uint64_t offset, uint64_t *ret_inner);

/* ---- copies.c: under the lock ---- */
bool region_has_filled(const Region *r, uint64_t block); /* as far as was seen */
void region_saw_filled(Client *c, Region *r, uint64_t block, bool filled);
void region_emptied(Client *c, Region *r); /* what was seen filled is gone */
/* They are being unfilled: by a discard, or as the file of a write failed. What was asked before
 * that says nothing of them. */
void region_gave_up(Client *c, Region *r, uint64_t first, uint64_t last);
/* Does an answer, to what was asked at @counter, tell that blocks are filled? */
static inline bool region_answer_counts(const Region *r, uint64_t counter)
{
    return !RULE(GIVEN_UP) || counter >= r->memory.blocks.given_up;
}

static inline bool region_address_equal(const RegionAddress *a, const RegionAddress *b)
{
    return a->epoch == b->epoch && a->region == b->region && a->opening == b->opening &&
           id128_equal(&a->capability, &b->capability);
}
/* Whose calls in progress, file and descriptor it is. */
static inline Region *region_top(Region *r)
{
    return r->stripe.parent ? r->stripe.parent : r;
}
/* The regions that have, or may have, memory for one that is no member: its members; or itself, and
 * the other copy if it has one. The first copies come before the second ones. */
static inline unsigned region_units(const Region *r)
{
    return r->stripe.of ? r->stripe.members : r->mirror.twin && !r->stripe.parent ? 2 : 1;
}
static inline Region *region_unit(const Region *r, unsigned i)
{
    return r->stripe.of ? r->stripe.of[i] : i ? r->mirror.twin : (Region *)(uintptr_t)r;
}
/* As the user sees them: of one that has members for its copies alone there are none. */
static inline unsigned region_stripes(const Region *r)
{
    return r->stripe.count > 1 ? r->stripe.count : 0;
}
static inline uint64_t block_of(uint64_t offset)
{
    return offset / WIRE_BLOCK_SIZE;
}

/* Of @len bytes from the start of a block on. */
static inline uint64_t blocks_in(uint64_t len)
{
    return (len + WIRE_BLOCK_SIZE - 1) / WIRE_BLOCK_SIZE;
}

#endif
