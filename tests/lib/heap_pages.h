/* SPDX-License-Identifier: MIT */
/* Pages of the heap, for caches in tests: what was released holds what nobody has written. */
#ifndef DODO_TESTS_LIB_HEAP_PAGES_H
#define DODO_TESTS_LIB_HEAP_PAGES_H

#include <stdlib.h>
#include <string.h>

#include "libmanage/buffers.h"

static inline void *heap_pages_map(size_t bytes)
{
    return malloc(bytes);
}

static inline void heap_pages_unmap(void *base, size_t bytes)
{
    (void)bytes;
    free(base);
}

static inline void heap_pages_release(void *at, size_t bytes)
{
    memset(at, 0xAA, bytes);
}

static const BufferPages heap_pages = {
    .map = heap_pages_map, .unmap = heap_pages_unmap, .release = heap_pages_release};

#endif
