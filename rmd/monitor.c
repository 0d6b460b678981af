/* SPDX-License-Identifier: MIT */
#include "rmd/monitor.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "rmd/guards.h"
#include "rmd/monitor_private.h"

static void changed(Monitor *m)
{
    m->sink.changed(m->sink.ctx);
}

/* It is there, and has not been asked to leave at once. */
static bool stays(const Monitor *m)
{
    return monitor_lends(m) || m->imd == IMD_SAVING;
}

static void enter(Monitor *m, enum ImdState state, uint64_t now_ns)
{
    m->imd = state;
    m->imd_since_ns = now_ns;
    if (!stays(m)) {
        m->owed.since_ns = m->owed.within_ns = TIME_NEVER;
        m->unheard = false;
    }
}

/* ---- pauses ---------------------------------------------------------------------------------- */

static void pause_begin(Pause *p, uint64_t now_ns)
{
    p->until_ns = time_add(now_ns, p->next_ns);
    p->next_ns = min_u64(p->next_ns * 2, MONITOR_PAUSE_MAX_NS);
}

/* All went well for long. */
static void forgive(Monitor *m, uint64_t now_ns)
{
    if (m->imd != IMD_READY || now_ns - m->imd_since_ns < MONITOR_PAUSE_MAX_NS)
        return;
    m->crash.next_ns = m->crash.first_ns;
    m->pressure.next_ns = m->pressure.first_ns;
}

static void calm(Monitor *m, uint64_t now_ns)
{
    if (GUARD(CALM))
        m->calm_until_ns = time_add(now_ns, m->config.idle_after_ns);
}

/* ---- what imd owes --------------------------------------------------------------------------- */

static bool is_within(const Monitor *m)
{
    return m->used_bytes <= m->lending.limit_bytes && !m->unheard;
}

/* Whenever imd has said what is in use, or its limit is another one. An imd that is to save says
 * when it has no more than that, even if it never had: it owes that word, too. A limit that rises
 * above what imd had said forgives nothing as long as imd may be about to say more. */
static void note_owed(Monitor *m, uint64_t now_ns)
{
    const bool gave = m->used_bytes < m->owed.bytes;
    m->owed.bytes = m->used_bytes;
    if (!stays(m))
        return;
    if (is_within(m)) {
        m->owed.within_ns = min_u64(m->owed.within_ns, now_ns);
        return;
    }
    const bool was = now_ns >= time_add(m->owed.within_ns, GUARD(UNSAID) ? MONITOR_USED_NS : 0);
    m->owed.within_ns = TIME_NEVER;
    if (m->owed.since_ns == TIME_NEVER || gave || was)
        m->owed.since_ns = now_ns;
}

/* It has as long for the next part of it, or to say that there is one, as it has to leave. */
static uint64_t owed_until_ns(const Monitor *m)
{
    return m->owed.since_ns == TIME_NEVER || m->owed.within_ns != TIME_NEVER || !GUARD(GIVE_BACK)
               ? TIME_NEVER
               : time_add(m->owed.since_ns, m->config.leave_deadline_ns + MONITOR_USED_NS);
}

/* ---- the end of a lending -------------------------------------------------------------------- */

static bool is_memory(enum Cause cause)
{
    return cause == CAUSE_PRESSURE || cause == CAUSE_MEMORY_SHORT;
}

static void hurry(Monitor *m, uint64_t now_ns)
{
    m->kill_ns = min_u64(m->kill_ns, time_add(now_ns, MONITOR_EMERGENCY_DEADLINE_NS));
}

/* The lending is over: imd leaves, or saves first. */
static void end_lending(Monitor *m, enum Cause cause, enum ImdState state, uint64_t now_ns)
{
    forgive(m, now_ns);
    m->counts.reclaims += monitor_lends(m);
    m->counts.shortages += is_memory(cause);
    enter(m, state, now_ns);
    m->reclaimed_for = cause;
    m->reclaimed_ns = now_ns;
    calm(m, now_ns);
}

/* Tells imd to go, if it is there. */
static void reclaim(Monitor *m, enum Cause cause, uint64_t now_ns)
{
    m->cause = cause;
    if (!stays(m))
        return;
    end_lending(m, cause, IMD_LEAVING, now_ns);
    m->kill_ns = time_add(now_ns, m->config.leave_deadline_ns);
    if (is_memory(cause))
        hurry(m, now_ns);
    m->failed = cause == CAUSE_NOT_READY || cause == CAUSE_NOT_GIVEN;
    m->sink.terminate(m->sink.ctx);
    changed(m);
}

/* The owner is back. False: imd is not to save anything, or cannot. */
static bool save(Monitor *m, uint64_t now_ns)
{
    const uint64_t bytes = lending_keeps(&m->lending, m->config.save_bytes);
    if (m->imd != IMD_READY || !m->can_save || bytes < MONITOR_SAVE_MIN_BYTES ||
        m->config.save_within_ns == 0 ||
        !m->sink.save(m->sink.ctx, bytes, m->config.save_within_ns))
        return false;
    end_lending(m, CAUSE_CONSOLE, IMD_SAVING, now_ns);
    m->cause = CAUSE_CONSOLE;
    m->save_bytes = bytes;
    m->save_ns = time_add(now_ns, m->config.save_within_ns);
    lending_save(&m->lending, bytes);
    m->unheard = GUARD(SAVE_HEARD);
    note_owed(m, now_ns);
    m->counts.saves++;
    changed(m);
    return true;
}

/* Memory is short: what has been lent comes back at once, and the host rests. */
static void memory_short(Monitor *m, enum Cause cause, uint64_t now_ns)
{
    if (stays(m)) {
        reclaim(m, cause, now_ns);
        if (GUARD(PRESSURE_PAUSE))
            pause_begin(&m->pressure, now_ns);
    } else if (m->imd == IMD_LEAVING) {
        hurry(m, now_ns);
    } else {
        /* Without anything lent it is the owner's own; it shall be over for a while. */
        m->pressure.until_ns =
            max_u64(m->pressure.until_ns, time_add(now_ns, m->pressure.first_ns));
    }
}

static void start_over(Monitor *m, enum Cause cause, uint64_t now_ns)
{
    idleness_reset(&m->idleness, now_ns);
    calm(m, now_ns);
    m->lending.read_ns = now_ns;
    reclaim(m, cause, now_ns);
}

/* ---- time ------------------------------------------------------------------------------------ */

uint64_t monitor_gap_ns(const Monitor *m)
{
    return max_u64(MONITOR_GAP_MIN_NS, MONITOR_GAP_POLLS * m->config.poll_ns);
}

static bool memory_stale(const Monitor *m, uint64_t now_ns)
{
    return now_ns >= time_add(m->lending.read_ns, monitor_gap_ns(m));
}

/* Before anything that comes in: did we run since the last time? */
static void tick(Monitor *m, uint64_t now_ns)
{
    if (now_ns <= m->ticked_ns)
        return;
    bool gap = GUARD(GAP) && now_ns - m->ticked_ns >= monitor_gap_ns(m);
    m->ticked_ns = now_ns;
    if (gap)
        start_over(m, CAUSE_GAP, now_ns);
}

/* What users of the host want. */
static enum Cause users_forbid(const Monitor *m, uint64_t now_ns)
{
    return m->pauses_unknown             ? CAUSE_PAUSES_UNKNOWN
           : now_ns < m->paused_until_ns ? CAUSE_PAUSED
                                         : CAUSE_NONE;
}

/* What ends a lending, and lets none begin. */
static enum Cause must_not_lend(const Monitor *m, uint64_t now_ns)
{
    const enum Cause users = users_forbid(m, now_ns);
    if (m->leaving && GUARD(LEAVE))
        return CAUSE_LEAVING;
    if (users != CAUSE_NONE)
        return users;
    return m->sleeps && GUARD(SLEEP) ? CAUSE_SLEEP : CAUSE_NONE;
}

/* What ends a lending now. */
static enum Cause reclaims(const Monitor *m, uint64_t now_ns)
{
    const enum Cause cause = must_not_lend(m, now_ns);
    if (cause != CAUSE_NONE)
        return cause;
    if (m->imd == IMD_STARTING && GUARD(START_DEADLINE) &&
        now_ns >= time_add(m->imd_since_ns, MONITOR_START_DEADLINE_NS))
        return CAUSE_NOT_READY;
    if (now_ns >= owed_until_ns(m))
        return CAUSE_NOT_GIVEN;
    if (GUARD(MEMORY_UNKNOWN) && (!m->lending.known || memory_stale(m, now_ns)))
        return CAUSE_MEMORY_UNKNOWN;
    return idleness_reclaims(&m->idleness, now_ns);
}

/* What speaks against a start now, apart from the last imd that is not gone. */
static enum Cause monitor_forbids(const Monitor *m, uint64_t now_ns)
{
    enum Cause cause = must_not_lend(m, now_ns);
    if (cause == CAUSE_NONE)
        cause = idleness_forbids(&m->idleness, now_ns);
    if (cause != CAUSE_NONE)
        return cause;
    if (m->config.watch_only)
        return CAUSE_WATCH_ONLY;
    if (m->lending.far_below && GUARD(FAR_BELOW))
        return CAUSE_MEMORY_SHORT;
    if (now_ns < m->calm_until_ns)
        return CAUSE_CALM;
    if (now_ns < m->pressure.until_ns)
        return CAUSE_PRESSURE_PAUSE;
    if (now_ns < m->crash.until_ns)
        return CAUSE_CRASH_PAUSE;
    if (GUARD(MEMORY_UNKNOWN) && (!m->lending.known || memory_stale(m, now_ns)))
        return CAUSE_MEMORY_UNKNOWN;
    if (lending_spare(&m->lending) < min_u64(MONITOR_POOL_MIN_BYTES, m->config.pool_max_bytes))
        return CAUSE_MEMORY_LITTLE;
    return CAUSE_NONE;
}

bool monitor_idle(const Monitor *m, uint64_t now_ns)
{
    return idleness_forbids(&m->idleness, now_ns) == CAUSE_NONE && now_ns >= m->calm_until_ns;
}

static void expire_imd(Monitor *m, uint64_t now_ns)
{
    if ((m->imd != IMD_LEAVING && m->imd != IMD_KILLED) || now_ns < m->kill_ns || !GUARD(DEADLINE))
        return;
    if (m->imd == IMD_LEAVING) {
        enter(m, IMD_KILLED, now_ns);
        m->counts.kills++;
    }
    m->kill_ns =
        time_add(now_ns, m->config.leave_deadline_ns); /* it cannot ignore it, but who knows */
    m->sink.kill(m->sink.ctx);
}

/* The owner is there, and needs his processors for nothing in particular. */
static bool only_touched(const Monitor *m, enum Cause cause)
{
    return cause == CAUSE_CONSOLE && !idleness_strained(&m->idleness);
}

static void settle_lending(Monitor *m, uint64_t now_ns)
{
    forgive(m, now_ns);
    const enum Cause cause = reclaims(m, now_ns);
    if (cause == CAUSE_NONE || (only_touched(m, cause) && save(m, now_ns)))
        return;
    reclaim(m, cause, now_ns);
}

/* What ends it before all is saved. */
static void settle_saving(Monitor *m, uint64_t now_ns)
{
    const enum Cause cause = reclaims(m, now_ns);
    if (cause != CAUSE_NONE && !only_touched(m, cause) && GUARD(SAVE_QUIET))
        reclaim(m, cause, now_ns);
    else if (lending_keeps(&m->lending, m->save_bytes) < m->save_bytes)
        reclaim(m, CAUSE_MEMORY_SHORT, now_ns);
    else if (now_ns >= m->save_ns && GUARD(SAVE_ENDS))
        reclaim(m, CAUSE_CONSOLE, now_ns);
}

static void settle(Monitor *m, uint64_t now_ns)
{
    if (monitor_lends(m))
        settle_lending(m, now_ns);
    else if (m->imd == IMD_SAVING)
        settle_saving(m, now_ns);
    expire_imd(m, now_ns);
}

/* ---- the beginning of a lending -------------------------------------------------------------- */

/* Only upon a look, so that what was seen is fresh. */
static void consider_start(Monitor *m, uint64_t now_ns)
{
    if (stays(m))
        return;
    enum Cause cause = monitor_forbids(m, now_ns);
    if (cause == CAUSE_NONE && m->imd != IMD_NONE && GUARD(ONE_IMD))
        cause = CAUSE_ENDING;
    bool new = cause != m->cause;
    m->cause = cause;
    if (cause == CAUSE_NONE) {
        enter(m, IMD_STARTING, now_ns);
        uint64_t limit = lending_begin(&m->lending, now_ns);
        m->pool_bytes = max_u64(limit, m->lending.ceiling_bytes);
        m->used_bytes = 0;
        m->can_save = false;
        m->counts.starts++;
        m->sink.start(m->sink.ctx, m->pool_bytes, limit);
        new = true;
    }
    if (new)
        changed(m);
}

/* ---- what comes in --------------------------------------------------------------------------- */

static void judge(Monitor *m, Facts *facts)
{
    const MonitorConfig *c = &m->config;
    enum Verdict recruit = VERDICT_UNKNOWN, reclaim_now = VERDICT_UNKNOWN;
    facts->value[FACT_idle_after] = (double)c->idle_after_ns / (double)NS_PER_S;
    facts->value[FACT_load_below] = c->load_below;
    facts->value[FACT_lending] = monitor_lends(m);
    facts->value[FACT_mem_lent] = (double)m->lending.held_bytes;
    if (c->has_recruit_rule || c->has_reclaim_rule)
        m->sink.judge(m->sink.ctx, facts, &recruit, &reclaim_now);
    m->idleness.recruit = recruit;
    m->idleness.reclaim = reclaim_now;
}

static void heed_users(Monitor *m, uint64_t until_ns, bool unknown, uint64_t now_ns)
{
    const enum Cause was = users_forbid(m, now_ns);
    tick(m, now_ns);
    m->paused_until_ns = until_ns;
    m->pauses_unknown = unknown;
    const enum Cause is = users_forbid(m, now_ns);
    const bool held = m->cause == CAUSE_PAUSED || m->cause == CAUSE_PAUSES_UNKNOWN;
    if (!monitor_lends(m) && (is != CAUSE_NONE || held))
        m->cause = is != CAUSE_NONE ? is : monitor_forbids(m, now_ns);
    settle(m, now_ns);
    if (was != is)
        changed(m);
}

void monitor_pause(Monitor *m, uint64_t until_ns, uint64_t now_ns)
{
    heed_users(m, until_ns, m->pauses_unknown, now_ns);
}

void monitor_pauses_unknown(Monitor *m, bool unknown, uint64_t now_ns)
{
    heed_users(m, m->paused_until_ns, unknown, now_ns);
}

void monitor_look(Monitor *m, const Look *look, uint64_t now_ns)
{
    Facts facts;
    tick(m, now_ns);
    if (idleness_slept(&m->idleness, look)) {
        m->sleeps = false; /* it has, should nobody have said so */
        start_over(m, CAUSE_SLEPT, now_ns);
    }
    bool believed = idleness_look(&m->idleness, look, now_ns, &facts);
    if (believed)
        judge(m, &facts);
    settle(m, now_ns);
    /* One that came late, for a source hung, is no reason to start: the owner may be back. */
    bool late = GUARD(LATE) && now_ns > time_add(look->taken_ns, m->config.poll_ns);
    if (believed && !late)
        consider_start(m, now_ns);
}

void monitor_memory(Monitor *m, const MemoryState *state, uint64_t held_bytes, uint64_t now_ns)
{
    tick(m, now_ns);
    lending_read(&m->lending, state, held_bytes, now_ns);
    if (m->lending.far_below && GUARD(FAR_BELOW))
        memory_short(m, CAUSE_MEMORY_SHORT, now_ns);
    settle(m, now_ns);
    if (!monitor_lends(m) || !lending_follow(&m->lending, m->pool_bytes, now_ns))
        return;
    m->sink.limit(m->sink.ctx, m->lending.limit_bytes);
    note_owed(m, now_ns);
}

uint64_t monitor_memory_due_ns(const Monitor *m)
{
    uint64_t wait = lending_stirs(&m->lending)  ? MONITOR_STORM_POLL_NS
                    : lending_full(&m->lending) ? MONITOR_FULL_POLL_NS
                                                : MONITOR_MEMORY_POLL_NS;
    if (m->imd == IMD_NONE || wait > m->config.poll_ns)
        wait = m->config.poll_ns;
    return time_add(m->lending.read_ns, wait);
}

void monitor_pressure(Monitor *m, uint64_t now_ns)
{
    tick(m, now_ns);
    if (GUARD(PRESSURE))
        memory_short(m, CAUSE_PRESSURE, now_ns);
    settle(m, now_ns);
}

void monitor_sleep(Monitor *m, bool begins, uint64_t now_ns)
{
    tick(m, now_ns);
    m->sleeps = begins;
    settle(m, now_ns);
}

bool monitor_delays_sleep(const Monitor *m)
{
    return m->imd != IMD_NONE;
}

void monitor_ready(Monitor *m, uint64_t epoch, uint64_t pool_bytes, uint64_t now_ns)
{
    tick(m, now_ns);
    if (m->imd == IMD_NONE)
        return;
    m->epoch = epoch;
    m->pool_bytes = min_u64(m->pool_bytes, pool_bytes);
    if (m->imd == IMD_STARTING)
        enter(m, IMD_READY, now_ns);
    changed(m);
    settle(m, now_ns);
}

void monitor_used(Monitor *m, uint64_t used_bytes, uint64_t now_ns)
{
    tick(m, now_ns);
    m->used_bytes = used_bytes;
    m->unheard = false;
    if (is_within(m))
        m->owed.since_ns = TIME_NEVER;
    note_owed(m, now_ns);
    settle(m, now_ns);
}

void monitor_saves(Monitor *m)
{
    m->can_save = true;
}

void monitor_ended(Monitor *m, const char *how, uint64_t now_ns)
{
    tick(m, now_ns);
    if (m->imd == IMD_NONE)
        return;
    bool by_itself = monitor_lends(m) || m->failed;
    forgive(m, now_ns);
    enter(m, IMD_NONE, now_ns);
    lending_end(&m->lending);
    m->used_bytes = 0;
    m->failed = false;
    if (by_itself) {
        (void)snprintf(m->ended, sizeof m->ended, "%s", how);
        if (GUARD(CRASH_PAUSE))
            pause_begin(&m->crash, now_ns);
        m->counts.crashes++;
        m->cause = CAUSE_CRASH_PAUSE;
    }
    settle(m, now_ns);
    changed(m);
}

/* ---- life ------------------------------------------------------------------------------------ */

Monitor *monitor_new(const MonitorConfig *config, const MonitorSink *sink, uint64_t now_ns)
{
    Monitor *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->config = *config;
    m->config.pool_max_bytes -= config->pool_max_bytes % LENDING_STEP_BYTES;
    m->sink = *sink;
    m->ticked_ns = now_ns;
    m->crash.first_ns = m->crash.next_ns = MONITOR_CRASH_PAUSE_NS;
    m->pressure.first_ns = m->pressure.next_ns = MONITOR_PRESSURE_PAUSE_NS;
    m->cause = CAUSE_UNSEEN;
    m->owed.since_ns = m->owed.within_ns = TIME_NEVER;
    idleness_init(&m->idleness, &m->config, now_ns);
    lending_init(&m->lending, m->config.pool_max_bytes, now_ns);
    calm(m, now_ns);
    return m;
}

void monitor_configure(Monitor *m, const MonitorConfig *config, uint64_t now_ns)
{
    m->config.idle_after_ns = config->idle_after_ns;
    m->config.load_below = config->load_below;
    m->config.save_bytes = config->save_bytes;
    m->config.save_within_ns = config->save_within_ns;
    m->config.pool_max_bytes = config->pool_max_bytes;
    m->config.pool_max_bytes -= config->pool_max_bytes % LENDING_STEP_BYTES;
    m->calm_until_ns = min_u64(m->calm_until_ns, time_add(now_ns, config->idle_after_ns));
    lending_cap(&m->lending, m->config.pool_max_bytes);
    monitor_expire(m, now_ns);
    changed(m);
}

Monitor *monitor_free(Monitor *m)
{
    free(m);
    return NULL;
}

void monitor_leave(Monitor *m, uint64_t now_ns)
{
    tick(m, now_ns);
    m->leaving = true;
    m->cause = CAUSE_LEAVING;
    settle(m, now_ns);
    changed(m);
}

bool monitor_finished(const Monitor *m)
{
    return m->leaving && m->imd == IMD_NONE;
}

uint64_t monitor_deadline(const Monitor *m)
{
    uint64_t t = time_add(m->ticked_ns, m->config.poll_ns);
    t = min_u64(t, monitor_memory_due_ns(m));
    if (m->imd == IMD_LEAVING || m->imd == IMD_KILLED)
        t = min_u64(t, m->kill_ns);
    if (m->imd == IMD_STARTING)
        t = min_u64(t, time_add(m->imd_since_ns, MONITOR_START_DEADLINE_NS));
    if (m->imd == IMD_SAVING && GUARD(SAVE_ENDS))
        t = min_u64(t, m->save_ns);
    if (stays(m))
        t = min_u64(t, min_u64(idleness_deadline(&m->idleness), owed_until_ns(m)));
    return t;
}

void monitor_expire(Monitor *m, uint64_t now_ns)
{
    tick(m, now_ns);
    settle(m, now_ns);
}
