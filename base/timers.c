/* SPDX-License-Identifier: MIT */
#include "base/timers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/time.h"

enum { ROOM_MIN = 64 };

static void put(Timers *t, size_t at, Timer *timer)
{
    t->heap[at] = timer;
    timer->at = at;
}

static void rise(Timers *t, Timer *timer)
{
    size_t at = timer->at;
    for (; at > 0 && timer->due_ns < t->heap[(at - 1) / 2]->due_ns; at = (at - 1) / 2)
        put(t, at, t->heap[(at - 1) / 2]);
    put(t, at, timer);
}

static void sink(Timers *t, Timer *timer)
{
    size_t at = timer->at;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < t->count && t->heap[child + 1]->due_ns < t->heap[child]->due_ns)
            child++;
        if (child >= t->count || timer->due_ns <= t->heap[child]->due_ns)
            break;
        put(t, at, t->heap[child]);
        at = child;
    }
    put(t, at, timer);
}

void timers_deinit(Timers *t)
{
    free(t->heap);
    *t = (Timers){0};
}

int timers_add(Timers *t, Timer *timer, uint64_t due_ns)
{
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : ROOM_MIN;
        Timer **heap = realloc(t->heap, room * sizeof(Timer *));
        if (!heap)
            return -ENOMEM;
        t->heap = heap;
        t->room = room;
    }
    *timer = (Timer){.due_ns = due_ns, .at = t->count++};
    rise(t, timer);
    return 0;
}

void timers_move(Timers *t, Timer *timer, uint64_t due_ns)
{
    timer->due_ns = due_ns;
    rise(t, timer);
    sink(t, timer);
}

void timers_remove(Timers *t, Timer *timer)
{
    Timer *last = t->heap[--t->count];
    if (last == timer)
        return;
    put(t, timer->at, last);
    timers_move(t, last, last->due_ns);
}

Timer *timers_first(const Timers *t)
{
    return t->count > 0 ? t->heap[0] : NULL;
}

uint64_t timers_due(const Timers *t)
{
    return t->count > 0 ? t->heap[0]->due_ns : TIME_NEVER;
}

void timers_postpone(Timers *t, uint64_t by_ns)
{
    for (size_t i = 0; i < t->count; i++) /* the order stays */
        t->heap[i]->due_ns = time_add(t->heap[i]->due_ns, by_ns);
}

size_t timers_bytes(const Timers *t)
{
    return t->room * sizeof(Timer *);
}

bool timers_check(const Timers *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->heap[i]->at != i || (i > 0 && t->heap[i]->due_ns < t->heap[(i - 1) / 2]->due_ns))
            return false;
    return t->count <= t->room;
}
