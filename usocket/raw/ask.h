/* SPDX-License-Identifier: MIT */
/* Asks the helper (dodo-socket) of an interface for a socket for raw frames. */
#ifndef DODO_USOCKET_RAW_ASK_H
#define DODO_USOCKET_RAW_ASK_H

#include <stdint.h>

#include "usocket/raw/frame.h"
#include "usocket/raw/grant.h"

typedef struct AskRequest {
    uint32_t interface;
    uint16_t port; /* 0: any */
    uint8_t mac[FRAME_MAC];
    uint64_t wait_ns; /* for the helper, at each of its steps */
} AskRequest;

/* A socket of that interface, port and MAC address, which the helper has bound and given its
 * filter. Its descriptor, or -errno. -ECONNREFUSED: no helper; -EACCES, -EADDRINUSE,
 * -EADDRNOTAVAIL, -EDQUOT, -ENOBUFS: what the helper says; -ENODEV: no such interface; -EPROTO,
 * -ETIMEDOUT: the helper does not answer as it should. */
int ask_helper(const AskRequest *r, GrantReply *ret);

#endif
