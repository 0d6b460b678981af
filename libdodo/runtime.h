/* SPDX-License-Identifier: MIT */
/* The library's shell: blocking calls around the core. Sockets, clock, threads, fork and exit are
 * here; no decision is. */
#ifndef DODO_LIBDODO_RUNTIME_H
#define DODO_LIBDODO_RUNTIME_H

#include "libdodo/core.h"
#include "libdodo/settings.h"

typedef struct Runtime Runtime;

/* The process's runtime, made if need be. 0; -errno with the reason set. */
int runtime_get(Runtime **ret);
/* The same if it is there already, else NULL. */
Runtime *runtime_peek(void);
/* Its thread runs, started if need be: before a region is opened. Not inside the gate. 0; -errno
 * with the reason set. */
int runtime_serve(Runtime *rt);
/* Ends it: closes all regions, says good-bye. 0, or -EINVAL: the manager was not informed. No other
 * thread may be in the library. In exit() it has happened already, as far as it can. */
int runtime_stop(void);
/* The process is in exit(3): closes wait for the manager no longer than that may take. */
void runtime_ends(void);
/* The process is in exit(): all hosts are silent, and no cipher may be used. */
bool runtime_ended(const Runtime *rt);

const Settings *runtime_settings(const Runtime *rt);
Client *runtime_client(Runtime *rt);

/* A channel for one call at a time. Without a socket or memory for another, it waits until
 * a call in progress gives its own back. The thread is inside the gate in between. */
typedef struct Link Link;
Link *runtime_link_take(Runtime *rt);
void runtime_link_give(Runtime *rt, Link *link);
/* One of the caller's own, for @calls_max calls at once; inside the gate. NULL: no socket or
 * memory, or the process is in exit(). To be given back with link_free(), see link.h. */
Link *runtime_link_new(Runtime *rt, unsigned calls_max);
/* Runs a call that was started on the link's channel to its end. */
void runtime_run(Runtime *rt, Link *link, Call *call);

/* This thread's text for dodo_last_error(). @text is static or copied. */
void reason_set(const char *text);
void reason_set_copy(const char *text);
const char *reason_get(void);

/* The log: DODO_LOG's stderr, and the user's hook. */
void log_line(int level, const char *said);
bool log_wanted(int level); /* does anybody read it? */
void log_set(void (*fn)(void *ctx, int level, const char *text), void *ctx);
void log_environment(void);
/* For fork. */
void log_lock_all(void);
void log_unlock_all(void);

#endif
