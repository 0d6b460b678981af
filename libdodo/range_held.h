/* SPDX-License-Identifier: MIT */
/* What libmanage calls of libdodo beside the public calls. Not for programs: no public header
 * declares it, and its symbol's version is DODO_PRIVATE. */
#ifndef DODO_LIBDODO_RANGE_HELD_H
#define DODO_LIBDODO_RANGE_HELD_H

#include <dodo/dodo.h>

/* As dodo_mopen_flags(). The caller holds the lock of the range, and keeps it until the region is
 * closed: it is neither taken nor given up. */
DODO_API int dodo_mopen_held(size_t len, int fd, off_t offset, unsigned flags);

#endif
