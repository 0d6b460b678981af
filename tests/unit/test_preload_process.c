/* SPDX-License-Identifier: MIT */
/* The process that the library is loaded into: its signals, threads, rights, children, and end. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "tests/unit/preload_fixture.h"

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

int main(void)
{
    case_if(geteuid() == 0, rights__given_up_leave_no_lease_behind, "no root");
    return cases_run(NULL, NULL);
}
