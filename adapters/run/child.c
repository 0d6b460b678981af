/* SPDX-License-Identifier: MIT */
#include "adapters/run/child.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"

static volatile sig_atomic_t child_pid;

/* The terminal's reach the program by themselves. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    bool typed = info->si_code == SI_KERNEL && (number == SIGINT || number == SIGQUIT);
    if (child_pid > 0 && !typed)
        (void)kill((pid_t)child_pid, number);
}

/* Those that are sent to us are for the program. */
static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT},
                 ignored[] = {SIGTSTP};

/* How the program finds its signals: as we found them. */
typedef struct Signals {
    struct sigaction passed[ARRAY_SIZE(passed)], ignored[ARRAY_SIZE(ignored)], child;
    sigset_t mask;
} Signals;

/* What is passed on waits until the program is there. Whose SIGCHLD is ignored learns no status. */
static void signals_take(Signals *before)
{
    const struct sigaction pass = {.sa_sigaction = pass_on, .sa_flags = SA_RESTART | SA_SIGINFO},
                           ignore = {.sa_handler = SIG_IGN}, wait = {.sa_handler = SIG_DFL};
    sigset_t late;
    (void)sigemptyset(&late);
    for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
        (void)sigaddset(&late, passed[i]);
    (void)sigprocmask(SIG_BLOCK, &late, &before->mask);
    for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
        (void)sigaction(passed[i], &pass, &before->passed[i]);
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)sigaction(ignored[i], &ignore, &before->ignored[i]);
    (void)sigaction(SIGCHLD, &wait, &before->child);
}

int child_become(char **argv)
{
    (void)execvp(argv[0], argv);
    int status = errno == ENOENT ? EXIT_NONE : EXIT_CANNOT;
    const char *why = strerror(errno);
    (void)fprintf(stderr, "dodo run: %s: %s\n", printable(argv[0]), why);
    return status;
}

static _Noreturn void begin_child(char **argv, const char *cwd, const Signals *before)
{
    for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
        (void)sigaction(passed[i], &before->passed[i], NULL);
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)sigaction(ignored[i], &before->ignored[i], NULL);
    (void)sigaction(SIGCHLD, &before->child, NULL);
    (void)sigprocmask(SIG_SETMASK, &before->mask, NULL);
    (void)!chdir(cwd); /* through the mount, if it is below one */
    _exit(child_become(argv));
}

/* The program has stopped as Ctrl-Z does it, and its shell waits for us: we are of its job. */
static bool is_suspended(pid_t pid, int status)
{
    return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP && getpgid(pid) == getpgrp();
}

/* Stops us, too. When the shell has us go on, the program does. */
static void stop_too(pid_t pid)
{
    (void)signal(SIGTSTP, SIG_DFL);
    (void)raise(SIGTSTP);
    (void)signal(SIGTSTP, SIG_IGN);
    (void)kill(pid, SIGCONT);
}

/* Waits until the program ends. Its status, or -1. */
static int await(pid_t pid)
{
    int status;
    for (;;) {
        if (waitpid(pid, &status, WUNTRACED) < 0) {
            if (errno != EINTR)
                return -1;
        } else if (is_suspended(pid, status)) {
            stop_too(pid);
        } else if (!WIFSTOPPED(status)) {
            return status;
        }
    }
}

int child_run(char **argv, const char *cwd)
{
    Signals before;
    signals_take(&before);
    pid_t pid = vfork(); /* a copy of what the mounts need would take longer than a short program */
    if (pid == 0)
        begin_child(argv, cwd, &before);
    child_pid = pid;
    (void)sigprocmask(SIG_SETMASK, &before.mask, NULL);
    if (pid < 0)
        return -1;
    int status = await(pid);
    child_pid = 0;
    return status;
}

int child_end_like(int status)
{
    if (status >= 0 && WIFSIGNALED(status)) {
        const struct rlimit none = {0, 0};
        const int number = WTERMSIG(status);
        sigset_t only;
        (void)setrlimit(RLIMIT_CORE, &none); /* the program's own core is enough */
        (void)signal(number, SIG_DFL);
        (void)sigemptyset(&only);
        (void)sigaddset(&only, number);
        (void)raise(number);
        (void)sigprocmask(SIG_UNBLOCK, &only, NULL); /* it may have been blocked when we began */
        return EXIT_SIGNAL + number;
    }
    return status < 0 ? EXIT_OURS : WEXITSTATUS(status);
}
