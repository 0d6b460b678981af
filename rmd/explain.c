/* SPDX-License-Identifier: MIT */
/* What the monitor thinks, in plain words. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "rmd/monitor_private.h"

enum { WORD_MAX = 32 };

typedef struct Text {
    char *buf;
    size_t cap, len;
    bool coarse; /* for others than the owner: times in hours */
} Text;

__attribute__((format(printf, 2, 3))) static void add(Text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->buf + t->len, t->cap - t->len, format, args);
    va_end(args);
    if (n > 0)
        t->len += (size_t)n < t->cap - t->len ? (size_t)n : t->cap - t->len - 1;
}

/* Rounded down, as people say it. */
static const char *words_time(const Text *t, uint64_t ns, char buf[WORD_MAX])
{
    uint64_t s = ns / NS_PER_S;
    if (t->coarse && s < 3600)
        (void)snprintf(buf, WORD_MAX, "less than 1h");
    else if (t->coarse)
        (void)snprintf(buf, WORD_MAX, "%" PRIu64 "h", s / 3600);
    else if (s == 0)
        (void)snprintf(buf, WORD_MAX, "%" PRIu64 "ms", (uint64_t)(ns / NS_PER_MS));
    else if (s < 120)
        (void)snprintf(buf, WORD_MAX, "%" PRIu64 "s", s);
    else if (s < 7200)
        (void)snprintf(buf, WORD_MAX, "%" PRIu64 "min", s / 60);
    else
        (void)snprintf(buf, WORD_MAX, "%" PRIu64 "h", s / 3600);
    return buf;
}

/* A setting, as it was given. */
static const char *words_setting(uint64_t ns, char buf[WORD_MAX])
{
    return format_time(ns, buf, WORD_MAX);
}

static const char *words_size(uint64_t bytes, char buf[WORD_MAX])
{
    return format_size(bytes, buf, WORD_MAX);
}

static uint64_t since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* ---- the reason ------------------------------------------------------------------------------ */

static void say_console(const Monitor *m, uint64_t now_ns, Text *t)
{
    char idle[WORD_MAX], wanted[WORD_MAX];
    const Idleness *i = &m->idleness;
    (void)words_time(t, since(i->touched_ns, now_ns), idle);
    (void)words_setting(m->config.idle_after_ns, wanted);
    bool quiet = since(i->touched_ns, i->looked_ns) >= m->config.idle_after_ns;
    /* Who watches only for so long knows of no longer quiet, whatever the sources say. */
    if (i->console_idle_s > (double)since(i->touched_ns, i->looked_ns) / (double)NS_PER_S + 1)
        add(t, "the console has been watched for %s, %s are needed", idle, wanted);
    else {
        add(t, "the console was touched %s ago%s%s", idle, i->console_source ? ", says " : "",
            i->console_source ? i->console_source : "");
        if (quiet)
            add(t, ", since the last look");
        else
            add(t, ", %s are needed", wanted);
    }
}

static void say_wait(const char *what, uint64_t until_ns, uint64_t now_ns, Text *t)
{
    char left[WORD_MAX];
    add(t, "%s, %s to wait", what, words_time(t, since(now_ns, until_ns), left));
}

static const char *reclaimed_for(const Monitor *m);

static void say_calm(const Monitor *m, uint64_t now_ns, Text *t)
{
    char ago[WORD_MAX], left[WORD_MAX];
    (void)words_time(t, since(now_ns, m->calm_until_ns), left);
    if (m->reclaimed_for == CAUSE_NONE)
        add(t, "rmd has not watched for long, %s to wait", left);
    else
        add(t, "%s %s ago, %s to wait", reclaimed_for(m),
            words_time(t, since(m->reclaimed_ns, now_ns), ago), left);
}

static void say_load(const Monitor *m, enum Cause cause, uint64_t now_ns, Text *t)
{
    char held[WORD_MAX], wanted[WORD_MAX];
    const Idleness *i = &m->idleness;
    if (cause == CAUSE_LOAD)
        add(t, "the load is %.2f, it must be below %.2f", i->load, m->config.load_below);
    else
        add(t, "the load has been below %.2f for %s, %s are needed", m->config.load_below,
            words_time(t, since(i->loaded_ns, now_ns), held),
            words_setting(m->config.idle_after_ns, wanted));
}

static void say_crash(const Monitor *m, uint64_t now_ns, Text *t)
{
    add(t, "imd ended by itself with ");
    say_wait(m->ended, m->crash.until_ns, now_ns, t);
}

static void say_little(const Monitor *m, Text *t)
{
    char spare[WORD_MAX];
    add(t, "only %s could be lent", words_size(lending_spare(&m->lending), spare));
}

static void say_paused(const Monitor *m, uint64_t now_ns, Text *t)
{
    if (m->paused_until_ns == TIME_NEVER)
        add(t, "a user of the host lets nothing be lent");
    else
        say_wait("a user of the host has paused the lending", m->paused_until_ns, now_ns, t);
}

/* The causes that need no figures. */
static const char *plain(enum Cause cause)
{
    static const char *const texts[] = {
        [CAUSE_UNSEEN] = "the host has not been looked at yet",
        [CAUSE_SILENT] = "the sources of activity do not answer",
        [CAUSE_CONSOLE_UNKNOWN] = "no source knows when the console was touched",
        [CAUSE_LOAD_UNKNOWN] = "the load is not known",
        [CAUSE_BATTERY] = "the host runs on its battery",
        [CAUSE_RECLAIM_FAILED] = "the rule reclaim_when fails",
        [CAUSE_RECLAIM] = "the rule reclaim_when is true",
        [CAUSE_RECRUIT_FAILED] = "the rule recruit_when fails",
        [CAUSE_RECRUIT] = "the rule recruit_when is false",
        [CAUSE_MEMORY_UNKNOWN] = "the state of the memory is not known",
        [CAUSE_MEMORY_SHORT] = "memory is short",
        [CAUSE_PRESSURE] = "programs had to wait for memory",
        [CAUSE_GAP] = "rmd has not run for a while, all times begin again",
        [CAUSE_SLEPT] = "the host has slept, all times begin again",
        [CAUSE_SLEEP] = "the host is about to sleep",
        [CAUSE_NOT_READY] = "imd was not ready in time",
        [CAUSE_NOT_GIVEN] = "imd did not give back memory in time",
        [CAUSE_ENDING] = "the last imd has not ended yet",
        [CAUSE_LEAVING] = "rmd ends",
        [CAUSE_WATCH_ONLY] = "rmd only watches",
        [CAUSE_PAUSES_UNKNOWN] =
            "who has paused the lending is not known: its file could not be read",
    };
    return (unsigned)cause < sizeof texts / sizeof *texts ? texts[cause] : NULL;
}

static const char *reclaimed_for(const Monitor *m)
{
    const char *text = plain(m->reclaimed_for);
    return text                                ? text
           : m->reclaimed_for == CAUSE_PAUSED  ? "a user paused the lending"
           : m->reclaimed_for == CAUSE_CONSOLE ? "the console was touched"
                                               : "the load was high";
}

static void say_cause(const Monitor *m, enum Cause cause, uint64_t now_ns, Text *t)
{
    const char *text = plain(cause);
    if (text)
        add(t, "%s", text);
    else if (cause == CAUSE_CONSOLE)
        say_console(m, now_ns, t);
    else if (cause == CAUSE_LOAD || cause == CAUSE_LOAD_HELD)
        say_load(m, cause, now_ns, t);
    else if (cause == CAUSE_CALM)
        say_calm(m, now_ns, t);
    else if (cause == CAUSE_PRESSURE_PAUSE)
        say_wait("memory was short", m->pressure.until_ns, now_ns, t);
    else if (cause == CAUSE_CRASH_PAUSE)
        say_crash(m, now_ns, t);
    else if (cause == CAUSE_MEMORY_LITTLE)
        say_little(m, t);
    else if (cause == CAUSE_PAUSED)
        say_paused(m, now_ns, t);
    else
        add(t, "nothing speaks against it, the next look decides");
}

static void say_lending(const Monitor *m, uint64_t now_ns, Text *t)
{
    char idle[WORD_MAX];
    if (m->config.has_recruit_rule)
        add(t, "the rule recruit_when was true");
    else if (m->config.dedicated)
        add(t, "the load is low");
    else
        add(t, "the console has been idle for %s",
            words_time(t, since(m->idleness.touched_ns, now_ns), idle));
}

static void status(const Monitor *m, uint64_t now_ns, bool coarse, MonitorStatus *ret)
{
    static const enum MonitorState states[] = {
        [IMD_NONE] = MONITOR_BUSY,     [IMD_STARTING] = MONITOR_STARTING,
        [IMD_READY] = MONITOR_LENDING, [IMD_SAVING] = MONITOR_SAVING,
        [IMD_LEAVING] = MONITOR_BUSY,  [IMD_KILLED] = MONITOR_BUSY};
    *ret = (MonitorStatus){
        .state = states[m->imd],
        .epoch = m->epoch,
        .lendable_bytes =
            states[m->imd] == MONITOR_BUSY ? lending_spare(&m->lending) : m->lending.limit_bytes,
        .used_bytes = m->used_bytes,
    };
    Text t = {.buf = ret->reason, .cap = sizeof ret->reason, .coarse = coarse};
    if (monitor_lends(m))
        say_lending(m, now_ns, &t);
    else
        say_cause(m, m->cause, now_ns, &t);
    if (m->imd == IMD_SAVING)
        add(&t, "; imd leaves soon");
}

const char *monitor_state_word(enum MonitorState state)
{
    static const char *const words[] = {[MONITOR_BUSY] = "busy",
                                        [MONITOR_STARTING] = "starting",
                                        [MONITOR_LENDING] = "lending",
                                        [MONITOR_SAVING] = "saving"};
    return words[state];
}

void monitor_status(const Monitor *m, uint64_t now_ns, MonitorStatus *ret)
{
    status(m, now_ns, false, ret);
}

void monitor_status_coarse(const Monitor *m, uint64_t now_ns, MonitorStatus *ret)
{
    status(m, now_ns, true, ret);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void mark(Text *t, bool good, bool decides)
{
    add(t, "  %-4s", good ? "yes" : "no");
    add(t, "%s", decides ? "=> " : "   ");
}

static void add_console(Text *t, const Monitor *m, enum Cause cause, uint64_t now_ns)
{
    char wanted[WORD_MAX], held[WORD_MAX];
    const Idleness *i = &m->idleness;
    uint64_t idle = since(i->touched_ns, i->looked_ns);
    bool known = i->seen && !isnan(i->console_idle_s);
    if (m->config.dedicated) {
        add(t, "  -      console: not asked, the host is dedicated\n");
        return;
    }
    mark(t, known && idle >= m->config.idle_after_ns,
         cause == CAUSE_CONSOLE || cause == CAUSE_CONSOLE_UNKNOWN);
    add(t, "console idle for %s: ", words_setting(m->config.idle_after_ns, wanted));
    if (!known)
        add(t, "not known\n");
    else
        add(t, "for %s%s%s\n", words_time(t, since(i->touched_ns, now_ns), held),
            i->console_source ? ", says " : "", i->console_source ? i->console_source : "");
}

static void add_load(Text *t, const Monitor *m, enum Cause cause, uint64_t now_ns)
{
    char wanted[WORD_MAX], held[WORD_MAX];
    const Idleness *i = &m->idleness;
    bool known = i->seen && !isnan(i->load);
    mark(t, known && since(i->loaded_ns, i->looked_ns) >= m->config.idle_after_ns,
         cause == CAUSE_LOAD || cause == CAUSE_LOAD_HELD || cause == CAUSE_LOAD_UNKNOWN);
    add(t, "load below %.2f for %s: ", m->config.load_below,
        words_setting(m->config.idle_after_ns, wanted));
    if (!known)
        add(t, "not known\n");
    else if (i->load >= m->config.load_below)
        add(t, "it is %.2f\n", i->load);
    else
        add(t, "it is %.2f, below for %s\n", i->load,
            words_time(t, since(i->loaded_ns, now_ns), held));
}

/* A host that reports no battery mostly has none. The owner's rule for the end replaces this. */
static void add_battery(Text *t, const Monitor *m, enum Cause cause)
{
    if (m->config.dedicated || m->config.has_reclaim_rule || !m->idleness.seen ||
        isnan(m->idleness.on_battery))
        return;
    bool battery = m->idleness.on_battery == 1;
    mark(t, !battery, cause == CAUSE_BATTERY);
    add(t, "power from the mains: %s\n", battery ? "the host runs on its battery" : "yes");
}

static void add_rule(Text *t, const char *name, enum Verdict verdict, enum Verdict wanted,
                     bool decides)
{
    static const char *const words[] = {"it fails", "it is false", "it is true"};
    mark(t, verdict == wanted, decides);
    add(t, "rule %s %s: %s\n", name, wanted == VERDICT_YES ? "true" : "false", words[verdict]);
}

static void add_rules(Text *t, const Monitor *m, enum Cause cause)
{
    if (m->config.has_recruit_rule)
        add_rule(t, "recruit_when", m->idleness.recruit, VERDICT_YES,
                 cause == CAUSE_RECRUIT || cause == CAUSE_RECRUIT_FAILED);
    if (m->config.has_reclaim_rule)
        add_rule(t, "reclaim_when", m->idleness.reclaim, VERDICT_NO,
                 cause == CAUSE_RECLAIM || cause == CAUSE_RECLAIM_FAILED);
}

static void add_memory(Text *t, const Monitor *m, enum Cause cause)
{
    char lendable[WORD_MAX], held[WORD_MAX], group[WORD_MAX];
    const Lending *l = &m->lending;
    mark(t, l->known && !l->far_below && cause != CAUSE_MEMORY_LITTLE,
         cause == CAUSE_MEMORY_UNKNOWN || cause == CAUSE_MEMORY_LITTLE ||
             cause == CAUSE_MEMORY_SHORT || cause == CAUSE_PRESSURE);
    if (l->known)
        add(t, "memory to spare: %s could be lent, %s are%s\n",
            words_size(lending_spare(l), lendable), words_size(l->held_bytes, held),
            l->far_below ? "; memory is short" : "");
    else
        add(t, "memory to spare: not known\n");
    if (l->known && l->group_bytes)
        add(t, "       (the control group of rmd and imd is limited to %s)\n",
            words_size(l->group_bytes, group));
}

static void add_wait(Text *t, const char *what, uint64_t until_ns, uint64_t now_ns, bool decides)
{
    char left[WORD_MAX];
    if (now_ns >= until_ns)
        return;
    mark(t, false, decides);
    add(t, "%s: %s to wait\n", what, words_time(t, until_ns - now_ns, left));
}

/* What happened, rather than what is. */
static void add_events(Text *t, const Monitor *m, enum Cause cause, uint64_t now_ns)
{
    char ago[WORD_MAX];
    if (m->pauses_unknown) {
        mark(t, false, cause == CAUSE_PAUSES_UNKNOWN);
        add(t,
            "users of the host allow it: not known, the file of their pauses could not be read\n");
    }
    if (m->paused_until_ns == TIME_NEVER) {
        mark(t, false, cause == CAUSE_PAUSED);
        add(t, "users of the host allow it: one does not\n");
    } else {
        add_wait(t, "pause by a user of the host", m->paused_until_ns, now_ns,
                 cause == CAUSE_PAUSED);
    }
    add_wait(t, "quiet since the start or the last reclaim", m->calm_until_ns, now_ns,
             cause == CAUSE_CALM);
    add_wait(t, "rest after memory was short", m->pressure.until_ns, now_ns,
             cause == CAUSE_PRESSURE_PAUSE);
    add_wait(t, "rest after imd ended by itself", m->crash.until_ns, now_ns,
             cause == CAUSE_CRASH_PAUSE);
    if (m->ended[0])
        add(t, "imd last ended by itself with %s\n", m->ended);
    if (m->reclaimed_for == CAUSE_NONE)
        return;
    add(t, "last reclaimed %s ago: %s\n", words_time(t, since(m->reclaimed_ns, now_ns), ago),
        reclaimed_for(m));
}

static char *explain(const Monitor *m, uint64_t now_ns, bool coarse, char *buf, size_t cap)
{
    static const char *const states[] = {
        "not lent", "about to be lent, imd is starting", "lent",
        "not lent any more, but what was used last still moves to other hosts"};
    Text t = {.buf = buf, .cap = cap, .coarse = coarse};
    MonitorStatus now;
    char limit[WORD_MAX], used[WORD_MAX];
    enum Cause cause = monitor_lends(m) ? CAUSE_NONE : m->cause;
    if (cap == 0)
        return buf;
    buf[0] = '\0';
    status(m, now_ns, coarse, &now);
    add(&t, "The host is %s: %s.\n", states[now.state], now.reason);
    if (now.state != MONITOR_BUSY)
        add(&t, "Of its memory %s may be used, %s are.\n",
            words_size(m->lending.limit_bytes, limit), words_size(m->used_bytes, used));
    add(&t, "Conditions, and whether they are true (=> decides):\n");
    if (!m->config.has_recruit_rule || !m->config.has_reclaim_rule) {
        add_console(&t, m, cause, now_ns);
        add_load(&t, m, cause, now_ns);
        add_battery(&t, m, cause);
    }
    add_rules(&t, m, cause);
    add_memory(&t, m, cause);
    add_events(&t, m, cause, now_ns);
    return buf;
}

char *monitor_explain(const Monitor *m, uint64_t now_ns, char *buf, size_t cap)
{
    return explain(m, now_ns, false, buf, cap);
}

char *monitor_explain_coarse(const Monitor *m, uint64_t now_ns, char *buf, size_t cap)
{
    return explain(m, now_ns, true, buf, cap);
}

/* ---- one look -------------------------------------------------------------------------------- */

static const uint64_t WATCHED_MAX_NS = 7 * 24 * 3600 * NS_PER_S;

/* How long a monitor must have run to know all that this look shows. */
static uint64_t watched_ns(const MonitorConfig *config, const Look *look)
{
    double idle_s = look->facts.value[FACT_console_idle];
    uint64_t idle = isnan(idle_s) || idle_s < 0 ? 0
                    : idle_s >= (double)(WATCHED_MAX_NS / NS_PER_S)
                        ? WATCHED_MAX_NS
                        : (uint64_t)(idle_s * (double)NS_PER_S);
    uint64_t least = idle > config->idle_after_ns ? idle : config->idle_after_ns;
    return min_u64(least, WATCHED_MAX_NS) + 2 * config->poll_ns;
}

/* The look before it: what has been touched earlier has been seen there. */
static Look earlier(const Look *look, uint64_t ns)
{
    Look l = *look;
    double *idle_s = &l.facts.value[FACT_console_idle], s = (double)ns / (double)NS_PER_S;
    l.taken_ns -= ns;
    if (!isnan(*idle_s))
        *idle_s = *idle_s > s ? *idle_s - s : 0;
    return l;
}

Monitor *monitor_once(const MonitorConfig *config, const MonitorSink *sink, Look *look,
                      const MemoryState *memory, uint64_t *ret_now_ns)
{
    uint64_t now = 0, end = watched_ns(config, look);
    Monitor *m = monitor_new(config, sink, now);
    if (!m)
        return NULL;
    for (; now + NS_PER_S < end; now += NS_PER_S)
        monitor_expire(m, now);
    look->taken_ns = end;
    const Look before = earlier(look, config->poll_ns);
    monitor_look(m, &before, before.taken_ns);
    monitor_memory(m, memory, 0, end);
    monitor_look(m, look, end);
    *ret_now_ns = end;
    return m;
}
