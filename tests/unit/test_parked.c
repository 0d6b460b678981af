/* SPDX-License-Identifier: MIT */
/* Descriptions that a library is done with: the program keeps its POSIX locks, and does not run out
 * of descriptors. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/description.h"
#include "base/parked.h"
#include "tests/lib/case.h"
#include "tests/lib/posix_lock.h"

enum { FILES = 10000, DESCRIPTORS = 128 };

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/dodo-test-parked-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"); /* many files are made */
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char path[128];
    DIR *d = opendir(dir);
    for (const struct dirent *e; (e = readdir(d));)
        if (snprintf(path, sizeof path, "%s/%.32s", dir, e->d_name) > 0)
            (void)unlink(path);
    closedir(d);
    (void)parked_close_unlocked();
    return rmdir(dir);
}

static int file(int number, int flags)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%d", dir, number);
    int fd = open(path, flags | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static void unlink_file(int number)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%d", dir, number);
    assert_int_equal(unlink(path), 0);
}

static int description(int fd, bool read_only)
{
    struct stat st;
    bool shared;
    int own = description_open(fd, read_only, &st, &shared);
    assert_true(own >= 0);
    assert_false(shared);
    return own;
}

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(locks__survive)
{
    int fd = file(0, O_RDWR);
    posix_lock(fd, F_WRLCK);
    int a = description(fd, false), b = description(fd, true);
    description_close(a, false);
    assert_true(posix_locked(fd));
    description_close(b, false);
    assert_true(posix_locked(fd));
    assert_int_equal(parked_close_unlocked(), 0);
    assert_true(posix_locked(fd));
    posix_lock(fd, F_UNLCK);
    assert_int_equal(parked_close_unlocked(), 2);
    close(fd);
}

/* A lock of another process beside it hides it from the simple question. */
CASE(locks__survive_beside_another_s)
{
    int fd = file(0, O_RDWR), status, ready[2], end[2];
    char byte;
    assert_int_equal(pipe(ready) | pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        close(end[1]);
        posix_lock(fd, F_RDLCK);
        _exit(write(ready[1], "", 1) != 1 || read(end[0], &byte, 1) != 0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int a = description(fd, false), b = description(fd, true);
    description_close(b, false);
    assert_int_equal(parked_close_unlocked(), 1); /* the other's lock is no reason to keep it */
    posix_lock(fd, F_RDLCK);
    description_close(a, false);
    assert_int_equal(parked_close_unlocked(), 0);
    close(end[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(posix_locked(fd));
    close(fd);
    assert_int_equal(parked_close_unlocked(), 1);
    for (int i = 0; i < 3; i++)
        close(i == 0 ? end[0] : ready[i - 1]);
}

/* A program that gave up /proc: in an empty root directory, as only root can. */
CASE(locks__survive_without_proc)
{
    if (geteuid() != 0) {
        print_message("no root, so no other root directory\n");
        skip();
    }
    int fd = file(0, O_RDWR), own = description(fd, false), status;
    pid_t child = fork();
    if (child == 0) {
        if (chroot(dir) < 0)
            _exit(2);
        posix_lock(fd, F_WRLCK);
        description_close(own, false);
        _exit(parked_close_unlocked() != 0 || !posix_locked(fd));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    description_close(own, false);
    close(fd);
}

/* Of the same file, for the same access; never by two at once. */
CASE(parked__is_taken_again)
{
    int fd = file(0, O_RDWR), synced = file(0, O_RDWR | O_SYNC), other = file(1, O_RDWR);
    int a = description(fd, false);
    description_close(a, false);
    int before = descriptors();
    assert_int_not_equal(description(other, false), a);
    assert_int_not_equal(description(fd, true), a);
    assert_int_not_equal(description(synced, false), a);
    assert_int_equal(descriptors(), before + 3);
    assert_int_equal(description(fd, false), a);
    int b = description(fd, false);
    assert_int_not_equal(b, a);
    assert_int_equal(descriptors(), before + 4);
    assert_int_equal(description_lock(a, 0, 10, F_WRLCK), 0);
    assert_int_equal(description_lock(b, 5, 10, F_WRLCK), -EBUSY);
    for (int i = 0; i < 3; i++)
        assert_int_equal(close(i == 0 ? fd : i == 1 ? synced : other), 0);
}

/* A long-running program, with few descriptors, that keeps a lock on its first file. */
CASE(files__ten_thousand)
{
    struct rlimit old, limit = {.rlim_cur = DESCRIPTORS};
    int first = file(0, O_RDWR), before = descriptors();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    limit.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    posix_lock(first, F_WRLCK);
    description_close(description(first, false), false);
    for (int i = 1; i < FILES; i++) {
        int fd = file(i, O_RDWR);
        description_close(description(fd, i % 2), false);
        close(fd);
        if (i % 100 == 0)
            assert_true(descriptors() <= before + 1 + DESCRIPTORS / PARKED_SHARE);
    }
    assert_true(posix_locked(first));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    close(first);
}

/* Those with locks are all kept: the program has as many descriptors itself. */
CASE(files__many_are_locked)
{
    enum { LOCKED = PARKED_MAX + 100 };
    int fds[LOCKED];
    for (int i = 0; i < LOCKED; i++) {
        fds[i] = file(i, O_RDWR);
        posix_lock(fds[i], F_RDLCK);
        description_close(description(fds[i], true), false);
    }
    for (int i = 0; i < LOCKED; i += 61)
        assert_true(posix_locked(fds[i]));
    int before = descriptors();
    for (int i = 0; i < LOCKED; i++)
        close(fds[i]);
    assert_int_equal(parked_close_unlocked(), LOCKED);
    assert_int_equal(descriptors(), before - 2 * LOCKED);
}

/* The space of a removed file is free as soon as nobody needs it. */
CASE(unlinked__is_closed_at_once)
{
    int fd = file(0, O_RDWR), later = file(1, O_RDWR);
    description_close(description(later, false), false);
    int before = descriptors();
    int own = description(fd, false);
    unlink_file(0);
    description_close(own, false);
    assert_int_equal(descriptors(), before);
    unlink_file(1); /* while it is parked */
    close(later);
    description_close(description(fd, false), false);
    assert_int_equal(descriptors(), before - 2);
    posix_lock(fd, F_WRLCK);
    description_close(description(fd, false), false);
    assert_true(posix_locked(fd));
    close(fd);
}

/* One that was removed while it was parked is found by those that come: they look at all in turn.
 */
CASE(unlinked__while_it_is_parked)
{
    int fd = file(0, O_RDWR), gone = file(1, O_RDWR), other = file(2, O_RDWR);
    description_close(description(other, false), false);
    description_close(description(gone, false), false);
    unlink_file(1);
    close(gone);
    int before = descriptors();
    for (int i = 0; i < 2; i++)
        description_close(description(fd, false), false);
    assert_int_equal(descriptors(), before);
    close(fd);
    close(other);
}

/* The last descriptors are not kept from who needs them. */
CASE(full_table__gives_them_up)
{
    struct rlimit old, limit = {.rlim_cur = DESCRIPTORS};
    int fd = file(0, O_RDWR), other = file(1, O_RDWR), filler[DESCRIPTORS], n = 0;
    description_close(description(other, false), false);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    limit.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (n < DESCRIPTORS && (filler[n] = dup(fd)) >= 0)
        n++;
    int own = description(fd, false);
    while (n > 0)
        close(filler[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    description_close(own, false);
    close(fd);
    close(other);
}

CASE(fork__child_has_none)
{
    struct stat st;
    int fd = file(0, O_RDWR), status, before = descriptors();
    posix_lock(fd, F_WRLCK);
    description_close(description(fd, false), false);
    assert_int_equal(fstat(fd, &st), 0);
    parked_lock_all();
    pid_t child = fork();
    if (child == 0) {
        parked_abandon_all();
        parked_unlock_all();
        _exit(descriptors() != before);
    }
    parked_unlock_all();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(posix_locked(fd));
    child = fork(); /* past the handlers: its lock would be the parent's */
    if (child == 0)
        _exit(parked_take(&st, O_RDWR) != -1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(fd);
}
