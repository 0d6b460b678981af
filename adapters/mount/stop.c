/* SPDX-License-Identifier: MIT */
/* The end. While requests are still answered, nothing more is cached and all leases go back; only
 * then the session ends. A thread that dropped pages after that would wait for reads that nobody
 * answers, and keep the session open for them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>

#include "adapters/mount/cache.h"
#include "adapters/mount/mount.h"
#include "base/os.h"
#include "daemon/start.h"

typedef struct Stop {
    Mount *mount;
    pthread_t thread;
    sigset_t signals;
    pthread_mutex_t ending; /* of the one who ends the process */
} Stop;

/* Until a signal ends the session: who sent it. -1: it has ended by itself, as somebody has
 * unmounted it. */
static pid_t wait_for_signal(const Stop *s)
{
    siginfo_t info = {0};
    for (;;) {
        int number = sigwaitinfo(&s->signals, &info);
        if (number == SIGUSR1 && is_own_signal(&info))
            return -1;
        if (number > 0 && number != SIGUSR1)
            return info.si_pid;
    }
}

/* Whether @sender is the one that unmounts. A signal of its death names it, too. */
static bool is_served(const Mount *m, pid_t sender)
{
    pid_t who = m->options->unmounts;
    return who > 0 && who == sender && who == getppid();
}

/* Unmounts, or has @sender do that while this process ends. */
static bool unmount(const Mount *m, pid_t sender)
{
    const char over = MOUNT_OVER;
    if (!mirror_sees_mount(m->mirror))
        return false;
    if (is_served(m, sender) && write(STDOUT_FILENO, &over, 1) == 1)
        return true;
    return umount2(m->mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
}

/* Unmounts and ends the process, where nothing is left to do but that: nobody wants a report, and
 * no cluster waits for a good-bye. The threads of the session are not waited for, which takes
 * longer than a short program. Returns, if the session has to end in order. */
static void leave(Stop *s, pid_t sender)
{
    Mount *m = s->mount;
    if (m->report || cache_calls_if_loaded() || pthread_mutex_trylock(&s->ending) != 0)
        return;
    if (unmount(m, sender)) {
        start_stopping();
        exit(EXIT_SUCCESS);
    }
    pthread_mutex_unlock(&s->ending);
}

static void *stop_main(void *ctx)
{
    Stop *s = ctx;
    Mount *m = s->mount;
    pid_t sender = wait_for_signal(s);
    if (sender < 0)
        m->over = true;
    fresh_stop(m);
    if (sender < 0)
        return NULL;
    leave(s, sender);
    fuse_session_exit(m->session);
    mirror_touch(m->mirror); /* who waits for a request sees it now */
    return NULL;
}

int stop_init(Mount *m)
{
    Stop *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->mount = m;
    pthread_mutex_init(&s->ending, NULL);
    (void)sigemptyset(&s->signals);
    (void)sigaddset(&s->signals, SIGTERM);
    (void)sigaddset(&s->signals, SIGINT);
    (void)sigaddset(&s->signals, SIGHUP);
    (void)sigaddset(&s->signals, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &s->signals, NULL); /* and of all threads to come */
    (void)signal(SIGPIPE, SIG_IGN);
    int res = os_thread_start(&s->thread, stop_main, s);
    if (res < 0)
        free(s);
    else
        m->stop = s;
    return res;
}

void stop_in_order(Mount *m)
{
    pthread_mutex_lock(&m->stop->ending);
}

void stop_end(Mount *m)
{
    (void)pthread_kill(m->stop->thread, SIGUSR1);
    (void)pthread_join(m->stop->thread, NULL);
    free(m->stop);
    m->stop = NULL;
}
