/* SPDX-License-Identifier: MIT */
/* The helper at work: takes requests on a Unix socket, sees who asks, and gives sockets. */
#ifndef DODO_USOCKET_HELPER_SERVER_H
#define DODO_USOCKET_HELPER_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "usocket/helper/grants.h"
#include "usocket/helper/told.h"

enum { SERVER_CLIENTS_MAX = 64, SERVER_LIST_MAX = 1 << 20 };

typedef struct Server {
    const char *interface; /* the only one */
    const char *state;     /* file with what was given, for the next start; NULL: none */
    gid_t group;           /* who is in it may ask */
    unsigned clients;      /* connections that have not asked yet, the oldest first */
    struct pollfd poll[2 + SERVER_CLIENTS_MAX]; /* stop, listener, clients */
    Grants grants;
    Told given, refused, unsaved; /* in the log */
    char list[SERVER_LIST_MAX];   /* the kernel's, of the sockets that there are */
    char later[SERVER_LIST_MAX];
    char text[GRANTS_TEXT_MAX];
} Server;

/* Reads the state. 0; -errno of what cannot be done without: the list of sockets. */
int server_begin(Server *s);
/* Serves @listener until @stop is readable. 0, or -errno. */
int server_run(Server *s, int listener, int stop);
/* Who may ask: root, who runs the helper, and the group. */
bool server_may_ask(const Server *s, int fd, uid_t *ret_uid, pid_t *ret_pid);

#endif
