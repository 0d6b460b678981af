/* SPDX-License-Identifier: MIT */
/* The backing file of a region: the library's own description of it, locked. The kernel of the
 * client's host decides who may open, not the manager. The lock is an open-file-description lock on
 * the range, shifted by 2^62 so that it meets no lock of the program's. */
#ifndef DODO_LIBDODO_FILE_H
#define DODO_LIBDODO_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libdodo/core.h"

typedef struct File File;

/* 0 and *ret_given (its file is a File); -EINVAL: no regular file open as the flags need; -EBUSY:
 * the range is part of an open region; another -errno of open(2) or fcntl(2).
 * @held: the caller has the range's lock; it is neither taken nor given up.
 * @honest: f_type of file systems beyond those known to keep honest stamps. */
int file_open(int fd, uint64_t offset, uint64_t len, bool read_only, bool held,
              const int64_t *honest, unsigned honest_count, FileGiven *ret_given);
/* For DODO_RETAIN: the key that @given's file has for this user, the same in each process until the
 * host starts again; and the state of a lease, and then the stamp. Otherwise the key is random, and
 * finds nothing. If the user's secret cannot be used, the file is not retainable, and *why is a
 * line for the log; else *why is empty. */
void file_identify(FileGiven *given, char *why, size_t cap);
/* Unlocks, if the lock is its own, and closes. */
void file_close(File *f);
/* For fork: no file is being opened or closed in between. */
void file_lock_all(void);
void file_unlock_all(void);
/* In the child of a fork, locked: closes and frees them without unlocking their ranges, for those
 * locks are the parent's. */
void file_abandon_all(void);

/* Whole, or to the file's end. */
void file_read(File *f, void *buf, size_t len, uint64_t offset, FileResult *ret);
void file_write(File *f, const void *buf, size_t len, uint64_t offset, FileResult *ret);
void file_sync(File *f, FileResult *ret);
/* Asks for a lease first, which is given back immediately. No signal comes from it. */
void file_stamp(File *f, FileResult *ret);

#endif
