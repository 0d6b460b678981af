/* SPDX-License-Identifier: MIT */
/* What the kernel has opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "adapters/mount/mount.h"
#include "base/time.h"

/* O_TRUNC comes by itself, as a size that is set. */
bool handle_is_for_writing(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY;
}

/* The kernel keeps pages of what is read and written by it. */
static bool handle_is_paged(const Handle *handle)
{
    return !handle->straight && !handle->passed;
}

/* A mapping of the file itself outlives the descriptor that it was made with. Under the lock. */
static bool may_be_stored_to(Mount *m, Inode *inode)
{
    if (inode->stored)
        fresh_try_locked(m, inode);
    return inode->stored;
}

/* What is opened for writing is not cached, so the kernel may serve it itself: its shared mappings
 * are then those of the directory's file. Where the kernel cannot, and keeps pages of what is read
 * and written, a mapping that can be stored to would have pages of its own, and would be written
 * back page by page, over what others have stored in the same pages meanwhile. So the kernel shall
 * keep nothing of what is opened for both; its shared mappings fail (ENODEV).
 *
 * While the kernel serves one opening of a file itself, it has to do so with all: it refuses to mix
 * that with pages of its own. Those that go straight count as such, too, for their private mappings
 * and what sendfile(2) reads have pages, which nothing drops when the kernel writes the file. So a
 * file that may be cached is not, for one who opens it beside those, or beside their mappings.
 *
 * Reads and writes of some come here nevertheless: those of descriptors with flags that fcntl(2)
 * may take away, as the kernel goes by the flags of the opening. Under @inode's lock. */
static void handle_choose_way(Mount *m, Inode *inode, int flags, Handle *handle)
{
    bool cacheable =
        !handle->writes && regions_may_have(m, inode, handle->fd) && !may_be_stored_to(m, inode);
    handle->passed = (!cacheable || inode->passed > 0) && passthrough_begin(m, inode);
    handle->straight =
        handle->passed ? flags & (O_APPEND | O_DIRECT) : (flags & O_ACCMODE) == O_RDWR;
    inode->unpassed += !handle->passed;
    inode->stored |= handle->passed && handle->writes;
    inode->readers += handle_is_paged(handle) && !handle->writes;
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
 * open elsewhere, in a fork or as a mapping, so this takes some milliseconds at most. Under the
 * lock, which is given back meanwhile. */
static void await_closed(Mount *m, Inode *inode, int flags)
{
    enum { TRIES = 50 };
    const struct timespec moment = {.tv_nsec = NS_PER_MS / 10};
    if ((flags & O_ACCMODE) != O_RDWR || !m->passthrough || inode->backing_id < 0)
        return;
    for (unsigned i = 0; i < TRIES && inode->unpassed > 0 && are_all_flushed(inode); i++) {
        pthread_mutex_unlock(&inode->lock);
        (void)nanosleep(&moment, NULL);
        pthread_mutex_lock(&inode->lock);
    }
}

/* @fd is taken. */
static int handle_make(Mount *m, Inode *inode, int fd, bool writes, struct fuse_file_info *fi)
{
    Handle *handle = malloc(sizeof *handle);
    if (!handle) {
        (void)close(fd);
        return -ENOMEM;
    }
    *handle = (Handle){.inode = inode, .fd = fd, .writes = writes};
    pthread_mutex_lock(&inode->lock);
    await_closed(m, inode, fi->flags);
    handle_choose_way(m, inode, fi->flags, handle);
    list_push_back(&inode->handles, &handle->node);
    pthread_mutex_unlock(&inode->lock);
    fi->fh = (uint64_t)(uintptr_t)handle;
    fi->direct_io = handle->straight;
    if (handle->passed && !handle->straight)
        report_passed(m, inode, fd);
    return 0;
}

int handle_adopt(Mount *m, Inode *inode, int fd, struct fuse_file_info *fi)
{
    fresh_writer_begin(m, inode);
    int res = handle_make(m, inode, fd, true, fi);
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
    int res = fd < 0 ? -errno : handle_make(m, inode, fd, writes, fi);
    if (res < 0 && writes)
        fresh_writer_end(inode);
    return res;
}

void handle_close(const struct fuse_file_info *fi)
{
    Handle *handle = handle_of(fi);
    Inode *inode = handle->inode;
    (void)close(handle->fd);
    if (handle->writes)
        fresh_writer_end(inode);
    pthread_mutex_lock(&inode->lock);
    list_remove(&handle->node);
    inode->unpassed -= !handle->passed;
    inode->readers -= handle_is_paged(handle) && !handle->writes;
    if (handle->passed)
        passthrough_end(inode);
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
