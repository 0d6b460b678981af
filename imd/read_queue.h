/* SPDX-License-Identifier: MIT */
/* READs that wait for their turn at a data thread, and whose turn it is: fair queueing by bytes
 * between sessions (by start times: Goyal, Vin, Cheng, 1996).
 *
 * An ask is due at a virtual time: now, or when the session's ask before it has had its cost, if
 * that is later. The ask with the least time is next. So a session that asks for little waits for
 * one answer to another session, not for all that others have asked for. The asks of a session keep
 * their order, and none starves. The order between sessions is free: READs have no state, and the
 * network may reorder them as well. Pure. */
#ifndef DODO_IMD_READ_QUEUE_H
#define DODO_IMD_READ_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

enum {
    READ_QUEUE_MAX = 512,
    READ_QUEUE_SESSIONS = 64, /* whose share is known; of more, some get a little too much */
    READ_COST_BYTES = 4096,   /* an answer costs as much as so many bytes more: its system calls */
};

typedef struct QueuedRead {
    void *session;
    uint32_t bytes; /* that it wants */
    WireRead read;
} QueuedRead;

/* Of those that are due together the smaller comes first, then the older. */
typedef struct ReadTurn {
    uint64_t due, number;
    uint32_t bytes;
} ReadTurn;

typedef struct ReadShare {
    const void *session; /* NULL: unused */
    uint64_t used;       /* when what it asked for so far has had its cost */
} ReadShare;

/* Zeroed: empty. */
typedef struct ReadQueue {
    unsigned count;
    uint64_t clock; /* virtual: when the last one taken was due */
    uint64_t numbers;
    ReadShare shares[READ_QUEUE_SESSIONS];
    ReadTurn turns[READ_QUEUE_MAX]; /* apart, because they are what is searched */
    QueuedRead reads[READ_QUEUE_MAX];
} ReadQueue;

static inline bool read_queue_full(const ReadQueue *q)
{
    return q->count == READ_QUEUE_MAX;
}

/* Not to a full queue. The bytes that @read asks for. */
uint32_t read_queue_put(ReadQueue *q, void *session, const WireRead *read);
bool read_queue_take(ReadQueue *q, QueuedRead *ret); /* false: there is none */
bool read_queue_has(const ReadQueue *q, const void *session);
/* The session is gone, and what it asked for with it: so many bytes. */
uint64_t read_queue_forget(ReadQueue *q, const void *session);

#endif
