/* SPDX-License-Identifier: MIT */
/* Whether a handler of the program's runs. It may have interrupted malloc(3), or whatever else
 * holds a lock, which the cache would wait for. Thread-safe, and safe in signal handlers. */
#ifndef DODO_ADAPTERS_PRELOAD_HANDLERS_H
#define DODO_ADAPTERS_PRELOAD_HANDLERS_H

#include <stdbool.h>

/* In this thread. Handlers that the program has set by system calls of its own are not known. */
bool handlers_run(void);

#endif
