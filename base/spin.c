/* SPDX-License-Identifier: MIT */
#include "base/spin.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"

enum { SCORE_MAX = 255, SCORE_START = 192, SCORE_LEAST = 96, SCORE_STEP = 8 };

void spin_init(Spin *s, uint64_t limit_ns)
{
    *s = (Spin){.limit_ns = limit_ns, .score = SCORE_START, .preempted = -1};
}

uint64_t spin_budget(const Spin *s, uint64_t now_ns)
{
    return s->score >= SCORE_LEAST && now_ns >= s->paused_until_ns ? s->limit_ns : 0;
}

void spin_waited(Spin *s, uint64_t waited_ns, bool asleep)
{
    bool soon = waited_ns <= s->limit_ns + (asleep ? SPIN_WAKE_NS : 0);
    s->score += (soon ? SCORE_MAX - s->score : 0) / SCORE_STEP;
    s->score -= soon ? 0 : s->score / SCORE_STEP;
}

bool spin_looks(Spin *s)
{
    if (s->preempted >= 0 && ++s->spins < SPIN_LOOKS)
        return false;
    s->spins = 0;
    return true;
}

void spin_saw(Spin *s, int64_t preempted, uint64_t now_ns)
{
    bool more = s->preempted >= 0 && preempted > s->preempted;
    s->preempted = preempted;
    if (!more) {
        s->pause_ns /= 2;
        return;
    }
    s->pause_ns = s->pause_ns < SPIN_PAUSE_NS ? SPIN_PAUSE_NS : s->pause_ns * 2;
    if (s->pause_ns > SPIN_PAUSE_MAX_NS)
        s->pause_ns = SPIN_PAUSE_MAX_NS;
    s->paused_until_ns = time_add(now_ns, s->pause_ns);
}

/* ---- the process ---------------------------------------------------------------------------- */

static _Atomic int spinning;
static _Atomic int processors; /* 0: not counted yet */

/* If there is only one, the one that is to answer may need it. */
static int count_processors(void)
{
    cpu_set_t set;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || sched_getaffinity(0, sizeof set, &set) != 0)
        return -1;
    return CPU_COUNT(&set);
}

bool spin_begin(void)
{
    int most = atomic_load_explicit(&processors, memory_order_relaxed);
    if (most == 0) {
        most = count_processors();
        atomic_store_explicit(&processors, most, memory_order_relaxed);
    }
    if (atomic_fetch_add_explicit(&spinning, 1, memory_order_relaxed) < most)
        return true;
    spin_end();
    return false;
}

void spin_end(void)
{
    (void)atomic_fetch_sub_explicit(&spinning, 1, memory_order_relaxed);
}

/* ---- the shell ------------------------------------------------------------------------------ */

bool spin_for(Spin *s, uint64_t deadline_ns, bool (*look)(void *ctx), void *ctx)
{
    if (s->limit_ns == 0)
        return false;
    uint64_t start = os_now_ns(), now = start;
    uint64_t until = min_u64(deadline_ns, time_add(start, spin_budget(s, start)));
    bool found = false;
    if (start >= until || !spin_begin())
        return false;
    while (!(found = look(ctx)) && now < until)
        now = os_now_ns();
    spin_end();
    spin_waited(s, found ? now - start : UINT64_MAX, false);
    s->in_vain = !found;
    if (spin_looks(s))
        spin_saw(s, os_preemptions(), now);
    return found;
}

void spin_slept(Spin *s, uint64_t since_ns)
{
    if (s->limit_ns > 0 && !s->in_vain)
        spin_waited(s, os_now_ns() - since_ns, true);
    s->in_vain = false;
}
