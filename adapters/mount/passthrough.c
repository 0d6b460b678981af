/* SPDX-License-Identifier: MIT */
/* Openings that the kernel serves itself: it reads, writes and maps the directory's own file, and
 * asks this process for nothing of that (FUSE passthrough, Linux 6.10, for root). libfuse 3.14 does
 * not know of it, so two of its answers to the kernel are completed on their way. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "adapters/mount/mount.h"

/* ---- the kernel's interface, which older <linux/fuse.h> lack ----------------------------------
 */

typedef struct BackingMap {
    int32_t fd;
    uint32_t flags;
    uint64_t padding;
} BackingMap;
#define BACKING_OPEN _IOW(229, 1, BackingMap)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

/* What ends the answer to the first request. */
typedef struct InitEnd {
    uint32_t major, minor, max_readahead, flags;
    uint32_t limits[4];
    uint32_t flags2, max_stack_depth;
    uint32_t unused[6];
} InitEnd;
enum { INIT_EXT = 1 << 30, INIT2_PASSTHROUGH = 1 << 5 };
/* The directory's file is on no stacked file system, so that one can be stacked on the mount. */
enum { STACK_DEPTH = 1 };

/* What ends the answer to an opening. */
typedef struct OpenEnd {
    uint64_t handle;
    uint32_t flags;
    int32_t backing_id;
} OpenEnd;
enum { OPEN_PASSTHROUGH = 1 << 7 };

_Static_assert(sizeof(InitEnd) == 64 && sizeof(OpenEnd) == 16, "as in the kernel");

/* ---- answers ------------------------------------------------------------------------------- */

/* What the next answer of this thread is. Initial-exec: found without a call. There is room for a
 * few words in programs that load this later, too, as dodo does. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    enum { OTHER, INIT, OPENING } kind;
    int32_t backing_id;
} next;

static void complete_init(uint8_t *end)
{
    InitEnd e;
    memcpy(&e, end - sizeof e, sizeof e);
    e.flags |= INIT_EXT;
    e.flags2 |= INIT2_PASSTHROUGH;
    e.max_stack_depth = STACK_DEPTH;
    memcpy(end - sizeof e, &e, sizeof e);
}

static void complete_opening(uint8_t *end)
{
    OpenEnd e;
    memcpy(&e, end - sizeof e, sizeof e);
    e.flags |= OPEN_PASSTHROUGH;
    e.backing_id = next.backing_id;
    memcpy(end - sizeof e, &e, sizeof e);
}

/* An answer that is no error is a header and one part. */
static ssize_t send_answer(int fd, struct iovec *iov, int count, void *userdata)
{
    uint8_t body[256];
    (void)userdata;
    size_t len = count == 2 ? iov[1].iov_len : 0, least = sizeof(OpenEnd);
    if (next.kind == INIT)
        least = sizeof(InitEnd);
    if (next.kind == OTHER || len < least || len > sizeof body)
        return writev(fd, iov, count);
    memcpy(body, iov[1].iov_base, len);
    if (next.kind == INIT)
        complete_init(body + len);
    else
        complete_opening(body + len);
    next.kind = OTHER;
    struct iovec whole[2] = {iov[0], {body, len}};
    return writev(fd, whole, 2);
}

static ssize_t receive(int fd, void *buf, size_t len, void *userdata)
{
    (void)userdata;
    return read(fd, buf, len);
}

int passthrough_init(Mount *m)
{
    static const struct fuse_custom_io io = {.writev = send_answer, .read = receive};
    if (geteuid() != 0 || m->options->no_passthrough)
        return 0;
    m->passthrough = true;
    return fuse_session_custom_io(m->session, &io, fuse_session_fd(m->session));
}

void passthrough_offer(const Mount *m)
{
    if (m->passthrough)
        next.kind = INIT;
}

void passthrough_reply_next(const Handle *handle)
{
    next.kind = handle->opening.passed ? OPENING : OTHER;
    next.backing_id = handle->inode->backing_id;
}

/* ---- files --------------------------------------------------------------------------------- */

enum { UNKNOWN = 0, REFUSED = -1 };

/* An older kernel, a user namespace: it will never be. */
static bool is_refused_for_good(int error)
{
    return error == EPERM || error == ENOTTY || error == EINVAL || error == EBADF;
}

/* The kernel's number for the file, or what stands for none. Its descriptor is O_PATH: what the
 * kernel has here does not count as an opening of the file. */
static int32_t backing_open(Mount *m, const Inode *inode)
{
    BackingMap map = {.fd = inode->fd};
    int id = ioctl(fuse_session_fd(m->session), BACKING_OPEN, &map);
    if (id < 0 && is_refused_for_good(errno))
        m->passthrough = false;
    return id > 0 ? id : REFUSED;
}

bool passthrough_is_possible(const Mount *m, const Inode *inode)
{
    return inode->backing_id > 0 || (inode->backing_id == UNKNOWN && m->passthrough);
}

bool passthrough_ready(Mount *m, Inode *inode)
{
    if (inode->backing_id == UNKNOWN)
        inode->backing_id = backing_open(m, inode);
    return inode->backing_id > 0;
}

void passthrough_forget(const Mount *m, const Inode *inode)
{
    uint32_t id = (uint32_t)inode->backing_id;
    if (inode->backing_id > 0)
        (void)ioctl(fuse_session_fd(m->session), BACKING_CLOSE, &id);
}
