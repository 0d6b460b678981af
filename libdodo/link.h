/* SPDX-License-Identifier: MIT */
/* A socket with its channel, and the thread that works on files beside it. */
#ifndef DODO_LIBDODO_LINK_H
#define DODO_LIBDODO_LINK_H

#include <stdatomic.h>

#include "libdodo/file_worker.h"
#include "libdodo/core.h"
#include "libdodo/range_held.h"
#include "libdodo/settings.h"
#include "base/polling.h"
#include "usocket/batches.h"
#include "usocket/burst_send.h"

enum {
    LINK_RECEIVES = 8,          /* buffers of TRANSPORT_RECV_MAX a link */
    LINK_SENDS = 16,            /* datagrams that one system call sends */
    LINK_SEND_BYTES = 256,      /* longer ones go by themselves */
    LINK_CALLS = DODO_EACH_MAX, /* that a thread makes at once */
    LINK_SESSIONS_MAX = 256,    /* hosts a link talks to at once */
};

typedef struct Link {
    struct Link *all;  /* in the list of all */
    _Atomic bool busy; /* somebody has it */
    Call *job_call;    /* whose file the worker is at, by the job */
    Batches batches;
    Channel *channel;
    FileWorker worker;
    FileJob job;
    int raw;           /* 0, or < 0: why it has no raw frames, though it should */
    int timer_fd;      /* timerfd; -1: none was available */
    uint64_t rings_ns; /* when it rings, or rang; 0: never set */
    Polling polling;
    PollingTrial trial;
    bool sent;    /* since its last step */
    bool patient; /* no read of the program's waits for its calls: it does not poll */
    uint64_t doze_from_ns;
    BurstScratch scratch;
} Link;

/* With a channel of @calls_max calls. NULL: no socket or memory. */
Link *link_new(Client *client, const Settings *s, const Id128 *self, unsigned calls_max,
               bool background);
Link *link_free(Link *link);
/* In the child of a fork: closes its descriptors, wipes its keys and frees it, whatever call of
 * the parent's was on it. */
void link_abandon(Link *link);

/* Moves the channel on, and sends what it has to send. */
void link_step(Link *link);
/* Takes in the datagrams that are there. False: there was none. */
bool link_receive(Link *link);
/* As link_wait() without another descriptor, for an answer that should come soon: it polls first
 * where that makes waits shorter, and then falls asleep, where it may as link_doze(). */
void link_await(Link *link, uint64_t deadline_ns);
/* As link_wait() without another descriptor, with one system call less. It may return late by some
 * ticks of the kernel; the next link_receive() receives what came. Only where being late matters
 * little: see link_may_doze(). */
bool link_may_doze(const Link *link, uint64_t deadline_ns);
void link_doze(Link *link, uint64_t deadline_ns);
/* Waits for a datagram, for @other_fd (-1: none) or for the time. */
void link_wait(Link *link, int other_fd, uint64_t deadline_ns);

/* For a caller that waits by the link's descriptors, the socket and the timer: the timer becomes
 * readable at @deadline_ns, perhaps earlier, and no more after the next call of this. TIME_NEVER:
 * not at all. */
void link_alarm(Link *link, uint64_t deadline_ns);

#endif
