/* SPDX-License-Identifier: MIT */
#include "rmd/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"

enum { PIDFD = 0, CHANNEL = 1, FIRST_OTHER = 2 };

/* ---- the process ----------------------------------------------------------------------------- */

/* Only what a signal handler may call, too: it is a copy of a program with threads. */

/* Whether the process ends before @until_ns; TIME_NEVER: it or rmd. */
static bool wait_for_end(uint64_t until_ns, bool *ret_rmd_gone)
{
    struct pollfd at[] = {{.fd = PIDFD, .events = POLLIN}, {.fd = CHANNEL}};
    const bool timed = until_ns != TIME_NEVER;
    while (!at[0].revents && !at[1].revents) {
        uint64_t now = os_now_ns();
        if (timed && now >= until_ns)
            return false;
        uint64_t wait = timed ? until_ns - now : 0;
        const struct timespec t = time_to_timespec(wait);
        (void)ppoll(at, timed ? 1 : 2, timed ? &t : NULL, NULL);
    }
    *ret_rmd_gone = at[1].revents != 0;
    return at[0].revents != 0;
}

/* It keeps two descriptors, and no signal that ends rmd, or its terminal, ends it. */
static void become_guard(int pidfd, int channel)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    for (unsigned i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        (void)sigaction(ignored[i], &ignore, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "rmd-guard");
    int from = fcntl(pidfd, F_DUPFD, 16), to = fcntl(channel, F_DUPFD, 16);
    if (dup2(from, PIDFD) < 0 || dup2(to, CHANNEL) < 0)
        _exit(EXIT_FAILURE);
    closefrom(FIRST_OTHER); /* also where the kernel has no close_range() */
}

__attribute__((noreturn)) static void guard(int pidfd, int channel, uint64_t patience_ns)
{
    bool rmd_gone = false;
    become_guard(pidfd, channel);
    if (!wait_for_end(TIME_NEVER, &rmd_gone) && rmd_gone &&
        !wait_for_end(time_add(os_now_ns(), patience_ns), &rmd_gone))
        (void)syscall(SYS_pidfd_send_signal, PIDFD, SIGKILL, NULL, 0);
    _exit(EXIT_SUCCESS);
}

/* ---- rmd's side ------------------------------------------------------------------------------ */

int guard_start(Guard *g, int pidfd, uint64_t patience_ns)
{
    int ends[2];
    *g = (Guard){.channel = -1};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0)
        guard(pidfd, ends[0], patience_ns);
    int res = pid < 0 ? -errno : 0;
    (void)close(ends[0]);
    if (res < 0)
        (void)close(ends[1]);
    else
        *g = (Guard){.pid = pid, .channel = ends[1]};
    return res;
}

void guard_end(Guard *g)
{
    if (g->pid == 0)
        return;
    (void)close(g->channel);
    if (kill(g->pid, SIGKILL) == 0)
        (void)waitpid(g->pid, NULL, 0);
    *g = (Guard){.channel = -1};
}
