/* SPDX-License-Identifier: MIT */
#include "imd/extents.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "proto/rules.h"

/* A state: neither taken nor on its way back, on its way back, taken and without data, or the tick
 * of its last use. */
enum { EMPTY, GOING, IDLE, TAKEN = IDLE, USED };

static uint64_t load(const ImdExtents *x, unsigned i)
{
    return atomic_load_explicit(&x->state[i], memory_order_acquire);
}

static uint64_t state_of_tick(uint64_t tick)
{
    return tick < USED ? USED : tick;
}

ImdExtents *extents_new(ImdSpace *space, uint64_t pool_offset, uint64_t bytes,
                        uint64_t extent_bytes)
{
    uint64_t end = pool_offset + bytes;
    uint64_t count = (end - 1) / extent_bytes - pool_offset / extent_bytes + 1;
    ImdExtents *x = calloc(1, sizeof *x + (size_t)count * sizeof x->state[0]);
    uint64_t *chosen = calloc((size_t)((count + 63) / 64), sizeof *chosen);
    if (!x || !chosen) {
        free(x);
        free(chosen);
        return NULL;
    }
    x->space = space;
    x->begin = pool_offset;
    x->end = end;
    x->shift = (unsigned)__builtin_ctzll(extent_bytes);
    x->count = (unsigned)count;
    x->chosen = chosen;
    return x;
}

ImdExtents *extents_free(ImdExtents *x)
{
    if (x)
        free(x->chosen);
    free(x);
    return NULL;
}

void extents_bounds(const ImdExtents *x, unsigned i, uint64_t *ret_from, uint64_t *ret_to)
{
    uint64_t at = (x->begin >> x->shift) + i;
    *ret_from = max_u64(at << x->shift, x->begin) - x->begin;
    *ret_to = min_u64((at + 1) << x->shift, x->end) - x->begin;
}

uint64_t extents_bytes(const ImdExtents *x, unsigned i)
{
    uint64_t from, to;
    extents_bounds(x, i, &from, &to);
    return to - from;
}

bool extents_has(const ImdExtents *x, unsigned i)
{
    return load(x, i) >= TAKEN;
}

bool extents_idle(const ImdExtents *x, unsigned i)
{
    return load(x, i) == IDLE;
}

bool extents_goes(const ImdExtents *x, unsigned i)
{
    return load(x, i) == GOING;
}

uint64_t extents_used(const ImdExtents *x, unsigned i)
{
    return load(x, i);
}

/* ---- the data thread ------------------------------------------------------------------------ */

static bool space_take(ImdSpace *s, uint64_t bytes)
{
    uint64_t filled = atomic_load_explicit(&s->filled_bytes, memory_order_relaxed);
    do {
        uint64_t limit = atomic_load_explicit(&s->limit_bytes, memory_order_relaxed);
        if (RULE(EXTENT_ROOM) && (filled > limit || bytes > limit - filled)) {
            atomic_store_explicit(&s->wanted, true, memory_order_relaxed);
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&s->filled_bytes, &filled, filled + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

bool extents_take(ImdExtents *x, unsigned i, uint64_t tick)
{
    uint64_t state = load(x, i);
    if (state >= USED)
        return true;
    if (state == GOING && RULE(EXTENT_GOING))
        return false;
    if (state == EMPTY && !space_take(x->space, extents_bytes(x, i)))
        return false;
    atomic_store_explicit(&x->state[i], state_of_tick(tick), memory_order_release);
    return true;
}

void extents_use(ImdExtents *x, unsigned i, uint64_t tick)
{
    if (load(x, i) >= USED)
        atomic_store_explicit(&x->state[i], state_of_tick(tick), memory_order_release);
}

void extents_rest(ImdExtents *x, unsigned i)
{
    if (load(x, i) < USED)
        return;
    atomic_store_explicit(&x->state[i], IDLE, memory_order_release);
    atomic_store_explicit(&x->space->idle, true, memory_order_relaxed);
}

void extents_go(ImdExtents *x, unsigned i)
{
    atomic_store_explicit(&x->state[i], GOING, memory_order_release);
}

/* ---- the control thread --------------------------------------------------------------------- */

uint64_t extents_filled_bytes(const ImdExtents *x)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < x->count; i++)
        bytes += load(x, i) != EMPTY ? extents_bytes(x, i) : 0;
    return bytes;
}

void extents_choose(ImdExtents *x, unsigned i)
{
    x->chosen[i / 64] |= (uint64_t)1 << (i % 64);
}

/* Only the data thread takes and lets go: a state that it changes meanwhile stays as it says. */
void extents_use_all(ImdExtents *x, uint64_t tick)
{
    for (unsigned i = 0; i < x->count; i++) {
        uint64_t state = load(x, i);
        if (state >= USED)
            (void)atomic_compare_exchange_strong(&x->state[i], &state, state_of_tick(tick));
    }
}

static void give(ImdExtents *x, unsigned i)
{
    atomic_fetch_sub_explicit(&x->space->filled_bytes, extents_bytes(x, i), memory_order_relaxed);
    atomic_store_explicit(&x->state[i], EMPTY, memory_order_release);
}

void extents_gone(ImdExtents *x)
{
    for (unsigned i = 0; i < x->count; i++)
        if (load(x, i) == GOING)
            give(x, i);
    memset(x->chosen, 0, (x->count + 63) / 64 * sizeof *x->chosen);
}

void extents_end(ImdExtents *x)
{
    for (unsigned i = 0; i < x->count; i++)
        if (load(x, i) != EMPTY)
            give(x, i);
    memset(x->chosen, 0, (x->count + 63) / 64 * sizeof *x->chosen);
}
