/* SPDX-License-Identifier: MIT */
/* The end. While requests are still answered, nothing more is cached and all leases go back; only
 * then the session ends. A thread that dropped pages after that would wait for reads that nobody
 * answers, and keep the session open for them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "adapters/mount/mount.h"
#include "base/os.h"

typedef struct Stop {
    Mount *mount;
    pthread_t thread;
    sigset_t signals;
} Stop;

/* SIGUSR1: the session has ended by itself, as somebody has unmounted it. */
static void *stop_main(void *ctx)
{
    Stop *s = ctx;
    Mount *m = s->mount;
    int number;
    while (sigwait(&s->signals, &number) != 0)
        ; /* never */
    m->over = number == SIGUSR1;
    fresh_stop(m);
    if (number == SIGUSR1)
        return NULL;
    fuse_session_exit(m->session);
    int fd = mirror_open(m->mirror, "", 0); /* who waits for a request sees it now */
    if (fd >= 0)
        (void)close(fd);
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
