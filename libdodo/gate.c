/* SPDX-License-Identifier: MIT */
#include "libdodo/gate.h"

#include <pthread.h>
#include <time.h>

#include "base/time.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static unsigned inside; /* threads */
static bool closed;
static _Thread_local bool self_inside;

void gate_enter(void)
{
    (void)pthread_mutex_lock(&lock);
    while (closed)
        (void)pthread_cond_wait(&opened, &lock);
    inside++;
    (void)pthread_mutex_unlock(&lock);
    self_inside = true;
}

void gate_leave(void)
{
    self_inside = false;
    (void)pthread_mutex_lock(&lock);
    if (--inside == 0 && closed)
        (void)pthread_cond_broadcast(&emptied);
    (void)pthread_mutex_unlock(&lock);
}

bool gate_inside(void)
{
    return self_inside;
}

static struct timespec until(uint64_t wait_ns)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_nsec + wait_ns % NS_PER_S;
    t.tv_sec += (time_t)(wait_ns / NS_PER_S + ns / NS_PER_S);
    t.tv_nsec = (long)(ns % NS_PER_S);
    return t;
}

bool gate_close(uint64_t wait_ns)
{
    struct timespec end = wait_ns == TIME_NEVER ? (struct timespec){0} : until(wait_ns);
    int result = 0;
    (void)pthread_mutex_lock(&lock);
    closed = true;
    while (inside > 0 && result == 0)
        result = wait_ns == TIME_NEVER
                     ? pthread_cond_wait(&emptied, &lock)
                     : pthread_cond_clockwait(&emptied, &lock, CLOCK_MONOTONIC, &end);
    bool empty = inside == 0;
    (void)pthread_mutex_unlock(&lock);
    return empty;
}

void gate_open(void)
{
    (void)pthread_mutex_lock(&lock);
    closed = false;
    (void)pthread_cond_broadcast(&opened);
    (void)pthread_mutex_unlock(&lock);
}

/* The parent's other threads may have held the lock, and wait in vain in the conditions. */
void gate_reset(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    opened = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    emptied = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    inside = self_inside ? 1 : 0;
    closed = false;
}
