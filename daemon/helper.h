/* SPDX-License-Identifier: MIT */
/* A process beside a daemon that does what the daemon itself gives up the right to do. It is a copy
 * of the daemon from before that, with nothing open but the standard descriptors and a channel. */
#ifndef DODO_DAEMON_HELPER_H
#define DODO_DAEMON_HELPER_H

#include <sys/types.h>

/* Like fork(2), to be called before threads, sockets and keys are there. Each side has its end of a
 * channel of messages (SOCK_SEQPACKET) in @ret_channel. The helper is killed when the calling
 * thread ends, and finds the channel closed when the daemon has closed its end; it ignores the
 * signals that end a daemon or reload it. @name: at most 15 characters. Its pid; 0: this is the
 * helper; -errno. */
pid_t helper_fork(const char *name, int *ret_channel);
/* For a helper with a process of its own: a copy of it, that is killed when it ends. Its pid; 0:
 * this is the copy; -errno. */
pid_t helper_copy(const char *name);

#endif
