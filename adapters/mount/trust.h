/* SPDX-License-Identifier: MIT */
/*
 * How far what is cached of a file may be trusted. Pure.
 *
 * A file is held while we have a read lease on it: then nobody has it open for writing, and what is
 * cached of it, by the kernel under the mount point and by us, is what the file has. Otherwise it
 * is plain: each read goes to the file, and what the kernel keeps of it is dropped before it is
 * read again. Between the two, a file is taken: the lease is there, but the kernel may still keep
 * pages from before it.
 *
 * The caller serializes calls for one file, and acts on the answers outside its lock.
 */
#ifndef DODO_ADAPTERS_MOUNT_TRUST_H
#define DODO_ADAPTERS_MOUNT_TRUST_H

#include <stdbool.h>
#include <stdint.h>

enum TrustState { TRUST_PLAIN, TRUST_TAKEN, TRUST_HELD };

typedef struct Trust {
    enum TrustState state;
    bool pages;       /* the kernel may keep pages that were read or written while it was plain */
    bool broken;      /* a lease was broken, at this time */
    unsigned writers; /* through the mount: handles for writing, and changes of the size */
    uint64_t takes;   /* leases so far: which one an answer belongs to */
    uint64_t broken_ns;
} Trust;

/* Who opens a file for writing often shall not wait for us each time: a lease that was broken is
 * not taken again before so long. */
#define TRUST_AGAIN_NS 1000000000ull

/* Whether to ask for a lease. Reads may be under way: the kernel drops a page that is being read
 * when it has been answered. */
bool trust_wants_lease(const Trust *t, uint64_t now_ns);
/* The lease is there. True: drop the kernel's pages, then call trust_settle() with @ret. */
bool trust_take(Trust *t, uint64_t *ret);
/* The pages that the kernel had at take number @take are gone. */
void trust_settle(Trust *t, uint64_t take);
/* Somebody wants to write, or the lease is given up for another reason (not @broken). False: there
 * was none. */
bool trust_give_up(Trust *t, bool broken, uint64_t now_ns);
/* A writer comes through the mount: call trust_give_up() before. */
void trust_writer_begin(Trust *t);
void trust_writer_end(Trust *t);
/* A read: whether it may be served from a cache. */
bool trust_read_begin(Trust *t);

/* Whether the kernel may keep the file's pages, and its attributes for a while. */
static inline bool trust_is_held(const Trust *t)
{
    return t->state == TRUST_HELD;
}
/* Whether its pages have to be dropped before they are read again. */
static inline bool trust_must_drop(const Trust *t)
{
    return t->state != TRUST_HELD && t->pages;
}

#endif
