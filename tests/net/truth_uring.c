/* SPDX-License-Identifier: MIT */
/* One request at a time, by the system calls alone. */
#include "tests/net/truth_uring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES = 4 };

static struct {
    int fd;
    struct io_uring_params params;
    unsigned char *requests, *results; /* the rings of both */
    struct io_uring_sqe *entries;
} ring;

static void *map(size_t len, off_t what)
{
    return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, what);
}

bool uring_start(void)
{
    struct io_uring_params *p = &ring.params;
    ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, p);
    if (ring.fd < 0)
        return false;
    ring.requests = map(p->sq_off.array + p->sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    ring.results =
        map(p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    ring.entries = map(p->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
    return ring.requests != MAP_FAILED && ring.results != MAP_FAILED &&
           (void *)ring.entries != MAP_FAILED;
}

static atomic_uint *number(unsigned char *of, uint32_t at)
{
    return (atomic_uint *)(void *)(of + at);
}

/* Its result. */
static int request(const struct io_uring_sqe *wanted)
{
    const struct io_uring_params *p = &ring.params;
    atomic_uint *tail = number(ring.requests, p->sq_off.tail),
                *head = number(ring.results, p->cq_off.head);
    unsigned at = *tail & (p->sq_entries - 1);
    ring.entries[at] = *wanted;
    *number(ring.requests, p->sq_off.array + at * (uint32_t)sizeof(uint32_t)) = at;
    *tail = *tail + 1;
    while (*number(ring.results, p->cq_off.tail) == *head)
        if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
            errno != EINTR)
            return -errno;
    const struct io_uring_cqe *all = (const void *)(ring.results + p->cq_off.cqes);
    int result = all[*head & (p->cq_entries - 1)].res;
    *head = *head + 1;
    return result;
}

int uring_open(const char *path, int flags)
{
    return request(&(struct io_uring_sqe){.opcode = IORING_OP_OPENAT,
                                          .fd = AT_FDCWD,
                                          .addr = (uintptr_t)path,
                                          .open_flags = (uint32_t)flags});
}

ssize_t uring_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    return request(&(struct io_uring_sqe){.opcode = IORING_OP_WRITE,
                                          .fd = fd,
                                          .addr = (uintptr_t)buf,
                                          .len = (uint32_t)len,
                                          .off = (uint64_t)at});
}

int uring_close(int fd)
{
    return request(&(struct io_uring_sqe){.opcode = IORING_OP_CLOSE, .fd = fd});
}
