/* SPDX-License-Identifier: MIT */
#include "cmd/lease.h"

#include <string.h>

#include "base/num.h"
#include "base/parse.h"
#include "base/time.h"
#include "proto/fence.h"

void lease_init(Lease *l, bool wanted, uint64_t now_ns)
{
    *l = (Lease){
        .state = wanted ? LEASE_OFF : LEASE_NONE, .start_ns = now_ns, .wait_ns = LEASE_WAIT_NS};
}

bool lease_start(Lease *l, uint64_t now_ns)
{
    if (l->state != LEASE_OFF || now_ns < l->start_ns)
        return false;
    l->state = LEASE_ASKED;
    l->len = 0;
    if (now_ns >= time_add(l->over_ns, FENCE_MEMORY_NS))
        l->number = 0;
    return true;
}

/* A lease that another one had in between has a greater number than both of ours: one that has not
 * grown is no number of a lease. Ours is remembered for as long as our peers remember it. */
static enum LeaseNews take_number(Lease *l)
{
    uint64_t number;
    l->line[l->len] = '\0';
    if (parse_u64(l->line, l->number + 1, MANAGER_STANDBY - 1, &number) != 0) {
        l->state = LEASE_NO_NUMBER;
        return LEASE_NONSENSE;
    }
    l->number = number;
    l->state = LEASE_HELD;
    l->wait_ns = LEASE_WAIT_NS;
    return LEASE_GAINED;
}

enum LeaseNews lease_output(Lease *l, const char *text, size_t len)
{
    if (l->state != LEASE_ASKED)
        return LEASE_NOTHING;
    const char *end = memchr(text, '\n', len);
    const size_t more = end ? (size_t)(end - text) : len;
    if (more >= LEASE_LINE_MAX - l->len) {
        l->len = 0; /* no number is that long */
        return take_number(l);
    }
    memcpy(l->line + l->len, text, more);
    l->len += more;
    return end ? take_number(l) : LEASE_NOTHING;
}

enum LeaseNews lease_ended(Lease *l, uint64_t now_ns)
{
    const bool held = l->state == LEASE_HELD, vain = l->state == LEASE_ASKED;
    if (l->state == LEASE_NONE || l->state == LEASE_OFF)
        return LEASE_NOTHING;
    l->state = LEASE_OFF;
    l->start_ns = time_add(now_ns, l->wait_ns);
    if (held)
        l->over_ns = now_ns;
    else
        l->wait_ns = min_u64(2 * l->wait_ns, LEASE_WAIT_MAX_NS);
    return held ? LEASE_LOST : vain ? LEASE_VAIN : LEASE_NOTHING;
}

uint64_t lease_deadline(const Lease *l)
{
    return l->state == LEASE_OFF ? l->start_ns : TIME_NEVER;
}

uint64_t lease_epoch(const Lease *l)
{
    if (l->state == LEASE_NONE)
        return MANAGER_UNLEASED;
    return l->state == LEASE_HELD ? l->number : MANAGER_STANDBY;
}
