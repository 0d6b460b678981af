/* SPDX-License-Identifier: MIT */
#include "base/polling.h"

#include <sched.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"

/* ---- a thread -------------------------------------------------------------------------------- */

void polling_init(Polling *p, uint64_t limit_ns)
{
    *p = (Polling){.limit_ns = limit_ns, .preempted = -1};
}

void polling_traffic(Polling *p, uint64_t now_ns)
{
    p->traffic_ns = now_ns;
}

uint64_t polling_until(const Polling *p, uint64_t now_ns)
{
    return now_ns < p->paused_until_ns ? 0 : time_add(p->traffic_ns, p->limit_ns);
}

bool polling_polled(Polling *p, uint64_t spent_ns)
{
    p->polled_ns += spent_ns;
    if (p->preempted >= 0 && p->polled_ns < POLLING_COUNT_NS)
        return false;
    p->polled_ns = 0;
    return true;
}

void polling_counted(Polling *p, int64_t preempted, uint64_t now_ns)
{
    bool more = p->preempted >= 0 && preempted > p->preempted;
    p->preempted = preempted;
    if (!more) {
        p->pause_ns /= 2;
        return;
    }
    p->pause_ns = p->pause_ns < POLLING_PAUSE_NS ? POLLING_PAUSE_NS : p->pause_ns * 2;
    if (p->pause_ns > POLLING_PAUSE_MAX_NS)
        p->pause_ns = POLLING_PAUSE_MAX_NS;
    p->paused_until_ns = time_add(now_ns, p->pause_ns);
}

/* ---- all threads of a process ---------------------------------------------------------------- */

uint64_t polling_budget_left(const PollingBudget *b, uint64_t now_ns)
{
    uint64_t owed = sub_u64(atomic_load_explicit(&b->owed_until_ns, memory_order_relaxed), now_ns);
    return sub_u64(POLLING_BURST_NS, owed) * b->percent / 100;
}

void polling_budget_spend(PollingBudget *b, uint64_t start_ns, uint64_t spent_ns)
{
    uint64_t owed = atomic_load_explicit(&b->owed_until_ns, memory_order_relaxed), until;
    do
        until = time_add(max_u64(owed, start_ns), spent_ns * 100 / b->percent);
    while (!atomic_compare_exchange_weak_explicit(&b->owed_until_ns, &owed, until,
                                                  memory_order_relaxed, memory_order_relaxed));
}

static PollingBudget budget = {.percent = 100};

void polling_share(unsigned percent)
{
    budget.percent = percent;
}

static _Atomic int polling;
static _Atomic int processors; /* 0: not counted yet */

static int count_processors(void)
{
    cpu_set_t set;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || sched_getaffinity(0, sizeof set, &set) != 0)
        return -1;
    return CPU_COUNT(&set);
}

bool polling_begin(void)
{
    int most = atomic_load_explicit(&processors, memory_order_relaxed);
    if (most == 0) {
        most = count_processors();
        atomic_store_explicit(&processors, most, memory_order_relaxed);
    }
    if (atomic_fetch_add_explicit(&polling, 1, memory_order_relaxed) < most)
        return true;
    polling_end();
    return false;
}

void polling_end(void)
{
    (void)atomic_fetch_sub_explicit(&polling, 1, memory_order_relaxed);
}

bool polling_for(Polling *p, uint64_t deadline_ns, bool (*look)(void *ctx), void *ctx)
{
    if (p->limit_ns == 0)
        return false;
    const uint64_t start = os_now_ns();
    const uint64_t left_until = time_add(start, polling_budget_left(&budget, start));
    const uint64_t until = min_u64(min_u64(deadline_ns, polling_until(p, start)), left_until);
    uint64_t now = start;
    bool found = false;
    if (start >= until || !polling_begin())
        return false;
    while (!(found = look(ctx)) && now < until)
        now = os_now_ns();
    polling_end();
    polling_budget_spend(&budget, start, now - start);
    if (polling_polled(p, now - start))
        polling_counted(p, os_preemptions(), now);
    return found;
}
