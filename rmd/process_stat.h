/* SPDX-License-Identifier: MIT */
/* What the kernel tells of a process. */
#ifndef DODO_RMD_PROCESS_STAT_H
#define DODO_RMD_PROCESS_STAT_H

#include <stdbool.h>

enum { PROCESS_NAME_BYTES = 64 };

/* Its name, and the process that started it or took it over. False: it is gone, or cannot be read.
 * @proc: "/proc". */
bool process_stat(const char *proc, int pid, char name[PROCESS_NAME_BYTES], int *ret_parent);

#endif
