/* SPDX-License-Identifier: MIT */
/* What the monitor of a run of days may do, and what it must. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "rmd/lending.h"
#include "tests/sim/days.h"

enum { GROW_SLACK_BYTES = 1 << 20 };

void violation(Days *d, const char *format, ...)
{
    va_list args;
    if (d->result->violation[0])
        return;
    va_start(args, format);
    (void)vsnprintf(d->result->violation, sizeof d->result->violation, format, args);
    va_end(args);
    story(d, "VIOLATION: %s", d->result->violation);
}

static void demand(Days *d, bool holds, const char *what)
{
    if (!holds)
        violation(d, "%s", what);
}

static uint64_t since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

void oracle_begin(Days *d)
{
    d->oracle = (Oracle){.calm_from_ns = d->now_ns,
                         .loaded_ns = d->now_ns,
                         .crash.next_pause_ns = MONITOR_CRASH_PAUSE_NS,
                         .pressure.next_pause_ns = MONITOR_PRESSURE_PAUSE_NS};
}

/* ---- what a look demands --------------------------------------------------------------------- */

static double idle_s(const Days *d)
{
    return d->seen.look.facts.value[FACT_console_idle];
}

static double load(const Days *d)
{
    return d->seen.look.facts.value[FACT_load];
}

/* By the truth, not by the reports. */
static bool console_quiet(const Days *d)
{
    return !isnan(idle_s(d)) && idle_s(d) >= 0 &&
           since(d->seen.touched_ns, d->seen.taken_ns) >= d->config.idle_after_ns;
}

static bool load_low(const Days *d)
{
    return !isnan(load(d)) && load(d) < d->config.load_below;
}

static void look_demands(Days *d)
{
    const MonitorConfig *c = &d->config;
    if (c->has_recruit_rule)
        demand(d, d->seen.recruit != VERDICT_UNKNOWN, "lends, though recruit_when fails");
    if (c->has_reclaim_rule) {
        demand(d, d->seen.reclaim == VERDICT_NO, "lends, though reclaim_when is not false");
        return;
    }
    demand(d, load_low(d), "lends under load, or without knowing it");
    if (c->dedicated)
        return;
    demand(d, console_quiet(d), "lends, though the console was touched or is not known");
    demand(d, d->seen.look.facts.value[FACT_on_battery] != 1, "lends on the battery");
}

/* The owner has touched the console, and nothing else is known of him. */
static void save_demands(Days *d)
{
    const MonitorConfig *c = &d->config;
    demand(d, !c->dedicated && !c->has_reclaim_rule, "saves, though no console ended the lending");
    if (c->has_recruit_rule)
        demand(d, d->seen.recruit != VERDICT_UNKNOWN, "saves, though recruit_when fails");
    demand(d, load_low(d), "saves under load, or without knowing it");
    demand(d, d->seen.look.facts.value[FACT_on_battery] != 1, "saves on the battery");
}

void oracle_look(Days *d)
{
    if (!load_low(d))
        d->oracle.loaded_ns = d->seen.taken_ns;
    if (d->oracle.lends)
        look_demands(d);
    if (d->oracle.saves.on)
        save_demands(d);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

static void forgive(Days *d)
{
    Oracle *o = &d->oracle;
    if (!o->ready_ns || o->saves.on || since(o->ready_ns, d->now_ns) < MONITOR_PAUSE_MAX_NS)
        return;
    o->crash.next_pause_ns = MONITOR_CRASH_PAUSE_NS;
    o->pressure.next_pause_ns = MONITOR_PRESSURE_PAUSE_NS;
}

static void begin_pause(uint64_t *at_ns, uint64_t *pause_ns, uint64_t *next_ns, uint64_t now_ns)
{
    *at_ns = now_ns;
    *pause_ns = *next_ns;
    *next_ns = min_u64(*next_ns * 2, MONITOR_PAUSE_MAX_NS);
}

/* ---- what the monitor does ------------------------------------------------------------------- */

static void start_demands(Days *d)
{
    const MonitorConfig *c = &d->config;
    const Oracle *o = &d->oracle;
    uint64_t now = d->now_ns;
    demand(d, !d->imd.alive, "starts an imd beside another");
    demand(d, !o->left, "starts an imd while it leaves");
    demand(d, since(o->calm_from_ns, now) >= c->idle_after_ns, "starts too soon after a reclaim");
    demand(d, d->seen.any && since(d->seen.taken_ns, now) <= LOOK_LATENCY_MS_MAX * NS_PER_MS,
           "starts without having looked");
    demand(d, since(o->crash.at_ns, now) >= o->crash.pause_ns, "starts too soon after a crash");
    if (since(o->pressure.at_ns, now) < o->pressure.pause_ns)
        violation(d, "starts %.3f s after pressure, not %.3f s",
                  (double)since(o->pressure.at_ns, now) / 1e9, (double)o->pressure.pause_ns / 1e9);
    look_demands(d);
    if (c->has_recruit_rule) {
        demand(d, d->seen.recruit == VERDICT_YES, "starts against recruit_when");
        return;
    }
    demand(d, load_low(d) && since(o->loaded_ns, d->seen.taken_ns) >= c->idle_after_ns,
           "starts before the load was low for long enough");
    if (!c->dedicated)
        demand(d, console_quiet(d), "starts before the console was quiet for long enough");
}

void oracle_start(Days *d, uint64_t pool, uint64_t limit)
{
    Oracle *o = &d->oracle;
    d->result->starts++;
    start_demands(d);
    demand(d, o->memory_known, "starts without knowing the memory");
    demand(d, limit <= memory_lendable_bytes(&o->memory, o->held), "lends more than there is");
    demand(d, limit <= pool && limit <= d->config.pool_max_bytes, "lends more than the cap");
    o->lends = true;
    o->evicted.before_ns = o->evicted.at_ns;
    o->kept = o->memory.active_bytes;
    o->storm_read_ns = 0; /* nobody has read the memory while nothing was lent */
    o->must_end = false;
    o->started_ns = d->now_ns;
    o->ready_ns = o->terminated_ns = o->killed_ns = o->touch_ns = o->saves.at_ns = 0;
    o->limit = limit;
    o->limit_ns = d->now_ns;
}

void oracle_limit(Days *d, uint64_t limit)
{
    Oracle *o = &d->oracle;
    d->result->limits++;
    demand(d, limit <= d->config.pool_max_bytes, "lends more than the cap");
    if (limit > o->limit)
        demand(d,
               limit - o->limit <=
                   (64ull << 20) * (since(o->limit_ns, d->now_ns) / NS_PER_MS + 1) / 1000 +
                       GROW_SLACK_BYTES,
               "the limit grows too fast");
    o->limit = limit;
    o->limit_ns = d->now_ns;
}

void oracle_save(Days *d, uint64_t bytes, uint64_t within_ns)
{
    Oracle *o = &d->oracle;
    d->result->saves++;
    demand(d, o->lends && o->ready_ns && !d->old_imd, "has an imd save that cannot");
    demand(d, !o->must_end, "saves after memory pressure, a gap or sleep");
    demand(d, bytes > 0 && bytes <= d->config.save_bytes && bytes <= o->memory.total_bytes / 100,
           "keeps too much to be saved");
    demand(d, within_ns <= d->config.save_within_ns, "saves for too long");
    save_demands(d);
    forgive(d);
    o->lends = false;
    o->saves.on = true;
    o->saves.at_ns = o->calm_from_ns = d->now_ns;
    o->saves.excused_ns = d->excused_ns;
    o->limit = bytes;
}

void oracle_terminate(Days *d)
{
    Oracle *o = &d->oracle;
    demand(d, o->lends || o->saves.on, "terminates an imd twice");
    forgive(d);
    o->lends = o->saves.on = false;
    o->terminated_ns = o->calm_from_ns = d->now_ns;
}

void oracle_kill(Days *d)
{
    d->result->kills++;
    demand(d, d->oracle.terminated_ns != 0, "kills an imd that it has not asked to leave");
    d->oracle.killed_ns = d->now_ns;
}

void oracle_beat(Days *d)
{
    demand(d, d->imd.alive, "speaks to an imd that is gone");
    d->oracle.beat_ns = d->now_ns;
    d->oracle.beat_excused_ns = d->excused_ns;
}

static void beat_demands(Days *d)
{
    const Oracle *o = &d->oracle;
    uint64_t silent = since(o->beat_ns, d->now_ns), gap = d->excused_ns - o->beat_excused_ns;
    if (d->imd.alive && silent > gap)
        demand(d, silent - gap <= NODE_BEAT_NS + NS_PER_MS, "leaves imd without a sign of life");
}

/* How long nobody could know of a touch, up to then: rmd did not run, or the looker hung (how long
 * it may is demanded elsewhere). */
static uint64_t excused(const Days *d, uint64_t at_ns)
{
    uint64_t hung = d->seen.pending ? since(d->seen.taken_ns, at_ns) : 0;
    return d->excused_ns + (hung > LOOK_LATENCY_MS_MAX * NS_PER_MS ? hung : 0);
}

/* ---- what happens ---------------------------------------------------------------------------- */

void oracle_touch(Days *d, uint64_t at_ns)
{
    Oracle *o = &d->oracle;
    if (!d->imd.alive || o->touch_ns || at_ns < o->started_ns)
        return;
    o->touch_ns = at_ns;
    o->touch_excused_ns = excused(d, at_ns);
}

/* Where nothing was evicted for long before the lending, be it in an earlier one, all that is
 * evicted in it is too much.
 * What is less than a sixteenth of a storm may wait for more. */
static void oracle_evicted(Days *d, const MemoryState *m, uint64_t held)
{
    Oracle *o = &d->oracle;
    uint64_t lost = m->evicted_bytes - o->evicted.bytes;
    o->evicted.bytes = m->evicted_bytes;
    if (lost)
        o->evicted.at_ns = d->now_ns;
    if (!o->lends || lost < m->total_bytes / 1600 || lost > held || !o->memory_known ||
        since(o->evicted.before_ns, o->started_ns) < 15 * MINUTE_NS)
        return;
    o->evicted.limit = held - lost / 2;
    o->evicted.limit_ns = d->now_ns;
}

void oracle_memory(Days *d, const MemoryState *m, uint64_t held)
{
    Oracle *o = &d->oracle;
    if (m)
        oracle_evicted(d, m, held);
    o->memory_known = m != NULL;
    if (!m) {
        o->storm_read_ns = 0;
        return;
    }
    o->memory = *m;
    o->memory.spare_bytes += m->aside_bytes; /* free is free */
    o->held = held;
    o->slack = m->total_bytes / 100;
    o->read_ns = d->now_ns;
    if (o->storm_ns != d->machine.growth_from_ns || !o->lends || !o->storm_read_ns) {
        o->storm_ns = d->machine.growth_from_ns;
        o->storm_read_ns = o->lends ? d->now_ns : 0;
    }
    if (o->memory.spare_bytes < m->reserve_bytes + memory_headroom_bytes(m) / 3)
        oracle_pressure(d);
}

/* Before the monitor hears of it. */
void oracle_pressure(Days *d)
{
    Oracle *o = &d->oracle;
    if (!(o->lends || o->saves.on) || o->must_end) /* it ends already, for another cause */
        return;
    forgive(d);
    begin_pause(&o->pressure.at_ns, &o->pressure.pause_ns, &o->pressure.next_pause_ns, d->now_ns);
    o->must_end = true;
    d->result->pressures++;
}

void oracle_reset(Days *d)
{
    d->oracle.calm_from_ns = d->oracle.loaded_ns = d->now_ns;
    d->oracle.must_end = d->oracle.lends || d->oracle.saves.on;
}

void oracle_ended(Days *d, bool by_itself)
{
    Oracle *o = &d->oracle;
    bool never_ready = !o->lends && !o->ready_ns &&
                       since(o->started_ns, o->terminated_ns) >= MONITOR_START_DEADLINE_NS;
    if (by_itself || never_ready)
        forgive(d);
    if (by_itself) {
        d->result->crashes++;
        begin_pause(&o->crash.at_ns, &o->crash.pause_ns, &o->crash.next_pause_ns, d->now_ns);
    }
    if (o->started_ns)
        d->result->lent_ns += since(o->started_ns, d->now_ns);
    o->lends = o->saves.on = o->must_end = false;
    o->ready_ns = o->touch_ns = o->saves.at_ns = o->over_ns = 0;
}

/* ---- after everything ------------------------------------------------------------------------ */

/* From a lower limit to the end of an imd that does not mind it. */
static uint64_t given_within(const Days *d)
{
    return d->config.leave_deadline_ns + 2 * MONITOR_USED_NS + 100 * NS_PER_MS;
}

/* The owner has taken memory fast for a while, at the same rate: he has back what he needs next. */
static void check_storm(Days *d)
{
    const Oracle *o = &d->oracle;
    const Machine *m = &d->machine;
    if (o->read_ns != d->now_ns || !o->storm_read_ns || m->growth < (double)m->total / 30 ||
        since(o->storm_read_ns, d->now_ns) < LENDING_RATE_NS || m->used >= m->total / 100 * 96)
        return;
    double left = (double)memory_lendable_bytes(&o->memory, o->held) - m->growth * 0.4;
    demand(d, o->limit == 0 || (double)o->limit <= left, "lends what is needed in a moment");
}

/* Likewise for more slowly, but steadily: he has back what he needs next, and the slack too. */
static void check_steady(Days *d)
{
    const Oracle *o = &d->oracle;
    const Machine *m = &d->machine;
    if (o->read_ns != d->now_ns || !o->storm_read_ns || m->growth < (double)m->total / 250 ||
        since(o->storm_read_ns, d->now_ns) < NS_PER_S || m->used >= m->total / 100 * 96)
        return;
    double left = (double)memory_lendable_bytes(&o->memory, o->held) - m->growth * 0.4;
    demand(d, o->limit == 0 || (double)o->limit <= left - (double)o->slack,
           "lends the slack to who takes memory steadily");
}

/* The owner's cache is not lent for having aged. */
static uint64_t lendable(const Oracle *o)
{
    MemoryState m = o->memory;
    if (o->kept > m.active_bytes)
        m.spare_bytes -= m.inactive_bytes < m.spare_bytes ? m.inactive_bytes : m.spare_bytes;
    return memory_lendable_bytes(&m, o->held);
}

/* An imd that has to give back, and gives nothing, is asked to leave. */
static void check_given(Days *d)
{
    Oracle *o = &d->oracle;
    const uint64_t held = d->imd.held;
    if (held <= o->limit || !d->imd.ready) {
        o->over_ns = 0;
    } else if (!o->over_ns || held < o->over_bytes) {
        o->over_ns = d->now_ns;
        o->over_excused_ns = d->excused_ns;
    }
    o->over_bytes = held;
    demand(d,
           !o->over_ns || since(o->over_ns, d->now_ns) <=
                              given_within(d) + since(o->over_excused_ns, d->excused_ns),
           "waits for an imd that gives nothing back");
}

static void check_lending(Days *d)
{
    const Oracle *o = &d->oracle;
    uint64_t now = d->now_ns, silence = 3 * d->config.poll_ns;
    if (silence < NS_PER_S)
        silence = NS_PER_S;
    demand(d, !o->must_end, "goes on lending after memory pressure, a gap or sleep");
    demand(d, !o->left, "goes on lending while it leaves");
    demand(d, o->memory_known, "goes on lending without knowing the memory");
    demand(d, since(d->looked_ns, now) <= silence + NS_PER_MS, "goes on though nobody looks");
    demand(d, o->ready_ns || since(o->started_ns, now) <= MONITOR_START_DEADLINE_NS + NS_PER_MS,
           "waits for an imd that is never ready");
    demand(d, o->limit <= lendable(o) + o->slack, "lends more than there is");
    check_storm(d);
    check_steady(d);
    check_given(d);
    demand(d, o->evicted.limit_ns != now || o->limit <= o->evicted.limit,
           "keeps what the owner's programs lost");
}

static void check_saving(Days *d)
{
    const Oracle *o = &d->oracle;
    uint64_t now = d->now_ns, silence = max_u64(3 * d->config.poll_ns, NS_PER_S);
    demand(d, !o->must_end, "goes on saving after memory pressure, a gap or sleep");
    demand(d, !o->left, "goes on saving while it leaves");
    demand(d, o->memory_known, "goes on saving without knowing the memory");
    demand(d, since(d->looked_ns, now) <= silence + NS_PER_MS,
           "goes on saving though nobody looks");
    demand(d, o->read_ns != now || o->limit <= lendable(o), "saves what the owner needs");
    check_given(d);
    demand(d,
           d->imd.answered || since(o->saves.at_ns, now) <=
                                  given_within(d) + since(o->saves.excused_ns, d->excused_ns),
           "waits for an imd that says nothing");
    demand(d, since(o->saves.at_ns, now) <= d->config.save_within_ns + NS_PER_MS,
           "saves for longer than it may");
}

/* How long imd may be there after a touch, or have memory that is to be saved. */
static uint64_t return_allowed(const Days *d, uint64_t more_ns)
{
    const Oracle *o = &d->oracle;
    return d->config.poll_ns + more_ns + (2 * LOOK_LATENCY_MS_MAX + DEATH_MS_MAX) * NS_PER_MS +
           since(o->touch_excused_ns, excused(d, d->now_ns));
}

/* The owner's whole view of it: from a touch to the end of imd. */
static void check_return(Days *d)
{
    const Oracle *o = &d->oracle;
    const MonitorConfig *c = &d->config;
    if (!o->touch_ns || c->dedicated || c->has_reclaim_rule || d->imd.stuck)
        return;
    const uint64_t saved_ns = o->saves.at_ns ? c->save_within_ns : 0;
    const uint64_t allowed = return_allowed(d, c->leave_deadline_ns + saved_ns);
    if (o->saves.on && !d->imd.deaf && since(o->touch_ns, d->now_ns) > return_allowed(d, 0))
        demand(d, d->imd.held <= d->machine.total / 100, "the owner's memory is not back");
    if (since(o->touch_ns, d->now_ns) > allowed)
        violation(d, "imd is there %" PRIu64 " ms after a touch, %" PRIu64 " are allowed",
                  (uint64_t)(since(o->touch_ns, d->now_ns) / NS_PER_MS),
                  (uint64_t)(allowed / NS_PER_MS));
}

void oracle_check(Days *d)
{
    const Oracle *o = &d->oracle;
    if (o->lends)
        check_lending(d);
    if (o->saves.on)
        check_saving(d);
    if (!d->imd.alive)
        return;
    check_return(d);
    beat_demands(d);
    demand(d,
           o->lends || o->saves.on || o->killed_ns ||
               since(o->terminated_ns, d->now_ns) <= d->config.leave_deadline_ns + NS_PER_MS,
           "does not kill an imd that does not leave");
}
