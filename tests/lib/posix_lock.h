/* SPDX-License-Identifier: MIT */
/* POSIX record locks of the test's own process, which closing any descriptor of the file drops. */
#ifndef DODO_TESTS_LIB_POSIX_LOCK_H
#define DODO_TESTS_LIB_POSIX_LOCK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POSIX_LOCK_BYTES = 100 };

/* The file's first bytes; @type F_UNLCK too. */
static inline void posix_lock(int fd, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = POSIX_LOCK_BYTES};
    if (fcntl(fd, F_SETLK, &lock) < 0)
        abort();
}

/* This process has them locked, as another process sees it. */
static inline bool posix_locked(int fd)
{
    int status;
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = POSIX_LOCK_BYTES};
        _exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid == self);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        abort();
    return WEXITSTATUS(status) == 1;
}

#endif
