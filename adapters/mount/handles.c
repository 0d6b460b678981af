/* SPDX-License-Identifier: MIT */
/* What the kernel has opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "adapters/mount/mount.h"
#include "base/os.h"
#include "base/time.h"

/* How long the kernel's release of what a program has closed may take to come here, where all
 * processors are busy. */
enum { RELEASE_MS = 100 };

/* O_TRUNC comes by itself, as a size that is set. */
bool handle_is_for_writing(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY;
}

/* Where a lease is granted, no mapping can be stored to any more. Under @inode's lock. */
static Opening opening_begin(Mount *m, Inode *inode, int fd, int flags)
{
    bool possible = passthrough_is_possible(m, inode);
    OpeningAsk ask = {.reads = (flags & O_ACCMODE) != O_WRONLY,
                      .writes = handle_is_for_writing(flags),
                      .changeable = flags & (O_APPEND | O_DIRECT)};
    ask.cacheable = possible && !ask.writes && regions_may_have(m, inode, fd);
    if (ask.cacheable && inode->openings.stored)
        fresh_try_locked(m, inode);
    bool passed =
        possible && openings_want_passed(&inode->openings, &ask) && passthrough_ready(m, inode);
    return openings_add(&inode->openings, &ask, passed);
}

/* A close(2) tells of the descriptor at once, and that it was the last one a moment later. */
void handle_flushed(Handle *handle)
{
    pthread_mutex_lock(&handle->inode->lock);
    handle->flushed = true;
    pthread_mutex_unlock(&handle->inode->lock);
}

static bool are_all_flushed(const Inode *inode)
{
    for (const ListNode *n = inode->handles.next; n != &inode->handles; n = n->next)
        if (!CONTAINER_OF(n, Handle, node)->flushed)
            return false;
    return true;
}

/* Openings that are closed shall not keep the kernel from mapping what is opened now. They may be
 * open elsewhere, in a fork or as a mapping: then the one who comes first waits in vain, and others
 * do not wait until a descriptor is closed again. Under the lock, which is given back meanwhile. */
static void await_closed(const Mount *m, Inode *inode, int flags)
{
    if ((flags & O_ACCMODE) != O_RDWR || !passthrough_is_possible(m, inode))
        return;
    const struct timespec until = time_to_timespec(os_now_ns() + RELEASE_MS * NS_PER_MS);
    int res = 0;
    while (res == 0 && inode->openings.unpassed > 0 && are_all_flushed(inode))
        res = pthread_cond_clockwait(&inode->released, &inode->lock, CLOCK_MONOTONIC, &until);
    for (ListNode *n = inode->handles.next; res != 0 && n != &inode->handles; n = n->next)
        CONTAINER_OF(n, Handle, node)->flushed = false;
}

/* @fd is taken. */
static int handle_make(Mount *m, Inode *inode, int fd, struct fuse_file_info *fi)
{
    Handle *handle = malloc(sizeof *handle);
    if (!handle) {
        (void)close(fd);
        return -ENOMEM;
    }
    *handle = (Handle){.inode = inode, .fd = fd};
    pthread_mutex_lock(&inode->lock);
    await_closed(m, inode, fi->flags);
    handle->opening = opening_begin(m, inode, fd, fi->flags);
    list_push_back(&inode->handles, &handle->node);
    pthread_mutex_unlock(&inode->lock);
    fi->fh = (uint64_t)(uintptr_t)handle;
    fi->direct_io = handle->opening.straight;
    if (handle->opening.passed && !handle->opening.straight)
        report_passed(m, inode, fd);
    return 0;
}

int handle_adopt(Mount *m, Inode *inode, int fd, struct fuse_file_info *fi)
{
    fresh_writer_begin(m, inode);
    int res = handle_make(m, inode, fd, fi);
    if (res < 0)
        fresh_writer_end(inode);
    return res;
}

int handle_direct_done(int fd, int flags)
{
    if (fd >= 0 && flags & O_DIRECT)
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT);
    return fd;
}

/* data_write() does what O_APPEND means. */
enum { NOT_FOR_US = O_NOFOLLOW | O_CREAT | O_EXCL | O_APPEND };

int handle_open(Mount *m, Inode *inode, int flags, struct fuse_file_info *fi)
{
    bool writes = handle_is_for_writing(flags);
    if (writes)
        fresh_writer_begin(m, inode);
    int fd =
        handle_direct_done(open(fd_path(inode->fd).text, (flags & ~NOT_FOR_US) | O_CLOEXEC), flags);
    if (fd >= 0)
        mount_number_given(m, fd);
    int res = fd < 0 ? -errno : handle_make(m, inode, fd, fi);
    if (res < 0 && writes)
        fresh_writer_end(inode);
    return res;
}

void handle_close(const struct fuse_file_info *fi)
{
    Handle *handle = handle_of(fi);
    Inode *inode = handle->inode;
    (void)close(handle->fd);
    if (handle->opening.writes)
        fresh_writer_end(inode);
    pthread_mutex_lock(&inode->lock);
    list_remove(&handle->node);
    openings_remove(&inode->openings, &handle->opening);
    pthread_cond_broadcast(&inode->released);
    bool last = list_empty(&inode->handles);
    pthread_mutex_unlock(&inode->lock);
    free(handle);
    if (last)
        fresh_all_closed(inode);
}

void handles_forget(Inode *inode)
{
    for (ListNode *n = inode->handles.next, *next; n != &inode->handles; n = next) {
        Handle *handle = CONTAINER_OF(n, Handle, node);
        next = n->next;
        (void)close(handle->fd);
        free(handle);
    }
}
