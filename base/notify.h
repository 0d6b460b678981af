/* SPDX-License-Identifier: MIT */
/* What a daemon tells its service manager, as sd_notify(3) has it: a datagram to the local socket
 * that NOTIFY_SOCKET names. */
#ifndef DODO_BASE_NOTIFY_H
#define DODO_BASE_NOTIFY_H

/* For the service manager to take in that we are ready: without that it ends us, some time. */
enum { NOTIFY_READY_WAIT_S = 10 };

/* A socket for notify(), to be kept by who gives up the right to open one; -1: nobody asked to be
 * notified, or there is none. */
int notify_open(void);
/* @fd: of notify_open(); -1: one of its own. The service manager may have so much else to read that
 * there is no room just now; it may also hang: waits up to @wait_s. */
void notify(int fd, const char *text, unsigned wait_s);

#endif
