/* SPDX-License-Identifier: MIT */
#include "adapters/run/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/run/namespace.h"
#include "base/os.h"

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
    MountOptions own = *o;
    own.unmounts = parent;
    exit(mount_run(&own, dir, dir));
}

/* A pipe with no end in the place of a standard descriptor that is closed: the mount's copy of this
 * process puts its own there. */
static bool pipe_make(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    ends[0] = os_above_standard(ends[0]);
    ends[1] = os_above_standard(ends[1]);
    if (ends[0] >= 0 && ends[1] >= 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            (void)close(ends[i]);
    return false;
}

bool mounts_start(const MountOptions *o, const char *dir, StartedMount *ret)
{
    int ready[2];
    char byte;
    if (!pipe_make(ready))
        return false;
    (void)fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_mount(o, dir, ready, parent);
    (void)close(ready[1]);
    *ret = (StartedMount){dir, pid, ready[0]};
    if (pid > 0 && read(ready[0], &byte, 1) == 1)
        return true;
    (void)close(ready[0]);
    if (pid > 0)
        (void)waitpid(pid, NULL, 0); /* it has said why */
    return false;
}

/* Whether the mount wants to be unmounted by us. False: it does that itself. */
static bool is_over(const StartedMount *mount)
{
    char text[1024];
    ssize_t n;
    do
        n = read(mount->output, text, sizeof text);
    while (n < 0 ? errno == EINTR : n > 0 && !memchr(text, MOUNT_OVER, (size_t)n));
    return n > 0;
}

/* We unmount while the process ends, which takes as long. */
static void mount_end(const StartedMount *mount)
{
    (void)kill(mount->pid, SIGTERM);
    if (is_over(mount))
        (void)umount2(mount->dir, MNT_DETACH | UMOUNT_NOFOLLOW);
    (void)close(mount->output);
    (void)waitpid(mount->pid, NULL, 0);
}

void mounts_end(const StartedMount *mounts, guint count)
{
    while (count-- > 0)
        mount_end(&mounts[count]);
}
