/* SPDX-License-Identifier: MIT */
/* The process that resolves the manager's names for a daemon: the daemon itself must not wait for
 * it, and may not open what it takes. It has no key, and hears nobody but the daemon. */
#ifndef DODO_DAEMON_RESOLVER_H
#define DODO_DAEMON_RESOLVER_H

#include "base/resolve.h"
#include "daemon/config.h"
#include "proto/finder.h"

typedef struct Resolver {
    int fd; /* its end of the channel; -1: there is none */
    Places places;
    uint32_t moves; /* how often these have become others */
    uint8_t kind;   /* only addresses of this family */
    bool loopback_only;
    char error[RESOLVE_ERROR_MAX]; /* as last logged */
} Resolver;

/* Of @places, for a daemon that listens at @listen; before threads, sockets and keys are there.
 * Without names no process is started. 0, -errno. */
int resolver_start(Resolver *r, const CommonOptions *o, const Addr *listen, const Places *places,
                   char error[CONFIG_ERROR_MAX]);
void resolver_close(Resolver *r);
/* Other places from now on. -ENOENT: there are names among them, and no process; -EACCES: without a
 * key one of them may not be asked. */
int resolver_move(Resolver *r, const Places *places);
/* The same for a text of places, which were judged before. False: it cannot, and the log says why.
 */
bool resolver_follow(Resolver *r, const char *text, Places *ret);
/* Asks if the names are wanted. The answer makes the descriptor readable. */
void resolver_step(const Resolver *r, Finder *f);
/* 0; -EAGAIN: it has not come yet, or was about other places; other -errno: the process has ended
 * or talks nonsense. Names without an address are logged, once. */
int resolver_take(Resolver *r, Resolved *ret);

#endif
