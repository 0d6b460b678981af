/* SPDX-License-Identifier: MIT */
/* What dodo drain calls of libdodo. Not for programs: no public header declares it, and its
 * symbols' version is DODO_PRIVATE. */
#ifndef DODO_LIBDODO_CARRIED_H
#define DODO_LIBDODO_CARRIED_H

#include <stdint.h>

#include <dodo/dodo.h>

/* Opens region @region, which is kept for the next run on the host of @epoch, which is being
 * drained, so that it leaves that host. A descriptor that can only be given to dodo_carried() and
 * dodo_mclose(), which keeps the region for the next run wherever it is then. -1 with errno ENOENT:
 * it is not kept there any more; ENOMEM: no other host has room; EINVAL: the host is not being
 * drained, or the manager does not answer. */
DODO_API int dodo_carry(uint64_t epoch, uint64_t region);
/* Has it left that host? 1; 0: not yet; -1: it is lost, or there is no such region. */
DODO_API int dodo_carried(int rd, uint64_t epoch);

#endif
