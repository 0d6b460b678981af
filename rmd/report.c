/* SPDX-License-Identifier: MIT */
#include "rmd/report.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"

enum { EXPLAIN_BYTES = 8192, WORD_BYTES = 32 };

/* Units of the facts, in their order. */
static const struct {
    const char *name, *unit;
} facts[] = {
#define X(name, unit, text) {#name, unit},
    RMD_FACTS(X)
#undef X
};

static void add_fact(GString *text, const char *name, const char *unit, double value)
{
    char size[WORD_BYTES];
    if (isnan(value))
        g_string_append_printf(text, "  %-14s not known\n", name);
    else if (strcmp(unit, "bytes") == 0)
        g_string_append_printf(text, "  %-14s %s\n", name,
                               format_size((uint64_t)value, size, sizeof size));
    else if (strcmp(unit, "bool") == 0)
        g_string_append_printf(text, "  %-14s %s\n", name, value != 0 ? "yes" : "no");
    else
        g_string_append_printf(text, "  %-14s %.*f%s%s\n", name, value == floor(value) ? 0 : 2,
                               value, *unit ? " " : "", unit);
}

/* The monitor's own are in its conditions. */
static bool is_seen(enum Fact f)
{
    return f != FACT_load_idle && f != FACT_mem_lent && f != FACT_idle_after &&
           f != FACT_load_below && f != FACT_lending;
}

/* What a source saw may name who was there and when; why it does not know is no secret. */
static void add_source(GString *text, const SourceReport *r, enum Detail detail)
{
    const char *says = r->known && detail == DETAIL_COARSE ? "knows" : r->text;
    g_string_append_printf(text, "  %-10s %s%s\n", r->name,
                           r->known ? "" : "does not know: ", says);
}

static void add_seen(GString *text, enum Fact f, double value, enum Detail detail)
{
    bool coarse = detail == DETAIL_COARSE;
    if (coarse && f == FACT_user_sessions)
        return;
    if (coarse && f == FACT_console_idle && !isnan(value))
        value = floor(value / 3600) * 3600;
    add_fact(text, facts[f].name, facts[f].unit, value);
}

void report_observation(GString *text, const Observation *o, enum Detail detail)
{
    if (!o) {
        g_string_append(text, "The host has not been looked at yet.\n");
        return;
    }
    if (o->container)
        g_string_append_printf(
            text,
            "rmd runs in a container (%s): terminals and logins are not the host's.\n"
            "If nobody works at the host, set [rmd] dedicated; else run rmd on the host itself, or "
            "give it\nan input directory, a display or a bus of the host's.\n",
            o->container);
    g_string_append(text, "Sources of activity:\n");
    for (unsigned i = 0; i < o->sources.count; i++)
        add_source(text, &o->sources.reports[i], detail);
    g_string_append(text, "Facts:\n");
    for (int f = 0; f < FACT_COUNT; f++)
        if (is_seen((enum Fact)f))
            add_seen(text, (enum Fact)f, o->look.facts.value[f], detail);
    if (!isnan(o->load_average) && o->imd_share + o->saver_share >= 0.005)
        g_string_append_printf(text,
                               "  (the load average is %.2f, of which imd makes %.2f, the screen "
                               "saver %.2f)\n",
                               o->load_average, o->imd_share, o->saver_share);
}

void report_monitor(GString *text, const Monitor *m, uint64_t now_ns, enum Detail detail)
{
    char words[EXPLAIN_BYTES];
    g_string_append(text, detail == DETAIL_FULL
                              ? monitor_explain(m, now_ns, words, sizeof words)
                              : monitor_explain_coarse(m, now_ns, words, sizeof words));
}

static void add_rule(GString *text, const OwnerRule *r)
{
    if (r->rule && r->failed)
        g_string_append_printf(text, "The rule fails: %s\n", r->error);
}

void report_rules(GString *text, const Verdicts *v)
{
    add_rule(text, &v->recruit);
    add_rule(text, &v->reclaim);
}
