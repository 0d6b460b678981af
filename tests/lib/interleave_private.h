/* SPDX-License-Identifier: MIT */
/* Between the explorer, which decides who goes on, and its memory. */
#ifndef DODO_TESTS_LIB_INTERLEAVE_PRIVATE_H
#define DODO_TESTS_LIB_INTERLEAVE_PRIVATE_H

#include "tests/lib/interleave.h"

enum { NOBODY = -1 };

/* When a thread's stores that are not sequentially consistent are seen. */
enum Lateness {
    STORES_NOW,
    STORES_LATE, /* as late as may be */
    STORES_ANY   /* the schedule says when */
};

/* The thread that runs, or NOBODY: the scenario begins or ends. */
int explorer_self(void);
unsigned explorer_breaks(void);
enum Lateness explorer_lateness(void);
/* Some thread stores what may be seen late. */
void explorer_late(void);
/* The thread is about to do that; another one may go on first. @pc: where in the code. */
void explorer_point(const char *what, const void *at, const void *pc);

/* Nothing is allocated, stored late or being copied. */
void memory_reset(void);
/* [at, at + n) is the thread's to touch, or the schedule fails. */
void memory_check(const void *at, size_t n, const char *what);
bool memory_has_late(int thread);
/* What it stored is seen: all, or the oldest of it. */
void memory_drain(int thread);
void memory_drain_one(int thread);

#endif
