/* SPDX-License-Identifier: MIT */
/* An address that a socket is bound to, and the kernel's socket behind it: one for UDP, one for raw
 * frames. Outcomes: 0 or a count is success, < 0 is -errno. Nothing here waits, but for the helper.
 * Any number of threads may send and receive at the same time. */
#ifndef DODO_USOCKET_PUBLIC_WAY_H
#define DODO_USOCKET_PUBLIC_WAY_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "dodo/usocket.h"

typedef struct WayOps WayOps;
typedef struct Way {
    const WayOps *ops;
    int fd;
    DodoUAddr local; /* with what was left open */
} Way;

struct WayOps {
    /* @iov: at most DODO_U_IOV_MAX. -EAGAIN: the buffer is full; -EMSGSIZE */
    int (*send)(const Way *w, const DodoUAddr *to, const struct iovec *iov, int iovc);
    /* The message's length. -EAGAIN: there is none. -EMSGSIZE: it did not fit, @from is set.
     * -EBADMSG: what came is no message. */
    ssize_t (*receive)(const Way *w, const struct iovec *iov, int iovc, DodoUAddr *from);
    /* How long a message may be. */
    ssize_t (*message_max)(const Way *w);
};

typedef struct WayBuffers {
    int send_bytes, receive_bytes; /* 0: the system's default */
} WayBuffers;

int way_udp_open(const DodoUAddr *local, const WayBuffers *b, Way *ret);
/* -ECONNREFUSED: no helper; -EACCES, -EADDRINUSE, -EADDRNOTAVAIL, -EDQUOT, -ENODEV, -EPROTO,
 * -ETIMEDOUT: as dodo_u_bind() says. */
int way_raw_open(const DodoUAddr *local, const WayBuffers *b, Way *ret);
/* Whether @w leads to @to: the right kind and interface. */
bool way_leads_to(const Way *w, const DodoUAddr *to);
void way_close(Way *w);

#endif
