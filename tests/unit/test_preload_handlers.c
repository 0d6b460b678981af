/* SPDX-License-Identifier: MIT */
/* Handlers of signals in a process that the library is loaded into: while one runs, which may have
 * interrupted malloc(3), reads take no memory. A thread's first read from the cache takes some. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

#include "tests/unit/preload_fixture.h"

/* ---- memory ------------------------------------------------------------------------------------
 */

void *__libc_malloc(size_t size);               // NOLINT
void *__libc_calloc(size_t count, size_t size); // NOLINT

void *__libc_memalign(size_t align, size_t size); // NOLINT

static _Thread_local volatile int taken; /* how often this thread has asked for memory */
static _Thread_local volatile int
    number; /* of the signal that the next one is interrupted by; 0: none */
static _Thread_local volatile bool is_held; /* what malloc(3) of other C libraries waits for */
static atomic_bool taken_twice;

static void take(void)
{
    int now = number;
    taken++;
    taken_twice |= is_held;
    number = 0;
    if (now == 0)
        return;
    is_held = true;
    (void)raise(now);
    is_held = false;
}

/* The C library's own, and that of all that is loaded, are these. */
#define FOR_ALL __attribute__((visibility("default")))

FOR_ALL void *malloc(size_t size)
{
    take();
    return __libc_malloc(size);
}

FOR_ALL void *calloc(size_t count, size_t size)
{
    take();
    return __libc_calloc(count, size);
}

FOR_ALL void *aligned_alloc(size_t align, size_t size)
{
    take();
    return __libc_memalign(align, size);
}

static void interrupt(int by)
{
    number = by;
    void *volatile p = malloc(1);
    free(p);
}

/* ---- a thread that has read nothing ------------------------------------------------------------
 */

static int file_fd;
static sem_t body_is_over;

/* It stays: what it had of the cache's memory would be the next thread's, which then took none. */
static void *stay(void *body)
{
    (void)(*(void *(**)(void *))body)(NULL);
    (void)sem_post(&body_is_over);
    for (;;)
        (void)pause();
    return NULL;
}

static void in_new_thread(void *(*body)(void *ctx))
{
    pthread_t thread;
    file_fd = open_held(1);
    taken_twice = false;
    assert_int_equal(sem_init(&body_is_over, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, stay, &body), 0);
    assert_int_equal(pthread_detach(thread), 0);
    while (sem_wait(&body_is_over) != 0)
        ;
    assert_false(taken_twice);
    assert_true(holds(file_fd));
    assert_int_equal(close(file_fd), 0);
}

static void read_some(void)
{
    for (uint64_t i = 0; i < 50; i++)
        read_at(file_fd, 1, i * 7919 % (WORDS - 1));
}

static void assert_read_from_cache(void)
{
    int before = taken;
    read_some();
    assert_true(taken > before);
}

static void set(int signal_number, void (*handler)(int), int flags)
{
    const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    assert_int_equal(sigaction(signal_number, &action, NULL), 0);
}

static void reads(int by)
{
    read_some();
}

static void *interrupted(void *ctx)
{
    interrupt(SIGUSR1);
    assert_read_from_cache();
    return ctx;
}

CASE(handler__that_reads_takes_no_memory)
{
    set(SIGUSR1, reads, 0);
    in_new_thread(interrupted);
    set(SIGUSR1, reads, SA_NODEFER);
    in_new_thread(interrupted);
    assert_true(signal(SIGUSR1, SIG_DFL) == reads);
    assert_true(signal(SIGUSR1, reads) == SIG_DFL);
    in_new_thread(interrupted);
}

static __attribute__((noinline)) void read_deeper(void)
{
    volatile char room[64 << 10] = "";
    assert_read_from_cache();
    (void)room;
}

static void does_nothing(int by)
{
}

static void *interrupted_then_deeper(void *ctx)
{
    interrupt(SIGUSR1);
    read_deeper();
    return ctx;
}

/* Wherever what follows is on the stack. */
CASE(handler__that_has_returned)
{
    set(SIGUSR1, does_nothing, 0);
    in_new_thread(interrupted_then_deeper);
    set(SIGUSR1, does_nothing, SA_NODEFER);
    in_new_thread(interrupted_then_deeper);
}

static void reads_after_another(int by)
{
    assert_int_equal(raise(SIGUSR2), 0);
    read_some();
}

CASE(handler__that_another_one_has_interrupted)
{
    set(SIGUSR1, reads_after_another, 0);
    set(SIGUSR2, reads, 0);
    in_new_thread(interrupted);
}

static void *on_a_stack_of_its_own(void *ctx)
{
    static uint8_t room[256 << 10];
    const stack_t apart = {.ss_sp = room, .ss_size = sizeof room}, none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&apart, NULL), 0);
    interrupt(SIGUSR1);
    assert_read_from_cache();
    assert_int_equal(sigaltstack(&none, NULL), 0);
    return ctx;
}

CASE(handler__on_a_stack_of_its_own)
{
    set(SIGUSR1, reads, SA_ONSTACK);
    in_new_thread(on_a_stack_of_its_own);
}

/* ---- left by a jump ----------------------------------------------------------------------------
 */

static _Thread_local sigjmp_buf back;

static void jumps(int by)
{
    siglongjmp(back, by);
}

static __attribute__((noinline)) void jump_out(void)
{
    volatile char room[4096] = ""; /* the handler is further down the stack than what follows */
    if (sigsetjmp(back, 1) == 0)
        (void)raise(SIGUSR1);
    (void)room;
}

static void *left(void *ctx)
{
    for (int i = 0; i < 100; i++)
        jump_out();
    assert_read_from_cache();
    return ctx;
}

/* What runs then is no handler, at whatever depth. */
static void *left_for_deeper(void *ctx)
{
    jump_out();
    read_deeper();
    return ctx;
}

CASE(handler__left_by_a_jump)
{
    set(SIGUSR1, jumps, 0);
    in_new_thread(left);
    in_new_thread(left_for_deeper);
    set(SIGUSR1, jumps, SA_NODEFER);
    in_new_thread(left);
}

static void *left_its_own_stack(void *ctx)
{
    uint8_t room[64 << 10]; /* above all that runs later */
    const stack_t apart = {.ss_sp = room, .ss_size = sizeof room}, none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&apart, NULL), 0);
    jump_out();
    read_deeper();
    assert_int_equal(sigaltstack(&none, NULL), 0);
    return ctx;
}

CASE(handler__that_left_a_stack_of_its_own)
{
    set(SIGUSR1, jumps, SA_ONSTACK | SA_NODEFER);
    in_new_thread(left_its_own_stack);
}

static void jumps_or_reads(int by)
{
    if (!is_held)
        jumps(by);
    read_some();
}

static void *left_then_interrupted(void *ctx)
{
    jump_out();
    interrupt(SIGUSR1);
    assert_read_from_cache();
    return ctx;
}

CASE(handler__that_was_left_before)
{
    set(SIGUSR1, jumps_or_reads, 0);
    in_new_thread(left_then_interrupted);
    set(SIGUSR1, jumps_or_reads, SA_NODEFER);
    in_new_thread(left_then_interrupted);
}

/* ---- which one there is ------------------------------------------------------------------------
 */

static volatile siginfo_t got;
static void *got_context;

static void notes(int by, siginfo_t *info, void *context)
{
    got = *info;
    got_context = context;
}

CASE(sigaction__tells_what_was_set)
{
    const struct sigaction noting = {.sa_sigaction = notes, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    struct sigaction was = {.sa_flags = 0};
    const union sigval value = {.sival_int = 17};
    set(SIGUSR1, does_nothing, SA_RESTART);
    assert_int_equal(sigaction(SIGUSR1, NULL, &was), 0);
    assert_true(was.sa_handler == does_nothing && (was.sa_flags & SA_RESTART));
    assert_int_equal(sigaction(SIGUSR1, &noting, &was), 0);
    assert_true(was.sa_handler == does_nothing);
    assert_int_equal(sigaction(SIGUSR1, NULL, &was), 0);
    assert_true(was.sa_sigaction == notes && (was.sa_flags & SA_SIGINFO));
    assert_int_equal(sigqueue(getpid(), SIGUSR1, value), 0);
    assert_int_equal(got.si_value.sival_int, 17);
    assert_non_null(got_context);
    assert_int_equal(sigaction(SIGUSR1, NULL, &was), 0);
    assert_true(was.sa_handler == SIG_DFL);
}

CASE(signal__tells_what_was_set)
{
    static const char *const names[] = {"signal", "bsd_signal", "ssignal", "sysv_signal", "sigset"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sigaction was;
        sighandler_t (*setter)(int, sighandler_t);
        *(void **)&setter = dlsym(RTLD_DEFAULT, names[i]);
        assert_true(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
        assert_true(setter(SIGUSR1, does_nothing) == SIG_IGN);
        assert_true(setter(SIGUSR1, reads) == does_nothing);
        assert_int_equal(sigaction(SIGUSR1, NULL, &was), 0);
        assert_true(was.sa_handler == reads);
        assert_true(setter(SIGUSR1, SIG_DFL) == reads);
        assert_true(setter(SIGUSR1, SIG_DFL) == SIG_DFL);
        assert_true(setter(SIGUSR1, SIG_IGN) == SIG_DFL);
        assert_int_equal(raise(SIGUSR1), 0);
    }
    assert_true(signal(SIGUSR1, SIG_ERR) == SIG_ERR);
}

CASE(sigset__holds)
{
    struct sigaction was;
    sighandler_t (*setter)(int, sighandler_t);
    *(void **)&setter = dlsym(RTLD_DEFAULT, "sigset");
    assert_true(setter(SIGUSR1, does_nothing) != SIG_ERR);
    assert_true(setter(SIGUSR1, SIG_HOLD) == does_nothing);
    assert_int_equal(sigaction(SIGUSR1, NULL, &was), 0);
    assert_true(was.sa_handler == does_nothing); /* it is blocked alone */
    assert_true(setter(SIGUSR1, does_nothing) == SIG_HOLD);
    assert_true(setter(SIGUSR1, SIG_DFL) == does_nothing);
}

static volatile int noted;

static void counts(int by)
{
    noted++;
}

/* Who asks the kernel gets what it calls, and may set that. */
CASE(sigaction__of_what_the_kernel_calls)
{
    struct {
        sighandler_t handler;
        unsigned long flags, restorer, mask;
    } kernel;
    struct sigaction was;
    set(SIGUSR1, counts, 0);
    assert_int_equal(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &kernel, sizeof kernel.mask), 0);
    noted = 0;
    kernel.handler(SIGUSR1);
    assert_int_equal(noted, 1);
    set(SIGUSR1, kernel.handler, 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(noted, 2);
    assert_int_equal(sigaction(SIGUSR1, NULL, &was), 0);
    assert_true(was.sa_handler == counts);
}

CASE(sigaction__that_fails_changes_nothing)
{
    const struct sigaction action = {.sa_handler = does_nothing};
    const int wrong[] = {0, -1, SIGKILL, SIGSTOP, _NSIG, 1 << 30};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sigaction was = action;
        errno = 0;
        assert_int_equal(sigaction(wrong[i], &action, &was), -1);
        assert_true(was.sa_handler == does_nothing);
        assert_int_equal(errno, EINVAL);
        assert_true(signal(wrong[i], does_nothing) == SIG_ERR);
    }
}
