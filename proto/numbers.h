/* SPDX-License-Identifier: MIT */
/* Numbers that are given out in order and are over in any: of requests, and of a region's writes.
 * Both sides keep the lowest that is not over, and a map of that one and the next 63. Pure. */
#ifndef DODO_PROTO_NUMBERS_H
#define DODO_PROTO_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { NUMBERS_WINDOW = 64 }; /* from the lowest that is not over to the highest, at most */

typedef struct NumberWindow {
    uint64_t lowest; /* all numbers below it are over */
    uint64_t marked; /* bit i: lowest + i is marked */
} NumberWindow;

static inline void number_window_reset(NumberWindow *w, uint64_t lowest)
{
    *w = (NumberWindow){.lowest = lowest};
}
static inline bool number_window_below(const NumberWindow *w, uint64_t number)
{
    return number < w->lowest;
}
static inline bool number_window_has(const NumberWindow *w, uint64_t number)
{
    return number >= w->lowest && number - w->lowest < NUMBERS_WINDOW;
}
static inline bool number_window_marked(const NumberWindow *w, uint64_t number)
{
    return number_window_has(w, number) && (w->marked >> (number - w->lowest) & 1);
}
/* Nothing happens to one outside. */
static inline void number_window_mark(NumberWindow *w, uint64_t number)
{
    if (number_window_has(w, number))
        w->marked |= (uint64_t)1 << (number - w->lowest);
}
/* The lowest number that is neither below nor marked. */
static inline uint64_t number_window_open(const NumberWindow *w)
{
    uint64_t unmarked = ~w->marked;
    return w->lowest + (unmarked ? (unsigned)__builtin_ctzll(unmarked) : NUMBERS_WINDOW);
}
/* All numbers below @lowest are over; it never goes down. */
static inline void number_window_raise(NumberWindow *w, uint64_t lowest)
{
    if (lowest <= w->lowest)
        return;
    uint64_t by = lowest - w->lowest;
    w->marked = by < NUMBERS_WINDOW ? w->marked >> by : 0;
    w->lowest = lowest;
}
/* The number is over, if it is in the window. */
static inline void number_window_end(NumberWindow *w, uint64_t number)
{
    number_window_mark(w, number);
    number_window_raise(w, number_window_open(w));
}

/* The side that gives them out. Not locked. */
typedef struct Numbers {
    uint64_t next; /* to be given out */
    NumberWindow window;
} Numbers;

static inline void numbers_init(Numbers *n, uint64_t first)
{
    n->next = first;
    number_window_reset(&n->window, first);
}
/* No number below it is out. */
static inline uint64_t numbers_lowest(const Numbers *n)
{
    return n->window.lowest;
}
/* The last one given out. */
static inline uint64_t numbers_last(const Numbers *n)
{
    return n->next - 1;
}
static inline bool numbers_have(const Numbers *n, unsigned count)
{
    return n->next - n->window.lowest + count <= NUMBERS_WINDOW;
}
/* The first of @count in a row. 0: there are not so many until others are over. */
static inline uint64_t numbers_take_row(Numbers *n, unsigned count)
{
    if (!numbers_have(n, count))
        return 0;
    n->next += count;
    return n->next - count;
}
static inline uint64_t numbers_take(Numbers *n)
{
    return numbers_take_row(n, 1);
}
/* The number is over; one that was not given out is not. */
static inline void numbers_end(Numbers *n, uint64_t number)
{
    if (number < n->next)
        number_window_end(&n->window, number);
}

#endif
