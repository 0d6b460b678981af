/* SPDX-License-Identifier: MIT */
/* The central manager around its core: one socket, one loop. */
#ifndef DODO_CMD_SHELL_H
#define DODO_CMD_SHELL_H

#include "cmd/options.h"

typedef struct Cmd Cmd;

/* Binds the socket. NULL: @error says what to fix. */
Cmd *cmd_new(CmdOptions *options, char error[CONFIG_ERROR_MAX]);
/* Prints the ready line, then serves until SIGTERM or SIGINT. The exit status. */
int cmd_run(Cmd *cmd);
Cmd *cmd_free(Cmd *cmd); /* NULL is fine; returns NULL */

#endif
