/* SPDX-License-Identifier: MIT */
#include "cmd/events.h"

static bool is_of_program(uint8_t kind)
{
    return kind == EVENT_CLIENT_CAME || kind == EVENT_CLIENT_LEFT || kind == EVENT_CLIENT_LOST;
}

const ManagerEvent *events_add(Events *l, const ManagerEvent *e)
{
    EventRing *r = is_of_program(e->kind) ? &l->programs : &l->hosts;
    ManagerEvent *kept = &r->of[r->count++ % EVENTS_KEPT];
    *kept = *e;
    kept->number = ++l->last;
    return kept;
}

/* Numbers in a ring ascend: the first one beyond @after, by halves. */
static const ManagerEvent *ring_after(const EventRing *r, uint64_t after)
{
    uint64_t low = r->count > EVENTS_KEPT ? r->count - EVENTS_KEPT : 0, high = r->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (r->of[middle % EVENTS_KEPT].number > after)
            high = middle;
        else
            low = middle + 1;
    }
    return low < r->count ? &r->of[low % EVENTS_KEPT] : NULL;
}

const ManagerEvent *events_after(const Events *l, uint64_t after)
{
    const ManagerEvent *a = ring_after(&l->hosts, after), *b = ring_after(&l->programs, after);
    if (!a || !b)
        return a ? a : b;
    return a->number < b->number ? a : b;
}

void event_reason(Reason *ret, const char *text)
{
    size_t len = 0;
    *ret = (Reason){""};
    for (; text[len] && len < REASON_MAX; len++)
        ret->text[len] = text[len] >= ' ' && text[len] <= '~' ? text[len] : '?';
}
