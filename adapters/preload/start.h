/* SPDX-License-Identifier: MIT */
/* The process that the library was loaded into, or a child of it. */
#ifndef DODO_ADAPTERS_PRELOAD_START_H
#define DODO_ADAPTERS_PRELOAD_START_H

/* Of each read, before anything else. A child that was forked without the C library's hearing of it
 * (clone(2), _Fork(3)) forgets here what was its parent's. */
void start_check(void);

#endif
