/* SPDX-License-Identifier: MIT */
/* Is a host too slow to be of use? */
#include "libdodo/debt.h"

static void count(Debt *d, uint64_t now_ns)
{
    if (d->asking > 0)
        d->owed_ns += now_ns - d->at_ns;
    d->at_ns = now_ns;
}

void debt_enter(Debt *d, uint64_t call, uint64_t now_ns)
{
    count(d, now_ns);
    if (d->asking == 0 && d->call != call)
        d->owed_ns = 0;
    d->call = call;
    d->asking++;
}

void debt_leave(Debt *d)
{
    d->asking--;
}

void debt_chunks(Debt *d, unsigned chunks, uint64_t deadline_ns, uint64_t now_ns)
{
    count(d, now_ns);
    for (; chunks > 0 && d->owed_ns > 0; chunks--)
        d->owed_ns -= d->owed_ns < deadline_ns ? d->owed_ns : deadline_ns;
}

bool debt_is_too_slow(const Debt *d, uint64_t deadline_ns)
{
    return d->owed_ns / DEBT_BEHIND_MAX >= deadline_ns;
}
