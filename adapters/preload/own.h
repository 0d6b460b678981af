/* SPDX-License-Identifier: MIT */
/* What in this process belongs to the libraries, and not to the program: descriptors, and code.
 * Thread-safe, and safe in signal handlers. */
#ifndef DODO_ADAPTERS_PRELOAD_OWN_H
#define DODO_ADAPTERS_PRELOAD_OWN_H

#include <signal.h>
#include <stdbool.h>

/* ---- descriptors: the program can neither close nor replace them ---------------------------- */

void own_remove(int fd);
bool own_has(int fd);
/* The lowest one in [@from, @to]; -1: none. */
int own_next(unsigned from, unsigned to);

/* How many threads the libraries have. */
unsigned own_threads(void);
/* Where those are that the libraries make. */
struct OsDescriptors;
const struct OsDescriptors *own_place(void);
/* The program is about to close or replace numbers, from begin to end: none of them is one that the
 * libraries have for a moment. Not for calls of theirs. */
void own_close_begin(void);
void own_close_end(void);
/* In a child of fork(2). */
void own_forget(void);

/* ---- code: calls that it makes are the kernel's ---------------------------------------------- */

typedef struct OwnBefore {
    sigset_t signals;
    int cancel_type;
} OwnBefore;
/* This thread runs code of the libraries, until own_end() gets what own_begin() has written. As
 * while the kernel reads a file, no handler of a signal runs meanwhile, which might wait for what
 * the thread holds, or leave by longjmp(3), and the thread is not cancelled in the midst of it.
 * Signals that the thread causes by itself stay. */
void own_begin(OwnBefore *before);
void own_end(const OwnBefore *before);
/* This thread will run nothing else. */
void own_thread(void);

/* The shared object that has @address is the libraries'. A few may be added, one at a time. */
void own_code_add(const void *address);
/* Whether the code at @caller, or what this thread runs, is the libraries'. */
bool own_calls(const void *caller);

#endif
