/* SPDX-License-Identifier: MIT */
/* imd gives way to everything, until the owner waits for his memory: then it hurries. Where the
 * kernel groups processes by their sessions (autogroups), priorities count inside such a group
 * alone, and the group has one of its own. */
#ifndef DODO_IMD_PRIORITY_H
#define DODO_IMD_PRIORITY_H

#include <stdbool.h>

/* Before the process forbids to be dumped: later its own files of /proc would be root's. What is
 * not there is done without. */
void priority_open(void);
/* The group of this process is as any other's, or again as it was at priority_open(). */
void priority_group(bool hurry);
/* The calling thread runs no longer at the lowest priority, where that may be had back: from now on
 * it works for the owner, who waits for his memory. */
void hurry(void);

#endif
