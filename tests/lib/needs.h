/* SPDX-License-Identifier: MIT */
/* Tests that need what not every machine has: main() asks, and skips the whole program, aloud:
 * scripts/lib/count-tests counts it as skipped. For one case there is case_if(). */
#ifndef DODO_TESTS_LIB_NEEDS_H
#define DODO_TESTS_LIB_NEEDS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* For main() to return: the whole program is skipped. */
static inline int skip_all(const char *reason)
{
    printf("1..0 # SKIP %s\n", reason);
    return 0;
}

static inline int needs_missing(const char *package)
{
    char reason[128];
    (void)snprintf(reason, sizeof reason, "%s is not installed", package);
    return skip_all(reason);
}

/* Whether the command can be run and says 0; else @package is what is missing. */
static inline bool needs(const char *const *argv, const char *package)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int i = 0; i < 3; i++)
            (void)dup2(null, i);
        (void)execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        return true;
    (void)needs_missing(package);
    return false;
}

#endif
