/* SPDX-License-Identifier: MIT */
/* The backing file of a cached region: the library's own description of it, and a lock on its
 * range. The lock keeps all others away, in this process and in others. libdodo's regions take the
 * same lock, so a range is either cached or mopened, never both. When the region goes to remote
 * memory, dodo_mopen_held() says to libdodo that the cache holds the lock. */
#ifndef DODO_LIBMANAGE_BACKING_H
#define DODO_LIBMANAGE_BACKING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef struct Backing Backing;

/* 0; -EINVAL: no regular file open as wanted, or a range that no file has; -EBUSY: the range is
 * part of an open region; -EACCES: to be written, but it cannot be opened again; -ENOMEM; another
 * -errno of open(2). */
int backing_open(int fd, uint64_t offset, uint64_t len, bool read_only, Backing **ret);
void backing_close(Backing *b);
int backing_fd(const Backing *b);
void backing_id(const Backing *b, dev_t *ret_device, ino_t *ret_inode);
uint64_t backing_offset(const Backing *b);
/* When it was opened, by CLOCK_REALTIME: nothing was read from it before. 0: of what was read
 * since, nothing is known for later runs: somebody had the file open for writing, or there are no
 * leases. */
uint64_t backing_since_ns(const Backing *b);

/* All at @offset of the region. Whole, or to the file's end: bytes, or -errno. */
ssize_t backing_read(const Backing *b, const struct iovec *iov, int count, uint64_t offset);
/* One pread(2), whatever it returns, and no cancellation point: for reads that must cost little
 * more. */
ssize_t backing_pread(const Backing *b, void *buf, size_t len, uint64_t offset);
/* The kernel begins to read that. */
void backing_ask(const Backing *b, uint64_t offset, uint64_t len);
/* Has the kernel all of that in memory? It asks no drive. False where it cannot tell: only kernels
 * since 6.5 can (cachestat(2)). */
bool backing_held(const Backing *b, uint64_t offset, size_t len);
bool backing_can_tell(void);
/* posix_fadvise(2), for what reads the file: all regions of it in this process. */
void backing_advise(const Backing *b, uint64_t offset, uint64_t len, int advice);
/* Whole, or as much as the file takes: bytes, or -errno when it took nothing. *ret_error: the errno
 * that ended it early, or 0. */
ssize_t backing_write(Backing *b, const struct iovec *iov, int count, uint64_t offset,
                      int *ret_error);
int backing_sync(Backing *b);     /* 0, -errno */
int64_t backing_size(Backing *b); /* of the region, how many bytes the file has; -errno */

/* For fork: none is being opened or closed meanwhile; in the child, locked: all are closed. */
void backing_lock_all(void);
void backing_unlock_all(void);
void backing_abandon_all(void);

#endif
