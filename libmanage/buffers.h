/* SPDX-License-Identifier: MIT */
/* The memory of whole pieces: slots of one mapping, which takes no memory before they are used, and
 * gives back that of each one that is released. Not the heap's: what one thread has taken there and
 * another gives back stays with the first one's arena, so a full cache would take its memory again
 * for each of the threads that fetch; and what is freed below the heap's end is never given back.
 */
#ifndef DODO_LIBMANAGE_BUFFERS_H
#define DODO_LIBMANAGE_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct FreeBuffer FreeBuffer;

typedef struct Buffers {
    uint8_t *base; /* NULL: there are none */
    uint32_t each;
    uint64_t count;
    FreeBuffer *kept; /* free, with their memory; in the memory itself */
    uint64_t kept_count;
    uint64_t *released; /* map of those without memory */
    uint64_t low;       /* no word of the map before it has any */
} Buffers;

/* As many of @each bytes as @limit_bytes hold. False: there is no room for them here. */
bool buffers_init(Buffers *b, uint64_t limit_bytes, uint32_t each);
void buffers_deinit(Buffers *b);
/* NULL: all are taken, or there are none. One that has been kept, if there is one. */
uint8_t *buffers_take(Buffers *b);
/* Keeps it with its memory. */
void buffers_give(Buffers *b, uint8_t *buffer);
/* Gives the memory of one that is kept back to the host. */
void buffers_release(Buffers *b);
/* None is taken: that of all. */
void buffers_release_all(Buffers *b);
static inline bool buffers_have(const Buffers *b, const uint8_t *buffer)
{
    return b->base && buffer >= b->base && buffer < b->base + b->count * b->each;
}

#endif
