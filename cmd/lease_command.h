/* SPDX-License-Identifier: MIT */
/* The command that holds the manager's lease, and the process that runs it: a copy of the manager
 * from before it had sockets and keys. The command ends with the manager, however that ends, and
 * when the manager stands still. */
#ifndef DODO_CMD_LEASE_COMMAND_H
#define DODO_CMD_LEASE_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/time.h"
#include "daemon/config.h"

/* The manager shows so often that it runs; after so long without that its command is ended. */
#define LEASE_TICK_NS (1 * NS_PER_S)
#define LEASE_STILL_NS (5 * NS_PER_S)

typedef struct LeaseCommand {
    int fd; /* its end of the channel; -1: there is none */
    pid_t pid;
    uint64_t tick_ns; /* of the next sign that we run */
} LeaseCommand;

enum { LEASE_OUTPUT_MAX = 256 };
enum LeaseEvent {
    LEASE_EVENT_NONE,   /* nothing has come */
    LEASE_EVENT_OUTPUT, /* of the command */
    LEASE_EVENT_ENDED,  /* the command has, or has closed its output */
    LEASE_EVENT_STATUS, /* after that, once it is gone: "exit 1", "signal 9", or why it never ran */
    LEASE_EVENT_BROKEN, /* the process that runs it has: there is no lease any more */
};

/* Whether @text is a command: words, split as a shell splits them, with its quotes and backslashes
 * and nothing else of it; the first is the absolute path of a program. 0, -EINVAL. */
int lease_command_check(const char *text, char error[CONFIG_ERROR_MAX]);
/* The process, which runs nothing yet; before threads, sockets and keys are there. @still_ns:
 * LEASE_STILL_NS, but in tests. 0, -errno. */
int lease_command_open(LeaseCommand *c, const char *text, uint64_t still_ns,
                       char error[CONFIG_ERROR_MAX]);
/* Ends the command, and waits for that. */
void lease_command_close(LeaseCommand *c);
void lease_command_start(const LeaseCommand *c);
void lease_command_end(const LeaseCommand *c);
void lease_command_tick(LeaseCommand *c, uint64_t now_ns);
/* What has come next; its text. */
enum LeaseEvent lease_command_take(const LeaseCommand *c, char text[LEASE_OUTPUT_MAX],
                                   size_t *ret_len);

#endif
