/* SPDX-License-Identifier: MIT */
/* What a test does in a process of its own. */
#ifndef DODO_TESTS_LIB_CHILD_H
#define DODO_TESTS_LIB_CHILD_H

#include <sys/wait.h>
#include <unistd.h>

/* What @body returns in a process of its own, or -1. */
static inline int in_a_child(int (*body)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

#endif
