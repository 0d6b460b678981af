/* SPDX-License-Identifier: MIT */
/* The central manager around its core: one socket, one loop. */
#ifndef DODO_CMD_SHELL_H
#define DODO_CMD_SHELL_H

#include "cmd/lease_command.h"
#include "cmd/options.h"

typedef struct Cmd Cmd;

/* Binds the socket. @lease: the command that makes it active is run there; fd -1: it is active at
 * once. Borrowed. NULL: @error says what to fix. */
Cmd *cmd_new(CmdOptions *options, LeaseCommand *lease, char error[CONFIG_ERROR_MAX]);
/* Prints the ready line, then serves until SIGTERM or SIGINT. The exit status. */
int cmd_run(Cmd *cmd);
Cmd *cmd_free(Cmd *cmd); /* NULL is fine; returns NULL */

#endif
