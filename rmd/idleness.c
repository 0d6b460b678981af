/* SPDX-License-Identifier: MIT */
#include "rmd/idleness.h"

#include "base/num.h"
#include "rmd/guards.h"

static uint64_t since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

static uint64_t silence_ns(const Idleness *i)
{
    return max_u64(MONITOR_SILENCE_MIN_NS, MONITOR_SILENCE_POLLS * i->config->poll_ns);
}

void idleness_reset(Idleness *i, uint64_t now_ns)
{
    i->seen = false;
    i->looked_ns = i->touched_ns = i->loaded_ns = now_ns;
    i->console_idle_s = i->load = i->on_battery = NAN;
    i->console_source = NULL;
    i->touched_since = false;
    i->recruit = i->reclaim = VERDICT_UNKNOWN;
}

void idleness_init(Idleness *i, const MonitorConfig *config, uint64_t now_ns)
{
    *i = (Idleness){.config = config};
    idleness_reset(i, now_ns);
}

/* By more than what comes of clocks that are not read at one instant, or run at two rates. */
static bool moved(uint64_t before, uint64_t after)
{
    return (after > before ? after - before : before - after) > NS_PER_S;
}

bool idleness_slept(const Idleness *i, const Look *look)
{
    return GUARD(SLEPT) && i->clocks_known && moved(i->slept_ns, look->slept_ns);
}

/* What was touched just before the clock was set forward seems to be long ago. */
static bool clock_set(const Idleness *i, const Look *look)
{
    return GUARD(CLOCK_SET) && i->clocks_known && moved(i->clock_ns, look->clock_ns);
}

/* By how much the clock went forward beside the one that counts on; what was touched before that
 * seems so much longer ago. */
static uint64_t forward_ns(const Idleness *i, const Look *look)
{
    int64_t by = (int64_t)(look->clock_ns - i->clock_ns);
    return GUARD(CLOCK_SET) && i->clocks_known && by > 0 ? (uint64_t)by : 0;
}

/* When the console was touched last, as far as the report may be believed: never earlier than
 * what was known before, whatever has become of the clock that the sources go by. */
static uint64_t touched(const Idleness *i, double idle_s, uint64_t taken_ns, uint64_t forward_ns)
{
    if (isnan(idle_s) || idle_s < 0)
        return taken_ns;
    uint64_t now_s = taken_ns / NS_PER_S;
    uint64_t at = idle_s >= (double)now_s ? 0 : taken_ns - (uint64_t)(idle_s * (double)NS_PER_S);
    at = forward_ns < taken_ns - at ? at + forward_ns : taken_ns;
    if (GUARD(CLOCK))
        at = max_u64(i->touched_ns, at);
    return at;
}

bool idleness_look(Idleness *i, const Look *look, uint64_t now_ns, Facts *facts)
{
    uint64_t taken = look->taken_ns < now_ns ? look->taken_ns : now_ns;
    if (taken < i->looked_ns || (i->seen && taken == i->looked_ns))
        return false;
    if (i->seen && since(i->looked_ns, taken) >= silence_ns(i))
        i->touched_ns = i->loaded_ns = taken; /* nobody watched meanwhile */
    i->console_idle_s = look->facts.value[FACT_console_idle];
    i->load = look->facts.value[FACT_load];
    i->on_battery = look->facts.value[FACT_on_battery];
    i->console_source = look->console_source;
    uint64_t looked_ns = i->looked_ns;
    if (GUARD(UNKNOWN) || i->console_idle_s >= 0)
        i->touched_ns =
            clock_set(i, look) ? taken : touched(i, i->console_idle_s, taken, forward_ns(i, look));
    i->touched_since = GUARD(TOUCHED_SINCE) && i->touched_ns >= looked_ns;
    if ((GUARD(UNKNOWN) && isnan(i->load)) || i->load >= i->config->load_below)
        i->loaded_ns = taken;
    i->clocks_known = true;
    i->slept_ns = look->slept_ns;
    i->clock_ns = look->clock_ns;
    i->looked_ns = taken;
    i->seen = true;
    *facts = look->facts;
    if (facts_known(facts, FACT_console_idle))
        facts->value[FACT_console_idle] = (double)(taken - i->touched_ns) / (double)NS_PER_S;
    if (facts_known(facts, FACT_load))
        facts->value[FACT_load_idle] = (double)(taken - i->loaded_ns) / (double)NS_PER_S;
    return true;
}

/* What the paper has for "busy". */
static enum Cause reclaims_by_default(const Idleness *i)
{
    const MonitorConfig *c = i->config;
    if (!c->dedicated) {
        if (GUARD(UNKNOWN) && isnan(i->console_idle_s))
            return CAUSE_CONSOLE_UNKNOWN;
        bool touched = i->touched_since || since(i->touched_ns, i->looked_ns) < c->idle_after_ns;
        if (GUARD(CONSOLE) && touched)
            return CAUSE_CONSOLE;
        if (GUARD(BATTERY) && i->on_battery == 1)
            return CAUSE_BATTERY;
    }
    if (GUARD(UNKNOWN) && isnan(i->load))
        return CAUSE_LOAD_UNKNOWN;
    if (GUARD(LOAD) && i->load >= c->load_below)
        return CAUSE_LOAD;
    return CAUSE_NONE;
}

enum Cause idleness_reclaims(const Idleness *i, uint64_t now_ns)
{
    const MonitorConfig *c = i->config;
    if (!i->seen)
        return CAUSE_UNSEEN;
    if (GUARD(SILENCE) && now_ns >= idleness_deadline(i))
        return CAUSE_SILENT;
    if (c->has_recruit_rule && i->recruit == VERDICT_UNKNOWN && GUARD(FAILED_RULE))
        return CAUSE_RECRUIT_FAILED;
    if (!c->has_reclaim_rule)
        return reclaims_by_default(i);
    if (i->reclaim == VERDICT_UNKNOWN && GUARD(FAILED_RULE))
        return CAUSE_RECLAIM_FAILED;
    return i->reclaim == VERDICT_YES ? CAUSE_RECLAIM : CAUSE_NONE;
}

enum Cause idleness_forbids(const Idleness *i, uint64_t now_ns)
{
    const MonitorConfig *c = i->config;
    enum Cause cause = idleness_reclaims(i, now_ns);
    if (cause != CAUSE_NONE)
        return cause;
    if (c->has_recruit_rule)
        return i->recruit == VERDICT_NO ? CAUSE_RECRUIT : CAUSE_NONE;
    if (!c->dedicated) {
        if (GUARD(UNKNOWN) && isnan(i->console_idle_s))
            return CAUSE_CONSOLE_UNKNOWN;
        if (GUARD(CONSOLE_HELD) && since(i->touched_ns, i->looked_ns) < c->idle_after_ns)
            return CAUSE_CONSOLE;
    }
    if (GUARD(UNKNOWN) && isnan(i->load))
        return CAUSE_LOAD_UNKNOWN;
    if (i->load >= c->load_below)
        return CAUSE_LOAD;
    if (GUARD(LOAD_HELD) && since(i->loaded_ns, i->looked_ns) < c->idle_after_ns)
        return CAUSE_LOAD_HELD;
    return CAUSE_NONE;
}

bool idleness_strained(const Idleness *i)
{
    return isnan(i->load) || i->load >= i->config->load_below || i->on_battery == 1;
}

uint64_t idleness_deadline(const Idleness *i)
{
    return time_add(i->looked_ns, silence_ns(i));
}
