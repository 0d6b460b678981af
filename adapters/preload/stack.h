/* SPDX-License-Identifier: MIT */
/* The stack that this thread's handlers of signals run on, if it has set one apart: it may be just
 * large enough for a handler that calls the kernel. */
#ifndef DODO_ADAPTERS_PRELOAD_STACK_H
#define DODO_ADAPTERS_PRELOAD_STACK_H

#include <stdbool.h>

/* Whether this runs there, and there may be too little room for the region cache. */
bool stack_is_small(void);

#endif
