/* SPDX-License-Identifier: MIT */
#include "adapters/run/mounts.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/run/namespace.h"

/* This process is a copy that has all of dodo-mount: to load that again would take longer than a
 * short program. Its standard output is the end @ready of a pipe. It is no part of the program's
 * session: what the terminal sends does not end it before the program. */
static _Noreturn void become_mount(const MountOptions *o, const char *dir, const int ready[2],
                                   pid_t parent)
{
    namespace_drop_all_but_mounting(); /* first: it may undo what follows */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    (void)prctl(PR_SET_NAME, "dodo-mount");
    (void)setsid();
    (void)dup2(ready[1], STDOUT_FILENO);
    (void)close(ready[0]);
    (void)close(ready[1]);
    exit(mount_run(o, dir, dir));
}

pid_t mounts_start(const MountOptions *o, const char *dir)
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    (void)fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_mount(o, dir, ready, parent);
    (void)close(ready[1]);
    ssize_t n = pid < 0 ? -1 : read(ready[0], &byte, 1);
    (void)close(ready[0]);
    if (n == 1)
        return pid;
    if (pid > 0)
        (void)waitpid(pid, NULL, 0); /* it has said why */
    return -1;
}

void mounts_end(const pid_t *pids, guint count)
{
    while (count-- > 0) {
        (void)kill(pids[count], SIGTERM);
        (void)waitpid(pids[count], NULL, 0);
    }
}
