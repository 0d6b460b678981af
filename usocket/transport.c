/* SPDX-License-Identifier: MIT */
/* What all transports share: closing and waiting. */
#include "usocket/transport.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/time.h"

Transport *transport_close(Transport *t)
{
    if (t)
        t->ops->close(t);
    return NULL;
}

int transport_wait(Transport *t, uint64_t timeout_ns)
{
    struct pollfd p = {.fd = t->ops->fd(t), .events = POLLIN};
    struct timespec timeout = time_to_timespec(timeout_ns);
    int n = ppoll(&p, 1, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL);
    if (n < 0)
        return -errno;
    if (p.revents & POLLNVAL)
        return -EBADF;
    return n > 0; /* POLLERR too: receiving fetches and clears the socket's error */
}
