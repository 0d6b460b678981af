/* SPDX-License-Identifier: MIT */
/* The host of a run of days: its owner, its clocks and sources, its memory, its imd. */
#include <math.h>

#include "tests/sim/days.h"

static uint64_t in(SimRng *rng, uint64_t now_ns, uint64_t lo_ns, uint64_t hi_ns)
{
    return now_ns + sim_rng_spread(rng, lo_ns, hi_ns);
}

static bool chance(SimRng *rng, uint32_t percent)
{
    return sim_rng_chance(rng, percent * 10000);
}

/* ---- the owner ------------------------------------------------------------------------------- */

static void owner_switch(Days *d, uint64_t now_ns)
{
    Owner *o = &d->owner;
    o->present = !o->present && !d->healed;
    o->switch_ns = d->healed
                       ? TIME_NEVER
                       : in(&d->owner_rng, now_ns, NS_PER_S, o->present ? DAY_NS / 8 : DAY_NS);
    o->next_touch_ns = o->present ? now_ns : TIME_NEVER;
    if (o->present)
        d->result->returns++;
}

static double clock_s(const Days *d, uint64_t now_ns)
{
    return (double)now_ns / 1e9 + d->machine.clock_offset_s;
}

static void owner_advance(Days *d, uint64_t now_ns)
{
    Owner *o = &d->owner;
    while (min_u64(o->next_touch_ns, o->switch_ns) <= now_ns) {
        if (o->switch_ns < o->next_touch_ns) {
            owner_switch(d, o->switch_ns);
            continue;
        }
        o->touched_ns = o->next_touch_ns;
        o->touched_clock_s = clock_s(d, o->touched_ns);
        oracle_touch(d, o->touched_ns);
        o->next_touch_ns = in(&d->owner_rng, o->touched_ns, 50 * NS_PER_MS, 30 * NS_PER_S);
    }
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void load_advance(Days *d, uint64_t now_ns)
{
    static const double tasks[] = {0, 0, 0, 0.05, 0.2, 0.29, 0.31, 1, 3};
    Machine *m = &d->machine;
    while (m->averaged_ns < now_ns) {
        uint64_t to = min_u64(now_ns, m->tasks_until_ns);
        if (to - m->averaged_ns !=
            m->step_ns) { /* mostly it is as the last one, and this is slow */
            m->step_ns = to - m->averaged_ns;
            m->keep = exp(-(double)m->step_ns / 60e9);
        }
        m->average = m->average * m->keep + m->running * (1 - m->keep);
        m->averaged_ns = to;
        if (to == m->tasks_until_ns) {
            m->running = d->healed ? 0 : tasks[sim_rng_below(&d->machine_rng, 9)];
            m->tasks_until_ns = in(&d->machine_rng, to, NS_PER_S, DAY_NS / 12);
        }
    }
}

static bool mood_now(Days *d, SimRng *rng, Mood *m, uint64_t now_ns)
{
    if (now_ns >= m->until_ns) {
        m->bad = !m->bad && !d->healed;
        m->until_ns = m->bad ? in(rng, now_ns, NS_PER_MS, DAY_NS / 24)
                             : in(rng, now_ns, MINUTE_NS, 3 * DAY_NS);
    }
    return m->bad && !d->healed;
}

static void verdicts_advance(Days *d, uint64_t now_ns)
{
    Machine *m = &d->machine;
    if (d->healed) {
        m->recruit = VERDICT_YES;
        m->reclaim = VERDICT_NO;
    } else if (now_ns >= m->verdicts_until_ns) {
        m->recruit = chance(&d->machine_rng, 70) ? VERDICT_YES : VERDICT_NO;
        m->reclaim = chance(&d->machine_rng, 30) ? VERDICT_YES : VERDICT_NO;
        m->verdicts_until_ns = in(&d->machine_rng, now_ns, NS_PER_S / 2, DAY_NS / 6);
    }
}

static void memory_advance(Days *d, uint64_t now_ns)
{
    Machine *m = &d->machine;
    while (m->used_ns < now_ns) {
        uint64_t to = min_u64(now_ns, m->growth_until_ns);
        double used = (double)m->used + m->growth * (double)(to - m->used_ns) / 1e9;
        double most = (double)m->total * (d->healed ? 0.3 : 0.97), least = (double)m->total * 0.05;
        m->used = (uint64_t)(used > most ? most : used < least ? least : used);
        m->used_ns = to;
        if (to < m->growth_until_ns)
            continue;
        bool storm = chance(&d->memory_rng, 10);
        double rate = (double)sim_rng_spread(&d->memory_rng, 1, storm ? 5000 : 50) * 1e6;
        m->growth = chance(&d->memory_rng, 50) ? -rate : chance(&d->memory_rng, 50) ? rate : 0;
        m->growth_from_ns = to;
        m->growth_until_ns = in(&d->memory_rng, to, NS_PER_S / 10, DAY_NS / 24);
    }
}

static void imd_advance(Days *d, uint64_t now_ns)
{
    Imd *i = &d->imd;
    if (!i->alive)
        return;
    if (now_ns >= i->obey_ns && !i->deaf) {
        i->limit = i->obey_limit;
        i->obey_ns = TIME_NEVER;
        if (i->held > i->limit) {
            d->machine.aside += i->held - i->limit;
            i->held = i->limit;
        }
    }
    if (i->ready && !i->asked && now_ns > i->filled_ns && i->held < i->limit) {
        double held = (double)i->held + i->rate * (double)(now_ns - i->filled_ns) / 1e9;
        i->held = held > (double)i->limit ? i->limit : (uint64_t)held;
        uint64_t room = d->machine.total - d->machine.used; /* what there is not cannot be taken */
        if (i->held > room)
            i->held = room;
    }
    i->filled_ns = now_ns;
}

void host_advance(Days *d, uint64_t now_ns)
{
    owner_advance(d, now_ns);
    load_advance(d, now_ns);
    memory_advance(d, now_ns);
    imd_advance(d, now_ns);
}

/* A fiftieth of all memory a second, now and then. */
static void evicted_advance(Days *d)
{
    Machine *m = &d->machine;
    if (mood_now(d, &d->evict_rng, &m->evicts.mood, d->now_ns) && m->evicts.until_ns) {
        m->evicts.bytes += m->total / 50 * ((d->now_ns - m->evicts.until_ns) / NS_PER_US) / 1000000;
        m->evicts.last_ns = d->now_ns;
    }
    m->evicts.until_ns = d->now_ns;
}

/* What of the free memory the kernel does not count: an eighth of all at most, half of it a second
 * later. */
static uint64_t aside_now(Days *d, uint64_t free_bytes)
{
    Machine *m = &d->machine;
    for (; m->aside > 0 && d->now_ns - m->aside_ns >= NS_PER_S; m->aside_ns += NS_PER_S)
        m->aside /= 2;
    if (m->aside == 0)
        m->aside_ns = d->now_ns;
    if (m->aside > m->total / 8)
        m->aside = m->total / 8;
    if (m->aside > free_bytes)
        m->aside = free_bytes;
    return m->lists ? m->aside : 0;
}

void host_memory(Days *d, MemoryState *ret)
{
    evicted_advance(d);
    bool aged = mood_now(d, &d->evict_rng, &d->machine.aged, d->now_ns);
    const Machine *m = &d->machine;
    uint64_t taken = m->used + (d->imd.alive ? d->imd.held : 0);
    /* Part of what the owner uses. */
    uint64_t cache = m->total / 20;
    if (aged)
        taken -= cache;
    uint64_t there = m->total > taken ? m->total - taken : 0, aside = aside_now(d, there);
    *ret = (MemoryState){.total_bytes = m->total,
                         .spare_bytes = there - aside,
                         .aside_bytes = aside,
                         .programs_bytes = m->used + (d->imd.alive ? d->imd.held : 0),
                         .inactive_bytes = aged ? cache : 0,
                         .active_bytes = aged ? 0 : cache,
                         .evicted_bytes = m->evicts.bytes,
                         .reclaimed_bytes = m->evicts.bytes,
                         .evicted_ns = d->now_ns,
                         .reserve_bytes = m->reserve};
}

void host_look(Days *d)
{
    Machine *m = &d->machine;
    uint64_t now = d->now_ns;
    Seen *s = &d->seen;
    verdicts_advance(d, now);
    s->pending = true;
    s->taken_ns = now;
    s->deliver_ns = now + sim_rng_below(&d->machine_rng, LOOK_LATENCY_MS_MAX) * NS_PER_MS;
    s->touched_ns = d->owner.touched_ns;
    s->look =
        (Look){.taken_ns = now,
               .slept_ns = m->times.slept_ns,
               .clock_ns = (uint64_t)((m->clock_offset_s - (double)m->times.slept_ns / 1e9) * 1e9),
               .console_source = "a source"};
    facts_init(&s->look.facts);
    if (!mood_now(d, &d->machine_rng, &m->console, now))
        s->look.facts.value[FACT_console_idle] = clock_s(d, now) - d->owner.touched_clock_s;
    if (!mood_now(d, &d->machine_rng, &m->load, now))
        s->look.facts.value[FACT_load] = m->average;
    s->look.facts.value[FACT_on_battery] = mood_now(d, &d->power_rng, &m->battery, now);
    bool fails = mood_now(d, &d->machine_rng, &m->rules, now);
    s->recruit = fails ? VERDICT_UNKNOWN : m->recruit;
    s->reclaim = fails ? VERDICT_UNKNOWN : m->reclaim;
    if (now < m->times.hang_ns || d->healed)
        return;
    m->times.hang_ns = in(&d->machine_rng, now, DAY_NS / 24, 3 * DAY_NS);
    s->deliver_ns = in(&d->machine_rng, now, d->config.poll_ns, MINUTE_NS * 10);
    d->result->silences++;
}

uint64_t host_next(const Days *d)
{
    const Machine *m = &d->machine;
    const Imd *i = &d->imd;
    uint64_t t = d->seen.pending ? d->seen.deliver_ns : d->next_look_ns;
    t = min_u64(t, min_u64(m->times.leap_ns, min_u64(m->times.gap_ns, m->times.sleep_ns)));
    t = min_u64(t, m->times.pressure_ns);
    if (i->alive)
        t = min_u64(t, min_u64(i->ready_ns, min_u64(i->crash_ns, i->end_ns)));
    return t;
}

void host_heal(Days *d)
{
    Machine *m = &d->machine;
    d->healed = true;
    d->dedicated_crashes = false;
    if (d->owner.present)
        owner_switch(d, d->now_ns);
    d->owner.switch_ns = TIME_NEVER;
    /* A last touch: its stamp is of the clock as it stands now. One that lies ahead, since the
     * clock was set back, would keep the host busy until then. */
    d->owner.touched_ns = d->now_ns;
    d->owner.touched_clock_s = clock_s(d, d->now_ns);
    oracle_touch(d, d->now_ns);
    m->times.leap_ns = m->times.gap_ns = m->times.sleep_ns = m->times.pressure_ns = TIME_NEVER;
    m->running = 0;
    m->growth = -1e9;
    m->growth_until_ns = TIME_NEVER;
    d->imd.crash_ns = TIME_NEVER;
    d->imd.deaf = false;
}

void host_begin(Days *d)
{
    Machine *m = &d->machine;
    SimRng *rng = &d->machine_rng;
    *m = (Machine){.total = sim_rng_between(rng, 2, 64) << 30,
                   .averaged_ns = d->now_ns,
                   .tasks_until_ns = d->now_ns,
                   .used_ns = d->now_ns,
                   .growth_until_ns = d->now_ns,
                   .clock_offset_s = 1.7e9,
                   .times.slept_ns = sim_rng_below(rng, DAY_NS)};
    m->clock_offset_s += (double)m->times.slept_ns / 1e9;
    m->reserve = m->total / 300;
    m->lists = d->options->seed % 2;
    m->used = m->total / 4;
    m->times.leap_ns = in(rng, d->now_ns, MINUTE_NS, 10 * DAY_NS);
    m->times.gap_ns = in(rng, d->now_ns, MINUTE_NS, 10 * DAY_NS);
    m->times.sleep_ns = in(rng, d->now_ns, MINUTE_NS, 10 * DAY_NS);
    m->times.hang_ns = in(rng, d->now_ns, MINUTE_NS, 10 * DAY_NS);
    m->times.pressure_ns = in(rng, d->now_ns, MINUTE_NS, 10 * DAY_NS);
    d->owner = (Owner){.switch_ns = in(&d->owner_rng, d->now_ns, NS_PER_S, DAY_NS / 4),
                       .next_touch_ns = TIME_NEVER};
    d->owner.touched_clock_s = clock_s(d, 0);
    d->imd = (Imd){.obey_ns = TIME_NEVER};
}

/* ---- imd ------------------------------------------------------------------------------------- */

void imd_start(Days *d, uint64_t limit)
{
    SimRng *rng = &d->imd_rng;
    d->imd = (Imd){
        .alive = true,
        .limit = limit,
        .obey_ns = TIME_NEVER,
        .end_ns = TIME_NEVER,
        .crash_ns = TIME_NEVER,
        .filled_ns = d->now_ns,
        .hangs = !d->healed && chance(rng, 5),
        .deaf = !d->healed && chance(&d->deaf_rng, 5),
        .rate = (double)sim_rng_spread(rng, 1, 2000) * 1e6,
        .ready_ns =
            !d->healed && chance(rng, 1) ? TIME_NEVER : in(rng, d->now_ns, NS_PER_MS, 5 * NS_PER_S),
    };
    if (!d->healed && chance(rng, d->dedicated_crashes ? 95 : 5))
        d->imd.crash_ns = in(rng, d->now_ns, NS_PER_MS, d->dedicated_crashes ? MINUTE_NS : DAY_NS);
}

void imd_limit(Days *d, uint64_t limit)
{
    d->imd.obey_limit = limit;
    d->imd.obey_ns = in(&d->imd_rng, d->now_ns, NS_PER_MS, 50 * NS_PER_MS);
}

/* All may have moved away, sooner or later. */
void imd_save(Days *d)
{
    Imd *i = &d->imd;
    i->answers = !i->deaf;
    i->answered = false;
    if (i->alive && !i->hangs && chance(&d->save_rng, 50))
        i->end_ns = in(&d->save_rng, d->now_ns, NS_PER_MS, d->config.save_within_ns);
}

void imd_terminate(Days *d)
{
    Imd *i = &d->imd;
    i->asked = true;
    if (i->alive && !i->hangs)
        i->end_ns = in(&d->imd_rng, d->now_ns, NS_PER_MS, d->config.leave_deadline_ns / 2);
}

void imd_kill(Days *d)
{
    Imd *i = &d->imd;
    if (!i->alive || i->stuck)
        return;
    i->stuck = !d->healed && chance(&d->imd_rng, 5);
    uint64_t most = i->stuck ? 60 * MINUTE_NS : (DEATH_MS_MAX - 1) * NS_PER_MS;
    i->end_ns = min_u64(i->end_ns, in(&d->imd_rng, d->now_ns, NS_PER_US * 100, most));
}
