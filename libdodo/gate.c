/* SPDX-License-Identifier: MIT */
#include "libdodo/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/os.h"
#include "base/time.h"

/* Threads count themselves in one of several counters, each in a cache line of its own, so that
 * calls on different processors do not disturb each other. A thread that enters counts itself first
 * and then looks for a closed gate; one that closes does it the other way round. So one of them
 * sees the other. */
enum { COUNTERS = 64, CACHE_LINE = 64 };

typedef struct Counter {
    _Alignas(CACHE_LINE) _Atomic unsigned inside; /* threads */
} Counter;

static Counter counters[COUNTERS];
static _Atomic unsigned next_counter;
static _Atomic bool closed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* only where somebody waits */
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static _Thread_local Counter *own; /* NULL: none chosen yet */
/* Initial-exec: found without a call, and so without memory. A handler of a signal may ask that has
 * come while the program asked for some. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool self_inside;

static Counter *own_counter(void)
{
    if (!own)
        own = &counters[atomic_fetch_add(&next_counter, 1) % COUNTERS];
    return own;
}

static void count_out(Counter *c)
{
    (void)atomic_fetch_sub(&c->inside, 1);
    if (!atomic_load(&closed))
        return;
    (void)pthread_mutex_lock(&lock);
    (void)pthread_cond_broadcast(&emptied);
    (void)pthread_mutex_unlock(&lock);
}

static void wait_open(void)
{
    (void)pthread_mutex_lock(&lock);
    while (atomic_load(&closed))
        (void)pthread_cond_wait(&opened, &lock);
    (void)pthread_mutex_unlock(&lock);
}

void gate_enter(void)
{
    Counter *c = own_counter();
    (void)atomic_fetch_add(&c->inside, 1);
    while (atomic_load(&closed)) {
        count_out(c);
        wait_open();
        (void)atomic_fetch_add(&c->inside, 1);
    }
    self_inside = true;
}

void gate_leave(void)
{
    self_inside = false;
    count_out(own);
}

bool gate_inside(void)
{
    return self_inside;
}

static bool is_empty(void)
{
    for (unsigned i = 0; i < COUNTERS; i++)
        if (atomic_load(&counters[i].inside) > 0)
            return false;
    return true;
}

bool gate_close(uint64_t wait_ns)
{
    struct timespec end = time_to_timespec(time_add(os_now_ns(), wait_ns));
    int result = 0;
    bool empty;
    (void)pthread_mutex_lock(&lock);
    atomic_store(&closed, true);
    while (!(empty = is_empty()) && result == 0)
        result = wait_ns == TIME_NEVER
                     ? pthread_cond_wait(&emptied, &lock)
                     : pthread_cond_clockwait(&emptied, &lock, CLOCK_MONOTONIC, &end);
    (void)pthread_mutex_unlock(&lock);
    return empty;
}

void gate_open(void)
{
    (void)pthread_mutex_lock(&lock);
    atomic_store(&closed, false);
    (void)pthread_cond_broadcast(&opened);
    (void)pthread_mutex_unlock(&lock);
}

/* The parent's other threads may have held the lock or waited in the conditions. */
void gate_reset(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    opened = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    emptied = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    for (unsigned i = 0; i < COUNTERS; i++)
        atomic_store(&counters[i].inside, 0);
    if (self_inside)
        atomic_store(&own->inside, 1);
    atomic_store(&closed, false);
}
