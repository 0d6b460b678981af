/* SPDX-License-Identifier: MIT */
#include "libmanage/pages.h"

#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; an older one's khugepaged does it in time */
#endif

static void *map(size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    /* Not before it is known to be worth its memory: from huge pages it is hard to give back. */
    (void)madvise(base, bytes, MADV_NOHUGEPAGE);
    /* A child starts without regions: copying the tables of these pages would be most of a fork. */
    (void)madvise(base, bytes, MADV_DONTFORK);
    return base;
}

static void unmap(void *base, size_t bytes)
{
    (void)munmap(base, bytes);
}

static void release(void *at, size_t bytes)
{
    (void)madvise(at, bytes, MADV_DONTNEED);
}

void manage_pages_collapse(void *at, size_t bytes)
{
    if (madvise(at, bytes, MADV_HUGEPAGE) == 0)
        (void)madvise(at, bytes, MADV_COLLAPSE);
}

const BufferPages manage_pages = {.map = map, .unmap = unmap, .release = release};
