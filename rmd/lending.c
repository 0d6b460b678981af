/* SPDX-License-Identifier: MIT */
#include "rmd/lending.h"

#include <math.h>
#include <stddef.h>

#include "base/num.h"
#include "rmd/guards.h"

static uint64_t whole_steps(uint64_t bytes)
{
    return bytes - bytes % LENDING_STEP_BYTES;
}

void lending_init(Lending *l, uint64_t cap_bytes, uint64_t now_ns)
{
    *l = (Lending){.cap_bytes = cap_bytes, .commit_bytes = UINT64_MAX, .read_ns = now_ns};
}

void lending_cap(Lending *l, uint64_t cap_bytes)
{
    l->cap_bytes = cap_bytes;
}

/* A pool is mapped as a whole, and imd refuses one that the host does not have now. */
static uint64_t ceiling(const Lending *l, const MemoryState *state, uint64_t held_bytes)
{
    uint64_t there = state->spare_bytes + held_bytes;
    there = there > l->slack_bytes ? there - l->slack_bytes : 0;
    there = min_u64(there, memory_ceiling_bytes(state, held_bytes));
    there = min_u64(there, l->commit_bytes); /* all of its pool counts as promised */
    if (GUARD(CAP))
        there = min_u64(there, l->cap_bytes);
    return whole_steps(there);
}

/* ---- how fast the owner takes memory --------------------------------------------------------- */

static void trend_forget(LendingTrend *t)
{
    t->recent.count = 0;
    t->taken_bytes = t->ahead_bytes = 0;
    t->stirs = t->steady = false;
}

static void forget(Lending *l)
{
    trend_forget(&l->host);
    trend_forget(&l->group);
    l->unseen_bytes = 0;
}

/* imd's resident memory falls before the kernel counts the pages as free. What became free since
 * the last reading, and what other programs have more now, was shown; the rest is still to come,
 * for a second, and then it is somebody's. */
static void note_unseen(Lending *l, const MemoryState *state, uint64_t held_bytes, uint64_t now_ns)
{
    uint64_t free_bytes = state->spare_bytes + state->aside_bytes;
    uint64_t others_bytes = sub_u64(state->programs_bytes, held_bytes);
    if (l->host.recent.count > 0) {
        uint64_t released = sub_u64(l->held_bytes, held_bytes);
        uint64_t risen = sub_u64(free_bytes + sub_u64(held_bytes, l->held_bytes), l->free_bytes);
        uint64_t fallen = sub_u64(l->free_bytes, free_bytes + sub_u64(held_bytes, l->held_bytes));
        uint64_t shown = sub_u64(risen + sub_u64(others_bytes, l->others_bytes), fallen);
        l->unseen_bytes = sub_u64(l->unseen_bytes + released, shown);
        if (released > 0)
            l->released_ns = now_ns;
        if (l->unseen_bytes > 0 && now_ns - l->released_ns >= LENDING_UNSEEN_NS)
            forget(l);
    }
    l->free_bytes = free_bytes;
    l->others_bytes = others_bytes;
}

/* The newest reading that is old enough to tell a rate; else the oldest there is. */
static const LendingReading *reading_before(const LendingReadings *recent, uint64_t now_ns)
{
    const LendingReading *r = NULL;
    for (unsigned i = 1; i <= recent->count; i++) {
        r = &recent->of[(recent->next + LENDING_READINGS - i) % LENDING_READINGS];
        if (now_ns - r->at_ns >= LENDING_RATE_NS)
            break;
    }
    return r;
}

static uint64_t ahead(double bytes_per_s, uint64_t total_bytes)
{
    double bytes = bytes_per_s * LENDING_AHEAD_NS / NS_PER_S;
    return bytes < (double)total_bytes ? (uint64_t)bytes : total_bytes;
}

static void note_run(LendingTrend *t, uint64_t there_bytes, uint64_t now_ns)
{
    LendingRun *r = &t->run;
    uint64_t half = r->low_bytes + (r->top_bytes - r->low_bytes) / 2;
    bool falls = there_bytes + LENDING_STEP_BYTES <= r->low_bytes && now_ns > r->fell_ns;
    if (t->recent.count == 0 || there_bytes > half || now_ns - r->fell_ns >= LENDING_AHEAD_NS ||
        (r->falls == 0 && !falls)) {
        *r = (LendingRun){.top_bytes = there_bytes, .low_bytes = there_bytes, .fell_ns = now_ns};
    } else if (falls) {
        r->rates[r->falls++ % LENDING_FALLS] =
            (double)(r->low_bytes - there_bytes) * NS_PER_S / (double)(now_ns - r->fell_ns);
        r->low_bytes = there_bytes;
        r->fell_ns = now_ns;
    }
}

/* The rate of a run that noise does not have: the median of its last falls, so that neither one
 * burst nor one pause in it tells. 0: it is no such run. */
static double steady_rate(const LendingRun *r)
{
    double rates[LENDING_FALLS];
    if (r->falls < LENDING_FALLS)
        return 0;
    for (unsigned i = 0, at; i < LENDING_FALLS; i++) {
        for (at = i; at > 0 && rates[at - 1] > r->rates[i]; at--)
            rates[at] = rates[at - 1];
        rates[at] = r->rates[i];
    }
    return rates[LENDING_FALLS / 2];
}

/* What imd takes and gives back moves between what is spare and what is held. */
static void note(LendingTrend *t, uint64_t there_bytes, uint64_t total_bytes, uint64_t now_ns)
{
    const LendingReading *before = reading_before(&t->recent, now_ns);
    double rate = 0;
    t->taken_bytes = 0;
    if (before && now_ns > before->at_ns && before->there_bytes > there_bytes) {
        t->taken_bytes = before->there_bytes - there_bytes;
        if (t->taken_bytes >= total_bytes / LENDING_STORM_DIVISOR)
            rate = (double)t->taken_bytes * NS_PER_S / (double)(now_ns - before->at_ns);
    }
    t->stirs = t->taken_bytes >= total_bytes / LENDING_STIR_DIVISOR;
    note_run(t, there_bytes, now_ns);
    double steady = steady_rate(&t->run);
    double matters = (double)(total_bytes / LENDING_STIR_DIVISOR) * NS_PER_S / LENDING_RATE_NS;
    t->steady = steady >= matters && GUARD(STEADY);
    if (t->steady && steady > rate)
        rate = steady;
    t->ahead_bytes = ahead(rate, total_bytes);
    t->recent.of[t->recent.next] = (LendingReading){now_ns, there_bytes};
    t->recent.next = (t->recent.next + 1) % LENDING_READINGS;
    t->recent.count += t->recent.count < LENDING_READINGS;
}

/* ---- what the owner's programs lose ---------------------------------------------------------- */

/* Of @gone bytes those that the kernel reclaimed for want of free memory. The rest had to go
 * because a control group was at its limit, which it would have been without any lending. A page
 * may be written to swap shortly before it counts as reclaimed. */
static uint64_t note_reclaimed(Lending *l, const MemoryState *state, uint64_t gone)
{
    l->loss.unmatched_bytes += sub_u64(state->reclaimed_bytes, l->loss.reclaimed_bytes);
    l->loss.reclaimed_bytes = state->reclaimed_bytes;
    uint64_t ours = min_u64(gone + l->loss.early_bytes, l->loss.unmatched_bytes);
    l->loss.unmatched_bytes -= ours;
    l->loss.early_bytes = sub_u64(gone, ours);
    return ours;
}

/* Mostly nothing goes, and nothing did lately. */
static void note_mean(LendingLoss *loss, double gone, double elapsed_s)
{
    if (loss->mean == 0 && gone == 0)
        return;
    double keep = exp(-elapsed_s * (double)NS_PER_S / (double)LENDING_USUAL_NS);
    loss->mean = loss->mean * keep + gone / elapsed_s * (1 - keep);
    if (loss->mean < LENDING_LOSS_LEAST) /* a processor is slow with numbers that are almost 0 */
        loss->mean = 0;
}

/* What is lent lies beside all else that is in memory, and cannot go: so the kernel makes room by
 * what is the owner's. It tells when that is missed. */
static void note_evicted(Lending *l, const MemoryState *state, uint64_t held_bytes)
{
    l->loss.lost_bytes = 0;
    if (state->evicted_ns <= l->loss.evicted_ns)
        return; /* it is no newer than what is known */
    bool known = l->loss.known && state->evicted_bytes >= l->loss.evicted_bytes;
    uint64_t missed = known ? state->evicted_bytes - l->loss.evicted_bytes : 0;
    double gone = (double)note_reclaimed(l, state, missed);
    double elapsed_s = (double)(state->evicted_ns - l->loss.evicted_ns) / (double)NS_PER_S;
    l->loss.known = true;
    l->loss.evicted_bytes = state->evicted_bytes;
    l->loss.evicted_ns = state->evicted_ns;
    if (!known) {
        l->loss.unmatched_bytes = 0; /* it is of before we looked */
        return;
    }
    note_mean(&l->loss, gone, elapsed_s);
    if (!l->lends) {
        l->loss.usual = l->loss.mean;
        return;
    }
    l->loss.excess_bytes += gone - l->loss.usual * elapsed_s;
    if (l->loss.mean < l->loss.usual) /* what is not missed although memory is lent */
        l->loss.usual = l->loss.mean;
    if (l->loss.excess_bytes < 0)
        l->loss.excess_bytes = 0;
    if (l->loss.excess_bytes < (double)(state->total_bytes / LENDING_STIR_DIVISOR) ||
        !GUARD(EVICTED))
        return;
    l->loss.lost_bytes =
        min_u64((uint64_t)l->loss.excess_bytes, held_bytes); /* more is not our doing */
    l->loss.owed_bytes += l->loss.lost_bytes;
    l->loss.excess_bytes = 0;
}

/* What was the owner's active cache when the lending began ages for want of room, and would then
 * count as spare. */
static void keep_cache(const Lending *l, MemoryState *state)
{
    if (l->lends && l->kept_bytes > state->active_bytes && GUARD(ACTIVE_CACHE))
        state->spare_bytes -=
            min_u64(min_u64(l->kept_bytes - state->active_bytes, state->inactive_bytes),
                    state->spare_bytes);
}

static void note_lendable(Lending *l, MemoryState state, uint64_t held_bytes)
{
    const uint64_t owed = l->loss.owed_bytes;
    l->group_lendable_bytes =
        state.limit_bytes ? sub_u64(state.limit_left_bytes + held_bytes, owed) : UINT64_MAX;
    state.limit_bytes = 0;
    l->host_lendable_bytes = sub_u64(memory_lendable_bytes(&state, held_bytes), owed);
    l->lendable_bytes = min_u64(l->host_lendable_bytes, l->group_lendable_bytes);
}

void lending_read(Lending *l, const MemoryState *state, uint64_t held_bytes, uint64_t now_ns)
{
    l->read_ns = now_ns;
    l->known = state != NULL;
    l->far_below = l->full = false;
    l->lendable_bytes = l->host_lendable_bytes = l->group_lendable_bytes = l->hidden_bytes = 0;
    if (!state) {
        l->held_bytes = held_bytes;
        forget(l);
        return;
    }
    note_unseen(l, state, held_bytes, now_ns);
    l->held_bytes = held_bytes;
    l->hidden_bytes = state->aside_bytes + l->unseen_bytes;
    note(&l->host, state->spare_bytes + l->hidden_bytes + held_bytes, state->total_bytes, now_ns);
    if (state->limit_bytes)
        note(&l->group, state->limit_left_bytes + held_bytes, state->total_bytes, now_ns);
    else
        trend_forget(&l->group);
    note_evicted(l, state, held_bytes);
    l->active_bytes = state->active_bytes;
    l->commit_bytes = state->strict
                          ? sub_u64(state->commit_left_bytes, memory_headroom_bytes(state))
                          : UINT64_MAX;
    l->slack_bytes =
        (state->limit_bytes ? state->limit_bytes : state->total_bytes) / LENDING_SLACK_DIVISOR;
    l->ceiling_bytes = ceiling(l, state, held_bytes);
    MemoryState kept = *state;
    keep_cache(l, &kept);
    kept.spare_bytes += l->hidden_bytes;
    note_lendable(l, kept, held_bytes);
    l->group_bytes = state->limit_bytes;
    l->full = held_bytes > l->slack_bytes &&
              l->lendable_bytes < held_bytes + state->total_bytes / LENDING_FULL_DIVISOR;
    uint64_t least = memory_headroom_bytes(state) / LENDING_FAR_BELOW_DIVISOR;
    l->far_below = state->spare_bytes + state->aside_bytes < state->reserve_bytes + least ||
                   (state->strict && state->commit_left_bytes < least);
}

/* In a storm: what is left of @lendable_bytes, when it goes on. The slack is for noise alone. */
static uint64_t after(const Lending *l, const LendingTrend *t, uint64_t lendable_bytes)
{
    if (GUARD(STORM))
        lendable_bytes = sub_u64(lendable_bytes, t->ahead_bytes + (t->steady ? l->slack_bytes : 0));
    return lendable_bytes;
}

/* What others on the host take is not missed in a control group while the host has more than the
 * group may have. */
static uint64_t lendable_ahead(const Lending *l)
{
    return min_u64(after(l, &l->host, l->host_lendable_bytes),
                   after(l, &l->group, l->group_lendable_bytes));
}

/* What the limit may rise to. */
static uint64_t target(const Lending *l)
{
    uint64_t lendable = sub_u64(after(l, &l->host, l->host_lendable_bytes), l->hidden_bytes);
    lendable = min_u64(lendable, after(l, &l->group, l->group_lendable_bytes));
    lendable = sub_u64(lendable, l->slack_bytes);
    if (GUARD(CAP))
        lendable = min_u64(lendable, l->cap_bytes);
    return whole_steps(lendable);
}

uint64_t lending_spare(const Lending *l)
{
    return l->known ? whole_steps(min_u64(target(l), l->commit_bytes)) : 0;
}

uint64_t lending_begin(Lending *l, uint64_t now_ns)
{
    l->limit_bytes = lending_spare(l);
    l->grown_ns = now_ns;
    l->lends = true;
    l->kept_bytes = l->active_bytes;
    l->loss.excess_bytes = 0;
    l->loss.unmatched_bytes = l->loss.early_bytes = 0;
    forget(l); /* what was taken before is not lent */
    return l->limit_bytes;
}

uint64_t lending_keeps(const Lending *l, uint64_t wanted_bytes)
{
    uint64_t keeps = min_u64(wanted_bytes, l->limit_bytes);
    if (GUARD(SAVE_LITTLE))
        keeps = min_u64(keeps, l->slack_bytes);
    keeps = whole_steps(keeps);
    const bool lacks = !l->known || l->loss.lost_bytes > 0 || lendable_ahead(l) < keeps;
    return lacks && GUARD(SAVE_SPARE) ? 0 : keeps;
}

void lending_save(Lending *l, uint64_t kept_bytes)
{
    l->limit_bytes = kept_bytes;
}

void lending_end(Lending *l)
{
    l->lends = false;
    l->loss.owed_bytes = l->loss.lost_bytes = 0;
    l->loss.mean = l->loss.usual; /* what was missed meanwhile may have been our doing */
}

/* What the pool has no use of is not what the owner's programs lack. */
static bool give_back(Lending *l, uint64_t now_ns)
{
    if (l->loss.lost_bytes == 0)
        return false;
    l->limit_bytes = min_u64(l->limit_bytes, whole_steps(l->held_bytes - l->loss.lost_bytes));
    l->limit_bytes = min_u64(l->limit_bytes, whole_steps(lendable_ahead(l)));
    l->loss.lost_bytes = 0;
    l->grown_ns = now_ns + LENDING_GROW_PAUSE_NS;
    return true;
}

static bool shrink(Lending *l, uint64_t now_ns)
{
    bool over = l->limit_bytes > l->lendable_bytes + l->slack_bytes ||
                ((l->host.ahead_bytes > 0 || l->group.ahead_bytes > 0) && GUARD(STORM) &&
                 l->limit_bytes > lendable_ahead(l));
    const bool capped = GUARD(CAP) && l->limit_bytes > l->cap_bytes;
    if (!GUARD(SHRINK) || !(over || capped))
        return false;
    l->limit_bytes = whole_steps(min_u64(lendable_ahead(l), capped ? l->cap_bytes : UINT64_MAX));
    l->grown_ns = now_ns + LENDING_GROW_PAUSE_NS;
    return true;
}

static bool grow(Lending *l, uint64_t pool_bytes, uint64_t now_ns)
{
    uint64_t to = min_u64(target(l), whole_steps(pool_bytes));
    if (to <= l->limit_bytes) {
        if (l->grown_ns < now_ns)
            l->grown_ns = now_ns; /* what was not used of the rate is not saved up */
        return false;
    }
    if (now_ns <= l->grown_ns)
        return false;
    uint64_t elapsed = min_u64(now_ns - l->grown_ns, NS_PER_S);
    uint64_t step = whole_steps(LENDING_GROW_BYTES_PER_S * elapsed / NS_PER_S);
    if (step == 0)
        return false;
    if (GUARD(GROW))
        to = min_u64(to, l->limit_bytes + step);
    l->limit_bytes = to;
    l->grown_ns = now_ns;
    return true;
}

bool lending_follow(Lending *l, uint64_t pool_bytes, uint64_t now_ns)
{
    return l->known && (give_back(l, now_ns) || shrink(l, now_ns) || grow(l, pool_bytes, now_ns));
}
