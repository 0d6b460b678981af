/* SPDX-License-Identifier: MIT */
/* The process that the library was loaded into, or a child of it. */
#ifndef DODO_ADAPTERS_PRELOAD_START_H
#define DODO_ADAPTERS_PRELOAD_START_H

#include <stdbool.h>

/* Of each read, before anything else. False: the library has not begun, and the read is the
 * kernel's. A child that was forked without the C library's hearing of it (clone(2), _Fork(3))
 * forgets here what was its parent's. */
bool start_check(void);

#endif
