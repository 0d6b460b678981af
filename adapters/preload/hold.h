/* SPDX-License-Identifier: MIT */
/*
 * When the region cache may serve a file, in a program that nobody changed. Pure.
 *
 * A file is wanted; the worker takes a lease on it and opens a region; then it is held, and readers
 * enter it. When somebody wants to write, or the program has closed it, no reader enters any more
 * and the lease goes back at once; the region is closed when the last reader has left. What a
 * reader gets is right for another reason: it asks for the lease itself, each time.
 *
 * The caller serializes calls for one file.
 */
#ifndef DODO_ADAPTERS_PRELOAD_HOLD_H
#define DODO_ADAPTERS_PRELOAD_HOLD_H

#include <stdbool.h>
#include <stdint.h>

enum HoldState {
    HOLD_NONE, /* there is no file */
    HOLD_PLAIN,
    HOLD_WANTED, /* the worker is to hold it, or is about to */
    HOLD_HELD,
    HOLD_ENDING, /* the region is to be closed */
    HOLD_NEVER,  /* it cannot be held */
};

typedef struct Hold {
    enum HoldState state;
    bool broken;       /* somebody has wanted to write since the lease was taken */
    uint64_t again_ns; /* when it may be wanted again */
} Hold;

/* A reader would have it held. True: that is new to the worker. */
bool hold_want(Hold *h, uint64_t now_ns);
/* The worker takes the lease. */
void hold_take(Hold *h);
/* The region is there. False: somebody has wanted to write meanwhile, and hold_end() follows. */
bool hold_begin(Hold *h);
/* The lease goes back; @broken: as somebody waits for it. True: readers are to be kept out. */
bool hold_give_up(Hold *h, bool broken, uint64_t now_ns);
/* Lease and region are gone, or there were none. It may be wanted again after @pause_ns at the
 * soonest. @never: nor later. */
void hold_end(Hold *h, bool never, uint64_t pause_ns, uint64_t now_ns);

#endif
