/* SPDX-License-Identifier: MIT */
/* rmd at work: the monitor between the looker, the memory, imd and cmd. */
#ifndef DODO_RMD_SHELL_H
#define DODO_RMD_SHELL_H

#include "rmd/input_helper.h"
#include "rmd/monitor.h"
#include "rmd/options.h"

typedef struct Rmd Rmd;

/* @options, which a reload changes, and @input, which may be NULL, are borrowed. NULL: it cannot
 * start, and @error says what to fix. */
Rmd *rmd_new(RmdOptions *options, InputHelper *input, char error[CONFIG_ERROR_MAX]);
/* Until a signal ends it: the exit status. */
int rmd_run(Rmd *rmd);
Rmd *rmd_free(Rmd *rmd); /* NULL is fine; returns NULL */

#endif
