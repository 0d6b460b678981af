/* SPDX-License-Identifier: MIT */
#include "libdodo/guests.h"

#include <pthread.h>

/* Who waits for all comes before those that would enter meanwhile. */
#define NONE_INSIDE PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP

static pthread_rwlock_t inside = NONE_INSIDE;

void guests_enter(void)
{
    (void)pthread_rwlock_rdlock(&inside);
}

void guests_leave(void)
{
    (void)pthread_rwlock_unlock(&inside);
}

void guests_wait(void)
{
    (void)pthread_rwlock_wrlock(&inside);
}

void guests_admit(void)
{
    (void)pthread_rwlock_unlock(&inside);
}

void guests_forget(void)
{
    inside = (pthread_rwlock_t)NONE_INSIDE;
}
