/* SPDX-License-Identifier: MIT */
/* Read leases, and the thread that hears of those that somebody wants broken. It is started for the
 * first lease: many a program that is run through a mount opens no file there. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapters/mount/mount.h"
#include "base/lease.h"
#include "base/os.h"

/* The kernel's signal for a break; it tells the descriptor. Where it has no room for that, it sends
 * SIGIO, which tells nothing. */
#define BREAK_SIGNAL SIGRTMIN

typedef struct Leases {
    Mount *mount;
    LeaseBroken *broken;
    pthread_mutex_t lock;
    GHashTable *inodes; /* by lease_fd */
    bool running, over; /* the thread; nobody takes leases any more */
    pthread_t thread;
    sem_t started;
    pid_t thread_id;
    sigset_t signals;
} Leases;

/* The inode of a lease, with a reference; NULL: none any more. */
static Inode *inode_of(Leases *l, int fd)
{
    pthread_mutex_lock(&l->lock);
    Inode *inode = g_hash_table_lookup(l->inodes, GINT_TO_POINTER(fd));
    if (inode && !inodes_ref_living(l->mount, inode))
        inode = NULL; /* who frees it gives the lease back */
    pthread_mutex_unlock(&l->lock);
    return inode;
}

/* A number may be another file's by now. */
static void give_up(Leases *l, int fd)
{
    Inode *inode = inode_of(l, fd);
    if (!inode)
        return;
    l->broken(l->mount, inode);
    inodes_unref(l->mount, inode);
}

static void look_at(Leases *l, int fd)
{
    if (fcntl(fd, F_GETLEASE) == F_UNLCK)
        give_up(l, fd);
}

/* @look at the descriptors of all leases. */
static void for_all(Leases *l, void (*look)(Leases *l, int fd))
{
    guint count;
    pthread_mutex_lock(&l->lock);
    gpointer *fds = g_hash_table_get_keys_as_array(l->inodes, &count);
    pthread_mutex_unlock(&l->lock);
    for (guint i = 0; i < count; i++)
        look(l, GPOINTER_TO_INT(fds[i]));
    g_free(fds);
}

static void *leases_main(void *ctx)
{
    Leases *l = ctx;
    siginfo_t info;
    lease_keeper_hurry();
    l->thread_id = (pid_t)syscall(SYS_gettid);
    (void)sem_post(&l->started);
    for (;;) {
        int number = sigwaitinfo(&l->signals, &info);
        if (number == SIGUSR1 && is_own_signal(&info))
            return NULL;
        if (number == BREAK_SIGNAL)
            look_at(l, info.si_fd);
        else if (number == SIGIO)
            for_all(l, look_at);
    }
}

static void leases_free(Leases *l)
{
    g_hash_table_destroy(l->inodes);
    pthread_mutex_destroy(&l->lock);
    (void)sem_destroy(&l->started);
    g_free(l);
}

void leases_init(Mount *m, LeaseBroken *broken)
{
    Leases *l = g_new0(Leases, 1);
    *l = (Leases){.mount = m, .broken = broken, .inodes = g_hash_table_new(NULL, NULL)};
    pthread_mutex_init(&l->lock, NULL);
    (void)sem_init(&l->started, 0, 0);
    (void)sigemptyset(&l->signals);
    (void)sigaddset(&l->signals, BREAK_SIGNAL);
    (void)sigaddset(&l->signals, SIGIO);
    (void)sigaddset(&l->signals, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &l->signals, NULL); /* and of all threads to come */
    m->leases = l;
}

/* The thread is there, under the lock. 0, -errno. */
static int start(Leases *l)
{
    int res = l->running ? 0 : os_thread_start(&l->thread, leases_main, l);
    if (res < 0 || l->running)
        return res;
    while (sem_wait(&l->started) < 0)
        ; /* a signal came */
    l->running = true;
    return 0;
}

void leases_stop(Mount *m)
{
    Leases *l = m->leases;
    pthread_mutex_lock(&l->lock);
    bool running = l->running;
    l->over = true;
    pthread_mutex_unlock(&l->lock);
    if (!running)
        return;
    (void)pthread_kill(l->thread, SIGUSR1);
    (void)pthread_join(l->thread, NULL);
    for_all(l, give_up);
}

void leases_end(Mount *m)
{
    leases_free(m->leases);
    m->leases = NULL;
}

/* The thread will hear of breaks of @inode's lease. 0, -errno. */
static int expect(Leases *l, Inode *inode)
{
    pthread_mutex_lock(&l->lock);
    int res = l->over ? -EAGAIN : start(l);
    if (res == 0)
        g_hash_table_insert(l->inodes, GINT_TO_POINTER(inode->lease_fd), inode);
    pthread_mutex_unlock(&l->lock);
    return res;
}

int leases_take(Mount *m, Inode *inode)
{
    Leases *l = m->leases;
    if (inode->lease_fd < 0)
        inode->lease_fd = open(fd_path(inode->fd).text, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int res = inode->lease_fd < 0 ? -errno : expect(l, inode);
    if (res < 0)
        return res;
    res = lease_keep(inode->lease_fd, BREAK_SIGNAL, l->thread_id);
    if (res < 0)
        leases_release(m, inode);
    return res;
}

void leases_release(Mount *m, Inode *inode)
{
    Leases *l = m->leases;
    if (inode->lease_fd < 0)
        return;
    (void)fcntl(inode->lease_fd, F_SETLEASE, F_UNLCK);
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    (void)g_hash_table_remove(l->inodes, GINT_TO_POINTER(inode->lease_fd));
    pthread_mutex_unlock(&l->lock);
}
