/* SPDX-License-Identifier: MIT */
/* The idle memory daemon around its cores: the pool, the data threads, and the control thread
 * that talks to cmd. */
#ifndef DODO_IMD_SHELL_H
#define DODO_IMD_SHELL_H

#include "imd/options.h"

typedef struct Imd Imd;

/* Takes the pool, binds all sockets, starts the data threads. NULL: @error says what to fix. */
Imd *imd_new(ImdOptions *options, char error[CONFIG_ERROR_MAX]);
/* Prints the ready line, then serves until SIGTERM or SIGINT and the good-byes. The exit status. */
int imd_run(Imd *imd);
Imd *imd_free(Imd *imd); /* NULL is fine; returns NULL */

#endif
