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

void polling_looked(Polling *p, uint64_t took_ns, int64_t preempted, uint64_t now_ns)
{
    bool lost = p->preempted >= 0 && preempted > p->preempted;
    p->preempted = preempted;
    if (!lost)
        return;
    uint64_t pause = min_u64(took_ns, POLLING_PAUSE_MAX_NS) * POLLING_PAUSE_FACTOR;
    p->paused_until_ns = time_add(now_ns, min_u64(pause, POLLING_PAUSE_MAX_NS));
}

bool polling_try(PollingTrial *t)
{
    const bool better = t->mean_ns[true] <= t->mean_ns[false] || t->mean_ns[false] == 0;
    return ++t->waits % POLLING_TRY == 0 ? !better : better;
}

void polling_waited(PollingTrial *t, bool polled, uint64_t ns)
{
    uint64_t *mean = &t->mean_ns[polled], sample = min_u64(max_u64(ns, 1), POLLING_WAIT_MAX_NS);
    *mean = *mean ? max_u64((*mean * (POLLING_WEIGHT - 1) + sample) / POLLING_WEIGHT, 1) : sample;
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
static _Atomic int waiting; /* threads */
static int processors;

static int count_processors(void)
{
    cpu_set_t set;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    return CPU_COUNT(&set);
}

void polling_setup(unsigned percent)
{
    budget.percent = percent;
    processors = count_processors();
}

void polling_wait_begin(void)
{
    (void)atomic_fetch_add_explicit(&waiting, 1, memory_order_relaxed);
}

void polling_wait_end(void)
{
    (void)atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
}

void polling_forget(void)
{
    atomic_store_explicit(&waiting, 0, memory_order_relaxed);
}

/* With @more threads than wait now. */
static bool is_crowded(int more)
{
    return atomic_load_explicit(&waiting, memory_order_relaxed) + more > processors;
}

enum PollingEnd polling_for(Polling *p, uint64_t deadline_ns, bool (*look)(void *ctx), void *ctx)
{
    if (p->limit_ns == 0)
        return POLLING_NONE;
    const uint64_t start = os_now_ns();
    const uint64_t left_until = time_add(start, polling_budget_left(&budget, start));
    const uint64_t until = min_u64(min_u64(deadline_ns, polling_until(p, start)), left_until);
    uint64_t now = start;
    bool found = false;
    if (start >= until || is_crowded(1))
        return POLLING_NONE;
    polling_wait_begin();
    do {
        const uint64_t before = now;
        found = look(ctx);
        now = os_now_ns();
        if (now - before > POLLING_LOOK_NS)
            polling_looked(p, now - before, os_preemptions(), now);
    } while (!found && now < until && now >= p->paused_until_ns && !is_crowded(0));
    polling_wait_end();
    polling_budget_spend(&budget, start, now - start);
    return found ? POLLING_FOUND : POLLING_VAIN;
}
