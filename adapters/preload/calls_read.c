/* SPDX-License-Identifier: MIT */
/* The calls that read, by all the names that the C library has for them. */
#include <limits.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "adapters/preload/calls.h"
#include "adapters/preload/reading.h"
#include "adapters/preload/real.h"

static ssize_t do_read(const void *caller, int fd, void *buf, size_t len)
{
    const struct iovec iov = {buf, len};
    Reading r;
    ssize_t n;
    if (reading_try(&r, caller, fd, &iov, 1, AT_POSITION, &n))
        return n;
    n = real_read(fd, buf, len);
    reading_end(&r, n);
    return n;
}

static ssize_t do_pread(const void *caller, int fd, void *buf, size_t len, off_t offset)
{
    const struct iovec iov = {buf, len};
    Reading r;
    ssize_t n;
    if (offset < 0)
        return real_pread(fd, buf, len, offset);
    if (reading_try(&r, caller, fd, &iov, 1, offset, &n))
        return n;
    n = real_pread(fd, buf, len, offset);
    reading_end(&r, n);
    return n;
}

static ssize_t do_readv(const void *caller, int fd, const struct iovec *iov, int count)
{
    Reading r;
    ssize_t n;
    if (count < 0 || count > IOV_MAX)
        return real_readv(fd, iov, count);
    if (reading_try(&r, caller, fd, iov, count, AT_POSITION, &n))
        return n;
    n = real_readv(fd, iov, count);
    reading_end(&r, n);
    return n;
}

static ssize_t do_preadv(const void *caller, int fd, const struct iovec *iov, int count,
                         off_t offset)
{
    Reading r;
    ssize_t n;
    if (offset < 0 || count < 0 || count > IOV_MAX)
        return real_preadv(fd, iov, count, offset);
    if (reading_try(&r, caller, fd, iov, count, offset, &n))
        return n;
    n = real_preadv(fd, iov, count, offset);
    reading_end(&r, n);
    return n;
}

/* Only what asks for nothing special; an offset of -1 is the descriptor's position. */
static ssize_t do_preadv2(const void *caller, int fd, const struct iovec *iov, int count,
                          off_t offset, int flags)
{
    Reading r;
    ssize_t n;
    if (flags != 0 || offset < -1 || count < 0 || count > IOV_MAX)
        return real_preadv2(fd, iov, count, offset, flags);
    if (reading_try(&r, caller, fd, iov, count, offset, &n))
        return n;
    n = real_preadv2(fd, iov, count, offset, flags);
    reading_end(&r, n);
    return n;
}

/* ---- the names --------------------------------------------------------------------------------
 */

_Noreturn void fortify_fail(void) __asm__("__chk_fail"); /* of the C library */

/* A fortified call: the buffer has room for @room bytes. */
static void fortify(size_t len, size_t room)
{
    if (len > room)
        fortify_fail();
}

#define READ(alias, name)                                        \
    ssize_t alias(int fd, void *buf, size_t len) EXPORTED(name); \
    ssize_t alias(int fd, void *buf, size_t len)                 \
    {                                                            \
        return do_read(CALLER, fd, buf, len);                    \
    }
READ(call_read, "read")
READ(call_read_, "__read")

ssize_t call_read_chk(int fd, void *buf, size_t len, size_t room) EXPORTED("__read_chk");
ssize_t call_read_chk(int fd, void *buf, size_t len, size_t room)
{
    fortify(len, room);
    return do_read(CALLER, fd, buf, len);
}

#define PREAD(alias, name)                                                     \
    ssize_t alias(int fd, void *buf, size_t len, off_t offset) EXPORTED(name); \
    ssize_t alias(int fd, void *buf, size_t len, off_t offset)                 \
    {                                                                          \
        return do_pread(CALLER, fd, buf, len, offset);                         \
    }
PREAD(call_pread, "pread")
PREAD(call_pread64, "pread64")
PREAD(call_pread64_, "__pread64")

#define PREAD_CHK(alias, name)                                                              \
    ssize_t alias(int fd, void *buf, size_t len, off_t offset, size_t room) EXPORTED(name); \
    ssize_t alias(int fd, void *buf, size_t len, off_t offset, size_t room)                 \
    {                                                                                       \
        fortify(len, room);                                                                 \
        return do_pread(CALLER, fd, buf, len, offset);                                      \
    }
PREAD_CHK(call_pread_chk, "__pread_chk")
PREAD_CHK(call_pread64_chk, "__pread64_chk")

ssize_t call_readv(int fd, const struct iovec *iov, int count) EXPORTED("readv");
ssize_t call_readv(int fd, const struct iovec *iov, int count)
{
    return do_readv(CALLER, fd, iov, count);
}

#define PREADV(alias, name)                                                                 \
    ssize_t alias(int fd, const struct iovec *iov, int count, off_t offset) EXPORTED(name); \
    ssize_t alias(int fd, const struct iovec *iov, int count, off_t offset)                 \
    {                                                                                       \
        return do_preadv(CALLER, fd, iov, count, offset);                                   \
    }
PREADV(call_preadv, "preadv")
PREADV(call_preadv64, "preadv64")

#define PREADV2(alias, name)                                                           \
    ssize_t alias(int fd, const struct iovec *iov, int count, off_t offset, int flags) \
        EXPORTED(name);                                                                \
    ssize_t alias(int fd, const struct iovec *iov, int count, off_t offset, int flags) \
    {                                                                                  \
        return do_preadv2(CALLER, fd, iov, count, offset, flags);                      \
    }
PREADV2(call_preadv2, "preadv2")
PREADV2(call_preadv64v2, "preadv64v2")
