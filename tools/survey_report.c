/* SPDX-License-Identifier: MIT */
/* The paper's Table 1, of the hosts that were recorded, and what they have together. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "tools/survey.h"

/* The table's columns. What is free of the available memory is for JSON alone. */
typedef struct Column {
    enum SurveyMemory memory;
    const char *heading;
} Column;
static const Column columns[] = {
    {SURVEY_kernel, "KERNEL"},       {SURVEY_file_cache, "FILE CACHE"}, {SURVEY_process, "PROCESS"},
    {SURVEY_available, "AVAILABLE"}, {SURVEY_lendable, "LENDABLE"},
};
enum { CELL_MIB = 14, CELL_KIB = 20 };

SurveyTotals survey_totals(const Survey *s)
{
    SurveyTotals t = {0};
    for (unsigned i = 0; i < s->host_count; i++) {
        const SurveyHost *h = s->hosts[i];
        t.memory_kb += h->total.mean;
        t.available_kb += h->available.mean;
        t.available_idle_kb += h->available_idle.mean;
        t.lendable_kb += h->lendable.mean;
        t.lendable_idle_kb += h->lendable_idle.mean;
    }
    return t;
}

/* "24 GiB", "1.25 GiB". */
char *survey_size_text(double kb, char *buf, size_t cap)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned i = 0;
    for (; kb >= 1024 && i + 1 < ARRAY_SIZE(units); i++)
        kb /= 1024;
    (void)snprintf(buf, cap, "%.4g %s", kb, units[i]);
    return buf;
}

char *survey_time_text(uint64_t time_s, char *buf, size_t cap)
{
    time_t t = (time_t)time_s;
    struct tm tm;
    if (!gmtime_r(&t, &tm) || strftime(buf, cap, "%Y-%m-%d %H:%M", &tm) == 0)
        (void)snprintf(buf, cap, "?");
    return buf;
}

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_group(FILE *to, const SurveyGroup *g, unsigned index, bool kb)
{
    char text[64];
    uint64_t samples = g->kb[SURVEY_total].count;
    (void)fprintf(to, "%5" PRIu64 " %9s %9" PRIu64, g->hosts,
                  survey_size_text((double)survey_group_kb(index), text, sizeof text), samples);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        const SurveyMoments *m = &g->kb[columns[i].memory];
        double unit = kb ? 1 : 1024;
        (void)snprintf(text, sizeof text, "%.0f (%.0f)", m->mean / unit,
                       survey_moments_deviation(m) / unit);
        (void)fprintf(to, " %*s", kb ? CELL_KIB : CELL_MIB, text);
    }
    (void)fprintf(to, " %6.1f%%\n", share((double)g->idle_samples, (double)samples));
}

static void print_total(FILE *to, const char *what, double all_kb, double idle_kb, double memory_kb)
{
    char all[32], idle[32];
    (void)fprintf(to, "%-10s %10s (%.1f%%), on idle hosts %10s (%.1f%%)\n", what,
                  survey_size_text(all_kb, all, sizeof all), share(all_kb, memory_kb),
                  survey_size_text(idle_kb, idle, sizeof idle), share(idle_kb, memory_kb));
}

void survey_print_table(FILE *to, const Survey *s, bool kb)
{
    char first[32], last[32], memory[32];
    SurveyTotals t = survey_totals(s);
    (void)fprintf(to,
                  "%u host%s, %" PRIu64 " sample%s, %s to %s UTC\n"
                  "Mean (standard deviation) in %s:\n%5s %9s %9s",
                  s->host_count, s->host_count == 1 ? "" : "s", s->samples,
                  s->samples == 1 ? "" : "s", survey_time_text(s->first_s, first, sizeof first),
                  survey_time_text(s->last_s, last, sizeof last), kb ? "KiB" : "MiB", "HOSTS",
                  "MEMORY", "SAMPLES");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        (void)fprintf(to, " %*s", kb ? CELL_KIB : CELL_MIB, columns[i].heading);
    (void)fprintf(to, " %7s\n", "IDLE");
    for (unsigned i = 0; i < SURVEY_GROUPS_MAX; i++)
        if (s->groups[i].hosts)
            print_group(to, &s->groups[i], i, kb);
    (void)fprintf(to, "All hosts together, %s, on the average:\n",
                  survey_size_text(t.memory_kb, memory, sizeof memory));
    print_total(to, "available", t.available_kb, t.available_idle_kb, t.memory_kb);
    print_total(to, "lendable", t.lendable_kb, t.lendable_idle_kb, t.memory_kb);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Names have no character that JSON would want escaped. */
static void print_group_json(FILE *to, const SurveyGroup *g, unsigned index)
{
    uint64_t samples = g->kb[SURVEY_total].count;
    (void)fprintf(to,
                  "{\"memory_bytes\":%" PRIu64 ",\"hosts\":%" PRIu64 ",\"samples\":%" PRIu64
                  ",\"idle_share\":%.6f",
                  survey_group_kb(index) << 10, g->hosts, samples,
                  share((double)g->idle_samples, (double)samples) / 100);
    for (int i = 0; i < SURVEY_MEMORY_COUNT; i++)
        (void)fprintf(to, ",\"%s_bytes\":{\"mean\":%.0f,\"deviation\":%.0f}",
                      survey_memory_names[i], g->kb[i].mean * 1024,
                      survey_moments_deviation(&g->kb[i]) * 1024);
    (void)fputc('}', to);
}

void survey_print_json(FILE *to, const Survey *s, const SurveyLosses *losses)
{
    SurveyTotals t = survey_totals(s);
    bool first = true;
    (void)fprintf(to,
                  "{\"hosts\":%u,\"samples\":%" PRIu64 ",\"first_s\":%" PRIu64
                  ",\"last_s\":%" PRIu64 ",\"damaged_lines\":%" PRIu64 ",\"foreign_lines\":%" PRIu64
                  ",\"left_out_samples\":%" PRIu64 ",\"groups\":[",
                  s->host_count, s->samples, s->first_s, s->last_s, losses->damaged,
                  losses->foreign, losses->hosts);
    for (unsigned i = 0; i < SURVEY_GROUPS_MAX; i++) {
        if (!s->groups[i].hosts)
            continue;
        if (!first)
            (void)fputc(',', to);
        first = false;
        print_group_json(to, &s->groups[i], i);
    }
    (void)fprintf(to,
                  "],\"memory_bytes\":%.0f,\"available_bytes\":%.0f,"
                  "\"available_idle_bytes\":%.0f,\"lendable_bytes\":%.0f,"
                  "\"lendable_idle_bytes\":%.0f}\n",
                  t.memory_kb * 1024, t.available_kb * 1024, t.available_idle_kb * 1024,
                  t.lendable_kb * 1024, t.lendable_idle_kb * 1024);
}
