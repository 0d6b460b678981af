/* SPDX-License-Identifier: MIT */
/* The event loop of a daemon's thread of control, on libevent: descriptors to read, one timer
 * armed at the earliest deadline of the cores, and the signals that end the daemon. */
#ifndef DODO_DAEMON_LOOP_H
#define DODO_DAEMON_LOOP_H

#include <stdint.h>

typedef struct Loop Loop;

typedef struct LoopOps {
    uint64_t (*deadline)(void *ctx); /* TIME_NEVER: none. Asked after every callback */
    void (*expire)(void *ctx, uint64_t now_ns);
    void (*signal)(void *ctx, unsigned nth); /* SIGTERM or SIGINT came, for the nth time from 1 */
    void (*reload)(void *ctx);               /* SIGHUP came; NULL: it is ignored */
} LoopOps;

/* NULL: no memory or descriptors. Ignores SIGPIPE. */
Loop *loop_new(const LoopOps *ops, void *ctx);
Loop *loop_free(Loop *l); /* NULL is fine; returns NULL */
/* For what has events of its own. They change no deadline of the cores. */
struct event_base;
struct event_base *loop_base(const Loop *l);
/* @readable is called whenever @fd is, until the loop is freed. 0, or -ENOMEM. */
int loop_watch(Loop *l, int fd, void (*readable)(void *ctx), void *ctx);
/* For @ns nobody hears what comes at @fd, which is watched; then it is heard again. */
void loop_rest(Loop *l, int fd, uint64_t ns);
/* No more of @fd; where it is not watched, nothing happens. Not while its own callback is still to
 * use it. */
void loop_unwatch(Loop *l, int fd);
/* Returns after loop_stop(). 0, or -EIO. */
int loop_run(Loop *l);
void loop_stop(Loop *l);

#endif
