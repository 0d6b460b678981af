/* SPDX-License-Identifier: MIT */
/* Compiled into the explorer's copy of the code under test ahead of each file: its locks, its
 * memory and its descriptors are the explorer's. See interleave.h. */
#ifndef DODO_TESTS_LIB_INTERLEAVE_CODE_H
#define DODO_TESTS_LIB_INTERLEAVE_CODE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/os.h"
#include "tests/lib/interleave.h"

/* A lock or a condition: known by its address alone. */
static inline int interleave_init(const void *made, const void *attributes)
{
    (void)made;
    (void)attributes;
    return 0;
}

/* What is a thread's own: interleave.c changes it with the threads. */
#define _Thread_local __attribute__((section("interleave_own")))
#define tls_model(model) unused

#define malloc(n) interleave_malloc(n)
#define calloc(n, size) interleave_calloc(n, size)
#define aligned_alloc(align, n) interleave_aligned_alloc(align, n)
#define realloc(p, n) interleave_realloc(p, n)
#define free(p) interleave_free(p)
#undef memcpy
#undef memset
#define memcpy(to, from, n) interleave_memcpy(to, from, n)
#define memset(to, value, n) interleave_memset(to, value, n)

#define pthread_mutex_init(lock, attributes) interleave_init(lock, attributes)
#define pthread_mutex_destroy(lock) interleave_destroy(lock)
#define pthread_mutex_lock(lock) interleave_lock(lock)
#define pthread_mutex_unlock(lock) interleave_unlock(lock)
#define pthread_cond_init(cond, attributes) interleave_init(cond, attributes)
#define pthread_cond_destroy(cond) interleave_destroy(cond)
#define pthread_cond_wait(cond, lock) interleave_wait(cond, lock, false)
#define pthread_cond_clockwait(cond, lock, clock, until) \
    ((void)(clock), (void)(until), interleave_wait(cond, lock, true))
#define pthread_cond_signal(cond) interleave_signal(cond)
#define pthread_cond_broadcast(cond) interleave_broadcast(cond)
#define os_thread_start(thread, fn, arg) (-interleave_create(thread, fn, arg))
#define pthread_join(thread, result) interleave_join(thread)
#define eventfd_read(fd, ret) (interleave_point("silences a bell"), (eventfd_read)(fd, ret))
#define eventfd_write(fd, n) (interleave_point("rings a bell"), (eventfd_write)(fd, n))
#define epoll_wait(fd, events, max, ms) interleave_epoll_wait(fd, events, max, ms)

#endif
