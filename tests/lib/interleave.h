/* SPDX-License-Identifier: MIT */
/* Explores how threads can interleave. A scenario's threads run one at a time; before each atomic
 * operation, each operation on a lock or a condition and each copy of memory the explorer decides
 * which of them goes on. It tries all decisions with no more than a given number of preemptions,
 * then random ones. See tests/sim/README.md.
 *
 * The code under test is compiled once more with interleave_code.h in front and
 * -fsanitize=thread, without that sanitizer's library: the compiler then calls interleave_memory.c
 * for each atomic operation, with its memory order, and for each plain access.
 *
 * The machine that it models keeps each thread's stores in order, but those that are not
 * sequentially consistent may be seen late: they wait until the thread's next sequentially
 * consistent store, exchange, fence, or operation on a lock. Loads are never late.
 *
 * What it notices: memory that was freed is touched; a range is written while another thread copies
 * it; no thread can go on; a lock is not given back as it should be; a scenario's own complaint; a
 * crash. */
#ifndef DODO_TESTS_LIB_INTERLEAVE_H
#define DODO_TESTS_LIB_INTERLEAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct epoll_event;

enum { INTERLEAVE_THREADS = 4, INTERLEAVE_COUNTS = 4, INTERLEAVE_DECISIONS = 4096 };

typedef struct InterleaveScenario {
    const char *name;
    void (*begin)(void); /* before the threads */
    void (*threads[INTERLEAVE_THREADS])(void);
    void (*end)(void); /* after them */
} InterleaveScenario;

/* A machine that does less than the code asks for: to see that a scenario can fail. */
enum InterleaveBreak {
    BREAK_STORES = 1,    /* sequentially consistent stores are late as others are */
    BREAK_EXCHANGE = 2,  /* what a compare-and-exchange stores is late */
    BREAK_BROADCAST = 4, /* a broadcast wakes one thread */
};

typedef struct InterleaveLimits {
    unsigned preemptions;   /* at most so many, and all schedules with those */
    uint64_t schedules_max; /* of them; more is an error of the test */
    uint64_t random;        /* then so many with any number of preemptions */
    unsigned breaks;        /* enum InterleaveBreak */
} InterleaveLimits;

typedef struct InterleaveResult {
    uint64_t schedules, random, steps; /* steps: of all */
    uint64_t counts[INTERLEAVE_COUNTS];
    bool failed;
    char what[256];
    char schedule[256]; /* to be given to interleave_replay() */
} InterleaveResult;

/* In a process of its own; ends with the first schedule that fails. */
void interleave_explore(const InterleaveScenario *s, const InterleaveLimits *limits,
                        InterleaveResult *ret);
/* One schedule again; @trace: with each step on standard output. */
void interleave_replay(const InterleaveScenario *s, unsigned breaks, bool trace,
                       const char *schedule, InterleaveResult *ret);

/* ---- for scenarios, in their threads --------------------------------------------------------- */

void interleave_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* That something happened; the sums are in the result. */
void interleave_count(unsigned what);
/* Another thread may go on here. */
void interleave_point(const char *what);
/* Of the heap of the code under test: what is allocated now. */
size_t interleave_heap_bytes(void);

/* ---- what the code under test calls instead of the C library --------------------------------- */

/* Locks and conditions are known by their address alone. As pthread_mutex_*() and pthread_cond_*()
 * are; 0, or ETIMEDOUT: a timed wait ends when no thread can go on otherwise. */
int interleave_lock(const void *lock);
int interleave_unlock(const void *lock);
int interleave_wait(const void *cond, const void *lock, bool timed);
int interleave_signal(const void *cond);
int interleave_broadcast(const void *cond);
int interleave_destroy(const void *lock_or_cond);
/* As pthread_create() and pthread_join(): one thread more, if there is room. */
int interleave_create(unsigned long *ret, void *(*fn)(void *), void *arg);
int interleave_join(unsigned long thread);
/* A real descriptor's: with a time, the thread waits until it is readable. */
int interleave_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);

void *interleave_malloc(size_t n);
void *interleave_calloc(size_t n, size_t size);
void *interleave_aligned_alloc(size_t align, size_t n);
void *interleave_realloc(void *p, size_t n);
void interleave_free(void *p);
void *interleave_memcpy(void *to, const void *from, size_t n);
void *interleave_memset(void *to, int value, size_t n);

#endif
