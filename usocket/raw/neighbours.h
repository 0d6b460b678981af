/* SPDX-License-Identifier: MIT */
/* What the kernel knows about a host: whether the route to it leaves by an interface without a
 * gateway, and its MAC address in the neighbour table. Over a netlink socket, which needs no
 * privilege; nothing here waits. Looking up one neighbour takes Linux 5.0. */
#ifndef DODO_USOCKET_RAW_NEIGHBOURS_H
#define DODO_USOCKET_RAW_NEIGHBOURS_H

#include <stdint.h>

#include "usocket/raw/peers.h"

typedef struct Neighbours {
    int fd;
    uint32_t interface;
    uint32_t sequence;
} Neighbours;

/* 0, -errno. */
int neighbours_open(Neighbours *n, uint32_t interface);
void neighbours_close(Neighbours *n); /* also of one with fd -1 */
/* The way from @local to @to. 0; -EHOSTUNREACH: it is not near; -errno. */
int neighbours_look(Neighbours *n, const Addr *local, const Addr *to, PeerWay *ret);

#endif
