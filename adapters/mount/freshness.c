/* SPDX-License-Identifier: MIT */
/* What is cached of a file while it is held, and what happens when it is held no more. */
#include <errno.h>
#include <unistd.h>

#include "adapters/mount/filesystems.h"
#include "adapters/mount/mount.h"
#include "base/os.h"

/* The kernel's pages of an inode go. That waits for requests for these pages, which other threads
 * answer; so no thread that answers requests does it itself. */
typedef struct Job {
    Inode *inode;
    fuse_req_t req; /* for attributes, answered afterwards; NULL: none */
    struct stat st;
    uint64_t take;        /* the lease that has been taken; 0: none */
    CachedRegion *region; /* to be closed; NULL: none */
} Job;

static void job_push(Mount *m, Job job)
{
    inodes_ref(m, job.inode);
    g_thread_pool_push(m->jobs, g_memdup2(&job, sizeof job), NULL);
}

void fresh_job(gpointer data, gpointer mount)
{
    Mount *m = mount;
    Job *job = data;
    (void)fuse_lowlevel_notify_inval_inode(m->session, mount_number(m, job->inode), 0, 0);
    if (job->take) {
        pthread_mutex_lock(&job->inode->lock);
        trust_settle(&job->inode->trust, job->take);
        pthread_mutex_unlock(&job->inode->lock);
    }
    if (job->req)
        (void)fuse_reply_attr(job->req, &job->st, 0);
    if (job->region)
        regions_close(job->region);
    inodes_unref(m, job->inode);
    g_free(job);
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
    Job job = {.inode = inode};
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
    Job job = {.inode = inode};
    pthread_mutex_lock(&inode->lock);
    bool held = trust_give_up(&inode->trust, broken, os_now_ns());
    job.region = regions_end(inode);
    pthread_mutex_unlock(&inode->lock);
    if (held) {
        /* Without attributes a read asks for them first, and that drops the pages. So whoever waits
         * for the lease need not wait for requests that are being answered. */
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

bool fresh_keeps_pages(Inode *inode)
{
    return fresh_attr_timeout(inode) > 0;
}

void fresh_reply_attr(Mount *m, Inode *inode, fuse_req_t req, const struct stat *st)
{
    pthread_mutex_lock(&inode->lock);
    bool drop = trust_must_drop(&inode->trust), held = trust_is_held(&inode->trust);
    pthread_mutex_unlock(&inode->lock);
    if (drop)
        job_push(m, (Job){.inode = inode, .req = req, .st = *st});
    else
        (void)fuse_reply_attr(req, st, held ? ATTR_HELD_S : 0);
}
