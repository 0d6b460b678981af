/* SPDX-License-Identifier: MIT */
/* What is cached of a file while it is held, and what happens when it is held no more. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "adapters/mount/filesystems.h"
#include "adapters/mount/mount.h"
#include "base/os.h"

static void job_push(Mount *m, Job job)
{
    inodes_ref(m, job.inode);
    jobs_push(m, &job);
}

/* The same file below the mount point, if it still has the name that it had. */
static int mirror_open(const Mount *m, const Inode *inode)
{
    char path[PATH_MAX];
    ssize_t len = readlink(fd_path(inode->fd).text, path, sizeof path - 1);
    size_t above = strlen(m->path);
    if (len <= (ssize_t)above || strncmp(path, m->path, above) != 0)
        return -1;
    path[len] = 0;
    const char *below = path + above;
    below += *below == '/';
    return openat(m->own_root, below, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Makes the kernel ask for the attributes. It ignores answers that pages were dropped beside, and
 * would go on with the size that the file had before. */
static void size_tell(const Mount *m, Inode *inode)
{
    struct statx st;
    if (inode->mirror_fd < 0)
        inode->mirror_fd = mirror_open(m, inode);
    inode->asks = gettid();
    if (inode->mirror_fd >= 0)
        (void)statx(inode->mirror_fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &st);
    inode->asks = 0;
}

static void reply_attr_now(Inode *inode, fuse_req_t req)
{
    struct stat st;
    if (fstat(inode->fd, &st) < 0)
        (void)fuse_reply_err(req, errno);
    else
        (void)fuse_reply_attr(req, &st, fresh_attr_timeout(inode));
}

static void reply_open_now(Mount *m, Inode *inode, fuse_req_t req, const struct fuse_file_info *fi)
{
    struct fuse_file_info answer = *fi;
    answer.keep_cache = fresh_attr_timeout(inode) > 0;
    if (fuse_reply_open(req, &answer) < 0) /* interrupted: nobody will release it */
        handle_close(m, &answer);
}

static void job_reply(Mount *m, const Job *job)
{
    if (m->over)
        fuse_reply_none(job->req);
    else if (job->opens)
        reply_open_now(m, job->inode, job->req, &job->fi);
    else
        reply_attr_now(job->inode, job->req);
}

void fresh_job(Mount *m, const Job *job)
{
    pthread_mutex_lock(&job->inode->gate);
    if (job->drop && !m->over)
        (void)fuse_lowlevel_notify_inval_inode(m->session, mount_number(m, job->inode), 0, 0);
    if (job->req && !m->over)
        size_tell(m, job->inode);
    pthread_mutex_unlock(&job->inode->gate);
    if (job->take) {
        pthread_mutex_lock(&job->inode->lock);
        trust_settle(&job->inode->trust, job->take);
        pthread_mutex_unlock(&job->inode->lock);
    }
    if (job->req)
        job_reply(m, job);
    if (job->region)
        regions_close(job->region);
    inodes_unref(m, job->inode);
}

void fresh_handle_begin(Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    inode->handles++;
    pthread_mutex_unlock(&inode->lock);
}

/* Without handles the kernel shall be free to forget the file. */
void fresh_handle_end(Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    bool last = --inode->handles == 0;
    pthread_mutex_unlock(&inode->lock);
    if (!last || pthread_mutex_trylock(&inode->gate) != 0)
        return;
    if (inode->mirror_fd >= 0)
        (void)close(inode->mirror_fd);
    inode->mirror_fd = -1;
    pthread_mutex_unlock(&inode->gate);
}

/* A lease for @inode, under its lock: 0, -errno. */
static int take(Mount *m, Inode *inode)
{
    if (!m->options->local && !filesystem_is_local(inode->fd))
        return -EINVAL;
    int res = leases_take(m, inode);
    return res;
}

void fresh_try(Mount *m, Inode *inode)
{
    Job job = {.inode = inode, .drop = true};
    bool drop = false;
    if (inode->type != S_IFREG)
        return;
    pthread_mutex_lock(&inode->lock);
    if (!inode->unleasable && trust_wants_lease(&inode->trust, os_now_ns())) {
        int res = take(m, inode);
        if (res == 0)
            drop = trust_take(&inode->trust, &job.take);
        else if (res != -EAGAIN && res != -EMFILE && res != -ENFILE && res != -ENOMEM)
            inode->unleasable = true; /* not our file, or no such file system */
    }
    pthread_mutex_unlock(&inode->lock);
    if (drop)
        job_push(m, job);
}

void fresh_give_up(Mount *m, Inode *inode, bool broken)
{
    Job job = {.inode = inode, .drop = true};
    pthread_mutex_lock(&inode->lock);
    bool held = trust_give_up(&inode->trust, broken, os_now_ns());
    job.region = regions_end(inode);
    pthread_mutex_unlock(&inode->lock);
    if (held) {
        /* Without attributes a read asks for them first, and that drops the pages. So the one who
         * waits for the lease need not wait for requests that are being answered. */
        (void)fuse_lowlevel_notify_inval_inode(m->session, mount_number(m, inode), -1, 0);
        pthread_mutex_lock(&inode->lock);
        leases_release(m, inode);
        pthread_mutex_unlock(&inode->lock);
    }
    if (held || job.region)
        job_push(m, job);
}

void fresh_writer_begin(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    trust_writer_begin(&inode->trust);
    pthread_mutex_unlock(&inode->lock);
    fresh_give_up(m, inode, false);
}

void fresh_writer_end(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    trust_writer_end(&inode->trust);
    pthread_mutex_unlock(&inode->lock);
}

double fresh_attr_timeout(Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    bool held = trust_is_held(&inode->trust);
    pthread_mutex_unlock(&inode->lock);
    return held ? ATTR_HELD_S : 0;
}

/* Our own requests are part of jobs. The kernel tells the thread. */
static bool is_own(const Inode *inode, fuse_req_t req)
{
    return fuse_req_ctx(req)->pid == inode->asks;
}

void fresh_reply_attr(Mount *m, Inode *inode, fuse_req_t req)
{
    pthread_mutex_lock(&inode->lock);
    bool drop = trust_must_drop(&inode->trust) && inode->handles > 0;
    pthread_mutex_unlock(&inode->lock);
    if (drop && !is_own(inode, req))
        job_push(m, (Job){.inode = inode, .drop = true, .req = req});
    else
        reply_attr_now(inode, req);
}

void fresh_reply_open(Mount *m, Inode *inode, fuse_req_t req, const struct fuse_file_info *fi)
{
    pthread_mutex_lock(&inode->lock);
    bool plain = trust_must_drop(&inode->trust);
    pthread_mutex_unlock(&inode->lock);
    if (plain && !is_own(inode, req))
        job_push(m, (Job){.inode = inode, .req = req, .opens = true, .fi = *fi});
    else
        reply_open_now(m, inode, req, fi);
}
