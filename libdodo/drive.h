/* SPDX-License-Identifier: MIT */
/* Runs calls of the core on a link: does what they need of their files, waits for the network, for
 * the link's worker, and for calls of other threads. Everything here is called inside the gate (see
 * gate.h), which is left while something waits. */
#ifndef DODO_LIBDODO_DRIVE_H
#define DODO_LIBDODO_DRIVE_H

#include <pthread.h>
#include <stdint.h>

#include "libdodo/link.h"

/* The core's lock, and how a call hears that another one ended. */
typedef struct Waker {
    pthread_mutex_t lock;
    pthread_cond_t woken; /* wakes changed */
    uint64_t wakes;
    /* Moves on, once, the calls that are in nobody's hands: a blocked one may wait for one of them.
     * Outside the gate. False: there is none. NULL: the same. */
    bool (*help)(void);
} Waker;

int waker_init(Waker *w); /* 0, or -errno */
void waker_deinit(Waker *w);
void waker_wake(Waker *w);

/* Runs a call that was started on the link's channel to its end. */
void link_run(Waker *w, Link *link, Call *call);
/* One turn of the background's link, which has calls of its own: returns when the next is due. Its
 * files are the worker's: keep-alives do not wait for a disk. */
uint64_t link_turn(Link *link);

#endif
