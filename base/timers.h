/* SPDX-License-Identifier: MIT */
/* Timers in a binary heap: which one is due next is known at any time. Intrusive: a timer lives in
 * its owner's struct, the heap owns only an array of pointers. Not thread-safe. Pure. */
#ifndef DODO_BASE_TIMERS_H
#define DODO_BASE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Timer {
    uint64_t due_ns;
    size_t at; /* its place in the heap */
} Timer;

/* All zero: empty. */
typedef struct Timers {
    Timer **heap;
    size_t count, room;
} Timers;

/* Frees the array, not the timers. */
void timers_deinit(Timers *t);
/* 0, or -ENOMEM: it was not added. */
int timers_add(Timers *t, Timer *timer, uint64_t due_ns);
/* It is due at another time. */
void timers_move(Timers *t, Timer *timer, uint64_t due_ns);
void timers_remove(Timers *t, Timer *timer);
/* The one that is due first; NULL: there is none. */
Timer *timers_first(const Timers *t);
/* ... its time; TIME_NEVER: there is none. */
uint64_t timers_due(const Timers *t);
/* All of them, by the same. */
void timers_postpone(Timers *t, uint64_t by_ns);
size_t timers_bytes(const Timers *t);
bool timers_check(const Timers *t); /* for tests: the heap is in order */

#endif
