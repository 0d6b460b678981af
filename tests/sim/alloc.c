/* SPDX-License-Identifier: MIT */
#include "tests/sim/alloc.h"

#include <stdint.h>

typedef struct Block {
    ListNode link;
    SimHeap *heap;
    void *raw; /* what malloc gave */
    size_t size;
    max_align_t bytes[];
} Block;

static SimHeap *current;

void sim_heap_init(SimHeap *h, uint64_t seed)
{
    *h = (SimHeap){0};
    sim_rng_init(&h->rng, seed, 0x68656170);
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
    return sim_aligned_alloc(_Alignof(max_align_t), n);
}

/* @align: a power of two, of max_align_t's or more. */
void *sim_aligned_alloc(size_t align, size_t n)
{
    if (!current || n > SIZE_MAX / 2)
        abort(); /* a core ran outside any process: the simulation's bug */
    if (current->fail_ppm && sim_rng_chance(&current->rng, current->fail_ppm)) {
        current->failed++;
        return NULL;
    }
    void *raw = malloc(sizeof(Block) + align + n);
    if (!raw)
        abort();
    uintptr_t bytes = ((uintptr_t)raw + sizeof(Block) + align - 1) & ~(uintptr_t)(align - 1);
    Block *b = block_of((void *)bytes);
    b->raw = raw;
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
    return p ? memset(p, 0, n * size) : NULL;
}

void *sim_realloc(void *p, size_t n)
{
    void *q = sim_malloc(n);
    if (p && q) {
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
    free(b->raw);
}
