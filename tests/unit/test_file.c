/* SPDX-License-Identifier: MIT */
/* The library's own description of a backing file: its lock, its identity, its stamp. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/description.h"
#include "libdodo/file.h"
#include "tests/lib/case.h"
#include "tests/lib/posix_lock.h"
#include "tests/lib/tmpdir.h"

static char path[64];
static int fd;
static TmpDir state_dir;

static int set_up(void **state)
{
    (void)state;
    (void)strcpy(path, "/tmp/dodo-test-file-XXXXXX");
    fd = mkstemp(path);
    tmpdir_make(&state_dir);
    (void)setenv("XDG_STATE_HOME", state_dir.path, 1);
    return ftruncate(fd, 1 << 20);
}

static int tear_down(void **state)
{
    (void)state;
    close(fd);
    tmpdir_remove(&state_dir);
    return unlink(path);
}

static FileGiven given(uint64_t offset, uint64_t len, bool read_only)
{
    FileGiven g;
    assert_int_equal(file_open(fd, offset, len, read_only, false, NULL, 0, &g), 0);
    return g;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(file__same_file_same_key)
{
    char other[] = "/tmp/dodo-test-file-XXXXXX", why[512];
    FileGiven a = given(0, 4096, false), b = given(4096, 4096, false), c;
    assert_memory_not_equal(&a.key, &b.key, sizeof a.key); /* nobody has asked for it */
    int fd2 = mkstemp(other);
    assert_int_equal(file_open(fd2, 0, 1, false, false, NULL, 0, &c), 0);
    a.retainable = b.retainable = c.retainable = true; /* whatever this directory lies on */
    file_identify(&a, why, sizeof why);
    file_identify(&b, why, sizeof why);
    file_identify(&c, why, sizeof why);
    assert_memory_equal(&a.key, &b.key, sizeof a.key);
    assert_memory_not_equal(&a.key, &c.key, sizeof a.key);
    assert_string_equal(why, "");
    assert_true(a.retainable);
    tmpdir_delete(&state_dir, "dodo/secret");
    file_identify(&b, why, sizeof why);
    assert_memory_not_equal(&a.key, &b.key, sizeof a.key);
    (void)setenv("XDG_STATE_HOME", "/proc/none", 1);
    file_identify(&b, why, sizeof why);
    assert_false(b.retainable);
    assert_non_null(strstr(why, "nothing is retained"));
    file_close(a.file);
    file_close(b.file);
    file_close(c.file);
    close(fd2);
    unlink(other);
}

CASE(file__stamp_tells_of_changes)
{
    FileGiven g = given(0, 4096, true);
    FileResult before, after;
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    file_stamp(g.file, &before);
    assert_memory_equal(&before.stamp, &g.stamp, sizeof g.stamp);
    assert_int_equal(ftruncate(fd, 12345), 0);
    file_stamp(g.file, &after);
    assert_int_equal(after.stamp.size, 12345);
    assert_memory_not_equal(&before.stamp, &after.stamp, sizeof after.stamp);
    /* A time set back does not hide it: ctime moves. */
    before = after;
    assert_int_equal(futimens(fd, times), 0);
    file_stamp(g.file, &after);
    assert_int_equal(after.stamp.mtime_ns, 1000ull * 1000000000);
    assert_true(after.stamp.ctime_ns >= before.stamp.ctime_ns);
    file_close(g.file);
}

static enum FileLease lease_of(File *f)
{
    FileResult r;
    file_stamp(f, &r);
    assert_int_equal(r.count, 0);
    assert_true(r.taken_ns > 0 && r.granule_ns > 0);
    return r.lease;
}

/* Granted only while nobody can write: by a descriptor, or by a mapping that outlived it. */
CASE(lease__tells_of_writers)
{
    FileGiven g = given(0, 4096, true);
    assert_int_equal(lease_of(g.file), LEASE_WRITER); /* the test's own */
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(close(fd), 0);
    assert_int_equal(lease_of(g.file), LEASE_WRITER);
    assert_int_equal(munmap(map, 4096), 0);
    assert_int_equal(lease_of(g.file), LEASE_GRANTED);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(lease_of(g.file), LEASE_GRANTED);
    int writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* it was given back */
    assert_true(writer >= 0);
    assert_int_equal(lease_of(g.file), LEASE_WRITER);
    assert_int_equal(close(writer), 0);
    file_close(g.file);
    (void)close(fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    g = given(0, 4096, false);
    assert_int_equal(lease_of(g.file), LEASE_NOT_ASKED);
    file_close(g.file);
}

/* A thread of the library asks for the lease. What another program does right after that. */
static void (*after_lease)(void);

int pthread_join(pthread_t thread, void **ret)
{
    int (*real)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");
    int result = real(thread, ret);
    if (after_lease)
        after_lease();
    return result;
}

static void write_now(void)
{
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 0), 1);
}

/* Its later stores, by a mapping, would not move the stamp. */
CASE(lease__is_none_when_a_writer_comes_before_the_stamp)
{
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    FileGiven g = given(0, 4096, true);
    assert_int_equal(futimens(fd, times), 0);
    assert_int_equal(close(fd), 0);
    after_lease = write_now;
    enum FileLease lease = lease_of(g.file);
    after_lease = NULL;
    assert_int_equal(lease, LEASE_WRITER);
    file_close(g.file);
}

/* What stays open of a region that was written is closed if it is in the way. */
CASE(lease__is_granted_after_a_written_region)
{
    FileGiven g = given(0, 4096, false);
    file_close(g.file);
    assert_int_equal(close(fd), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    g = given(0, 4096, true);
    assert_int_equal(lease_of(g.file), LEASE_GRANTED);
    file_close(g.file);
}

CASE(lease__of_another_users_file)
{
    if (geteuid() != 0) {
        print_message("no root, so no other user\n");
        skip();
    }
    assert_int_equal(close(fd), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    FileGiven g = given(0, 4096, true);
    assert_int_equal(seteuid(1001), 0); /* which drops CAP_LEASE, too */
    enum FileLease lease = lease_of(g.file);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(lease, LEASE_REFUSED);
    assert_int_equal(lease_of(g.file), LEASE_GRANTED);
    file_close(g.file);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

enum { LEASES_MIN = 3000, GRANTED_MIN = 300, REFUSED_MIN = 300 };

/* A program that opens the file for writing breaks the lease while it is there: the kernel then
 * sends a signal. None reaches the program, in whatever thread. */
CASE(lease__breaks_without_a_signal)
{
    struct sigaction old[_NSIG], count = {.sa_handler = count_signal};
    sigset_t pending;
    unsigned granted = 0, refused = 0;
    assert_int_equal(close(fd), 0);
    pid_t child = fork();
    if (child == 0)
        for ((void)prctl(PR_SET_PDEATHSIG, SIGKILL);;) {
            int writer = open(path, O_WRONLY | O_CLOEXEC);
            if (writer < 0)
                _exit(1);
            (void)close(writer);
        }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 1; i < _NSIG; i++)
        (void)sigaction(i, &count, &old[i]); /* of those that can have one */
    signals = 0;
    FileGiven g = given(0, 4096, true);
    for (unsigned i = 0; i < LEASES_MIN || granted < GRANTED_MIN || refused < REFUSED_MIN; i++) {
        enum FileLease lease = lease_of(g.file);
        assert_true(lease == LEASE_GRANTED || lease == LEASE_WRITER);
        granted += lease == LEASE_GRANTED;
        refused += lease == LEASE_WRITER;
    }
    assert_int_equal(signals, 0);
    assert_int_equal(sigpending(&pending), 0);
    assert_true(sigisemptyset(&pending));
    for (int i = 1; i < _NSIG; i++)
        (void)sigaction(i, &old[i], NULL);
    file_close(g.file);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status)); /* each of its opens came through */
}

CASE(file__range_limits)
{
    FileGiven g;
    assert_int_equal(file_open(fd, (uint64_t)1 << 62, 1, false, false, NULL, 0, &g), -EINVAL);
    assert_int_equal(file_open(fd, 1, ((uint64_t)1 << 62) - 1, false, false, NULL, 0, &g), -EINVAL);
    assert_int_equal(file_open(fd, 0, ((uint64_t)1 << 62) - 1, false, false, NULL, 0, &g), 0);
    file_close(g.file);
}

/* ---- the description ------------------------------------------------------------------------ */

/* What pwrite(2) by the program's descriptor would make durable, a write of the library's does. */
CASE(description__keeps_the_sync_flags)
{
    static const int flags[] = {0, O_DSYNC, O_SYNC};
    struct stat st;
    bool shared;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        int theirs = open(path, O_RDWR | O_APPEND | flags[i]);
        int ours = description_open(theirs, false, &st, &shared);
        assert_true(ours >= 0);
        int got = fcntl(ours, F_GETFL);
        assert_int_equal(got & O_SYNC, flags[i]); /* O_SYNC has the bit of O_DSYNC */
        assert_int_equal(got & O_APPEND, 0);
        close(ours);
        close(theirs);
    }
}

/* Runs @scenario in a child; its result is the child's, 0 is good. */
static void in_child(int (*scenario)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(scenario());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int without_standard_descriptors(void)
{
    struct stat st;
    bool shared;
    int theirs = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 3; i++)
        close(i);
    int ours = description_open(theirs, false, &st, &shared);
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) >= 0)
            return 1;
    if (ours < 3)
        return 2;
    if (fchmod(theirs, 0) < 0 || (geteuid() == 0 && setuid(65534) < 0))
        return 3;
    ours = description_open(theirs, true, &st, &shared);
    return ours > 2 && shared ? 0 : 4; /* a duplicate, too */
}

/* A program without standard output must not print into its file. */
CASE(description__is_no_standard_descriptor)
{
    in_child(without_standard_descriptors);
}

/* A program that may not open its file again: it dropped its privileges. */
static int shared_description(void)
{
    FileGiven reader, second;
    int other = open(path, O_RDWR | O_CLOEXEC);
    if (fchmod(fd, 0) < 0 || (geteuid() == 0 && setuid(65534) < 0))
        return 1;
    if (file_open(fd, 0, 4096, false, false, NULL, 0, &second) != -EACCES)
        return 2;
    if (file_open(fd, 0, 4096, true, false, NULL, 0, &reader) != 0)
        return 3;
    if (description_lock(other, 0, 4096, F_WRLCK) != -EBUSY)
        return 4;
    pid_t child = fork(); /* the same description, and a region of the same range */
    if (child == 0) {
        if (file_open(fd, 0, 4096, true, false, NULL, 0, &second) != 0)
            _exit(5);
        file_close(second.file);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        return 6;
    return description_lock(other, 0, 4096, F_WRLCK) == -EBUSY ? 0 : 7; /* still this process's */
}

CASE(description__shared_is_for_readers)
{
    in_child(shared_description);
}

/* A duplicate has the program's own flags: there must be none that changes what a call does. */
static int shared_flags(void)
{
    struct stat st;
    bool shared;
    if (fchmod(fd, 0) < 0 || (geteuid() == 0 && setuid(65534) < 0))
        return 1;
    if (fcntl(fd, F_SETFL, O_APPEND) < 0 || description_open(fd, true, &st, &shared) != -EACCES)
        return 2;
    if (fcntl(fd, F_SETFL, 0) < 0 || description_open(fd, true, &st, &shared) < 0)
        return 3;
    return shared ? 0 : 4;
}

CASE(description__shared_has_no_flags_of_the_programs_own)
{
    in_child(shared_flags);
}

/* The lock meets none of the program's own, and goes with the process that held it. */
CASE(lock__is_apart_and_goes_with_its_process)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 << 20};
    int ready[2], hold[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(hold), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        FileGiven g;
        close(hold[1]);
        byte = file_open(fd, 0, 4096, false, false, NULL, 0, &g) == 0;
        (void)!write(ready[1], &byte, 1);
        (void)!read(hold[0], &byte, 1); /* until it is killed */
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    FileGiven g;
    assert_int_equal(file_open(fd, 4095, 1, true, false, NULL, 0, &g), -EBUSY);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    whole.l_type = F_UNLCK;
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(file_open(fd, 4095, 1, true, false, NULL, 0, &g), 0);
    file_close(g.file);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(hold[i]);
    }
}

CASE(lock__of_the_programs_own_survives)
{
    FileGiven g, other;
    posix_lock(fd, F_WRLCK);
    g = given(0, 4096, false);
    assert_int_equal(file_open(fd, 0, 4096, false, false, NULL, 0, &other), -EBUSY);
    assert_true(posix_locked(fd));
    file_close(g.file);
    assert_true(posix_locked(fd));
    g = given(0, 4096, true); /* its range is free again */
    file_close(g.file);
    assert_true(posix_locked(fd));
}

/* libmanage's lock: libdodo's own regions of the range are refused, one on its behalf leaves it. */
CASE(lock__held_by_the_caller)
{
    FileGiven g;
    int own = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(description_lock(own, 0, 4096, F_WRLCK), 0);
    assert_int_equal(file_open(fd, 0, 4096, false, false, NULL, 0, &g), -EBUSY);
    assert_int_equal(file_open(fd, 0, 4096, false, true, NULL, 0, &g), 0);
    file_close(g.file);
    assert_int_equal(file_open(fd, 4095, 1, true, false, NULL, 0, &g), -EBUSY);
    assert_int_equal(description_lock(own, 0, 4096, F_UNLCK), 0);
    g = given(0, 4096, false);
    assert_int_equal(description_lock(own, 0, 4096, F_RDLCK), -EBUSY);
    file_close(g.file);
    close(own);
}

CASE(io__reads_to_the_end)
{
    FileGiven g = given(0, 1 << 20, false);
    FileResult r;
    char buf[100];
    file_read(g.file, buf, sizeof buf, (1 << 20) - 30, &r);
    assert_int_equal(r.count, 30);
    file_read(g.file, buf, sizeof buf, 1 << 21, &r);
    assert_int_equal(r.count, 0);
    file_close(g.file);
}

/* What was read before the error does not count: the file has more, and nobody knows what. */
CASE(io__read_error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FileGiven g = given(0, 1 << 20, false);
    FileResult r;
    char *buf = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(buf != MAP_FAILED);
    assert_int_equal(mprotect(buf + page, page, PROT_NONE), 0);
    file_read(g.file, buf, 2 * page, 0, &r);
    assert_int_equal(r.count, -1);
    assert_int_equal(r.error, EFAULT);
    assert_int_equal(munmap(buf, 2 * page), 0);
    file_close(g.file);
}

/* The file system takes less than was asked: the count tells, then the error. */
CASE(io__short_write)
{
    FileGiven g = given(0, 1 << 20, false);
    FileResult r;
    char buf[100] = {0};
    struct rlimit old, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 1000050;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    file_write(g.file, buf, sizeof buf, 1000000, &r);
    assert_int_equal(r.count, 50);
    file_write(g.file, buf, sizeof buf, 1000050, &r);
    assert_int_equal(r.count, -1);
    assert_int_equal(r.error, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    file_sync(g.file, &r);
    assert_int_equal(r.count, 0);
    file_close(g.file);
}
