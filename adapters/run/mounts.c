/* SPDX-License-Identifier: MIT */
#include "adapters/run/mounts.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/mount/program.h"
#include "adapters/run/namespace.h"

static void add_option(GPtrArray *argv, const char *name, const char *value)
{
    if (value)
        g_ptr_array_add(argv, g_strdup_printf("--%s=%s", name, value));
}

static GPtrArray *mount_arguments(const MountSettings *s, const char *dir)
{
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(argv, g_strdup("dodo-mount"));
    add_option(argv, "min-size", s->min_size);
    add_option(argv, "cache-size", s->cache_size);
    for (char **p = s->only; p && *p; p++)
        add_option(argv, "only", *p);
    for (char **p = s->never; p && *p; p++)
        add_option(argv, "never", *p);
    if (s->local)
        g_ptr_array_add(argv, g_strdup("--local"));
    if (s->report >= 0)
        g_ptr_array_add(argv, g_strdup_printf("--report=/proc/self/fd/%d", s->report));
    g_ptr_array_add(argv, g_strdup("--"));
    g_ptr_array_add(argv, g_strdup(dir));
    g_ptr_array_add(argv, g_strdup(dir));
    g_ptr_array_add(argv, NULL);
    return argv;
}

/* This process is a copy that has all of dodo-mount: to load that again would take longer than a
 * short program. Its standard output is the end @ready of a pipe. It is no part of the program's
 * session: what the terminal sends does not end it before the program. */
static _Noreturn void become_mount(const MountSettings *s, const char *dir, const int ready[2],
                                   pid_t parent)
{
    g_autoptr(GPtrArray) words = mount_arguments(s, dir);
    g_autofree char **argv = g_memdup2(words->pdata, words->len * sizeof *argv); /* it takes some */
    namespace_drop_all_but_mounting(); /* first: it may undo what follows */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    (void)prctl(PR_SET_NAME, "dodo-mount");
    (void)setsid();
    (void)dup2(ready[1], STDOUT_FILENO);
    (void)close(ready[0]);
    (void)close(ready[1]);
    exit(mount_main((int)words->len - 1, argv));
}

pid_t mounts_start(const MountSettings *s, const char *dir)
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    (void)fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_mount(s, dir, ready, parent);
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
