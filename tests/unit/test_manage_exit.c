/* SPDX-License-Identifier: MIT */
/* exit() while calls of libmanage are under way: what was written is in the file, and nobody who
 * reads is waited for. Reads of the file hang, or are interrupted by a signal, as the test says.
 * No cluster. */
#undef _FILE_OFFSET_BITS /* both names of the reading call are defined here */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <dodo/manage.h>

#include "base/cleanup.h"
#include "tests/lib/sanitizer.h"
#include "tests/lib/scenario.h"

enum { FILE_BYTES = 200000, SHARED_FD = 9, PATIENCE_S = 60, PIECE = 8192, BLOCK = 4096 };

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 131 + (offset >> 8));
}

/* ---- reads that do not end --------------------------------------------------------------------
 */

static void (*in_read)(void); /* what happens in the next read of a file */

static ssize_t read_slowly(int fd, const struct iovec *iov, int count, off_t offset)
{
    void (*now)(void) = in_read;
    in_read = NULL;
    if (now)
        now();
    return syscall(SYS_preadv, fd, iov, (long)count, offset, 0L);
}

#define EXPORT __attribute__((visibility("default")))
EXPORT ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
    return read_slowly(fd, iov, count, offset);
}
EXPORT ssize_t preadv64(int fd, const struct iovec *iov, int count, off64_t offset)
{
    return read_slowly(fd, iov, count, offset);
}

static atomic_bool hangs;

static void hang(void)
{
    hangs = true;
    for (;;)
        (void)pause();
}

static void on_signal(int number)
{
    (void)number;
    exit(7);
}

static void interrupt(void)
{
    (void)raise(SIGUSR1);
}

/* ---- the ends, in processes of their own ------------------------------------------------------
 */

static int rd;
enum { TAIL = FILE_BYTES - BLOCK / 2 }; /* a block from there is no hit, whatever the file costs */

/* A region of the file that SHARED_FD is, with something to be written. Who hangs is killed. */
static void begin(void)
{
    (void)alarm(PATIENCE_S);
    rd = copen(FILE_BYTES + PIECE, SHARED_FD, 0);
    CHECK(rd >= 0 && cwrite(rd, 100, "hello", 5) == 5);
}

static void child__exits_in_a_signal_handler(void)
{
    uint8_t buf[BLOCK];
    begin();
    CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
    in_read = interrupt;
    (void)cread(rd, TAIL, buf, sizeof buf);
    for (;;)
        (void)pause();
}

static void *read_and_hang(void *arg)
{
    uint8_t buf[BLOCK];
    in_read = hang;
    (void)cread(rd, *(off_t *)arg, buf, sizeof buf);
    return NULL;
}

static void exit_beside_a_read_at(off_t at)
{
    pthread_t thread;
    begin();
    CHECK(pthread_create(&thread, NULL, read_and_hang, &at) == 0);
    CHECK(pthread_detach(thread) == 0);
    while (!hangs)
        (void)sched_yield();
    exit(7);
}

static void child__exits_beside_a_read(void)
{
    exit_beside_a_read_at(TAIL);
}

/* ... of a block beside the one that is to be written. */
static void child__exits_beside_a_read_of_the_same_piece(void)
{
    exit_beside_a_read_at(BLOCK);
}

static void *write_and_hang(void *arg)
{
    in_read = hang;
    (void)!cwrite(rd, *(off_t *)arg, "x", 1); /* the rest of its block is read */
    return NULL;
}

static void child__exits_beside_a_write(void)
{
    static off_t at = 10 * PIECE;
    pthread_t thread;
    begin();
    CHECK(pthread_create(&thread, NULL, write_and_hang, &at) == 0);
    CHECK(pthread_detach(thread) == 0);
    while (!hangs)
        (void)sched_yield();
    exit(7);
}

/* One that was registered before anything was opened, and so runs last. */
static void write_late(void)
{
    CHECK(cwrite(rd, 50000, "later", 5) == 5 && cwrite(rd, 102, "LLO", 3) == 3);
}

static void child__writes_in_an_exit_handler(void)
{
    CHECK(atexit(write_late) == 0);
    begin();
    exit(7);
}

/* The policy is asked with the lock held: nothing can be flushed then. */
static struct manage_policy interrupting;

static void interrupt_once(void *self, struct manage_entry *entry)
{
    (void)self;
    (void)entry;
    interrupt();
}

static struct manage_entry *oldest(void *self, const struct manage_directory *dir)
{
    (void)self;
    return dir->oldest;
}

static void child__exits_in_the_midst_of_bookkeeping(void)
{
    (void)alarm(PATIENCE_S);
    CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
    interrupting = (struct manage_policy){.size = sizeof interrupting,
                                          .name = "interrupting",
                                          .read = interrupt_once,
                                          .write = interrupt_once,
                                          .reclaim = oldest};
    CHECK(csetPolicy(manage_register_policy(&interrupting)) == 0);
    begin();
    for (;;)
        (void)pause();
}

/* No handler of fork(2) has run in that child, which has all that is to be written. */
static void child__forks_unseen(void)
{
    int status;
    begin();
    pid_t child = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (child == 0)
        exit(0);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    _exit(7);
}

/* Of two regions the first one cannot be written: the file may not get that long. */
static void child__has_one_that_cannot_be_written(void)
{
    const struct rlimit none = {0}, all = {FILE_BYTES, FILE_BYTES};
    int far = copen(PIECE, SHARED_FD, FILE_BYTES + PIECE);
    CHECK(far >= 0 && cwrite(far, 0, "far", 3) == 3);
    begin();
    CHECK(setrlimit(RLIMIT_CORE, &none) == 0 && setrlimit(RLIMIT_FSIZE, &all) == 0);
    exit(7);
}

/* ---- the cases --------------------------------------------------------------------------------
 */

/* On a file, which is left in SHARED_FD. */
static int status_on_file(const char *scenario)
{
    int fd = scenario_file(FILE_BYTES, byte_at);
    CHECK(dup2(fd, SHARED_FD) == SHARED_FD && close(fd) == 0);
    return scenario_wait(scenario_start(scenario));
}

static void run_on_file(const char *scenario)
{
    int status = status_on_file(scenario);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void file_has(off_t at, const char *text)
{
    char got[16] = "";
    size_t len = strlen(text);
    CHECK(pread(SHARED_FD, got, len, at) == (ssize_t)len && memcmp(got, text, len) == 0);
}

__attribute__((unused)) static void exit__in_a_signal_handler_during_cread(void)
{
    run_on_file("child__exits_in_a_signal_handler");
    file_has(100, "hello");
}

static void exit__beside_a_read_that_hangs(void)
{
    run_on_file("child__exits_beside_a_read");
    file_has(100, "hello");
}

static void exit__beside_a_read_of_the_same_piece_that_hangs(void)
{
    run_on_file("child__exits_beside_a_read_of_the_same_piece");
    file_has(100, "hello");
}

static void exit__beside_a_write_that_hangs(void)
{
    run_on_file("child__exits_beside_a_write");
    file_has(100, "hello");
}

static void exit__handlers_may_write(void)
{
    run_on_file("child__writes_in_an_exit_handler");
    file_has(100, "heLLO");
    file_has(50000, "later");
}

/* What is the parent's is written by the parent, or by nobody. */
__attribute__((unused)) static void exit__of_a_child_that_was_forked_unseen(void)
{
    uint8_t got[5];
    run_on_file("child__forks_unseen");
    CHECK(pread(SHARED_FD, got, sizeof got, 100) == sizeof got);
    for (unsigned i = 0; i < sizeof got; i++)
        CHECK(got[i] == byte_at(100 + i));
}

static void exit__in_the_midst_of_bookkeeping_ends(void)
{
    run_on_file("child__exits_in_the_midst_of_bookkeeping");
}

/* It dies of it, as by write(2), but only when all others are written. */
static void exit__beyond_the_limit_of_files(void)
{
    int status = status_on_file("child__has_one_that_cannot_be_written");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    file_has(100, "hello");
}

static const Scenario scenarios[] = {
#if !UNDER_TSAN /* which holds signals back until the call is over, and must see each fork */
    SCENARIO(exit__in_a_signal_handler_during_cread),
    SCENARIO(exit__of_a_child_that_was_forked_unseen),
#endif
    SCENARIO(exit__beside_a_read_that_hangs),
    SCENARIO(exit__beside_a_read_of_the_same_piece_that_hangs),
    SCENARIO(exit__beside_a_write_that_hangs),
    SCENARIO(exit__handlers_may_write),
    SCENARIO(exit__in_the_midst_of_bookkeeping_ends),
    SCENARIO(exit__beyond_the_limit_of_files),
    /* which are no cases by themselves */
    SCENARIO(child__exits_in_a_signal_handler),
    SCENARIO(child__exits_beside_a_read),
    SCENARIO(child__exits_beside_a_read_of_the_same_piece),
    SCENARIO(child__exits_beside_a_write),
    SCENARIO(child__writes_in_an_exit_handler),
    SCENARIO(child__exits_in_the_midst_of_bookkeeping),
    SCENARIO(child__forks_unseen),
    SCENARIO(child__has_one_that_cannot_be_written),
};
enum { CASES = ARRAY_SIZE(scenarios) - 8 };

int main(int argc, char **argv)
{
    return scenario_main_alone(argc, argv, scenarios, ARRAY_SIZE(scenarios), CASES);
}
