/* SPDX-License-Identifier: MIT */
/* What subcommands that ask a daemon share: their common options, and a blocking conversation
 * with one peer. */
#ifndef DODO_TOOLS_CLIENT_H
#define DODO_TOOLS_CLIENT_H

#include "base/resolve.h"
#include "daemon/start.h"
#include "proto/request.h"
#include "usocket/port.h"

typedef struct ToolOptions {
    CommonOptions common; /* first */
    uint64_t timeout_ns;
    uint64_t count;          /* ping */
    bool json;               /* status, check, events */
    bool once;               /* top */
    bool follow;             /* events */
    const ClusterKeys *keys; /* instead of those of the key file; NULL: those; borrowed */
    Addr local;              /* where to ask from; kind ADDR_NONE: from anywhere */
} ToolOptions;
extern const ConfigTable tool_timeout; /* --timeout */
void tool_options_init(ToolOptions *o);

/* What may end a wait for an answer. */
typedef struct ToolWatch {
    int fd;                  /* looked at while it waits; -1: none */
    bool (*ends)(void *ctx); /* @fd is readable, or gone: is the wait to end? */
    void *ctx;
} ToolWatch;

typedef struct ToolClient {
    Port port;
    Session *session;
    Addr peer;
    uint64_t timeout_ns;
    Numbers ids;
    Request request; /* under way, or answered */
    uint64_t pong;   /* nonce of the last PONG */
    uint64_t pong_epoch;
    uint64_t up_ns;   /* when the session came up; 0: it has not */
    ToolWatch *watch; /* NULL: nothing but an answer ends a wait; borrowed */
    bool ended;       /* by it */
    Id128 lister;     /* who has answered the last page of a list */
} ToolClient;

/* A port of a tool's, for up to @sessions sessions that it begins, with @peer among the peers. 0;
 * -errno, and @error says what to fix. */
int tool_port_open(Port *p, const ToolOptions *o, const Addr *peer, unsigned sessions,
                   const PortOps *ops, void *ctx, char error[CONFIG_ERROR_MAX]);
/* Connects to @peer; returns when the session is up. This wait and all that follow end early, with
 * -ECANCELED, where @watch, if it is not NULL, ends them. 0; -errno, and @error says what to fix.
 */
int tool_client_open(ToolClient *c, const ToolOptions *o, const Addr *peer, ToolWatch *watch,
                     char error[CONFIG_ERROR_MAX]);
/* Where @text, names and addresses, is; it is waited for. 0; -EINVAL: that is no such text;
 * -ENOENT, and @error says what to fix. */
int tool_find(const char *text, uint16_t default_port, Resolved *ret, char error[CONFIG_ERROR_MAX]);
/* So of a host, whose daemons serve at an address of either family, whatever is its name's first.
 */
int tool_find_host(const char *text, uint16_t default_port, Resolved *ret,
                   char error[CONFIG_ERROR_MAX]);
/* The session is with a manager that stands by: it serves tools, and knows of no host. */
bool tool_client_stands_by(const ToolClient *c);
/* Connects to the first of them that answers and does not stand by: each has half a second, and if
 * none does its part of the time. Where all that answer stand by, to the last of those. @watch: see
 * above. */
int tool_client_open_any(ToolClient *c, const ToolOptions *o, const Resolved *peers,
                         ToolWatch *watch, char error[CONFIG_ERROR_MAX]);
/* 0; -EPROTO: the peer is another daemon, not the manager, as @error says. */
int tool_client_must_be_manager(const ToolClient *c, char error[CONFIG_ERROR_MAX]);
/* To the manager that the options name. -EPROTO: see above. */
int tool_client_open_manager(ToolClient *c, const ToolOptions *o, ToolWatch *watch,
                             char error[CONFIG_ERROR_MAX]);
void tool_client_close(ToolClient *c); /* also of a zeroed one */
/* The answer is in c->request. 0; -errno, and @error says what to fix. */
int tool_client_ask(ToolClient *c, uint16_t op, const uint8_t *body, size_t len,
                    char error[CONFIG_ERROR_MAX]);
/* The same for a page of a manager's list, its first one or a later one. -ESTALE: the manager has
 * started again since the page before, so that they are not of one list. */
int tool_client_ask_page(ToolClient *c, uint16_t op, bool first, const uint8_t *body, size_t len,
                         char error[CONFIG_ERROR_MAX]);
/* One round trip. */
int tool_client_ping(ToolClient *c, uint64_t *ret_ns, char error[CONFIG_ERROR_MAX]);

#endif
