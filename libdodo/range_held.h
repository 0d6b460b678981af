/* SPDX-License-Identifier: MIT */
/* What libmanage calls of libdodo beside the public calls. Not for programs: no public header
 * declares it, and its symbol's version is DODO_PRIVATE. */
#ifndef DODO_LIBDODO_RANGE_HELD_H
#define DODO_LIBDODO_RANGE_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <dodo/dodo.h>

/* As dodo_mopen_flags(). The caller holds the lock of the range, and keeps it until the region is
 * closed: it is neither taken nor given up. What the caller will give was read from the file at
 * @since_ns (CLOCK_REALTIME) or later: the region is neither retained nor shared if the file may
 * have changed after that. */
DODO_API int dodo_mopen_held(size_t len, int fd, off_t offset, unsigned flags, uint64_t since_ns);

/* Reads [from, to) of the region from the file, and offers it to its host: nothing comes to the
 * caller. How many bytes were read, from @from on; fewer than asked for: the file ends there, or
 * the network has no time for more now. -1, ENOMEM: the region is not active. */
DODO_API ssize_t dodo_mfill_file(int rd, uint64_t from, uint64_t to);

/* One of several calls: dodo_mreadv(), or where it `fills`, dodo_mfillv(). */
typedef struct DodoEach {
    int rd;
    bool fills;
    const struct iovec *iov;
    int iovcnt;
    off_t offset;
    ssize_t result; /* as that call's */
    int error;      /* errno, where it is -1 */
} DodoEach;
enum { DODO_EACH_MAX = 8 };

/* Makes @count calls beside each other, at most DODO_EACH_MAX, of any regions: what they send goes
 * out at once. No read of the program's waits for them, so it does not poll. @over is called as
 * each ends, in their order, without any lock; it makes no calls of libdodo. */
DODO_API void dodo_each(DodoEach *calls, unsigned count, void (*over)(void *ctx, unsigned i),
                        void *ctx);

/* Around whatever the region cache's threads call of this library: dodo_shutdown() waits for those
 * that are between the two, and they wait for it. Not to be nested. */
DODO_API void dodo_private_enter(void);
DODO_API void dodo_private_leave(void);

/* The process is in exit(3): closes wait for the manager no longer than that may take. */
DODO_API void dodo_private_ends(void);

/* Which blocks of 4 KiB of the region remote memory may hold, a bit each: of those of an earlier
 * run (DODO_RETAIN), what this library can prove. @map: as many words of 64 as the region has; what
 * it does not have is 0. It is a hint: a read tells. 0; -1: there is no such region. */
DODO_API int dodo_mheld(int rd, uint64_t *map);

#endif
