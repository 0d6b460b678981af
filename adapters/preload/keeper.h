/* SPDX-License-Identifier: MIT */
/* The thread that hears of those who want to write a file that is held. */
#ifndef DODO_ADAPTERS_PRELOAD_KEEPER_H
#define DODO_ADAPTERS_PRELOAD_KEEPER_H

#include <stdbool.h>

/* Starts it. False: there is none. */
bool keeper_start(void);
/* Takes a lease on @fd, of which the keeper hears when it is broken. 0, -errno. */
int keeper_take(int fd);

#endif
