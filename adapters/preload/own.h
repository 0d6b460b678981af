/* SPDX-License-Identifier: MIT */
/* What in this process belongs to the libraries, and not to the program: descriptors, and code.
 * Thread-safe, and safe in signal handlers. */
#ifndef DODO_ADAPTERS_PRELOAD_OWN_H
#define DODO_ADAPTERS_PRELOAD_OWN_H

#include <stdbool.h>

/* ---- descriptors: the program can neither close nor replace them ---------------------------- */

/* Descriptors of the libraries are at this number or above: half of what the process may have. */
int own_floor(void);
void own_add(int fd);
void own_remove(int fd);
bool own_has(int fd);
/* The lowest one in [@from, @to]; -1: none. */
int own_next(unsigned from, unsigned to);

/* ---- code: calls that it makes are the kernel's ---------------------------------------------- */

/* More than 0 while this thread runs code of the libraries that the program knows nothing of. A
 * signal handler that reads meanwhile must not wait for what the thread holds. */
extern __thread unsigned own_inside __attribute__((tls_model("initial-exec")));

/* The shared object that has @address is the libraries'. A few may be added, one at a time. */
void own_code_add(const void *address);
/* Whether the code at @caller, or what this thread runs, is the libraries'. */
bool own_calls(const void *caller);

#endif
