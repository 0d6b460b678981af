/* SPDX-License-Identifier: MIT */
#include "tools/owner_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/parse.h"
#include "rmd/owner_desk.h"
#include "tools/json_text.h"

static const char *const whys[MONITOR_WHY_MAX] = {
    [MONITOR_WHY_LENT] = "lent",     [MONITOR_WHY_CONSOLE] = "console",
    [MONITOR_WHY_LOAD] = "load",     [MONITOR_WHY_MEMORY] = "memory",
    [MONITOR_WHY_PAUSED] = "paused", [MONITOR_WHY_RULES] = "rules",
    [MONITOR_WHY_OTHER] = "other",
};

/* ---- the answer ------------------------------------------------------------------------------ */

/* The text behind @key at the beginning of a line, in @buf. False: there is no such line. */
static bool find_line(const char *text, const char *key, char *buf, size_t cap)
{
    const size_t len = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += line != text;
        if (strncmp(line, key, len) != 0)
            continue;
        const size_t rest = strcspn(line + len, "\n");
        (void)snprintf(buf, cap, "%.*s", (int)(rest < cap ? rest : cap - 1), line + len);
        for (char *c = buf; *c; c++) /* nothing but text reaches the terminal */
            if (!g_ascii_isprint(*c))
                *c = '?';
        return true;
    }
    return false;
}

static bool find_bytes(const char *text, const char *key, uint64_t *ret)
{
    char buf[32];
    return find_line(text, key, buf, sizeof buf) && parse_u64(buf, 0, UINT64_MAX, ret) == 0;
}

bool owner_answer_read(OwnerAnswer *a, const char *text, uint64_t now_s)
{
    char outcome[OWNER_REASON_MAX], kept[4];
    *a = (OwnerAnswer){.lendable_bytes = 0};
    if (!g_str_has_prefix(text, OWNER_ANSWER_START) ||
        !find_line(text, OWNER_ANSWER_START, outcome, sizeof outcome) ||
        !find_line(text, "state ", a->state, sizeof a->state) ||
        !find_line(text, "reason ", a->reason, sizeof a->reason) ||
        !find_bytes(text, "lendable ", &a->lendable_bytes) ||
        !find_bytes(text, "used ", &a->used_bytes))
        return false;
    if (g_str_has_prefix(outcome, "error "))
        (void)g_strlcpy(a->error, outcome + strlen("error "), sizeof a->error);
    else if (strcmp(outcome, "ok") != 0)
        return false;
    /* An older rmd does not say it. */
    a->forgets = find_line(text, "kept ", kept, sizeof kept) && strcmp(kept, "no") == 0;
    (void)owner_record_read(&a->record, text, now_s);
    return true;
}

/* ---- for people ------------------------------------------------------------------------------ */

static char *local_time(uint64_t s, const char *format)
{
    g_autoptr(GDateTime) t = g_date_time_new_from_unix_local((gint64)s);
    return t ? g_date_time_format(t, format) : g_strdup("?");
}

static void print_now(const OwnerAnswer *a, GString *out)
{
    char lendable[32], used[32];
    (void)format_size(a->lendable_bytes, lendable, sizeof lendable);
    (void)format_size(a->used_bytes, used, sizeof used);
    if (strcmp(a->state, "lending") == 0)
        g_string_append_printf(out, "This host lends %s of its memory, of which %s are used: %s.\n",
                               lendable, used, a->reason);
    else if (strcmp(a->state, "starting") == 0)
        g_string_append_printf(out, "This host is about to lend its memory: %s.\n", a->reason);
    else if (strcmp(a->state, "saving") == 0)
        g_string_append_printf(out,
                               "This host lends no more than %s, for a moment: what programs used "
                               "last moves to other hosts: %s.\n",
                               lendable, a->reason);
    else
        g_string_append_printf(out, "This host lends nothing: %s.\n", a->reason);
}

/* A week later the day has the same name. */
static char *end_of_pause(uint64_t until_s, uint64_t now_s)
{
    const uint64_t days = sub_u64(until_s, now_s) / (24 * 3600);
    return local_time(until_s, days < 6 ? "%a %H:%M" : "%F %H:%M");
}

static void print_pauses(const OwnerAnswer *a, uint64_t now_s, OwnerNameFn *name, GString *out)
{
    for (unsigned i = 0; i < a->record.pauses_count; i++) {
        const OwnerPause *p = &a->record.pauses[i];
        g_autofree char *who = name(p->uid);
        g_autofree char *until = end_of_pause(p->until_s, now_s);
        if (p->until_s == OWNER_FOREVER)
            g_string_append_printf(out, "%s lets nothing be lent, until dodo owner --resume.\n",
                                   who);
        else
            g_string_append_printf(out, "%s has paused it until %s.\n", who, until);
    }
    if (a->record.unknown)
        g_string_append(out, "Others may have paused it: ask them, then root allows it again with "
                             "dodo owner --resume --all.\n");
    if (a->record.pauses_count > 0 && a->forgets)
        g_string_append(out, "That ends when rmd does, which cannot write it down: see its log, "
                             "and [rmd] owner_file.\n");
}

/* Adds the hours of one day that begin at @from; the first hour of the next. The sum's own is the
 * last of which something is known; 0: there is none. */
static uint64_t add_day(const OwnerAnswer *a, uint64_t from, uint64_t now_s, OwnerHour *sum)
{
    g_autofree char *day = local_time(from * 3600, "%F");
    uint64_t hour = from;
    *sum = (OwnerHour){.hour = 0};
    for (; hour <= now_s / 3600; hour++) {
        const OwnerHour *h = owner_record_hour(&a->record, hour, now_s);
        g_autofree char *its = local_time(hour * 3600, "%F");
        if (strcmp(its, day) != 0)
            break;
        if (!h)
            continue;
        for (unsigned i = 0; i < MONITOR_WHY_MAX; i++)
            sum->ms[i] += h->ms[i];
        sum->mib_ms += h->mib_ms;
        sum->hour = hour;
    }
    return hour;
}

static void print_day(uint64_t from, const OwnerHour *sum, GString *out)
{
    g_autofree char *day = local_time(from * 3600, "%a %d %b");
    const double lent = (double)sum->ms[MONITOR_WHY_LENT];
    g_string_append_printf(out, "%-10s", day);
    for (unsigned i = 0; i < MONITOR_WHY_MAX; i++) {
        g_string_append_printf(out, "%8.1f", (double)sum->ms[i] / 3600000);
        if (i == MONITOR_WHY_LENT)
            g_string_append_printf(out, "%8.1f", lent > 0 ? (double)sum->mib_ms / lent / 1024 : 0);
    }
    g_string_append_c(out, '\n');
}

static void print_week(const OwnerAnswer *a, uint64_t now_s, GString *out)
{
    const uint64_t last = now_s / 3600;
    bool headed = false;
    for (uint64_t from = last < OWNER_HOURS ? 0 : last - OWNER_HOURS + 1, next; from <= last;
         from = next) {
        OwnerHour sum;
        next = add_day(a, from, now_s, &sum);
        if (sum.hour == 0)
            continue;
        if (!headed)
            g_string_append(out, "\nHours lent, of how many GiB, and hours not lent, because of:\n"
                                 "              lent     GiB console    load  memory  paused   "
                                 "rules   other\n");
        headed = true;
        print_day(from, &sum, out);
    }
}

void owner_text_print(const OwnerAnswer *a, uint64_t now_s, OwnerNameFn *name, GString *out)
{
    print_now(a, out);
    print_pauses(a, now_s, name, out);
    print_week(a, now_s, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_pauses(const OwnerAnswer *a, OwnerNameFn *name, GString *out)
{
    for (unsigned i = 0; i < a->record.pauses_count; i++) {
        const OwnerPause *p = &a->record.pauses[i];
        g_autofree char *who = name(p->uid);
        g_string_append_printf(out, "%s{\"uid\":%" PRIu32 ",\"user\":", i ? "," : "", p->uid);
        json_text_add(out, who);
        if (p->until_s == OWNER_FOREVER)
            g_string_append(out, ",\"until\":null}");
        else
            g_string_append_printf(out, ",\"until\":%" PRIu64 "}", p->until_s);
    }
}

/* Seconds and bytes, as elsewhere. */
static void json_hour(const OwnerHour *h, bool first, GString *out)
{
    const uint64_t lent = h->ms[MONITOR_WHY_LENT];
    g_string_append_printf(out, "%s{\"time\":%" PRIu64 ",\"lent_bytes\":%" PRIu64, first ? "" : ",",
                           h->hour * 3600, lent ? h->mib_ms / lent << 20 : (uint64_t)0);
    for (unsigned i = 0; i < MONITOR_WHY_MAX; i++)
        g_string_append_printf(out, ",\"%s_s\":%" PRIu64 ".%03" PRIu64, whys[i], h->ms[i] / 1000,
                               h->ms[i] % 1000);
    g_string_append_c(out, '}');
}

void owner_text_json(const OwnerAnswer *a, uint64_t now_s, OwnerNameFn *name, GString *out)
{
    bool first = true;
    g_string_append_printf(out, "{\"state\":\"%s\",\"reason\":", a->state);
    json_text_add(out, a->reason);
    g_string_append_printf(
        out, ",\"lendable_bytes\":%" PRIu64 ",\"used_bytes\":%" PRIu64 ",\"pauses\":[",
        a->lendable_bytes, a->used_bytes);
    json_pauses(a, name, out);
    g_string_append_printf(out, "],\"pauses_kept\":%s,\"pauses_known\":%s,\"hours\":[",
                           a->forgets ? "false" : "true", a->record.unknown ? "false" : "true");
    for (uint64_t hour = now_s / 3600 - OWNER_HOURS + 1; hour <= now_s / 3600; hour++) {
        const OwnerHour *h = owner_record_hour(&a->record, hour, now_s);
        if (!h)
            continue;
        json_hour(h, first, out);
        first = false;
    }
    g_string_append(out, "]}\n");
}
