/* SPDX-License-Identifier: MIT */
/* W-TinyLFU with an adaptive window (Einziger, Friedman, Manes: "TinyLFU: A Highly Efficient Cache
 * Admission Policy", ACM ToS 2017; "Adaptive Software Cache Management", Middleware 2018).
 *
 * What comes is in the window, by recency. What the window has no room for any more is a candidate
 * for the main part: it stays if it was used more often than what would go instead. How often
 * pieces are used, also those that are not here, a sketch estimates. The main part has those used
 * once (probation) and again (protected). So a scan passes through the window, and a loop that is
 * longer than the cache keeps a part of itself.
 *
 * How large the window should be depends on the program: it is moved a step, and further the same
 * way as long as more is found than before. */
#include <stdlib.h>

#include "base/id.h"
#include "base/num.h"
#include "libmanage/policies/policies.h"

enum {
    ROWS = 4,
    COUNT_MAX = 15,
    SAMPLE = 10,    /* uses an entry: so often the sketch ages, and the window moves */
    WIDTH_MIN = 64, /* counters a row; one for each block that the cache has room for */
    BLOCK_BYTES = 4096,
    ADMIT_LEAST = 6, /* uses, of a candidate that is let in now and then against the count */
    ADMIT_ONE_IN = 128,
};
static const double WINDOW_FIRST = 0.01, PROTECTED_SHARE = 0.8;
static const double STEP_FIRST = 0.0625, STEP_DECAY = 0.98, STEP_AGAIN = 0.05;

enum Place { PLACE_NONE, PLACE_WINDOW, PLACE_PROBATION, PLACE_PROTECTED, PLACES };

typedef struct Queue {
    struct manage_entry head; /* its next is the least recently used */
    uint64_t bytes;
} Queue;

typedef struct Adaptive {
    Queue queues[PLACES];
    struct manage_entry *candidate; /* left the window last, and is not judged yet */
    uint64_t limit_bytes, window_bytes;
    /* the sketch */
    uint64_t width; /* a power of two */
    uint64_t uses;  /* since it aged */
    /* the window's size */
    uint64_t hits, misses; /* since the last step */
    double rate, step;     /* of the last step: hits a use, parts of the cache */
    bool stepped;
    uint64_t entries, random;
    uint8_t counts[]; /* ROWS of width */
} Adaptive;

static void *adaptive_create(uint64_t limit_bytes)
{
    uint64_t width = WIDTH_MIN;
    while (width < limit_bytes / BLOCK_BYTES)
        width *= 2;
    Adaptive *self = calloc(1, sizeof *self + ROWS * width);
    if (!self)
        return NULL;
    self->width = width;
    self->limit_bytes = limit_bytes;
    self->window_bytes = (uint64_t)(WINDOW_FIRST * (double)limit_bytes);
    self->step = STEP_FIRST;
    for (unsigned i = 0; i < PLACES; i++)
        self->queues[i].head.prev = self->queues[i].head.next = &self->queues[i].head;
    return self;
}

static void adaptive_destroy(void *self)
{
    free(self);
}

/* ---- the sketch ------------------------------------------------------------------------------ */

static uint8_t *counter(Adaptive *a, const struct manage_entry *e, unsigned row)
{
    uint64_t hash = mix64(e->region ^ mix64(e->offset ^ (uint64_t)(row + 1) << 56));
    return &a->counts[row * a->width + (hash & (a->width - 1))];
}

static unsigned frequency(Adaptive *a, const struct manage_entry *e)
{
    unsigned least = COUNT_MAX;
    for (unsigned row = 0; row < ROWS; row++)
        least = *counter(a, e, row) < least ? *counter(a, e, row) : least;
    return least;
}

static void count(Adaptive *a, const struct manage_entry *e)
{
    for (unsigned row = 0; row < ROWS; row++) {
        uint8_t *c = counter(a, e, row);
        *c = (uint8_t)(*c + (*c < COUNT_MAX));
    }
    if (++a->uses < SAMPLE * a->entries)
        return;
    for (uint64_t i = 0; i < ROWS * a->width; i++)
        a->counts[i] /= 2;
    a->uses /= 2;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void leave(Adaptive *a, struct manage_entry *e)
{
    a->queues[e->state[0]].bytes -= e->state[1];
    a->entries -= e->state[0] != PLACE_NONE;
    if (a->candidate == e)
        a->candidate = NULL;
    e->state[0] = PLACE_NONE;
    e->state[1] = 0;
}

/* As the most recently used there. */
static void move(Adaptive *a, struct manage_entry *e, enum Place place)
{
    leave(a, e);
    manage_entry_move_before(&a->queues[place].head, e);
    e->state[0] = place;
    e->state[1] = e->length;
    a->queues[place].bytes += e->length;
    a->entries++;
}

static void shrink_window(Adaptive *a)
{
    Queue *window = &a->queues[PLACE_WINDOW];
    while (window->bytes > a->window_bytes && window->head.next != window->head.prev) {
        struct manage_entry *e = window->head.next;
        move(a, e, PLACE_PROBATION);
        a->candidate = e;
    }
}

static void shrink_protected(Adaptive *a)
{
    Queue *queue = &a->queues[PLACE_PROTECTED];
    double most = PROTECTED_SHARE * (double)(a->limit_bytes - a->window_bytes);
    while ((double)queue->bytes > most)
        move(a, queue->head.next, PLACE_PROBATION);
}

/* ---- the window's size ----------------------------------------------------------------------- */

static void climb(Adaptive *a)
{
    double rate = (double)a->hits / (double)(a->hits + a->misses), change = rate - a->rate;
    if (a->stepped && change < 0)
        a->step = -a->step;
    double window = (double)a->window_bytes + a->step * (double)a->limit_bytes;
    double least = WINDOW_FIRST * (double)a->limit_bytes,
           most = PROTECTED_SHARE * (double)a->limit_bytes;
    a->window_bytes = (uint64_t)(window < least ? least : window > most ? most : window);
    if (a->stepped && (change >= STEP_AGAIN || change <= -STEP_AGAIN))
        a->step = a->step < 0 ? -STEP_FIRST : STEP_FIRST;
    else
        a->step *= STEP_DECAY;
    a->rate = rate;
    a->stepped = true;
    a->hits = a->misses = 0;
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void adaptive_use(void *self, struct manage_entry *e)
{
    Adaptive *a = self;
    enum Place was = (enum Place)e->state[0];
    count(a, e);
    *(was == PLACE_NONE ? &a->misses : &a->hits) += 1;
    move(a, e, was == PLACE_NONE || was == PLACE_WINDOW ? PLACE_WINDOW : PLACE_PROTECTED);
    if (a->hits + a->misses >= SAMPLE * a->entries && a->misses > 0)
        climb(a);
    shrink_window(a);
    shrink_protected(a);
}

/* Against attacks on the estimate, and for its errors. */
static bool let_in_all_the_same(Adaptive *a, unsigned uses)
{
    return uses >= ADMIT_LEAST && mix64(++a->random) % ADMIT_ONE_IN == 0;
}

static struct manage_entry *adaptive_reclaim(void *self, const struct manage_directory *dir)
{
    static const enum Place order[] = {PLACE_PROBATION, PLACE_PROTECTED, PLACE_WINDOW};
    Adaptive *a = self;
    struct manage_entry *victim = NULL, *candidate = a->candidate;
    (void)dir;
    for (unsigned i = 0; !victim && i < sizeof order / sizeof order[0]; i++)
        victim = policy_first_idle(&a->queues[order[i]].head);
    if (!candidate || candidate == victim || (candidate->flags & MANAGE_ENTRY_BUSY))
        return victim;
    unsigned uses = frequency(a, candidate);
    if (!victim || (uses <= frequency(a, victim) && !let_in_all_the_same(a, uses)))
        return candidate;
    a->candidate = NULL;
    return victim;
}

static void adaptive_removed(void *self, struct manage_entry *e)
{
    leave(self, e);
}

const struct manage_policy policy_adaptive = {
    .size = sizeof(struct manage_policy),
    .name = "adaptive",
    .create = adaptive_create,
    .destroy = adaptive_destroy,
    .read = adaptive_use,
    .write = adaptive_use,
    .reclaim = adaptive_reclaim,
    .removed = adaptive_removed,
};
