/* SPDX-License-Identifier: MIT */
/* A queue between two threads whose receiver waits on a descriptor: readable while there is mail.
 * Letters are the posters' memory and arrive in order. */
#ifndef DODO_DAEMON_MAILBOX_H
#define DODO_DAEMON_MAILBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct Letter {
    struct Letter *next;
} Letter;

typedef struct Mailbox {
    pthread_mutex_t lock; /* first, last */
    Letter *first, **last;
    _Atomic bool waiting; /* there is mail */
    int fd;
} Mailbox;

int mailbox_init(Mailbox *m); /* 0, or -errno */
/* Letters left in it are lost. */
void mailbox_deinit(Mailbox *m);
/* The same, with @drop for each of them. */
void mailbox_drop(Mailbox *m, void (*drop)(void *letter));
/* @letter is the receiver's from now on. */
void mailbox_post(Mailbox *m, Letter *letter);
/* Falls asleep until there is mail. */
void mailbox_wait(const Mailbox *m);
/* Is there mail? Takes no lock. */
bool mailbox_waiting(const Mailbox *m);
/* All letters there are, oldest first, linked by next; NULL: none. */
Letter *mailbox_take(Mailbox *m);

#endif
