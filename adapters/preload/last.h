/* SPDX-License-Identifier: MIT */
/* The program's last thread. The C library ends a process with its last thread, but those of the
 * libraries never end. Pure. */
#ifndef DODO_ADAPTERS_PRELOAD_LAST_H
#define DODO_ADAPTERS_PRELOAD_LAST_H

#include <stdbool.h>

/* @stat: as /proc/self/stat has it. True: the main thread has ended, and of the others no more than
 * @own are left. */
bool last_has_ended(const char *stat, unsigned own);

#endif
