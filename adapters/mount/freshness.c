/* SPDX-License-Identifier: MIT */
/* What is cached of a file while it is held, and what happens when it is held no more. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "adapters/mount/filesystems.h"
#include "adapters/mount/mount.h"
#include "base/lease.h"
#include "base/os.h"
#include "daemon/log.h"

/* ---- what waits for the kernel ------------------------------------------------------------- */

typedef struct FreshJob {
    Job job;
    Mount *mount;
    Inode *inode;         /* with a reference */
    bool drop;            /* the kernel's pages go */
    uint64_t take;        /* then the file is settled for this lease; 0: for none */
    CachedRegion *region; /* to be closed; NULL: none */
    fuse_req_t req;       /* answered at the end; NULL: none */
    Reply *reply;         /* NULL: a write, of so many bytes */
    size_t written;
    bool opens; /* with @fi */
    struct fuse_file_info fi;
} FreshJob;

/* Makes the kernel ask for the attributes. It ignores answers that pages were dropped beside, and
 * would go on with the size that the file had before. Under the gate. 0, -errno. */
static int size_tell(const Mount *m, Inode *inode)
{
    char name[INODE_NAME_MAX];
    int res = mirror_ask_number(m->mirror, mount_number(m, inode));
    if (res != -EOPNOTSUPP)
        return res;
    if (inode->mirror_fd >= 0)
        return mirror_ask(m->mirror, inode->mirror_fd);
    inodes_name(inode, name);
    int fd = mirror_open(m->mirror, name, inode->ino);
    if (fd < 0)
        return fd;
    inode->mirror_fd = fd; /* the next question is a shorter one */
    return 0;
}

/* The kernel learns no sizes any more, so nobody shall read. */
static void mirror_lost(Mount *m)
{
    if (!atomic_exchange(&m->over, true))
        log_event(LOG_LEVEL_ERROR, "mount_ends",
                  "error=\"it has no dodo-mirror process any more\" fix=\"start it again\"");
    (void)kill(getpid(), SIGTERM);
}

static void job_answer(const FreshJob *j)
{
    if (!j->reply)
        (void)fuse_reply_write(j->req, j->written);
    else if (j->mount->over)
        (void)fuse_reply_err(j->req, EIO);
    else
        j->reply(j->mount, j->inode, j->req, j->opens ? &j->fi : NULL);
}

static void job_run(Job *job)
{
    FreshJob *j = (FreshJob *)job; /* the first member */
    Mount *m = j->mount;
    pthread_mutex_lock(&j->inode->gate);
    if (j->drop && !m->over)
        (void)fuse_lowlevel_notify_inval_inode(m->session, mount_number(m, j->inode), 0, 0);
    if (j->reply && !m->over && size_tell(m, j->inode) == -EPIPE)
        mirror_lost(m);
    pthread_mutex_unlock(&j->inode->gate);
    fresh_all_closed(j->inode); /* perhaps meanwhile */
    if (j->take) {
        pthread_mutex_lock(&j->inode->lock);
        trust_settle(&j->inode->trust, j->take);
        pthread_mutex_unlock(&j->inode->lock);
    }
    if (j->req)
        job_answer(j);
    regions_close(j->region);
    inodes_unref(m, j->inode);
    g_free(j);
}

static void job_push(Mount *m, Inode *inode, FreshJob job)
{
    FreshJob *j = g_new(FreshJob, 1);
    *j = job;
    j->job.run = job_run;
    j->mount = m;
    j->inode = inode;
    inodes_ref(m, inode);
    jobs_push(m->jobs, &j->job);
}

/* ---- leases -------------------------------------------------------------------------------- */

/* A lease for @inode, under its lock: 0, -errno. */
static int take(Mount *m, Inode *inode)
{
    if (!m->options->local && !filesystem_is_local(inode->fd))
        return -EINVAL;
    return leases_take(m, inode);
}

/* The same where it may succeed, and what follows from it. */
void fresh_try_locked(Mount *m, Inode *inode)
{
    uint64_t number;
    if (inode->type != S_IFREG || inode->unleasable || m->stopping ||
        !trust_wants_lease(&inode->trust, os_now_ns()))
        return;
    int res = take(m, inode);
    inode->lease_error = res;
    if (res < 0) {
        inode->unleasable = !lease_may_come(-res);
        return;
    }
    openings_leased(&inode->openings);
    if (trust_take(&inode->trust, &number))
        job_push(m, inode, (FreshJob){.drop = true, .take = number});
}

void fresh_try(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    fresh_try_locked(m, inode);
    pthread_mutex_unlock(&inode->lock);
}

/* Gives the lease up, and all that is cached with it. @broken: somebody waits for that. */
static void give_up(Mount *m, Inode *inode, bool broken)
{
    pthread_mutex_lock(&inode->lock);
    bool held = trust_give_up(&inode->trust, broken, os_now_ns());
    CachedRegion *region = regions_end(inode);
    pthread_mutex_unlock(&inode->lock);
    if (held) {
        /* Without attributes a read asks for them first, and that drops the pages. So the one who
         * waits for the lease need not wait for requests that are being answered. */
        if (!m->over)
            (void)fuse_lowlevel_notify_inval_inode(m->session, mount_number(m, inode), -1, 0);
        pthread_mutex_lock(&inode->lock);
        leases_release(m, inode);
        pthread_mutex_unlock(&inode->lock);
    }
    if (held || region)
        job_push(m, inode, (FreshJob){.drop = true, .region = region});
}

static void lease_broken(Mount *m, Inode *inode)
{
    give_up(m, inode, true);
}

/* ---- requests ------------------------------------------------------------------------------ */

void fresh_writer_begin(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    trust_writer_begin(&inode->trust);
    pthread_mutex_unlock(&inode->lock);
    give_up(m, inode, false);
}

void fresh_writer_end(Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    trust_writer_end(&inode->trust);
    pthread_mutex_unlock(&inode->lock);
}

CachedRegion *fresh_read_begin(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    fresh_try_locked(m, inode);
    CachedRegion *region = trust_read_begin(&inode->trust) ? regions_use(m, inode) : NULL;
    pthread_mutex_unlock(&inode->lock);
    return region;
}

void fresh_read_end(Inode *inode, CachedRegion *region)
{
    if (!region)
        return;
    pthread_mutex_lock(&inode->lock);
    CachedRegion *unused = regions_done(region);
    pthread_mutex_unlock(&inode->lock);
    regions_close(unused);
}

double fresh_attr_timeout(Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    bool held = trust_is_held(&inode->trust);
    pthread_mutex_unlock(&inode->lock);
    return held ? ATTR_HELD_S : 0;
}

/* Whether the kernel may have pages of @inode that no read must find. The kernel drops them itself
 * at an opening, and nobody reads a file that nobody has open. */
static bool must_drop(Inode *inode, bool opens)
{
    pthread_mutex_lock(&inode->lock);
    bool drop = trust_must_drop(&inode->trust) && (opens || !list_empty(&inode->handles));
    pthread_mutex_unlock(&inode->lock);
    return drop;
}

void fresh_reply(Mount *m, Inode *inode, fuse_req_t req, const struct fuse_file_info *fi,
                 Reply *reply)
{
    /* What is asked for a job is answered at once: the job has dropped the pages. */
    bool own = mirror_is(m->mirror, fuse_req_ctx(req)->pid);
    FreshJob job = {.drop = !fi, .req = req, .reply = reply, .opens = fi};
    if (own || !must_drop(inode, fi)) {
        reply(m, inode, req, fi);
        return;
    }
    if (m->stopping) {
        (void)fuse_reply_err(req, EIO);
        return;
    }
    if (fi)
        job.fi = *fi;
    job_push(m, inode, job);
}

/* The kernel has put into its own pages what goes through them. Of what goes straight to the file
 * it has dropped the pages before the write at best, and that only from Linux 6.6 on. */
void fresh_reply_write(Mount *m, const Handle *handle, fuse_req_t req, size_t len)
{
    Inode *inode = handle->inode;
    pthread_mutex_lock(&inode->lock);
    bool mapped = handle->opening.straight && inode->openings.readers > 0;
    pthread_mutex_unlock(&inode->lock);
    if (mapped && !m->stopping)
        job_push(m, inode, (FreshJob){.drop = true, .req = req, .written = len});
    else
        (void)fuse_reply_write(req, len);
}

static bool is_closed(Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    bool closed = list_empty(&inode->handles);
    pthread_mutex_unlock(&inode->lock);
    return closed;
}

/* Where the gate is in use, its user looks when it has left: the thread that closes answers
 * requests, which that one may wait for. */
void fresh_all_closed(Inode *inode)
{
    bool done = false;
    while (!done && is_closed(inode) && pthread_mutex_trylock(&inode->gate) == 0) {
        done = is_closed(inode); /* or opened again meanwhile */
        if (done && inode->mirror_fd >= 0) {
            (void)close(inode->mirror_fd);
            inode->mirror_fd = -1;
        }
        pthread_mutex_unlock(&inode->gate);
    }
}

/* ---- beginning and end --------------------------------------------------------------------- */

void fresh_forget(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&inode->lock);
    leases_release(m, inode);
    CachedRegion *region = regions_end(inode);
    pthread_mutex_unlock(&inode->lock);
    regions_close(region);
    if (inode->lease_fd >= 0)
        (void)close(inode->lease_fd);
    if (inode->mirror_fd >= 0)
        (void)close(inode->mirror_fd);
}

int fresh_init(Mount *m)
{
    int res = jobs_new(&m->jobs);
    if (res == 0)
        res = jobs_new(&m->lookups);
    if (res == 0)
        leases_init(m, lease_broken);
    return res;
}

static void drain(const Mount *m)
{
    jobs_drain(m->jobs);
    jobs_drain(m->lookups);
}

void fresh_stop(Mount *m)
{
    m->stopping = true;
    leases_stop(m); /* it pushes jobs */
    drain(m);
    m->over = true;
    drain(m); /* those that began before */
}

void fresh_end(Mount *m)
{
    if (m->leases && !m->stopping)
        fresh_stop(m); /* it has not been mounted */
    jobs_end(m->jobs);
    jobs_end(m->lookups);
    if (m->leases)
        leases_end(m); /* jobs give leases back */
}
