/* SPDX-License-Identifier: MIT */
/* The library's sockets, by their descriptors. Outcomes: 0 or a count is success, < 0 is -errno.
 * What a call was given has been checked. */
#ifndef DODO_USOCKET_PUBLIC_SOCKET_H
#define DODO_USOCKET_PUBLIC_SOCKET_H

#include "usocket/public/way.h"

typedef struct Socket Socket;

/* A new socket; its descriptor. */
int socket_make(const WayBuffers *b);
/* The socket of a descriptor, which lives until socket_put(); NULL: it is none. */
Socket *socket_get(int fd);
void socket_put(Socket *s);
/* Takes it out of the table, and ends the calls that wait. -EBADF: another thread has. */
int socket_end(Socket *s);

/* Outcomes as of way_udp_open() and way_raw_open(), with *ret_failed: which address that was; or
 * -EALREADY: it is bound, or elsewhere. */
int socket_bind(Socket *s, DodoUAddr *addrs, unsigned count, unsigned *ret_failed);
bool socket_is_bound(const Socket *s);
/* It came here by fork(), and was not bound then: it cannot be bound any more. */
bool socket_is_elsewhere(const Socket *s);
/* @to of kind DODO_U_NONE: nowhere. -EAFNOSUPPORT: no way leads there. */
int socket_connect(Socket *s, const DodoUAddr *to);
/* Waits while the buffer is full, unless O_NONBLOCK. 0; -EDESTADDRREQ. @len: of all buffers. */
int socket_send(Socket *s, const struct iovec *iov, int iovc, size_t len);
/* @timeout_ms: -1: for ever. -EAGAIN: nothing came. */
ssize_t socket_receive(Socket *s, const struct iovec *iov, int iovc, DodoUAddr *from,
                       int timeout_ms);
ssize_t socket_message_max(Socket *s);
void socket_stats(Socket *s, DodoUStats *ret);

#endif
