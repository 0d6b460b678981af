/* SPDX-License-Identifier: MIT */
/* Which threads are at work in the library's own state. A thread is inside while it moves its call
 * on; it is outside while it waits for the network, for another call or for a file. So fork() and
 * exit() can close the gate, and then find every socket, session and file between two steps: whole,
 * and with no cipher in use. There is one gate, and it lasts as long as the process.
 *
 * Order of locks: start, pool, the gate, the core's, files, queues, log. */
#ifndef DODO_LIBDODO_GATE_H
#define DODO_LIBDODO_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Waits while the gate is closed. Not nested. */
void gate_enter(void);
void gate_leave(void);
/* Whether the calling thread is inside: then the user's log hook is what runs. */
bool gate_inside(void);

/* From now on no thread gets in. True: and none is inside. False: not so within @wait_ns. */
bool gate_close(uint64_t wait_ns);
void gate_open(void);
/* In the child of a fork, which has one thread: open, whatever it was. */
void gate_reset(void);

#endif
