/* SPDX-License-Identifier: MIT */
/* A wire between a transfer and a server made for the test: virtual clock, deterministic
 * randomness, loss, duplicates, reordering, jitter, delay and rate. Static functions, shared by
 * the tests of both directions. */
#ifndef DODO_TESTS_TRANSFER_SIM_H
#define DODO_TESTS_TRANSFER_SIM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/time.h"
#include "proto/transfer.h"

typedef struct Wire {
    uint64_t delay_ns;
    uint64_t jitter_ns;   /* keeps the order */
    uint64_t bytes_per_s; /* bytes a second; 0: without limit */
    uint32_t loss_ppm, dup_ppm, reorder_ppm;
    uint64_t reorder_ns; /* at most so late is what is reordered, or duplicated */
    uint64_t drop_mask;  /* bit i: the i-th datagram from now on is lost; shifted as they go */
    bool cut;
    /* private */
    uint64_t free_ns, last_ns;
    uint64_t lost;
} Wire;

enum Side { TO_SERVER, TO_CLIENT };

typedef struct Event {
    uint64_t at_ns, order;
    enum Side side;
    bool copy; /* a duplicate made by the wire */
    uint8_t type;
    size_t len;
    uint8_t *bytes;
} Event;

enum { EVENTS_MAX = 16384 };

typedef struct SimWorld {
    uint64_t now_ns, seed, order;
    Wire wires[2]; /* by enum Side */
    Event heap[EVENTS_MAX];
    size_t count;
} SimWorld;

static inline uint64_t world_random(SimWorld *w)
{
    return mix64(w->seed += 0x9e3779b97f4a7c15ull);
}

static inline uint64_t world_below(SimWorld *w, uint64_t n)
{
    return n ? world_random(w) % n : 0;
}

static inline bool world_chance(SimWorld *w, uint32_t ppm)
{
    return world_random(w) % 1000000 < ppm;
}

static inline bool event_before(const Event *a, const Event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static inline void world_push(SimWorld *w, Event e)
{
    assert(w->count < EVENTS_MAX);
    size_t i = w->count++;
    e.order = w->order++;
    for (; i > 0 && event_before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

static inline Event world_pop(SimWorld *w)
{
    Event top = w->heap[0], e = w->heap[--w->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < w->count; i = child) {
        if (child + 1 < w->count && event_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!event_before(&w->heap[child], &e))
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = e;
    return top;
}

static inline void world_deliver(SimWorld *w, enum Side side, uint8_t type, const uint8_t *bytes,
                                 size_t len, uint64_t at_ns, bool copy)
{
    Event e = {.at_ns = at_ns, .side = side, .copy = copy, .type = type, .len = len};
    e.bytes = malloc(len);
    assert(e.bytes);
    memcpy(e.bytes, bytes, len);
    world_push(w, e);
}

/* False: it was lost. */
static inline bool world_send(SimWorld *w, enum Side side, uint8_t type, const uint8_t *bytes,
                              size_t len)
{
    Wire *wire = &w->wires[side];
    uint64_t start = wire->free_ns > w->now_ns ? wire->free_ns : w->now_ns;
    wire->free_ns = start + (wire->bytes_per_s ? len * NS_PER_S / wire->bytes_per_s : 0);
    uint64_t at = wire->free_ns + wire->delay_ns + world_below(w, wire->jitter_ns);
    bool chosen = wire->drop_mask & 1;
    wire->drop_mask >>= 1;
    if (chosen || wire->cut || world_chance(w, wire->loss_ppm)) {
        wire->lost++;
        return false;
    }
    if (at < wire->last_ns)
        at = wire->last_ns;
    wire->last_ns = at;
    if (world_chance(w, wire->reorder_ppm))
        at += world_below(w, wire->reorder_ns);
    world_deliver(w, side, type, bytes, len, at, false);
    if (world_chance(w, wire->dup_ppm))
        world_deliver(w, side, type, bytes, len, at + world_below(w, wire->reorder_ns), true);
    return true;
}

static inline uint64_t world_next_ns(const SimWorld *w)
{
    return w->count ? w->heap[0].at_ns : TIME_NEVER;
}

static inline SimWorld *world_new(uint64_t seed)
{
    SimWorld *w = calloc(1, sizeof *w);
    assert(w);
    w->seed = seed;
    w->now_ns = 5 * NS_PER_S;
    for (int i = 0; i < 2; i++)
        w->wires[i] = (Wire){.delay_ns = 50 * NS_PER_US, .bytes_per_s = 125000000};
    return w;
}

static inline void world_empty(SimWorld *w)
{
    while (w->count)
        free(world_pop(w).bytes);
}

static inline void world_free(SimWorld *w)
{
    world_empty(w);
    free(w);
}

/* What the region holds: as much as the largest transfer and some to start it elsewhere. */
enum { TRUTH_BYTES = TRANSFER_BYTES_MAX + 512 * 1024 };
static uint8_t truth[TRUTH_BYTES];

static inline int make_truth(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof truth; i++)
        truth[i] = (uint8_t)(mix64(i / 8 + 1) >> i % 8 * 8);
    return 0;
}

#endif
