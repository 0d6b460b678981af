/* SPDX-License-Identifier: MIT */
/* logind's notice that the host is about to sleep or to hibernate, and a lock that makes it wait
 * for a moment (a "delay" inhibitor lock, org.freedesktop.login1(5)). What is lent is given back
 * first, so that it is not written to the owner's disk. A thread of its own, since a bus may
 * hang. */
#ifndef DODO_RMD_SLEEP_WATCH_H
#define DODO_RMD_SLEEP_WATCH_H

#include <stdbool.h>

typedef struct SleepWatch SleepWatch;

/* @address: of the system bus; NULL: the usual one; borrowed. NULL: "none", or it cannot be. A bus
 * that is missing is tried again now and then. */
SleepWatch *sleep_watch_new(const char *address);
SleepWatch *sleep_watch_free(SleepWatch *w); /* NULL is fine; returns NULL */
/* Readable when there may be news. */
int sleep_watch_fd(const SleepWatch *w);
/* Takes the event of the descriptor: whether the host is about to sleep. Without a bus it is not.
 */
bool sleep_watch_take(SleepWatch *w);
/* From now on sleep has to wait, or need not. What is wanted already costs nothing. */
void sleep_watch_delay(SleepWatch *w, bool delay);

#endif
