/* SPDX-License-Identifier: MIT */
/* Whole messages over a TCP connection, in as few system calls as there can be. */
#ifndef DODO_BENCH_PEERS_STREAM_H
#define DODO_BENCH_PEERS_STREAM_H

#include <sys/uio.h>

/* A connection to part @index of the list @at: a descriptor, or -errno. Waits at most 10 s for
 * anything that it receives. */
int stream_connect(const char *at, unsigned index);
/* All of it, or -errno; changes @iov. */
int stream_send(int fd, struct iovec *iov, unsigned count);
/* -EPIPE: the peer ended; -EAGAIN: it says nothing any more. */
int stream_receive(int fd, struct iovec *iov, unsigned count);

#endif
