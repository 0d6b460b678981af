/* SPDX-License-Identifier: MIT */
/* Locks of programs under the mount point, for those that use the directory itself, too. A lock
 * that is not free is asked for again and again, by one thread: no other way to wait for it can be
 * ended when the program gives up. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "adapters/mount/mount.h"
#include "base/list.h"
#include "base/os.h"
#include "base/time.h"

/* How often that is. */
#define AGAIN_NS (2 * NS_PER_MS)

/* POSIX locks belong to a process and a file, OFD locks to a description: one of our own stands for
 * either, whose OFD locks are they. The kernel tells a number of the owner, and not which it is. */
typedef struct Owner {
    ListNode node; /* of the inode's */
    uint64_t number;
    bool writable;
    int fd;
    GPtrArray *handles; /* through which it has asked */
    unsigned users;     /* requests under way, waiting ones among them */
    bool closed;
} Owner;

/* A lock that somebody waits for. */
typedef struct Waiter {
    ListNode node;
    fuse_req_t req;
    Owner *owner; /* NULL: flock(2) */
    struct flock lock;
    int fd, operation; /* of flock(2) */
} Waiter;

typedef struct Locks {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ListNode waiters;
    bool over;
    bool started; /* the thread, when somebody first waits */
    pthread_t thread;
} Locks;

/* ---- owners -------------------------------------------------------------------------------- */

static void owner_free(Owner *owner)
{
    (void)close(owner->fd);
    g_ptr_array_unref(owner->handles);
    free(owner);
}

static void owner_done(Owner *owner)
{
    if (--owner->users > 0 || !owner->closed)
        return;
    owner_free(owner);
}

static Owner *owner_find(const Inode *inode, uint64_t number)
{
    for (ListNode *n = inode->lock_owners.next; n != &inode->lock_owners; n = n->next) {
        Owner *owner = CONTAINER_OF(n, Owner, node);
        if (owner->number == number)
            return owner;
    }
    return NULL;
}

/* A new owner: NULL with errno. */
static Owner *owner_make(const Handle *handle, uint64_t number)
{
    int flags = (handle->opening.writes ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC;
    int fd = open(fd_path(handle->inode->fd).text, flags);
    Owner *owner = fd < 0 ? NULL : malloc(sizeof *owner);
    if (!owner) {
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    *owner = (Owner){.number = number,
                     .writable = handle->opening.writes,
                     .fd = fd,
                     .handles = g_ptr_array_new()};
    list_push_back(&handle->inode->lock_owners, &owner->node);
    return owner;
}

/* The owner's description, made where there is none; under the lock. NULL with errno. */
static Owner *owner_use(Handle *handle, uint64_t number, bool writes)
{
    Owner *owner = owner_find(handle->inode, number);
    if (!owner)
        owner = owner_make(handle, number);
    if (!owner)
        return NULL;
    if (writes && !owner->writable) { /* it began with a descriptor that is only for reading */
        errno = ENOLCK;
        return NULL;
    }
    if (!g_ptr_array_find(owner->handles, handle, NULL))
        g_ptr_array_add(owner->handles, handle);
    owner->users++;
    return owner;
}

/* Its locks go, as soon as no request is under way; under the lock. */
static void owner_close(Owner *owner)
{
    list_remove(&owner->node);
    owner->closed = true;
    owner->users++;
    owner_done(owner);
}

void locks_owner_closed(Mount *m, Inode *inode, uint64_t number)
{
    Locks *l = m->locks;
    pthread_mutex_lock(&l->lock);
    Owner *owner = owner_find(inode, number);
    if (owner)
        owner_close(owner);
    pthread_mutex_unlock(&l->lock);
}

/* Of all processes that had it, the POSIX locks have gone before. */
void locks_handle_closed(Mount *m, Handle *handle)
{
    Locks *l = m->locks;
    const ListNode *all = &handle->inode->lock_owners;
    pthread_mutex_lock(&l->lock);
    for (ListNode *n = all->next, *next; n != all; n = next) {
        Owner *owner = CONTAINER_OF(n, Owner, node);
        next = n->next;
        if (g_ptr_array_remove_fast(owner->handles, handle) && owner->handles->len == 0)
            owner_close(owner);
    }
    pthread_mutex_unlock(&l->lock);
}

void locks_forget(Inode *inode)
{
    for (ListNode *n = inode->lock_owners.next, *next; n != &inode->lock_owners; n = next) {
        Owner *owner = CONTAINER_OF(n, Owner, node);
        next = n->next;
        owner_free(owner);
    }
}

/* ---- who waits ----------------------------------------------------------------------------- */

/* 0, or -errno; -EAGAIN: not free. */
static int attempt(const Waiter *w)
{
    int res = w->owner ? fcntl(w->owner->fd, F_OFD_SETLK, &w->lock)
                       : flock(w->fd, w->operation | LOCK_NB);
    if (res == 0)
        return 0;
    return errno == EACCES ? -EAGAIN : -errno; /* EWOULDBLOCK is EAGAIN here */
}

static void waiter_end(Waiter *w, int res)
{
    (void)fuse_reply_err(w->req, -res);
    if (w->owner)
        owner_done(w->owner);
    else
        (void)close(w->fd);
    free(w);
}

/* Those whose lock is free, or who gave up, are answered. */
static void attempt_all(Locks *l)
{
    for (ListNode *n = l->waiters.next, *next; n != &l->waiters; n = next) {
        Waiter *w = CONTAINER_OF(n, Waiter, node);
        next = n->next;
        int res = fuse_req_interrupted(w->req) ? -EINTR : l->over ? -EINTR : attempt(w);
        if (res == -EAGAIN)
            continue;
        list_remove(&w->node);
        waiter_end(w, res);
    }
}

static void *locks_main(void *ctx)
{
    Locks *l = ctx;
    pthread_mutex_lock(&l->lock);
    while (!l->over) {
        if (list_empty(&l->waiters)) {
            pthread_cond_wait(&l->changed, &l->lock);
        } else {
            struct timespec until = time_to_timespec(os_now_ns() + AGAIN_NS);
            (void)pthread_cond_clockwait(&l->changed, &l->lock, CLOCK_MONOTONIC, &until);
        }
        attempt_all(l);
    }
    attempt_all(l);
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

int locks_init(Mount *m)
{
    Locks *l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    list_init(&l->waiters);
    m->locks = l;
    return 0;
}

/* Under the lock: 0, -errno. */
static int start(Locks *l)
{
    int res = l->started ? 0 : os_thread_start(&l->thread, locks_main, l);
    l->started = res == 0;
    return res;
}

void locks_end(Mount *m)
{
    Locks *l = m->locks;
    pthread_mutex_lock(&l->lock);
    l->over = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    if (l->started)
        (void)pthread_join(l->thread, NULL);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
    m->locks = NULL;
}

/* Tries @w, which is taken, and lets it wait if @sleep; under the lock. */
static void request(Locks *l, Waiter *w, bool sleep)
{
    int res = attempt(w);
    int wait = res == -EAGAIN && sleep ? start(l) : -EAGAIN;
    if (wait == 0) {
        list_push_back(&l->waiters, &w->node);
        pthread_cond_signal(&l->changed);
    } else {
        waiter_end(w, res);
    }
}

/* ---- the requests -------------------------------------------------------------------------- */

/* Also who has the file open for reading alone may ask whether a lock for writing is free. Asking
 * makes no owner: it would be one for reading. One who has no lock here has none that is its own.
 */
static void locks_getlk(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi,
                        struct flock *lock)
{
    Locks *l = mount_of(req)->locks;
    const Handle *handle = handle_of(fi);
    pthread_mutex_lock(&l->lock);
    const Owner *owner = owner_find(handle->inode, fi->lock_owner);
    lock->l_pid = 0;
    int res = fcntl(owner ? owner->fd : handle->fd, F_OFD_GETLK, lock);
    int error = errno;
    pthread_mutex_unlock(&l->lock);
    if (res < 0)
        (void)fuse_reply_err(req, error);
    else
        (void)fuse_reply_lock(req, lock);
}

static void locks_setlk(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi,
                        struct flock *lock, int sleep)
{
    Locks *l = mount_of(req)->locks;
    Waiter *w = malloc(sizeof *w);
    pthread_mutex_lock(&l->lock);
    Owner *owner = w ? owner_use(handle_of(fi), fi->lock_owner, lock->l_type == F_WRLCK) : NULL;
    if (owner) {
        lock->l_pid = 0;
        *w = (Waiter){.req = req, .owner = owner, .lock = *lock, .fd = -1};
        request(l, w, sleep);
    } else {
        (void)fuse_reply_err(req, errno);
        free(w);
    }
    pthread_mutex_unlock(&l->lock);
}

static void locks_flock(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi, int operation)
{
    Locks *l = mount_of(req)->locks;
    Waiter *w = malloc(sizeof *w);
    int fd = w ? dup(handle_of(fi)->fd) : -1;
    if (fd < 0) {
        (void)fuse_reply_err(req, errno);
        free(w);
        return;
    }
    *w = (Waiter){.req = req, .fd = fd, .operation = operation & ~LOCK_NB};
    pthread_mutex_lock(&l->lock);
    request(l, w, !(operation & LOCK_NB));
    pthread_mutex_unlock(&l->lock);
}

void ops_locks(struct fuse_lowlevel_ops *ops)
{
    ops->getlk = locks_getlk;
    ops->setlk = locks_setlk;
    ops->flock = locks_flock;
}
