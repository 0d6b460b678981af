/* SPDX-License-Identifier: MIT */
#include "libmanage/pages.h"

#include <sys/mman.h>

static void *map(size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    /* Hits in a large cache miss the TLB less. */
    (void)madvise(base, bytes, MADV_HUGEPAGE);
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

const BufferPages manage_pages = {.map = map, .unmap = unmap, .release = release};
