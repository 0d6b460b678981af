/* SPDX-License-Identifier: MIT */
/* Asynchronous reads, writes and syncs: a link of its own with many calls on its channel. The
 * thread that is inside one of these functions moves them on. See dodo_queue_open() in
 * include/dodo/dodo.h.
 *
 * Threads take turns at a queue. The owner's turn lasts as long as its call. A thread that closes a
 * region takes a turn too, to end the requests that the region waits for: their owner may be that
 * very thread, or busy elsewhere. */
#ifndef DODO_LIBDODO_QUEUE_H
#define DODO_LIBDODO_QUEUE_H

#include "dodo/dodo.h"
#include "libdodo/order.h"
#include "libdodo/runtime.h"

enum { QUEUE_DEPTH_MAX = 128 }; /* as many calls as a channel takes */

/* All of these outside the gate. */

/* 0, -ENOMEM. */
int queue_open(Runtime *rt, unsigned depth, DodoQueue **ret);
/* Made by this process, not by the parent that it was forked from. */
bool queue_is_ours(const DodoQueue *q);
/* What is submitted. A sync has no buffer. */
typedef struct QueueTask {
    enum OrderKind kind;
    int rd;
    off_t offset;
    void *buf; /* ORDER_WRITE: only read from */
    size_t len;
    void *tag;
} QueueTask;
/* 0; -EAGAIN: full; -EINVAL: the library was shut down since. */
int queue_submit(DodoQueue *q, const QueueTask *t);
/* How many of those with the tag were cancelled, and are now to be taken. */
int queue_cancel(DodoQueue *q, const void *tag);
/* How many were taken. Sets the reason of a failed one. @timeout_ms: -1: none. */
int queue_wait(DodoQueue *q, DodoDone *done, unsigned max, int timeout_ms);
int queue_fd(const DodoQueue *q);
/* Also one of the parent's. */
void queue_close(DodoQueue *q);

/* Until no queue has a request of the region under way. The region must be closing: no new one
 * begins. */
void queue_finish_region(int rd);
/* Serves once all queues that no other thread serves: a call of this thread may wait for one of
 * their requests. False: they have none under way. */
bool queue_help_all(void);
/* The library shuts down: ends what is under way and gives the links back. The queues stay, with
 * what is done. */
void queue_shut_all(void);

/* For fork. */
void queue_lock_all(void);
void queue_unlock_all(void);
/* In the child: none is ours any more. */
void queue_forget_all(void);
/* ... and, locked: frees what the child has of them, except their memory, which the user closes. */
void queue_abandon_all(void);

#endif
