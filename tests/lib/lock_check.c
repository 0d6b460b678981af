/* SPDX-License-Identifier: MIT */
/* Who unlocks or waits with a mutex holds it, and a case ends with none held: for case.c, linked
 * with the linker's --wrap. What a thread sanitizer finds by chance, and in its build alone, a
 * forgotten lock is here at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/lib/case.h"

int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until);
int __real_pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                  const struct timespec *until);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until);
int __wrap_pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                  const struct timespec *until);

enum { HELD_MAX = 64 };

static _Thread_local struct {
    unsigned count;
    pthread_mutex_t *of[HELD_MAX];
} held;

unsigned case_locks_held(void)
{
    return held.count;
}

static int taken(int result, pthread_mutex_t *m)
{
    if (result == 0 && held.count < HELD_MAX)
        held.of[held.count++] = m;
    return result;
}

/* Its place among those held. */
static unsigned find(const pthread_mutex_t *m)
{
    for (unsigned i = held.count; i > 0; i--)
        if (held.of[i - 1] == m)
            return i - 1;
    (void)fprintf(stderr, "a mutex that this thread does not hold\n");
    abort();
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    return taken(__real_pthread_mutex_lock(m), m);
}

int __wrap_pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
    return taken(__real_pthread_mutex_timedlock(m, until), m);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    held.of[find(m)] = held.of[held.count - 1];
    held.count--;
    return __real_pthread_mutex_unlock(m);
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    (void)find(m);
    return __real_pthread_cond_wait(c, m);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until)
{
    (void)find(m);
    return __real_pthread_cond_timedwait(c, m, until);
}

int __wrap_pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                  const struct timespec *until)
{
    (void)find(m);
    return __real_pthread_cond_clockwait(c, m, clock, until);
}
