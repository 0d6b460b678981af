/* SPDX-License-Identifier: MIT */
/* Read leases, as a question or to keep: the kernel grants one only while nobody has the file open
 * for writing, or mapped so. */
#ifndef DODO_BASE_LEASE_H
#define DODO_BASE_LEASE_H

#include <stdbool.h>
#include <sys/types.h>

/* Takes a read lease on the description @fd, which is the caller's alone and for reading only, and
 * gives it back immediately. No signal comes from it. Descriptions that are parked since something
 * was written (parked.h) count as writers, and are closed first where that helps. 0; -EAGAIN:
 * somebody writes the file; another -errno: there are no leases on it. */
int lease_ask(int fd);

/* Takes a read lease on the description @fd, to keep. Who wants to write waits until it is given
 * back (F_SETLEASE, F_UNLCK). The thread @keeper hears of that by the signal @number, which has the
 * descriptor. 0, -errno. */
int lease_keep(int fd, int number, pid_t keeper);
/* This thread comes before all programs that only compute: somebody waits for each break, and its
 * steps are few. That is for root; others take their turn. */
void lease_keeper_hurry(void);
/* Whether it is worth asking again after -@error: others say that there is none for good, as the
 * file is another user's, or its file system has no leases. */
bool lease_may_come(int error);

#endif
