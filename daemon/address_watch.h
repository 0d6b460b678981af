/* SPDX-License-Identifier: MIT */
/* The process that watches over the address of a daemon that chose it by itself. A daemon stays at
 * its address as long as its host has it, and while there is no other: it may come back. */
#ifndef DODO_DAEMON_ADDRESS_WATCH_H
#define DODO_DAEMON_ADDRESS_WATCH_H

#include "daemon/config.h"
#include "daemon/host_address.h"
#include "daemon/loop.h"

typedef struct AddressWatch {
    int fd; /* its end of the channel; -1: there is none */
    Addr at;
    bool moved; /* the host has lost it, and has another: the daemon ends, to be started there */
    Loop *loop;
    void (*leave)(void *ctx); /* it has moved */
    void *ctx;
} AddressWatch;

/* Where a daemon with these options serves; @member: by the way to its manager, if nothing is
 * given. Then there is a process that watches over it, unless the address itself was given. Before
 * threads, sockets and keys are there. 0, -errno. */
int address_watch_start(AddressWatch *w, const CommonOptions *o, const Listen *listen, bool member,
                        char error[CONFIG_ERROR_MAX]);
/* @leave is called when the host has another address; the log says so. 0, -ENOMEM. */
int address_watch_follow(AddressWatch *w, Loop *loop, void (*leave)(void *ctx), void *ctx);
void address_watch_close(AddressWatch *w);

#endif
