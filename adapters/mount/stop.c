/* SPDX-License-Identifier: MIT */
/* The end. While requests are still answered, nothing more is cached and all leases go back; only
 * then the session ends. A thread that dropped pages after that would wait for reads that nobody
 * answers, and keep the session open for them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "adapters/mount/mount.h"
#include "base/os.h"

typedef struct Stop {
    Mount *mount;
    pthread_t thread;
    sigset_t signals;
} Stop;

/* Until a signal ends the session. False: it has ended by itself, as somebody has unmounted it. */
static bool wait_for_signal(const Stop *s)
{
    siginfo_t info;
    for (;;) {
        int number = sigwaitinfo(&s->signals, &info);
        if (number == SIGUSR1 && is_own_signal(&info))
            return false;
        if (number > 0 && number != SIGUSR1)
            return true;
    }
}

static void *stop_main(void *ctx)
{
    Stop *s = ctx;
    Mount *m = s->mount;
    bool mounted = wait_for_signal(s);
    if (!mounted)
        m->over = true;
    fresh_stop(m);
    if (!mounted)
        return NULL;
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

void stop_end(Mount *m)
{
    (void)pthread_kill(m->stop->thread, SIGUSR1);
    (void)pthread_join(m->stop->thread, NULL);
    free(m->stop);
    m->stop = NULL;
}
