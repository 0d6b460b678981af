/* SPDX-License-Identifier: MIT */
/* Which of a peer's addresses is asked, and when the names that stand for them are resolved again:
 * one that does not answer gives way to the next, and the names may stand for others by now. Pure:
 * who resolves is the shell. */
#ifndef DODO_PROTO_FINDER_H
#define DODO_PROTO_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/places.h"
#include "base/time.h"

/* Of several addresses: one that does not answer a HELLO gives way to the next after so long. */
#define FINDER_HOP_NS (500 * NS_PER_MS)
/* Where all of them stand by, they are asked again after so long. */
#define FINDER_ROUND_NS (250 * NS_PER_MS)
/* One that was not heard so long is sent a PING. */
#define FINDER_PING_NS (300 * NS_PER_MS)

enum FinderNames { FINDER_QUIET, FINDER_WANTED, FINDER_ASKED };

typedef struct Finder {
    Addr found[PLACES_FOUND_MAX];
    unsigned count, at;
    bool named;    /* there are names */
    uint8_t names; /* enum FinderNames: of their resolution */
} Finder;

/* What are addresses can be asked at once; the names are wanted. */
void finder_init(Finder *f, const Places *places);
/* A peer with one address. */
void finder_fix(Finder *f, const Addr *peer);
/* Kind ADDR_NONE: there is none yet. */
Addr finder_peer(const Finder *f);
/* @peer has not answered yet: true if another one is asked now. */
bool finder_next(Finder *f, const Addr *peer);
/* @peer does not answer: the same, and the names are wanted. */
bool finder_silent(Finder *f, const Addr *peer);
/* The place of the next one after @at that is not asked now; f->at: there is none. */
unsigned finder_other(const Finder *f, unsigned at);
/* @peer is asked from now on, if it is one of them. */
void finder_go(Finder *f, const Addr *peer);
/* True once: the shell is to resolve, and calls finder_found() whatever comes of it. */
bool finder_take(Finder *f);
/* What they stand for, all of them in order; 0: nothing is known, and all stays as it is. True if
 * another one is asked now. */
bool finder_found(Finder *f, const Addr *found, unsigned count);

#endif
