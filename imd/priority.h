/* SPDX-License-Identifier: MIT */
/* imd gives way to everything, until the owner waits for his memory: then it hurries. Some kernels
 * group processes by their sessions (autogroups): priorities then count inside a group alone, and
 * the group has a priority of its own. */
#ifndef DODO_IMD_PRIORITY_H
#define DODO_IMD_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

/* The group of this process, if it leads a session, has that @nice from now on while nobody waits;
 * 0: it is left alone. Call it before the process forbids to be dumped: later its own files in
 * /proc belong to root. What the kernel lacks is left out. */
void priority_open(int nice, uint64_t now_ns);
/* The group is as any other's, or has its own nice again. All users but root together may change a
 * group ten times a second: a change that the kernel refuses for now is tried again. */
void priority_group(bool hurry, uint64_t now_ns);
/* When to call priority_expire(); TIME_NEVER: all is as it should be. */
uint64_t priority_due_ns(void);
void priority_expire(uint64_t now_ns);
/* The calling thread leaves the lowest priority, if the kernel allows that: from now on it works
 * for the owner, who waits for his memory. */
void hurry(void);

#endif
