/* SPDX-License-Identifier: MIT */
#include "libmanage/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

struct FreeBuffer {
    FreeBuffer *next;
};

enum { WORD_BITS = 64, ALIGN = 64 };

static uint64_t slot_of(const Buffers *b, const uint8_t *buffer)
{
    return (uint64_t)(buffer - b->base) / b->each;
}

void *buffers_beside(const Buffers *b, const uint8_t *buffer)
{
    return b->beside + slot_of(b, buffer) * b->beside_each;
}

static void poison(const Buffers *b, uint8_t *buffer)
{
    ASAN_POISON_MEMORY_REGION(buffer, b->each);
    ASAN_POISON_MEMORY_REGION(buffers_beside(b, buffer), b->beside_each);
}

static void unpoison(const Buffers *b, uint8_t *buffer)
{
    ASAN_UNPOISON_MEMORY_REGION(buffer, b->each);
    ASAN_UNPOISON_MEMORY_REGION(buffers_beside(b, buffer), b->beside_each);
}

static void unpoison_all(const Buffers *b)
{
    ASAN_UNPOISON_MEMORY_REGION(b->base, b->count * b->each);
    ASAN_UNPOISON_MEMORY_REGION(b->beside, b->count * b->beside_each);
}

static void unmap(const Buffers *b)
{
    if (b->base)
        b->pages->unmap(b->base, b->count * b->each);
    if (b->beside)
        b->pages->unmap(b->beside, b->count * b->beside_each);
}

static void all_released(Buffers *b)
{
    uint64_t words = (b->count + WORD_BITS - 1) / WORD_BITS;
    memset(b->released, 0xff, words * sizeof *b->released);
    if (b->count % WORD_BITS)
        b->released[words - 1] = (1ull << b->count % WORD_BITS) - 1;
    b->low = b->kept_count = 0;
    b->kept = NULL;
    ASAN_POISON_MEMORY_REGION(b->base, b->count * b->each);
    ASAN_POISON_MEMORY_REGION(b->beside, b->count * b->beside_each);
}

bool buffers_init(Buffers *b, const BufferPages *pages, uint64_t limit_bytes, uint32_t each,
                  uint32_t beside)
{
    uint64_t count = limit_bytes / each, words = (count + WORD_BITS - 1) / WORD_BITS;
    *b = (Buffers){.pages = pages,
                   .each = each,
                   .beside_each = (beside + ALIGN - 1) / ALIGN * ALIGN,
                   .count = count};
    if (!pages || count == 0 || limit_bytes > SIZE_MAX / 2)
        return false;
    b->base = pages->map(count * each);
    b->beside = b->base ? pages->map(count * b->beside_each) : NULL;
    b->released = b->beside ? malloc(words * sizeof *b->released) : NULL;
    if (!b->released) {
        unmap(b);
        b->base = b->beside = NULL;
        return false;
    }
    all_released(b);
    return true;
}

void buffers_deinit(Buffers *b)
{
    if (!b->base)
        return;
    unpoison_all(b);
    unmap(b);
    free(b->released);
    b->base = b->beside = NULL;
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
        unpoison(b, buffer);
    return buffer;
}

void buffers_give(Buffers *b, uint8_t *buffer)
{
    FreeBuffer *f = (FreeBuffer *)(void *)buffer;
    f->next = b->kept;
    b->kept = f;
    b->kept_count++;
    poison(b, buffer);
}

void buffers_release(Buffers *b)
{
    if (!b->kept)
        return;
    uint8_t *buffer = take_kept(b);
    uint64_t slot = slot_of(b, buffer), word = slot / WORD_BITS;
    ASAN_UNPOISON_MEMORY_REGION(buffer, b->each); /* the one who releases it may write */
    b->pages->release(buffer, b->each);
    ASAN_POISON_MEMORY_REGION(buffer, b->each);
    b->released[word] |= 1ull << slot % WORD_BITS;
    b->low = word < b->low ? word : b->low;
}

void buffers_release_all(Buffers *b)
{
    unpoison_all(b); /* the one who releases them may write */
    b->pages->release(b->base, b->count * b->each);
    b->pages->release(b->beside, b->count * b->beside_each);
    all_released(b);
}

/* Of one mapping. Counts @number down by its parts. */
static bool mapping_part(uint8_t *base, size_t bytes, unsigned *number, void **ret_at,
                         size_t *ret_bytes)
{
    size_t before = (uintptr_t)base % BUFFERS_PART; /* in the first part, but another's */
    size_t parts = (before + bytes + BUFFERS_PART - 1) / BUFFERS_PART;
    if (*number >= parts) {
        *number -= (unsigned)parts;
        return false;
    }
    size_t from = *number ? *number * (size_t)BUFFERS_PART - before : 0;
    size_t to = (*number + 1) * (size_t)BUFFERS_PART - before;
    *ret_at = base + from;
    *ret_bytes = (to < bytes ? to : bytes) - from;
    return true;
}

bool buffers_part(const Buffers *b, unsigned number, void **ret_at, size_t *ret_bytes)
{
    return b->base &&
           (mapping_part(b->base, b->count * b->each, &number, ret_at, ret_bytes) ||
            mapping_part(b->beside, b->count * b->beside_each, &number, ret_at, ret_bytes));
}
