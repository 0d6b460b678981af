/* SPDX-License-Identifier: MIT */
#include "tests/sim/alloc.h"

#include <stdint.h>

typedef struct Block {
    ListNode link;
    SimHeap *heap;
    size_t size;
    max_align_t bytes[];
} Block;

static SimHeap *current;

void sim_heap_init(SimHeap *h)
{
    *h = (SimHeap){0};
    list_init(&h->blocks);
}

void sim_heap_drop(SimHeap *h)
{
    LIST_FOREACH(n, &h->blocks)
    sim_free(CONTAINER_OF(n, Block, link)->bytes);
}

SimHeap *sim_heap_enter(SimHeap *h)
{
    SimHeap *was = current;
    current = h;
    return was;
}

static Block *block_of(void *p)
{
    return CONTAINER_OF(p, Block, bytes);
}

void *sim_malloc(size_t n)
{
    if (!current || n > SIZE_MAX / 2)
        abort(); /* a core ran outside any process: the simulation's bug */
    Block *b = malloc(sizeof *b + n);
    if (!b)
        abort();
    b->heap = current;
    b->size = n;
    list_push_back(&current->blocks, &b->link);
    current->bytes += n;
    if (current->bytes > current->peak)
        current->peak = current->bytes;
    return b->bytes;
}

void *sim_calloc(size_t n, size_t size)
{
    if (size && n > SIZE_MAX / 2 / size)
        return NULL;
    void *p = sim_malloc(n * size);
    memset(p, 0, n * size);
    return p;
}

void *sim_realloc(void *p, size_t n)
{
    void *q = sim_malloc(n);
    if (p) {
        memcpy(q, p, block_of(p)->size < n ? block_of(p)->size : n);
        sim_free(p);
    }
    return q;
}

void sim_free(void *p)
{
    if (!p)
        return;
    Block *b = block_of(p);
    b->heap->bytes -= b->size;
    list_remove(&b->link);
    free(b);
}
