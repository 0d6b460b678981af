/* SPDX-License-Identifier: MIT */
/* Where the kernel would write for a program, and we do. */
#ifndef DODO_ADAPTERS_PRELOAD_WRITABLE_H
#define DODO_ADAPTERS_PRELOAD_WRITABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the program may write to all of the @len bytes at @at. What they hold afterwards is
 * unspecified, what lies beside them stays. True also where the kernel does not tell, which is of
 * less than 8 bytes before Linux 5.14. Sets errno. */
bool writable(void *at, size_t len);

#endif
