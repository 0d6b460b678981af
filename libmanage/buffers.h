/* SPDX-License-Identifier: MIT */
/* The memory of whole pieces: slots of one mapping. A slot takes no memory before it is used, and
 * gives it back when it is released. Beside the slots there is room for what is known of each
 * piece; a part of it is given back when all its pieces are released.
 *
 * It is not the heap's memory, for two reasons. What one thread allocates there and another frees
 * stays with the first one's arena, so a full cache would take its memory again for each thread
 * that fetches. And what is freed below the heap's end is never given back. */
#ifndef DODO_LIBMANAGE_BUFFERS_H
#define DODO_LIBMANAGE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct FreeBuffer FreeBuffer;

enum { BUFFERS_PART = 4 << 20 };

/* Whose memory the mapping is of. */
typedef struct BufferPages {
    void *(*map)(size_t bytes); /* it takes none yet; NULL: there is none */
    void (*unmap)(void *base, size_t bytes);
    void (*release)(void *at, size_t bytes); /* a part takes none any more, until it is written */
} BufferPages;

typedef struct Buffers {
    const BufferPages *pages;
    uint8_t *base; /* NULL: there are none */
    uint8_t *beside;
    uint32_t each, beside_each;
    uint64_t count;
    FreeBuffer *kept; /* free, with their memory; in the memory itself */
    uint64_t kept_count;
    uint64_t *released; /* map of those without memory */
    uint64_t low;       /* no word of the map before it has any */
} Buffers;

/* As many of @each bytes as @limit_bytes hold, with @beside bytes for each. False: there is no room
 * for them here, or @pages is NULL. */
bool buffers_init(Buffers *b, const BufferPages *pages, uint64_t limit_bytes, uint32_t each,
                  uint32_t beside);
void buffers_deinit(Buffers *b);
/* NULL: all are taken, or there are none. One that has been kept, if there is one. */
uint8_t *buffers_take(Buffers *b);
/* Keeps it with its memory. */
void buffers_give(Buffers *b, uint8_t *buffer);
/* Gives the memory of one that is kept back to the host. */
void buffers_release(Buffers *b);
/* None is taken: that of all. */
void buffers_release_all(Buffers *b);
/* The memory of a buffer, and what is beside it, in parts of BUFFERS_PART bytes that begin at
 * multiples of that where they can: the part of that number. False: there is no such part. */
bool buffers_part(const Buffers *b, unsigned number, void **ret_at, size_t *ret_bytes);
/* What is beside one that is taken: aligned for anything, and of any content. */
void *buffers_beside(const Buffers *b, const uint8_t *buffer);
static inline bool buffers_have(const Buffers *b, const uint8_t *buffer)
{
    return b->base && buffer >= b->base && buffer < b->base + b->count * b->each;
}

#endif
