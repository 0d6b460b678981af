/* SPDX-License-Identifier: MIT */
/* A process that forks while the region cache is being loaded into it. */
#include <pthread.h>

#include "tests/unit/preload_fixture.h"

static int file_fd;
static bool cached_in_fork;

/* The C library has taken down by now which handlers this fork calls: the cache's come too late. */
static void cache_begins(void)
{
    await_held(file_fd, 1);
    cached_in_fork = true;
}

static void child_reads(void)
{
    for (uint64_t i = 0; i < 500; i++)
        read_at(file_fd, 1, i * 7919 % (WORDS - 1));
    _exit(0);
}

/* The child has no memory of the parent's cache, and nothing has told it so. */
CASE(child__of_a_fork_that_began_before_the_cache)
{
    int status = 0;
    file_fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file_fd >= 0 && !holds(file_fd));
    assert_int_equal(pthread_atfork(cache_begins, NULL, NULL), 0);
    pid_t pid = fork();
    if (pid == 0)
        child_reads();
    assert_true(pid > 0 && cached_in_fork);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    read_at(file_fd, 1, 7);
    assert_true(holds(file_fd));
    assert_int_equal(close(file_fd), 0);
}
