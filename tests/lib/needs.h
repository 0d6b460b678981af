/* SPDX-License-Identifier: MIT */
/* Tests that need programs which not every machine has: main() asks, and the whole test is skipped
 * aloud. (cmocka's skip() of a single case counts as a failure for meson.) */
#ifndef DODO_TESTS_LIB_NEEDS_H
#define DODO_TESTS_LIB_NEEDS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void needs_missing(const char *package)
{
    printf("1..0 # SKIP %s is not installed\n", package);
}

/* Whether the command can be run and says 0; else @package is what is missing. */
static inline bool needs(const char *const *argv, const char *package)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++)
            (void)dup2(null, fd);
        (void)execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        return true;
    needs_missing(package);
    return false;
}

#endif
