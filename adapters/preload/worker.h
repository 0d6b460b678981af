/* SPDX-License-Identifier: MIT */
/* The thread that opens and closes regions. */
#ifndef DODO_ADAPTERS_PRELOAD_WORKER_H
#define DODO_ADAPTERS_PRELOAD_WORKER_H

#include <stdbool.h>

/* Starts it, and the keeper, for the first file that is wanted. Where there are none, no file is
 * ever held. */
void worker_start(void);
/* The child of a fork has none. @for_good: nor will it have one. */
void worker_forget(bool for_good);

#endif
