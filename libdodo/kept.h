/* SPDX-License-Identifier: MIT */
/* The checksums of retained regions, from one opening to the next: a file for each, in the user's
 * state directory. A lost record costs reads of the backing file, nothing else: its region's blocks
 * count as unfilled. So nothing here is synced to disk, and no error is reported. Any thread. */
#ifndef DODO_LIBDODO_KEPT_H
#define DODO_LIBDODO_KEPT_H

#include <stddef.h>
#include <sys/types.h>

/* Keeps a CheckRecord of @len bytes in place of any of the same name. 0, or -1: it is not kept. */
ssize_t kept_save(const void *record, size_t len);
/* Reads the record whose name is at the beginning of @record, over @record. Returns its bytes, at
 * most @cap; 0: there is none, or it is longer. */
ssize_t kept_load(void *record, size_t cap);
/* Removes what nobody will ask for again. The first kept_save() of a process does it. */
void kept_sweep(void);

#endif
