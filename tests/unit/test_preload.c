/* SPDX-License-Identifier: MIT */
/* This program is one that nobody changed: libdodo-preload.so is loaded into it, and has the reads
 * of its large file from the first one on (DODO_PRELOAD_EAGER). */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "tests/lib/case.h"

enum { WORD = sizeof(uint64_t), BYTES = 4 << 20, WORDS = BYTES / WORD, TURNS = 5000 };

static bool (*holds)(int fd);
static char path[256];

/* Word number @i of a file of generation @generation. */
static uint64_t word(uint64_t generation, uint64_t i)
{
    return (generation << 32 | i) * 0x9e3779b97f4a7c15u;
}

static void write_file(uint64_t generation)
{
    static uint64_t words[WORDS];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = word(generation, i);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, words, BYTES), BYTES);
    assert_int_equal(close(fd), 0);
}

static void nap(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    (void)nanosleep(&ms, NULL);
}

static void read_at(int fd, uint64_t generation, uint64_t i)
{
    uint64_t w[2];
    assert_int_equal(pread(fd, w, sizeof w, (off_t)(i * WORD)), sizeof w);
    assert_int_equal(w[0], word(generation, i));
    assert_int_equal(w[1], word(generation, i + 1));
}

/* Whether somebody has a lease on the file; looking breaks none. */
static bool has_lease(void)
{
    char line[256], inode[32];
    struct stat st;
    bool found = false;
    FILE *f = fopen("/proc/locks", "r");
    assert_true(f && stat(path, &st) == 0);
    (void)snprintf(inode, sizeof inode, ":%llu ", (unsigned long long)st.st_ino);
    while (fgets(line, sizeof line, f))
        found |= strstr(line, "LEASE") && strstr(line, inode);
    (void)fclose(f);
    return found;
}

/* Reads until the file is served from the region cache. */
static void await_held(int fd, uint64_t generation)
{
    for (int i = 0; i < TURNS && !(holds(fd) && has_lease()); i++) {
        for (uint64_t k = 0; k < 16; k++)
            read_at(fd, generation, k * 999);
        nap();
    }
    assert_true(holds(fd) && has_lease());
}

static int open_held(uint64_t generation)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    await_held(fd, generation);
    return fd;
}

static int set_up(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)state;
    (void)snprintf(path, sizeof path, "%s/dodo-preload-%d", tmp ? tmp : "/tmp", (int)getpid());
    *(void **)&holds = dlsym(RTLD_DEFAULT, "dodo_preload_holds");
    assert_non_null(holds);
    write_file(1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- reads ------------------------------------------------------------------------------------
 */

CASE(read__moves_the_position)
{
    int fd = open_held(1);
    uint64_t w;
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(read(fd, &w, WORD), WORD);
        assert_int_equal(w, word(1, i));
        assert_int_equal(lseek(fd, 0, SEEK_CUR), (i + 1) * WORD);
    }
    assert_true(holds(fd));
    (void)close(fd);
}

CASE(read__ends_where_the_file_does)
{
    int fd = open_held(1);
    char buf[100];
    assert_int_equal(lseek(fd, BYTES - 10, SEEK_SET), BYTES - 10);
    assert_int_equal(read(fd, buf, sizeof buf), 10);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), BYTES);
    assert_int_equal(read(fd, buf, sizeof buf), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), BYTES);
    assert_int_equal(lseek(fd, BYTES + 5, SEEK_SET), BYTES + 5);
    assert_int_equal(read(fd, buf, sizeof buf), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), BYTES + 5);
    assert_int_equal(pread(fd, buf, sizeof buf, BYTES - 3), 3);
    assert_int_equal(pread(fd, buf, sizeof buf, BYTES), 0);
    assert_int_equal(pread(fd, buf, sizeof buf, -1), -1);
    assert_int_equal(errno, EINVAL);
    (void)close(fd);
}

CASE(vectors__are_filled_in_order)
{
    int fd = open_held(1);
    uint64_t a, b[3];
    struct iovec iov[] = {{&a, WORD}, {NULL, 0}, {b, sizeof b}};
    assert_int_equal(preadv(fd, iov, 3, 80), 4 * WORD);
    assert_int_equal(a, word(1, 10));
    assert_int_equal(b[2], word(1, 13));
    assert_int_equal(lseek(fd, 160, SEEK_SET), 160);
    assert_int_equal(preadv2(fd, iov, 3, -1, 0), 4 * WORD); /* where the descriptor stands */
    assert_int_equal(a, word(1, 20));
    assert_int_equal(readv(fd, iov, 3), 4 * WORD);
    assert_int_equal(b[0], word(1, 25));
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 160 + 8 * WORD);
    assert_int_equal(preadv(fd, iov, 3, -1), -1);
    volatile int none = -1;
    assert_int_equal(readv(fd, iov, none), -1);
    assert_int_equal(readv(fd, iov, 0), 0);
    (void)close(fd);
}

/* The kernel fills what it can. */
CASE(buffer__that_cannot_be_written_fails_as_ever)
{
    int fd = open_held(1);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && munmap(at + page, page) == 0);
    assert_int_equal(pread(fd, at + page - 16, 64, 0), 16);
    assert_int_equal(lseek(fd, 160, SEEK_SET), 160);
    assert_int_equal(read(fd, at + page, 64), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 160);
    assert_int_equal(mprotect(at, page, PROT_READ), 0);
    assert_int_equal(pread(fd, at, 64, 0), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(mprotect(at, page, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(pread(fd, at, page, BYTES - 32),
                     32); /* no more than what there is is written */
    assert_true(holds(fd));
    assert_int_equal(munmap(at, page), 0);
    (void)close(fd);
}

/* Each word is had by one of two processes: as from the kernel. */
CASE(position__is_shared_with_a_child)
{
    enum { EACH = 20000 };
    int fd = open_held(1), pipe_fds[2], status;
    uint64_t w, sum = 0, expected = 0, childs = 0;
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < EACH; i++)
            sum += read(fd, &w, WORD) == WORD ? w : 1;
        _exit(write(pipe_fds[1], &sum, sizeof sum) == sizeof sum ? 0 : 1);
    }
    for (int i = 0; i < EACH; i++)
        sum += read(fd, &w, WORD) == WORD ? w : 1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipe_fds[0], &childs, sizeof childs), sizeof childs);
    for (uint64_t i = 0; i < (uint64_t)2 * EACH; i++)
        expected += word(1, i);
    assert_int_equal(sum + childs, expected);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 2 * EACH * WORD);
    (void)close(fd);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
}

/* ---- others' changes ---------------------------------------------------------------------------
 */

CASE(change__is_seen_by_the_next_read)
{
    int fd = open_held(1);
    uint64_t seen, fastest_ns = UINT64_MAX;
    for (uint64_t generation = 2; generation < 12; generation++) {
        bool leased = has_lease();
        uint64_t from_ns = os_now_ns();
        int writer = open(path, O_WRONLY);
        uint64_t w = word(generation, 7), waited_ns = os_now_ns() - from_ns;
        assert_true(writer >= 0);
        if (leased && waited_ns < fastest_ns)
            fastest_ns = waited_ns;
        assert_int_equal(pwrite(writer, &w, WORD, 7 * WORD), WORD);
        assert_int_equal(pread(fd, &seen, WORD, 7 * WORD), WORD);
        assert_int_equal(seen, w);
        assert_int_equal(close(writer), 0);
        if (generation == 2) { /* later openings meet no lease, or one that is a second old */
            w = word(1, 7);
            writer = open(path, O_WRONLY);
            assert_int_equal(pwrite(writer, &w, WORD, 7 * WORD), WORD);
            (void)close(writer);
            await_held(fd, 1);
        }
    }
    assert_true(fastest_ns < 100000000);
    (void)close(fd);
}

/* Who writes it again empties it first. */
CASE(change__that_empties_the_file_is_not_for_good)
{
    int writer = open(path, O_RDWR | O_CLOEXEC), fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t w;
    assert_true(writer >= 0 && fd >= 0);
    read_at(fd, 1, 0); /* no lease beside a writer */
    assert_int_equal(ftruncate(writer, 0), 0);
    assert_int_equal(close(writer), 0);
    for (int i = 0; i < 100; i++, nap()) /* it is tried to hold an empty file */
        assert_int_equal(pread(fd, &w, sizeof w, 0), 0);
    assert_false(holds(fd));
    write_file(2);
    await_held(fd, 2);
    assert_int_equal(close(fd), 0);
}

/* ---- handlers ----------------------------------------------------------------------------------
 */

static int handler_fd;
static volatile bool handler_read;

static void read_all_over(int number)
{
    (void)number;
    for (uint64_t i = 0; i < 50; i++)
        read_at(handler_fd, 1, i * 7919 % (WORDS - 1));
    handler_read = true;
}

/* It has as much room as <signal.h> once said is enough, and the kernel's frame is a part of that.
 */
CASE(handler__reads_on_a_small_stack)
{
    enum { SMALL = 8192 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *at =
        mmap(NULL, page + SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && mprotect(at, page, PROT_NONE) == 0);
    const stack_t small = {.ss_sp = at + page, .ss_size = SMALL}, none = {.ss_flags = SS_DISABLE};
    const struct sigaction action = {.sa_handler = read_all_over, .sa_flags = SA_ONSTACK};
    struct sigaction before;
    handler_fd = open_held(1);
    handler_read = false;
    assert_int_equal(sigaltstack(&small, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_true(handler_read);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    assert_int_equal(sigaltstack(&none, NULL), 0);
    assert_true(holds(handler_fd));
    read_at(handler_fd, 1, 7); /* from the cache again */
    assert_int_equal(munmap(at, page + SMALL), 0);
    assert_int_equal(close(handler_fd), 0);
}

/* ---- cancellation ------------------------------------------------------------------------------
 */

static void *read_till_cancelled(void *ctx)
{
    int type;
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    for (uint64_t i = 0;; i++)
        read_at(*(int *)ctx, 1, i * 7919 % (WORDS - 1));
    return NULL;
}

/* A read from the cache that was cut off would count for ever: a change could not be waited for. */
CASE(thread__cancelled_at_any_moment)
{
    int fd = open_held(1);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, read_till_cancelled, &fd), 0);
        nap();
        assert_int_equal(pthread_cancel(thread), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    write_file(2);
    await_held(fd, 2);
    assert_int_equal(close(fd), 0);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static void *end_soon(void *ctx)
{
    int fd = *(int *)ctx;
    for (uint64_t i = 0; i < 50; i++, nap())
        read_at(fd, 1, i * 999);
    return NULL;
}

/* main() ends by pthread_exit(3), and another thread is the last. */
CASE(process__ends_with_the_programs_last_thread)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        static int fd;
        pthread_t thread;
        fd = open_held(1);
        if (pthread_create(&thread, NULL, end_soon, &fd) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    pid_t ended = 0;
    for (int i = 0; i < 4 * TURNS && ended == 0; i++, nap())
        ended = waitpid(pid, &status, WNOHANG);
    if (ended == 0)
        (void)kill(pid, SIGKILL);
    assert_int_equal(ended, pid);
    assert_int_equal(status, 0);
}

/* ---- rights -----------------------------------------------------------------------------------
 */

enum { NOBODY = 65534 };

/* A process that gives up its rights, which has a lock on the file that keeps the library from
 * closing it. It reads until it is ended. */
static void child_of_nobody(int told)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    char ready = 1;
    int fd = open_held(1);
    if (setuid(NOBODY) < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write(told, &ready, 1) != 1)
        _exit(1);
    for (uint64_t i = 0; i < (uint64_t)20 * TURNS; i++, nap())
        read_at(fd, 1, i % 9 * 999 + 9);
    _exit(0);
}

/* Its lease could be given back by nobody then. */
CASE(rights__given_up_leave_no_lease_behind)
{
    int told[2], status;
    char ready;
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0)
        child_of_nobody(told[1]);
    assert_int_equal(read(told[0], &ready, 1), 1);
    uint64_t from_ns = os_now_ns();
    int writer = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(writer >= 0);
    assert_true(os_now_ns() - from_ns < 10 * NS_PER_S); /* the kernel would have waited for 45 s */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(close(writer), 0);
    assert_int_equal(close(told[0]) | close(told[1]), 0);
}

CASE(number__of_another_file_is_another_files)
{
    int fd = open_held(1), other;
    char first[sizeof path + 2];
    (void)snprintf(first, sizeof first, "%s.1", path);
    assert_int_equal(rename(path, first), 0);
    write_file(2);
    other = open(path, O_RDONLY);
    assert_true(other >= 0);
    /* As the C library closes what it has opened: nobody hears of it. */
    assert_int_equal(syscall(SYS_dup3, other, fd, O_CLOEXEC), fd);
    for (uint64_t i = 0; i < 100; i++)
        read_at(fd, 2, i);
    await_held(fd, 2);
    read_at(fd, 2, 5);
    (void)close(fd);
    (void)close(other);
    (void)unlink(first);
}

/* ---- what is the program's stays the program's
 * --------------------------------------------------- */

CASE(descriptors__of_the_libraries_are_not_the_programs)
{
    int fd = open_held(1), low = open("/dev/null", O_RDONLY);
    assert_true(low >= 0 && low < 64); /* the next one free, as ever */
    for (int i = 3; i < 1 << 16; i++)
        if (i != fd)
            (void)close(i);
    read_at(fd, 1, 77);
    assert_true(holds(fd));
    assert_int_equal(close_range((unsigned)fd + 1, ~0u, 0), 0);
    closefrom(fd + 1);
    read_at(fd, 1, 78);
    assert_true(holds(fd) && has_lease());
    (void)close(fd);
}

/* In a process of its own, which lives no longer: nothing of the libraries is left there. */
static int lose_all(void)
{
    int fd = open_held(1);
    uint64_t w = word(9, 7), seen = 0;
    read_at(fd, 1, 7);                                        /* it is in local memory */
    (void)syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0); /* past us: the lease goes with it */
    int writer = open(path, O_WRONLY | O_NONBLOCK);
    bool good = writer >= 0 && pwrite(writer, &w, WORD, 7 * WORD) == WORD &&
                pread(fd, &seen, WORD, 7 * WORD) == WORD && seen == w;
    return good ? 0 : 1;
}

CASE(lease__that_was_lost_serves_no_read)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(lose_all());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool others_can_lock(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_RDWR);
        _exit(fcntl(fd, F_SETLK, &lock) == 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status) == 1;
}

/* A process that closes any descriptor of a file loses its POSIX locks on that. */
CASE(locks__of_the_program_stay_when_the_lease_goes)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 10};
    int fd = open_held(1);
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    for (int turn = 0; turn < 3; turn++) {
        assert_false(others_can_lock()); /* its opening breaks the lease */
        for (int i = 0; i < TURNS && holds(fd); i++)
            nap();
        assert_false(others_can_lock());
        await_held(fd, 1);
    }
    (void)close(fd);
}

/* ---- signals, threads, children
 * ------------------------------------------------------------------ */

static int handler_fd;
static atomic_uint handled;
static volatile bool handler_wrong;

static void on_signal(int number)
{
    uint64_t w = 0, i = (unsigned)(handled * 131) % WORDS;
    int error = errno;
    (void)number;
    if (pread(handler_fd, &w, WORD, (off_t)(i * WORD)) != WORD || w != word(1, i))
        handler_wrong = true;
    handled++;
    errno = error;
}

/* Handlers that read, at a thousand a second, beside reads of the same file. */
CASE(handlers__may_read)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    handler_fd = open_held(1);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (uint64_t i = 0; handled < 200; i = (i * 31 + 7) % (WORDS - 1))
        read_at(handler_fd, 1, i);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_false(handler_wrong);
    (void)close(handler_fd);
}

static sigjmp_buf out;

static void leave(int number)
{
    (void)number;
    siglongjmp(out, 1);
}

CASE(handlers__may_leave_by_longjmp)
{
    struct sigaction action = {.sa_handler = leave}, before;
    struct itimerval soon = {{0, 0}, {0, 700}};
    volatile int left = 0;
    int fd = open_held(1);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    while (left < 100) {
        if (sigsetjmp(out, 1) != 0) {
            left++;
            continue;
        }
        assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
        for (uint64_t i = 0;; i = (i * 31 + 7) % (WORDS - 1)) {
            uint64_t w;
            (void)!pread(fd, &w, WORD, (off_t)(i * WORD));
        }
    }
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    read_at(fd, 1, 3);
    (void)close(fd);
}

typedef struct Reader {
    int fd;
    atomic_uint reads;
} Reader;

static void *read_for_ever(void *ctx)
{
    Reader *r = ctx;
    uint64_t w;
    for (;; r->reads++)
        (void)!pread(r->fd, &w, WORD, (off_t)(r->reads * 31 % WORDS * WORD));
    return NULL;
}

CASE(threads__are_cancelled_in_reads)
{
    Reader r = {.fd = open_held(1)};
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        void *result;
        unsigned before = r.reads;
        assert_int_equal(pthread_create(&thread, NULL, read_for_ever, &r), 0);
        while (r.reads < before + 100)
            nap();
        assert_int_equal(pthread_cancel(thread), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, PTHREAD_CANCELED);
    }
    read_at(r.fd, 1, 3);
    assert_true(holds(r.fd));
    (void)close(r.fd);
}

/* It starts again, and its lease is not its parent's. */
CASE(child__of_a_fork_has_a_cache_of_its_own)
{
    int fd = open_held(1), status;
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t w;
        bool right = !holds(fd);
        for (int i = 0; i < TURNS && !holds(fd); i++) {
            right &= pread(fd, &w, WORD, 80) == WORD && w == word(1, 10);
            nap();
        }
        right &= holds(fd) && pread(fd, &w, WORD, 800) == WORD && w == word(1, 100);
        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    read_at(fd, 1, 3);
    assert_true(holds(fd));
    (void)close(fd);
}

/* It has the parent's memory, but neither its threads nor whole libraries. */
CASE(child__of_a_raw_clone_reads_plainly)
{
    int fd = open_held(1), status;
    for (int i = 0; i < 20; i++) {
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            uint64_t w;
            bool right = true;
            for (uint64_t k = 0; k < WORDS; k += 501) /* also what is not in local memory */
                right &= pread(fd, &w, WORD, (off_t)(k * WORD)) == WORD && w == word(1, k);
            _exit(right ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    assert_true(holds(fd) && has_lease());
    (void)close(fd);
}

CASE(child__that_lives_on_keeps_no_lease)
{
    int stay[2], begun[2], status;
    assert_true(pipe(stay) == 0 && pipe(begun) == 0);
    pid_t parent = fork();
    if (parent == 0) {
        char byte;
        int fd = open(path, O_RDONLY);
        for (int i = 0; i < TURNS && !holds(fd); i++) {
            uint64_t w;
            (void)!pread(fd, &w, WORD, 80);
            nap();
        }
        if (!holds(fd))
            _exit(1);
        pid_t child = fork();
        if (child == 0) {
            (void)close(stay[1]);
            (void)!write(begun[1], "", 1);
            (void)!read(stay[0], &byte, 1); /* until the test is over */
            _exit(0);
        }
        (void)!read(begun[0], &byte, 1);
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_true(WIFSIGNALED(status));
    int writer = open(path, O_WRONLY | O_NONBLOCK); /* it would fail where a lease is left */
    assert_true(writer >= 0);
    (void)close(writer);
    for (int i = 0; i < 2; i++)
        (void)!(close(stay[i]) | close(begun[i]));
}

/* How many descriptors of this process are open for the file. */
static unsigned descriptors(void)
{
    char target[sizeof path + 1];
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        ssize_t len = readlinkat(dirfd(dir), e->d_name, target, sizeof target);
        count += len == (ssize_t)strlen(path) && memcmp(target, path, (size_t)len) == 0;
    }
    (void)closedir(dir);
    return count;
}

/* Its disk may be unmounted, or its blocks freed. */
CASE(file__that_the_program_has_closed_is_closed)
{
    int fd = open_held(1);
    assert_true(descriptors() > 1);
    assert_int_equal(close(fd), 0);
    for (int i = 0; i < TURNS && descriptors() > 0; i++)
        nap();
    assert_int_equal(descriptors(), 0);
    assert_false(has_lease());
}

int main(void)
{
    case_if(geteuid() == 0, rights__given_up_leave_no_lease_behind, "no root");
    return cases_run(NULL, NULL);
}
