/* SPDX-License-Identifier: MIT */
/* Reads of large files, from the region cache where the file is held. */
#ifndef DODO_ADAPTERS_PRELOAD_READING_H
#define DODO_ADAPTERS_PRELOAD_READING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "adapters/preload/files.h"

#define AT_POSITION (-1) /* for Reading.offset: where the descriptor stands, which moves on */

/* One read: begun by reading_try(), which may have done it all. */
typedef struct Reading {
    File *file; /* NULL: nothing is noted of it */
    uint64_t began_ns, watched_ns;
    long slept;
    unsigned weight;
} Reading;

/* What the program reads, which calls from @caller: true if it is done, with *@ret bytes. Otherwise
 * the kernel is to do it, between reading_try() and reading_end(). */
bool reading_try(Reading *r, const void *caller, int fd, const struct iovec *iov, int count,
                 off_t offset, ssize_t *ret);
/* The kernel has read @n bytes, or less than 0. Leaves errno as it is. */
void reading_end(const Reading *r, ssize_t n);

#endif
