/* SPDX-License-Identifier: MIT */
/* What libmanage says to dodo_mopen_flags() beside the public flags. Not for programs. */
#ifndef DODO_LIBDODO_RANGE_HELD_H
#define DODO_LIBDODO_RANGE_HELD_H

/* The caller holds the lock of the range, and keeps it until the region is closed: it is neither
 * taken nor given up. */
#define DODO_RANGE_HELD 0x40000000u

#endif
