/* SPDX-License-Identifier: MIT */
/* Whether this is still the process that the library was loaded into. */
#ifndef DODO_ADAPTERS_PRELOAD_HERE_H
#define DODO_ADAPTERS_PRELOAD_HERE_H

#include <stdbool.h>

/* From here on. */
void here_make(void);
/* False in a child that was forked without the C library's hearing of it (clone(2), _Fork(3)),
 * until it says here_again(). */
bool here_is(void);
void here_again(void);

#endif
