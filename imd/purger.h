/* SPDX-License-Identifier: MIT */
/* The thread that gives pages of the pool back to the host. With small pages that takes tens of
 * milliseconds a gigabyte, and neither the control thread nor a data thread has to wait for it. */
#ifndef DODO_IMD_PURGER_H
#define DODO_IMD_PURGER_H

#include <pthread.h>
#include <stdbool.h>

#include "daemon/mailbox.h"
#include "imd/memory.h"
#include "imd/thread.h"

typedef struct Purger {
    pthread_t thread;
    bool running;
    Mailbox orders;
    Mailbox *done; /* PURGEs that are over come back there; kept */
    const PoolMemory *pool;
} Purger;

int purger_start(Purger *p, const PoolMemory *pool, Mailbox *done); /* 0, or -errno */
/* IMD_PURGE: the range of the command. IMD_LEAVE: the whole pool, as fast as possible. Both come
 * back when done. @order was made by g_new. From any thread; in their order. */
void purger_order(Purger *p, ImdOrder *order);
/* Ends the thread when it has carried out all that it was given; also of a zeroed Purger. */
void purger_stop(Purger *p);

#endif
