/* SPDX-License-Identifier: MIT */
/* The paper's Figures 1 and 2, of the hosts that were recorded. */
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/survey.h"
#include "tools/survey_plot.h"

enum {
    MARGIN = 60, /* left of a panel, for its figures */
    HEAD = 70,   /* above the first one */
    FOOT = 50,   /* below each */
    ALL_WIDTH = 800,
    ALL_HEIGHT = 300,
    HOST_WIDTH = 260,
    HOST_HEIGHT = 130,
    HOST_COLUMNS = 3,
    HOST_POINTS = 256, /* at most, of a panel's line */
};

static const PlotStyle styles_all[] = {{"#1f6fb4", 1.5, "All hosts"},
                                       {"#2a9d3a", 1.5, "Idle hosts only"}};
/* What is drawn first lies below. */
static const PlotStyle styles_host[] = {{"#e0a899", 1, "Least available"},
                                        {"#1f6fb4", 1.2, "Available, mean"}};

static double seconds_of(const Survey *s)
{
    return (double)survey_series_count(s) * (double)s->width_s;
}

/* ---- all hosts together ---------------------------------------------------------------------- */

static unsigned points_of_all(const Survey *s, const SurveyPoint *series, bool idle, PlotPoint *ret)
{
    unsigned n = 0, count = survey_series_count(s);
    for (unsigned i = 0; i < count; i++)
        if (series[i].known)
            ret[n++] = (PlotPoint){(double)i * (double)s->width_s, (i + 1.0) * (double)s->width_s,
                                   idle ? series[i].idle_kb : series[i].mean_kb};
    return n;
}

void survey_draw_all(FILE *to, const Survey *s)
{
    char title[128], first[32];
    PlotPoint points[SURVEY_BUCKETS];
    SurveyPoint series[SURVEY_BUCKETS];
    PlotPanel p = {.x = MARGIN,
                   .y = HEAD,
                   .width = ALL_WIDTH,
                   .height = ALL_HEIGHT,
                   .seconds = seconds_of(s),
                   .max_kb = survey_totals(s).memory_kb,
                   .names_axes = true};
    survey_series_all(s, series);
    for (unsigned i = 0; i < survey_series_count(s); i++) /* were there ever more at one time? */
        p.max_kb = series[i].mean_kb > p.max_kb ? series[i].mean_kb : p.max_kb;
    (void)snprintf(title, sizeof title, "Available memory of %u host%s, from %s UTC", s->host_count,
                   s->host_count == 1 ? "" : "s together",
                   survey_time_text(s->first_s, first, sizeof first));
    plot_begin(to, MARGIN + ALL_WIDTH + 30, HEAD + ALL_HEIGHT + FOOT, title);
    plot_axes(to, &p);
    for (unsigned i = 0; i < G_N_ELEMENTS(styles_all); i++)
        plot_line(to, &p, &styles_all[i], points, points_of_all(s, series, i == 1, points),
                  SURVEY_HOLD_S);
    plot_legend(to, MARGIN + 100, HEAD - 28, styles_all, G_N_ELEMENTS(styles_all));
    plot_end(to);
}

/* ---- each host ------------------------------------------------------------------------------- */

typedef struct Choice {
    const SurveyHost *host;
    unsigned group, rank; /* in its group, those of most samples first */
} Choice;

static int by_samples(const void *a, const void *b)
{
    const Choice *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->host->samples != y->host->samples)
        return x->host->samples > y->host->samples ? -1 : 1;
    return strcmp(x->host->name, y->host->name);
}

static int by_rank(const void *a, const void *b)
{
    const Choice *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

static int by_group(const void *a, const void *b)
{
    const Choice *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return strcmp(x->host->name, y->host->name);
}

/* The hosts that get a panel: of each group as many, as long as there are some. The rest comes
 * behind them. */
static unsigned choose(const Survey *s, Choice *ret)
{
    unsigned n = MIN(s->host_count, (unsigned)SURVEY_PANELS_MAX);
    for (unsigned i = 0; i < s->host_count; i++)
        ret[i] = (Choice){s->hosts[i], survey_group_of(s->hosts[i]->total_kb), 0};
    qsort(ret, s->host_count, sizeof *ret, by_samples);
    for (unsigned i = 1; i < s->host_count; i++)
        ret[i].rank = ret[i].group == ret[i - 1].group ? ret[i - 1].rank + 1 : 0;
    qsort(ret, s->host_count, sizeof *ret, by_rank);
    qsort(ret, n, sizeof *ret, by_group);
    return n;
}

static unsigned points_of_host(const Survey *s, const SurveyHost *h, bool least, PlotPoint *ret)
{
    unsigned count = survey_series_count(s), n = 0;
    unsigned step = (count + HOST_POINTS - 1) / HOST_POINTS;
    unsigned first = (unsigned)(s->first_s / s->width_s - s->origin);
    for (unsigned i = 0; i < count; i += step) {
        unsigned end = MIN(i + step, count);
        SurveyPoint p = survey_series_host(h, first + i, end - i);
        if (p.known)
            ret[n++] = (PlotPoint){(double)i * (double)s->width_s, (double)end * (double)s->width_s,
                                   least ? p.least_kb : p.mean_kb};
    }
    return n;
}

static void draw_host(FILE *to, const Survey *s, const Choice *c, unsigned place)
{
    char title[128], memory[32];
    PlotPoint points[HOST_POINTS];
    const SurveyHost *h = c->host;
    PlotPanel p = {.x = MARGIN + place % HOST_COLUMNS * (MARGIN + HOST_WIDTH),
                   .y = HEAD + place / HOST_COLUMNS * (HOST_HEIGHT + FOOT + 20),
                   .width = HOST_WIDTH,
                   .height = HOST_HEIGHT,
                   .seconds = seconds_of(s),
                   .max_kb = MAX((double)h->total_kb, h->total.mean),
                   .title = title};
    (void)snprintf(title, sizeof title, "%s, %s", h->name,
                   survey_size_text((double)survey_group_kb(c->group), memory, sizeof memory));
    plot_axes(to, &p);
    for (unsigned i = 0; i < G_N_ELEMENTS(styles_host); i++)
        plot_line(to, &p, &styles_host[i], points, points_of_host(s, h, i == 0, points),
                  SURVEY_HOLD_S);
}

void survey_draw_hosts(FILE *to, const Survey *s)
{
    char title[160], first[32];
    g_autofree Choice *choices = g_new(Choice, MAX(s->host_count, 1));
    unsigned n = choose(s, choices);
    unsigned rows = (n + HOST_COLUMNS - 1) / HOST_COLUMNS, columns = CLAMP(n, 2, HOST_COLUMNS);
    if (n < s->host_count)
        (void)snprintf(title, sizeof title, "Available memory, %u of %u hosts, from %s UTC", n,
                       s->host_count, survey_time_text(s->first_s, first, sizeof first));
    else
        (void)snprintf(title, sizeof title, "Available memory of each host, from %s UTC",
                       survey_time_text(s->first_s, first, sizeof first));
    plot_begin(to, columns * (MARGIN + HOST_WIDTH) + 30, HEAD + rows * (HOST_HEIGHT + FOOT + 20),
               title);
    plot_legend(to, MARGIN + 100, 42, styles_host, G_N_ELEMENTS(styles_host));
    for (unsigned i = 0; i < n; i++)
        draw_host(to, s, &choices[i], i);
    plot_end(to);
}
