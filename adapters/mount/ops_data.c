/* SPDX-License-Identifier: MIT */
/* Files: opening, reading, writing. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "adapters/mount/cache.h"
#include "adapters/mount/mount.h"
#include "base/os.h"

/* ---- opening ------------------------------------------------------------------------------- */

static void reply_open(Mount *m, Inode *inode, fuse_req_t req, const struct fuse_file_info *fi)
{
    struct fuse_file_info answer = *fi;
    answer.keep_cache = !handle_of(fi)->opening.passed && fresh_attr_timeout(inode) > 0;
    passthrough_reply_next(handle_of(fi));
    if (fuse_reply_open(req, &answer) < 0) /* interrupted: nobody will release it */
        handle_close(&answer);
}

static void data_open(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
    Mount *m = mount_of(req);
    Inode *inode = mount_inode(m, number);
    int res = handle_open(m, inode, fi->flags, fi);
    room_note(m);
    if (res < 0) {
        (void)fuse_reply_err(req, -res);
        return;
    }
    if (opening_may_be_cached(&handle_of(fi)->opening))
        fresh_try(m, inode);
    fresh_reply(m, inode, req, fi, reply_open);
}

static void data_release(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
    locks_handle_closed(mount_of(req), handle_of(fi));
    handle_close(fi);
    (void)fuse_reply_err(req, 0);
}

/* What a close has to say of what was written; without a descriptor to close, whether it is kept.
 */
static int flush_error(int fd)
{
    int copy = dup(fd);
    int res = copy < 0 ? fdatasync(fd) : close(copy);
    return res < 0 ? errno : 0;
}

static void data_flush(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
    Handle *handle = handle_of(fi);
    handle_flushed(handle);
    int error = handle->opening.writes ? flush_error(handle->fd) : 0;
    locks_owner_closed(mount_of(req), handle->inode, fi->lock_owner);
    (void)fuse_reply_err(req, error);
}

static void data_fsync(fuse_req_t req, fuse_ino_t number, int datasync, struct fuse_file_info *fi)
{
    int fd = handle_of(fi)->fd;
    int res = datasync ? fdatasync(fd) : fsync(fd);
    (void)fuse_reply_err(req, res < 0 ? errno : 0);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A thread's buffer for answers; grows, and goes with the thread. */
static char *buffer(size_t size)
{
    typedef struct Buffer {
        size_t size;
        char data[];
    } Buffer;
    static GPrivate key = G_PRIVATE_INIT(g_free);
    Buffer *b = g_private_get(&key);
    if (!b || b->size < size) {
        b = g_try_malloc(sizeof *b + size);
        if (!b)
            return NULL;
        b->size = size;
        g_private_replace(&key, b);
    }
    return b->data;
}

/* Bytes until @size or the end of the file; or -errno, for any part of it: a short answer would
 * tell the kernel that the file ends there. */
static ssize_t read_file(int fd, char *buf, size_t size, off_t offset)
{
    size_t done = 0;
    os_ask_for_all(fd, (uint64_t)offset, size);
    while (done < size) {
        ssize_t n = pread(fd, buf + done, size - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* The same from the region; -1: the file has to be read. */
static ssize_t read_region(const CachedRegion *region, char *buf, size_t size, off_t offset)
{
    ssize_t n = cache_calls()->cread(region->rd, offset, buf, size);
    return n < 0 ? -1 : n;
}

/* The kernel wants a page of a file that it serves itself, for splice(2) or sendfile(2) from a
 * descriptor whose reads come here. Nothing would drop it when the kernel writes the file. A read
 * for a caller's buffer names that caller. */
static bool wants_stale_page(const Handle *handle, const struct fuse_file_info *fi)
{
    return handle->opening.passed && fi->lock_owner == 0;
}

static void data_read(fuse_req_t req, fuse_ino_t number, size_t size, off_t offset,
                      struct fuse_file_info *fi)
{
    const Handle *handle = handle_of(fi);
    char *buf = buffer(size);
    if (!buf || wants_stale_page(handle, fi)) {
        (void)fuse_reply_err(req, buf ? EINVAL : ENOMEM);
        return;
    }
    Mount *m = mount_of(req);
    uint64_t began_ns = report_begin(m);
    CachedRegion *region = fresh_read_begin(m, handle->inode);
    ssize_t n = region ? read_region(region, buf, size, offset) : -1;
    fresh_read_end(handle->inode, region);
    bool cached = n >= 0;
    if (!cached)
        n = read_file(handle->fd, buf, size, offset);
    report_read(m, handle->inode, handle->fd, cached, n, began_ns);
    if (n < 0)
        (void)fuse_reply_err(req, (int)-n);
    else
        (void)fuse_reply_buf(req, buf, (size_t)n);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Whether a write by another than root takes bits away. The kernel sees to that for all but what
 * goes straight here. */
static bool gives_rights(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID);
}

/* What a program appends goes to the end that the file has by now. */
static void data_write(fuse_req_t req, fuse_ino_t number, const char *buf, size_t size,
                       off_t offset, struct fuse_file_info *fi)
{
    const struct iovec part = {(void *)buf, size}; // NOLINT: it is only read
    const Handle *handle = handle_of(fi);
    bool caller = handle->opening.straight && gives_rights(handle->fd) && caller_begin(req);
    ssize_t n = pwritev2(handle->fd, &part, 1, offset, fi->flags & O_APPEND ? RWF_APPEND : 0);
    int error = errno;
    caller_end(caller);
    if (n < 0)
        (void)fuse_reply_err(req, error);
    else
        fresh_reply_write(mount_of(req), handle, req, (size_t)n);
}

static void data_fallocate(fuse_req_t req, fuse_ino_t number, int mode, off_t offset, off_t length,
                           struct fuse_file_info *fi)
{
    int res = fallocate(handle_of(fi)->fd, mode, offset, length);
    (void)fuse_reply_err(req, res < 0 ? errno : 0);
}

static void data_lseek(fuse_req_t req, fuse_ino_t number, off_t offset, int origin,
                       struct fuse_file_info *fi)
{
    off_t res = lseek(handle_of(fi)->fd, offset, origin);
    if (res < 0)
        (void)fuse_reply_err(req, errno);
    else
        (void)fuse_reply_lseek(req, res);
}

static void data_copy(fuse_req_t req, fuse_ino_t in, off_t in_offset, struct fuse_file_info *in_fi,
                      fuse_ino_t out, off_t out_offset, struct fuse_file_info *out_fi, size_t len,
                      int flags)
{
    ssize_t n = copy_file_range(handle_of(in_fi)->fd, &in_offset, handle_of(out_fi)->fd,
                                &out_offset, len, (unsigned)flags);
    if (n < 0)
        (void)fuse_reply_err(req, errno);
    else
        (void)fuse_reply_write(req, (size_t)n);
}

void ops_data(struct fuse_lowlevel_ops *ops)
{
    ops->open = data_open;
    ops->release = data_release;
    ops->flush = data_flush;
    ops->fsync = data_fsync;
    ops->read = data_read;
    ops->write = data_write;
    ops->fallocate = data_fallocate;
    ops->lseek = data_lseek;
    ops->copy_file_range = data_copy;
}
