/* SPDX-License-Identifier: MIT */
/* How a program and its libraries read, as far as their files tell. */
#ifndef DODO_ADAPTERS_RUN_READS_H
#define DODO_ADAPTERS_RUN_READS_H

#include <glib.h>

#include "adapters/run/executable.h"

/* Lines for --check about a program that LD_PRELOAD reaches; NULL: its files do not tell. The
 * caller frees it. */
char *reads_text(const Executable *e);

#endif
