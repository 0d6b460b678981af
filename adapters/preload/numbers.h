/* SPDX-License-Identifier: MIT */
/*
 * Numbers of descriptors that the libraries have for a moment: a descriptor that is made gets the
 * lowest free number, and is moved later, or closed. A program that closes or replaces numbers that
 * it has not opened waits meanwhile, and they wait for it. Pure.
 *
 * Nobody waits for long: a library may be loaded from a slow disk, and a close(2) may wait for
 * another host. Then both go on, and take the risk. Safe in signal handlers.
 */
#ifndef DODO_ADAPTERS_PRELOAD_NUMBERS_H
#define DODO_ADAPTERS_PRELOAD_NUMBERS_H

/* So often @nap is called before the wait is given up. */
enum { NUMBERS_MAKER_NAPS = 100, NUMBERS_CLOSER_NAPS = 2500 };

/* The libraries have such a descriptor, from begin to end. Any number of threads may. */
void numbers_make_begin(void (*nap)(void));
void numbers_make_end(void);
/* The program closes numbers. Any number of threads may. */
void numbers_close_begin(void (*nap)(void));
void numbers_close_end(void);
/* In a child of fork(2): no other thread is there. */
void numbers_forget(void);

#endif
