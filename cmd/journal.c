/* SPDX-License-Identifier: MIT */
#include "cmd/journal.h"

#include "base/time.h"

static const uint64_t REPORT_NS = NS_PER_S, EVENTS_NS = 10 * NS_PER_S;

bool journal_event(Journal *j, uint64_t now_ns, unsigned *ret_unnamed)
{
    *ret_unnamed = 0;
    if (now_ns >= j->events_until_ns) {
        if (j->events > JOURNAL_EVENTS_MAX)
            *ret_unnamed = j->events - JOURNAL_EVENTS_MAX;
        j->events = 0;
        j->events_until_ns = time_add(now_ns, EVENTS_NS);
    }
    return ++j->events <= JOURNAL_EVENTS_MAX;
}

/* Hosts that came and went, clients that died. */
static bool differs(const ManagerStats *a, const ManagerStats *b)
{
    return a->hosts != b->hosts || a->lost_hosts != b->lost_hosts ||
           a->reclaimed_clients != b->reclaimed_clients ||
           a->reclaimed_regions != b->reclaimed_regions;
}

bool journal_report(Journal *j, const ManagerStats *s, uint64_t now_ns)
{
    j->pending = differs(s, &j->reported);
    if (!j->pending || now_ns < j->report_ns)
        return false;
    j->pending = false;
    j->reported = *s;
    j->report_ns = time_add(now_ns, REPORT_NS);
    return true;
}

uint64_t journal_deadline(const Journal *j)
{
    return j->pending ? j->report_ns : TIME_NEVER;
}
