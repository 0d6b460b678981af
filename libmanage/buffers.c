/* SPDX-License-Identifier: MIT */
#include "libmanage/buffers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* With (gcc's) AddressSanitizer, what is free must not be touched. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#endif

struct FreeBuffer {
    FreeBuffer *next;
};

enum { WORD_BITS = 64 };

static void all_released(Buffers *b)
{
    uint64_t words = (b->count + WORD_BITS - 1) / WORD_BITS;
    memset(b->released, 0xff, words * sizeof *b->released);
    if (b->count % WORD_BITS)
        b->released[words - 1] = (1ull << b->count % WORD_BITS) - 1;
    b->low = b->kept_count = 0;
    b->kept = NULL;
    ASAN_POISON_MEMORY_REGION(b->base, b->count * b->each);
}

bool buffers_init(Buffers *b, uint64_t limit_bytes, uint32_t each)
{
    uint64_t count = limit_bytes / each, words = (count + WORD_BITS - 1) / WORD_BITS;
    *b = (Buffers){.each = each, .count = count};
    if (count == 0 || limit_bytes > SIZE_MAX)
        return false;
    void *base = mmap(NULL, count * each, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    b->released = malloc(words * sizeof *b->released);
    if (!b->released) {
        (void)munmap(base, count * each);
        return false;
    }
    /* Hits in a large cache miss the TLB less. */
    (void)madvise(base, count * each, MADV_HUGEPAGE);
    b->base = base;
    all_released(b);
    return true;
}

void buffers_deinit(Buffers *b)
{
    if (!b->base)
        return;
    ASAN_UNPOISON_MEMORY_REGION(b->base, b->count * b->each);
    (void)munmap(b->base, b->count * b->each);
    free(b->released);
    b->base = NULL;
}

static uint8_t *take_released(Buffers *b)
{
    uint64_t words = (b->count + WORD_BITS - 1) / WORD_BITS;
    while (b->low < words && !b->released[b->low])
        b->low++;
    if (b->low == words)
        return NULL;
    unsigned bit = (unsigned)__builtin_ctzll(b->released[b->low]);
    b->released[b->low] &= b->released[b->low] - 1;
    return b->base + (b->low * WORD_BITS + bit) * b->each;
}

static uint8_t *take_kept(Buffers *b)
{
    FreeBuffer *f = b->kept;
    ASAN_UNPOISON_MEMORY_REGION(f, sizeof *f);
    b->kept = f->next;
    b->kept_count--;
    return (uint8_t *)(void *)f;
}

uint8_t *buffers_take(Buffers *b)
{
    uint8_t *buffer = b->kept ? take_kept(b) : b->base ? take_released(b) : NULL;
    if (buffer)
        ASAN_UNPOISON_MEMORY_REGION(buffer, b->each);
    return buffer;
}

void buffers_give(Buffers *b, uint8_t *buffer)
{
    FreeBuffer *f = (FreeBuffer *)(void *)buffer;
    f->next = b->kept;
    b->kept = f;
    b->kept_count++;
    ASAN_POISON_MEMORY_REGION(buffer, b->each);
}

void buffers_release(Buffers *b)
{
    if (!b->kept)
        return;
    uint8_t *buffer = take_kept(b);
    uint64_t slot = (uint64_t)(buffer - b->base) / b->each, word = slot / WORD_BITS;
    /* Where a page is larger than a buffer it keeps its memory. */
    (void)madvise(buffer, b->each, MADV_DONTNEED);
    ASAN_POISON_MEMORY_REGION(buffer, b->each);
    b->released[word] |= 1ull << slot % WORD_BITS;
    b->low = word < b->low ? word : b->low;
}

void buffers_release_all(Buffers *b)
{
    (void)madvise(b->base, b->count * b->each, MADV_DONTNEED);
    all_released(b);
}
