/* SPDX-License-Identifier: MIT */
#include "tests/lib/interleave.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <ucontext.h>

#include "tests/lib/interleave_private.h"

enum {
    STACK_BYTES = 256 << 10,
    LOCKS_MAX = 32,
    OWN_MAX = 256,
    STEPS_MAX = 100000, /* of one schedule; more of them never end */
    RANDOM_SWITCH_PPM = 150000,
};

enum ThreadState { READY, AT_LOCK, AT_COND, AT_FD, AT_JOIN, OVER };

typedef struct Thread {
    ucontext_t context;
    uint8_t *stack;
    void (*main)(void); /* the scenario's, or NULL: */
    void *(*fn)(void *);
    void *arg;
    unsigned joins; /* AT_JOIN: that one */
    enum ThreadState state;
    const void *lock, *cond; /* that it waits for; a condition's lock, too */
    int fd;
    bool timed, timed_out;
    const char *what; /* it does next */
    const void *pc;
    uint8_t own[OWN_MAX]; /* its variables, while another thread runs */
} Thread;

typedef struct Lock {
    const void *at;
    int owner;
} Lock;

/* The linker's: static memory, and in it the threads' own variables, if there are any. */
extern char __executable_start[], __data_start[], _end[];
extern char __start_interleave_own[] __attribute__((weak));
extern char __stop_interleave_own[] __attribute__((weak));

ExplorerPlan plan;

static struct {
    unsigned threads_count;
    uint64_t steps;
    int self;
    ucontext_t home;
    Thread threads[INTERLEAVE_THREADS];
    Lock locks[LOCKS_MAX];
    char *statics; /* as they were at first */
} x = {.self = NOBODY};

int explorer_self(void)
{
    return x.self;
}

/* ---- what fails ------------------------------------------------------------------------------ */

void interleave_fail(const char *format, ...)
{
    InterleaveResult *r = &plan.shared->result;
    const Thread *t = x.self == NOBODY ? NULL : &x.threads[x.self];
    int n = t ? snprintf(r->what, sizeof r->what, "thread %d, which %s: ", x.self,
                         t->what ? t->what : "begins")
              : snprintf(r->what, sizeof r->what, "beside the threads: ");
    va_list args;
    va_start(args, format);
    (void)vsnprintf(r->what + n, sizeof r->what - (size_t)n, format, args);
    va_end(args);
    plan.failed = true;
    x.self = NOBODY;
    (void)setcontext(&x.home);
    abort();
}

static void fail_stuck(void)
{
    static const char *const waits[] = {
        [AT_LOCK] = "lock", [AT_COND] = "condition", [AT_FD] = "descriptor", [AT_JOIN] = "thread"};
    char text[160] = "";
    size_t n = 0;
    for (unsigned i = 0; i < x.threads_count; i++) {
        const Thread *t = &x.threads[i];
        if (t->state != OVER && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "; thread %u waits for a %s", i,
                                  waits[t->state]);
    }
    interleave_fail("no thread can go on%s", text);
}

void interleave_count(unsigned what)
{
    plan.shared->result.counts[what]++;
}

/* ---- decisions ------------------------------------------------------------------------------- */

static unsigned decide(unsigned ways, bool cost)
{
    Shared *s = plan.shared;
    unsigned n = s->decisions_count, taken = 0;
    if (ways == 1)
        return 0;
    if (n == INTERLEAVE_DECISIONS)
        interleave_fail("more than %d decisions", INTERLEAVE_DECISIONS);
    if (n < plan.prefix)
        taken = s->decisions[n].taken;
    else if (plan.random && (!cost || sim_rng_chance(&plan.rng, RANDOM_SWITCH_PPM)))
        taken = (unsigned)sim_rng_below(&plan.rng, ways);
    if (taken >= ways)
        interleave_fail("decision %u has %u ways now", n, ways);
    uint8_t spent = n ? s->decisions[n - 1].spent : 0;
    if (n && s->decisions[n - 1].taken)
        spent = (uint8_t)(spent + s->decisions[n - 1].cost);
    s->decisions[n] =
        (Decision){.taken = (uint8_t)taken, .ways = (uint8_t)ways, .cost = cost, .spent = spent};
    s->decisions_count++;
    return taken;
}

static Lock *lock_at(const void *at)
{
    Lock *free_one = NULL;
    for (unsigned i = 0; i < LOCKS_MAX; i++) {
        if (x.locks[i].at == at)
            return &x.locks[i];
        if (!x.locks[i].at && !free_one)
            free_one = &x.locks[i];
    }
    if (!free_one)
        abort(); /* LOCKS_MAX is too small */
    *free_one = (Lock){.at = at, .owner = NOBODY};
    return free_one;
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static bool can_go_on(const Thread *t)
{
    if (t->state == AT_FD)
        return readable(t->fd);
    if (t->state == AT_JOIN)
        return x.threads[t->joins].state == OVER;
    return t->state == READY || (t->state == AT_LOCK && lock_at(t->lock)->owner == NOBODY);
}

static void switch_to(int next)
{
    int self = x.self;
    size_t own = (size_t)(__stop_interleave_own - __start_interleave_own);
    if (next == self)
        return;
    x.self = next;
    if (own > OWN_MAX)
        abort();
    if (own && self != NOBODY)
        memcpy(x.threads[self].own, __start_interleave_own, own);
    if (own && next != NOBODY)
        memcpy(__start_interleave_own, x.threads[next].own, own);
    ucontext_t *from = self == NOBODY ? &x.home : &x.threads[self].context;
    (void)swapcontext(from, next == NOBODY ? &x.home : &x.threads[next].context);
}

/* When nobody can go on otherwise, time passes. */
static bool time_passes(void)
{
    unsigned timed[INTERLEAVE_THREADS], n = 0;
    for (unsigned i = 0; i < x.threads_count; i++)
        if ((x.threads[i].state == AT_COND || x.threads[i].state == AT_FD) && x.threads[i].timed)
            timed[n++] = i;
    if (n == 0)
        return false;
    Thread *t = &x.threads[timed[decide(n, false)]];
    t->timed_out = true;
    t->state = t->state == AT_COND ? AT_LOCK : READY;
    return true;
}

static bool all_over(void)
{
    for (unsigned i = 0; i < x.threads_count; i++)
        if (x.threads[i].state != OVER)
            return false;
    return true;
}

/* Threads that can go on; the one that runs first. */
static unsigned candidates(int *ret)
{
    unsigned n = 0;
    if (x.self != NOBODY && can_go_on(&x.threads[x.self]))
        ret[n++] = x.self;
    for (int i = 0; i < (int)x.threads_count; i++)
        if (i != x.self && can_go_on(&x.threads[i]))
            ret[n++] = i;
    return n;
}

/* Decides who goes on, and returns when the thread that runs does. */
static void schedule(void)
{
    for (;;) {
        int way[2 * INTERLEAVE_THREADS];
        unsigned n = candidates(way), ways = n;
        if (n == 0 && all_over()) {
            switch_to(NOBODY);
            return;
        }
        if (n == 0 && !time_passes())
            fail_stuck();
        if (n == 0)
            continue;
        bool stays = way[0] == x.self;
        for (int i = 0; plan.shared->lateness == STORES_ANY && i < (int)x.threads_count; i++)
            if (memory_has_late(i))
                way[ways++] = i;
        unsigned taken = decide(ways, stays);
        if (taken < n) {
            switch_to(way[taken]);
            return;
        }
        memory_drain_one(way[taken]);
    }
}

static void step(const char *what, const void *at, const void *pc)
{
    x.threads[x.self].what = what;
    x.threads[x.self].pc = pc;
    if (++x.steps > STEPS_MAX)
        interleave_fail("the threads never end");
    schedule();
    if (plan.trace)
        (void)printf("%#tx: thread %d %s %p\n", (const char *)pc - __executable_start, x.self, what,
                     at);
}

void explorer_point(const char *what, const void *at, const void *pc)
{
    if (x.self != NOBODY)
        step(what, at, pc);
}

void interleave_point(const char *what)
{
    explorer_point(what, NULL, __builtin_return_address(0));
}

/* ---- locks and conditions -------------------------------------------------------------------- */

/* The thread waits until the lock is free, and has it then. */
static void lock_take(const void *lock)
{
    Thread *t = &x.threads[x.self];
    t->state = AT_LOCK;
    t->lock = lock;
    step("locks", lock, t->pc);
    t->state = READY;
    memory_check(lock, 1, "a lock");
    lock_at(lock)->owner = x.self;
}

int interleave_lock(const void *lock)
{
    memory_check(lock, 1, "a lock");
    if (x.self == NOBODY)
        return 0;
    memory_drain(x.self);
    x.threads[x.self].pc = __builtin_return_address(0);
    if (lock_at(lock)->owner == x.self)
        interleave_fail("the thread has the lock already");
    lock_take(lock);
    return 0;
}

static void lock_give(const void *lock)
{
    memory_check(lock, 1, "an unlock");
    if (lock_at(lock)->owner != x.self)
        interleave_fail("the thread does not have the lock");
    memory_drain(x.self);
    lock_at(lock)->owner = NOBODY;
}

int interleave_unlock(const void *lock)
{
    if (x.self == NOBODY)
        return 0;
    explorer_point("unlocks", lock, __builtin_return_address(0));
    lock_give(lock);
    return 0;
}

int interleave_wait(const void *cond, const void *lock, bool timed)
{
    if (x.self == NOBODY)
        interleave_fail("waits where there is no thread");
    Thread *t = &x.threads[x.self];
    memory_check(cond, 1, "a wait");
    explorer_point("is about to wait for", cond, __builtin_return_address(0));
    lock_give(lock);
    t->state = AT_COND;
    t->cond = cond;
    t->lock = lock;
    t->timed = timed;
    t->timed_out = false;
    step("waits for", cond, __builtin_return_address(0));
    t->state = READY;
    memory_check(lock, 1, "a lock");
    lock_at(lock)->owner = x.self;
    return t->timed_out ? ETIMEDOUT : 0;
}

/* Whom a signal wakes, the schedule says. */
static void wake(const void *cond, bool all)
{
    unsigned waiting[INTERLEAVE_THREADS], n = 0;
    for (unsigned i = 0; i < x.threads_count; i++)
        if (x.threads[i].state == AT_COND && x.threads[i].cond == cond)
            waiting[n++] = i;
    if (n > 0 && !all)
        waiting[0] = waiting[decide(n, false)];
    for (unsigned i = 0; i < (all ? n : n > 0); i++)
        x.threads[waiting[i]].state = AT_LOCK;
}

int interleave_signal(const void *cond)
{
    memory_check(cond, 1, "a signal");
    explorer_point("signals", cond, __builtin_return_address(0));
    wake(cond, false);
    return 0;
}

int interleave_broadcast(const void *cond)
{
    memory_check(cond, 1, "a broadcast");
    explorer_point("wakes all at", cond, __builtin_return_address(0));
    wake(cond, !(plan.breaks & BREAK_BROADCAST));
    return 0;
}

int interleave_destroy(const void *at)
{
    memory_check(at, 1, "an end of a lock");
    if (lock_at(at)->owner != NOBODY)
        interleave_fail("a lock ends while it is held");
    for (unsigned i = 0; i < x.threads_count; i++)
        if (x.threads[i].state == AT_COND && x.threads[i].cond == at)
            interleave_fail("a condition ends while thread %u waits for it", i);
    lock_at(at)->at = NULL;
    return 0;
}

int interleave_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    Thread *t = &x.threads[x.self];
    if (timeout_ms != 0 && x.self != NOBODY) {
        memory_drain(x.self);
        t->state = AT_FD;
        t->fd = fd;
        t->timed = timeout_ms > 0;
        step("sleeps until data comes", NULL, __builtin_return_address(0));
        t->state = READY;
    } else {
        explorer_point("looks for data", NULL, __builtin_return_address(0));
    }
    return epoll_wait(fd, events, max, 0);
}

/* ---- one schedule ---------------------------------------------------------------------------- */

static void thread_main(void)
{
    const Thread *t = &x.threads[x.self];
    if (t->main)
        t->main();
    else
        (void)t->fn(t->arg);
    memory_drain(x.self);
    x.threads[x.self].state = OVER;
    schedule();
}

/* Its own function: getcontext() may return twice, as the compiler knows. */
static __attribute__((noinline)) void thread_make(Thread *t)
{
    if (getcontext(&t->context) != 0)
        abort();
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&t->context, thread_main, 0);
}

static Thread *thread_add(void (*main)(void), void *(*fn)(void *), void *arg)
{
    if (x.threads_count == INTERLEAVE_THREADS)
        return NULL;
    Thread *t = &x.threads[x.threads_count++];
    uint8_t *stack = t->stack ? t->stack : malloc(STACK_BYTES);
    if (!stack)
        abort();
    *t = (Thread){.stack = stack, .main = main, .fn = fn, .arg = arg};
    thread_make(t);
    return t;
}

static void threads_make(void)
{
    for (unsigned i = 0; i < INTERLEAVE_THREADS && plan.scenario->threads[i]; i++)
        (void)thread_add(plan.scenario->threads[i], NULL, NULL);
}

int interleave_create(unsigned long *ret, void *(*fn)(void *), void *arg)
{
    explorer_point("starts a thread", NULL, __builtin_return_address(0));
    if (x.self != NOBODY)
        memory_drain(x.self);
    const Thread *t = thread_add(NULL, fn, arg);
    if (!t)
        return EAGAIN;
    *ret = (unsigned long)(t - x.threads);
    return 0;
}

int interleave_join(unsigned long thread)
{
    if (x.self == NOBODY)
        interleave_fail("waits where there is no thread");
    Thread *t = &x.threads[x.self];
    memory_drain(x.self);
    t->state = AT_JOIN;
    t->joins = (unsigned)thread;
    step("waits for the end of a thread", NULL, __builtin_return_address(0));
    t->state = READY;
    return 0;
}

/* Static memory is as it was before the first schedule, but for the explorer's own. */
static void statics_restore(void)
{
    size_t n = (size_t)(_end - __data_start);
    if (!x.statics) {
        x.statics = malloc(n);
        if (!x.statics)
            abort();
        memcpy(x.statics, __data_start, n);
        return;
    }
    __typeof__(x) kept = x;
    const ExplorerPlan kept_plan = plan;
    memcpy(__data_start, kept.statics, n);
    __asm__ volatile("" ::: "memory"); /* x and plan are in there: the compiler cannot know */
    x = kept;
    plan = kept_plan;
}

/* A failure comes back to where the context was kept last. */
void explorer_run(void)
{
    memory_reset();
    statics_restore();
    memset(x.locks, 0, sizeof x.locks);
    x.steps = 0;
    x.self = NOBODY;
    plan.failed = false;
    x.threads_count = 0;
    plan.shared->decisions_count = 0;
    (void)getcontext(&x.home);
    if (plan.failed)
        return;
    if (plan.scenario->begin)
        plan.scenario->begin();
    threads_make();
    schedule();
    if (plan.failed)
        return;
    (void)getcontext(&x.home);
    if (!plan.failed && plan.scenario->end)
        plan.scenario->end();
    plan.shared->result.steps += x.steps;
}
