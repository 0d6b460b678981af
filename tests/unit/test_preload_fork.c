/* SPDX-License-Identifier: MIT */
/* A process that forks while the region cache is being loaded into it, or takes a lease. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/vfs.h>

#include "tests/unit/preload_fixture.h"

static int file_fd;
static bool cached_in_fork;

/* The C library has taken down by now which handlers this fork calls: the cache's come too late. */
static void cache_begins(void)
{
    if (cached_in_fork)
        return;
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

/* ---- between a file's opening for a lease and the lease ----------------------------------------
 */

static atomic_bool forks_then;
static int stays[2], begun[2]; /* the child, until the first is closed */

static void fork_and_stay(void)
{
    char byte;
    if (fork() == 0) {
        (void)close(stays[1]);
        (void)!write(begun[1], "", 1);
        (void)!read(stays[0], &byte, 1);
        _exit(0);
    }
    (void)!read(begun[0], &byte, 1);
}

/* The library asks which file system it has opened a file on. */
__attribute__((visibility("default"))) int fstatfs(int fd, struct statfs *st)
{
    if (atomic_exchange(&forks_then, false))
        fork_and_stay();
    return (int)syscall(SYS_fstatfs, fd, st);
}

/* Ends by SIGKILL with a lease. */
static _Noreturn void hold_and_die(void)
{
    uint64_t w;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    forks_then = true;
    for (int i = 0; i < TURNS && !(holds(fd) && has_lease()); i++) {
        (void)!pread(fd, &w, WORD, 80);
        nap();
    }
    if (holds(fd) && !forks_then)
        (void)kill(getpid(), SIGKILL);
    _exit(1);
}

/* What was open at the fork is the child's, too: a lease on that would stay as long as it. */
CASE(child__of_a_fork_before_a_lease)
{
    int status, writer = -1;
    assert_true(pipe(stays) == 0 && pipe(begun) == 0);
    pid_t parent = fork();
    if (parent == 0)
        hold_and_die();
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_true(WIFSIGNALED(status));
    for (int i = 0; i < 200 && writer < 0;
         i++) { /* a descriptor is closed soon after its process */
        writer = open(path, O_WRONLY | O_NONBLOCK);
        nap();
    }
    assert_true(writer >= 0);
    (void)!(close(writer) | close(stays[0]) | close(stays[1]) | close(begun[0]) | close(begun[1]));
}
