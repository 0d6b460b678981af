/* SPDX-License-Identifier: MIT */
/* How many blocks and bytes of the heap are in use, for case.c and tests: linked with the linker's
 * --wrap, so that it counts what the code under test and the test itself allocate, and nothing that
 * libraries do. */
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

#include "tests/lib/case.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

static atomic_long live, live_bytes;

long case_heap_blocks(void)
{
    return live;
}

long case_heap_bytes(void)
{
    return live_bytes;
}

static void *counted(void *p)
{
    live += p != NULL;
    live_bytes += (long)malloc_usable_size(p);
    return p;
}

void *__wrap_malloc(size_t n)
{
    return counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    long was = (long)malloc_usable_size(p);
    void *q = __real_realloc(p, n);
    if (!p)
        (void)counted(q);
    else if (q)
        live_bytes += (long)malloc_usable_size(q) - was;
    return q;
}

void __wrap_free(void *p)
{
    live -= p != NULL;
    live_bytes -= (long)malloc_usable_size(p);
    __real_free(p);
}
