/* SPDX-License-Identifier: MIT */
/* Opens a description of our own of a file that the program has open, and sets locks on it that
 * meet no lock of the program's. For the shells of the libraries. */
#ifndef DODO_BASE_DESCRIPTION_H
#define DODO_BASE_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Of the regular file @fd, for reading and, unless @read_only, for writing: with the program's
 * O_SYNC and O_DSYNC (our writes are as durable as its own), without O_APPEND (it would turn them
 * aside) and O_DIRECT (it would refuse unaligned ones), close-on-exec, and never a standard
 * descriptor (the program may print there). Through /proc; where that is not there or refuses,
 * *ret_shared: a duplicate, for readers only, and only where the flags allow. The lock of a
 * duplicate is also that of the program's descriptor and of all its copies, in children too.
 * The descriptor; -EINVAL: @fd is no regular file open as wanted; -EACCES: it cannot be opened for
 * writing; another -errno of open(2). */
int description_open(int fd, bool read_only, struct stat *ret_stat, bool *ret_shared);

/* Gives the description up, unlocked or shared, so that the program keeps its POSIX locks on the
 * file. It may stay open a while: see parked.h. */
void description_close(int fd, bool shared);

/* Where the locks of ranges begin, so that they meet none of the program's; no file is so long. */
#define DESCRIPTION_LOCK_SHIFT ((uint64_t)1 << 62)

/* Whether a range ends below that; @len is no negative number. */
static inline bool description_holds(uint64_t offset, uint64_t len)
{
    return offset < DESCRIPTION_LOCK_SHIFT && len < DESCRIPTION_LOCK_SHIFT - offset;
}

/* The open-file-description lock, F_RDLCK, F_WRLCK or F_UNLCK, that stands for the file's
 * [@offset, @offset + @len), shifted: one for a region of either library. 0; -EBUSY: another
 * description has it; another -errno. */
int description_lock(int fd, uint64_t offset, uint64_t len, short type);

#endif
