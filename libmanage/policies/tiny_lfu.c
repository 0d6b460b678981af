/* SPDX-License-Identifier: MIT */
#include "libmanage/policies/tiny_lfu.h"

#include <stdlib.h>

#include "base/id.h"
#include "libmanage/policies/policies.h"

enum {
    ROWS = 4,
    COUNT_MAX = 15,
    COUNTERS = 8,    /* a piece that the cache has room for, in each row */
    WIDTH_MIN = 64,  /* counters a row */
    SAMPLE = 10,     /* uses a piece that is counted: so often the sketch ages */
    ADMIT_LEAST = 6, /* uses, of a candidate that is let in now and then against the count */
    ADMIT_ONE_IN = 128,
    MOVES = 16, /* at most, for one use: what takes long holds everybody up */
};
static const double PROTECTED_SHARE = 0.8;

enum { PLACE, LENGTH }; /* manage_entry.state */
enum Place { PLACE_NONE, PLACE_WINDOW, PLACE_PROBATION, PLACE_PROTECTED, PLACES };

typedef struct Queue {
    struct manage_entry head; /* its next is the least recently used */
    uint64_t sum;             /* of the lengths */
} Queue;

struct TinyLfu {
    Queue queues[PLACES];
    struct manage_entry *candidate; /* left the window last, and is not judged yet */
    uint64_t limit, window;
    uint64_t entries, random;
    /* the sketch */
    uint64_t width;       /* of a row, a power of two */
    uint64_t uses, fresh; /* since it aged; fresh: of pieces that it did not know */
    uint8_t counts[];     /* two in each byte, ROWS of width */
};

TinyLfu *tiny_lfu_new(uint64_t limit, uint64_t pieces)
{
    uint64_t width = WIDTH_MIN;
    while (width < pieces * COUNTERS)
        width *= 2;
    TinyLfu *t = calloc(1, sizeof *t + ROWS * width / 2);
    if (!t)
        return NULL;
    t->width = width;
    t->limit = limit;
    for (unsigned i = 0; i < PLACES; i++)
        t->queues[i].head.prev = t->queues[i].head.next = &t->queues[i].head;
    return t;
}

void tiny_lfu_free(TinyLfu *t)
{
    free(t);
}

void tiny_lfu_set_window(TinyLfu *t, double share)
{
    t->window = (uint64_t)(share * (double)t->limit);
}

/* ---- the sketch ------------------------------------------------------------------------------ */

static uint64_t place_in_row(const TinyLfu *t, const struct manage_entry *e, unsigned row)
{
    uint64_t hash = mix64(e->region ^ mix64(e->offset));
    return row * t->width + ((hash + row * (hash >> 32 | 1)) & (t->width - 1));
}

static unsigned count_at(const TinyLfu *t, uint64_t place)
{
    return t->counts[place / 2] >> 4 * (place % 2) & COUNT_MAX;
}

static unsigned frequency(const TinyLfu *t, const struct manage_entry *e)
{
    unsigned least = COUNT_MAX;
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned count = count_at(t, place_in_row(t, e, row));
        least = count < least ? count : least;
    }
    return least;
}

/* Counts are halved when the pieces that they are of have been used some times each: those that are
 * here, or if more were used, all those. Sooner, and a loop longer than the cache would be
 * forgotten before it comes again. */
static void age(TinyLfu *t)
{
    uint64_t pieces = t->entries > t->fresh ? t->entries : t->fresh;
    if (t->uses < SAMPLE * pieces)
        return;
    for (uint64_t i = 0; i < ROWS * t->width / 2; i++)
        t->counts[i] = t->counts[i] >> 1 & (COUNT_MAX >> 1 | COUNT_MAX >> 1 << 4);
    t->uses /= 2;
    t->fresh = 0;
}

static void count(TinyLfu *t, const struct manage_entry *e)
{
    unsigned before = COUNT_MAX;
    for (unsigned row = 0; row < ROWS; row++) {
        uint64_t place = place_in_row(t, e, row);
        unsigned count = count_at(t, place);
        before = count < before ? count : before;
        if (count < COUNT_MAX)
            t->counts[place / 2] = (uint8_t)(t->counts[place / 2] + (1u << 4 * (place % 2)));
    }
    t->fresh += before == 0;
    t->uses++;
    age(t);
}

/* ---- places ---------------------------------------------------------------------------------- */

static void leave(TinyLfu *t, struct manage_entry *e)
{
    t->queues[e->state[PLACE]].sum -= e->state[LENGTH];
    t->entries -= e->state[PLACE] != PLACE_NONE;
    if (t->candidate == e)
        t->candidate = NULL;
    e->state[PLACE] = PLACE_NONE;
    e->state[LENGTH] = 0;
}

/* As the most recently used there. */
static void move(TinyLfu *t, struct manage_entry *e, enum Place place)
{
    leave(t, e);
    manage_entry_move_before(&t->queues[place].head, e);
    e->state[PLACE] = place;
    e->state[LENGTH] = e->length;
    t->queues[place].sum += e->length;
    t->entries++;
}

/* The window has room for one, however small it is. */
static void shrink_window(TinyLfu *t)
{
    Queue *window = &t->queues[PLACE_WINDOW];
    for (unsigned i = 0; i < MOVES && window->sum > t->window; i++) {
        if (window->head.next == window->head.prev)
            return;
        struct manage_entry *e = window->head.next;
        move(t, e, PLACE_PROBATION);
        t->candidate = e;
    }
}

static void shrink_protected(TinyLfu *t)
{
    Queue *queue = &t->queues[PLACE_PROTECTED];
    double most = PROTECTED_SHARE * (double)(t->limit - t->window);
    for (unsigned i = 0; i < MOVES && (double)queue->sum > most; i++)
        move(t, queue->head.next, PLACE_PROBATION);
}

/* ---- what happens ---------------------------------------------------------------------------- */

void tiny_lfu_use(TinyLfu *t, struct manage_entry *e)
{
    enum Place was = (enum Place)e->state[PLACE];
    count(t, e);
    move(t, e, was == PLACE_NONE || was == PLACE_WINDOW ? PLACE_WINDOW : PLACE_PROTECTED);
    shrink_window(t);
    shrink_protected(t);
}

/* Against attacks on the estimate, and for its errors. */
static bool let_in_all_the_same(TinyLfu *t, unsigned uses)
{
    return uses >= ADMIT_LEAST && mix64(++t->random) % ADMIT_ONE_IN == 0;
}

struct manage_entry *tiny_lfu_victim(TinyLfu *t)
{
    static const enum Place order[] = {PLACE_PROBATION, PLACE_PROTECTED, PLACE_WINDOW};
    struct manage_entry *victim = NULL, *candidate = t->candidate;
    for (unsigned i = 0; !victim && i < sizeof order / sizeof order[0]; i++)
        victim = policy_first_idle(&t->queues[order[i]].head);
    if (!candidate || candidate == victim || (candidate->flags & MANAGE_ENTRY_BUSY))
        return victim;
    unsigned uses = frequency(t, candidate);
    if (!victim || (uses <= frequency(t, victim) && !let_in_all_the_same(t, uses)))
        return candidate;
    t->candidate = NULL;
    return victim;
}

void tiny_lfu_removed(TinyLfu *t, struct manage_entry *e)
{
    leave(t, e);
}
