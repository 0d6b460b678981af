/* SPDX-License-Identifier: MIT */
/* A read lease as a question: the kernel grants one only while nobody has the file open for
 * writing, or mapped so. */
#ifndef DODO_BASE_LEASE_H
#define DODO_BASE_LEASE_H

/* Takes a read lease on the description @fd, which is the caller's alone and for reading only, and
 * gives it back immediately. No signal comes from it. Descriptions that are parked since something
 * was written (parked.h) count as writers, and are closed first where that helps. 0; -EAGAIN:
 * somebody writes the file; another -errno: there are no leases on it. */
int lease_ask(int fd);

#endif
