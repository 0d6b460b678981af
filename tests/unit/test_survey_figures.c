/* SPDX-License-Identifier: MIT */
/* The series behind the figures, and the figures as XML. */
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/survey.h"
#include "tests/lib/case.h"

#define START_S 1795295460ull
enum { GIB = 1 << 20 }; /* in KiB */

static void add(Survey *s, const char *host, uint64_t time_s, uint64_t available_kb, bool idle)
{
    SurveySample one = {.time_s = time_s, .idle = idle};
    survey_sample_host(&one, host);
    one.kb[SURVEY_total] = 8 * GIB;
    one.kb[SURVEY_available] = available_kb;
    one.kb[SURVEY_process] = 8 * GIB - available_kb;
    assert_true(survey_add(s, &one));
}

/* Of all points that are known: their mean. */
static double mean_of(const SurveyPoint *points, unsigned count, bool idle)
{
    double sum = 0;
    unsigned known = 0;
    for (unsigned i = 0; i < count; i++) {
        known += points[i].known;
        sum += points[i].known ? idle ? points[i].idle_kb : points[i].mean_kb : 0;
    }
    return known ? sum / known : 0;
}

TEST(hosts_add_up)
{
    SurveyPoint points[SURVEY_BUCKETS];
    Survey *s = survey_new(true);
    for (unsigned i = 0; i < 600; i++) {
        add(s, "a", START_S + 60 * i, 2 * GIB, true);
        add(s, "b", START_S + 60 * i + 20, 3 * GIB, i >= 300); /* idle for half of the time */
    }
    survey_series_all(s, points);
    unsigned count = survey_series_count(s);
    assert_true(count > SURVEY_BUCKETS / 2 && count <= SURVEY_BUCKETS);
    for (unsigned i = 1; i < count; i++)
        assert_true(points[i].known && points[i].mean_kb == 5 * GIB);
    assert_true(points[1].idle_kb == 2 * GIB);
    assert_true(points[count - 1].idle_kb == 5 * GIB);
    double idle = mean_of(points, count, true);
    assert_true(idle > 3.45 * GIB && idle < 3.55 * GIB);
    survey_free(s);
}

/* A host that is off has nothing; when no host is on, nothing is known. */
TEST(gaps_are_seen)
{
    SurveyPoint points[SURVEY_BUCKETS];
    Survey *s = survey_new(true);
    for (unsigned i = 0; i < 1000; i++) {
        if (i < 400 || i >= 600)
            add(s, "a", START_S + 60 * i, 2 * GIB, true);
        if (i < 500 || i >= 600)
            add(s, "b", START_S + 60 * i, 1 * GIB, true);
    }
    survey_series_all(s, points);
    unsigned count = survey_series_count(s);
    assert_true(points[count * 3 / 10].mean_kb == 3 * GIB);
    assert_true(points[count * 45 / 100].mean_kb == 1 * GIB);
    assert_false(points[count * 55 / 100].known);
    assert_true(points[count * 7 / 10].mean_kb == 3 * GIB);
    survey_free(s);
}

/* A sample stands for the time until the next, but not for long: whenever it comes. */
TEST(samples_are_held_a_while)
{
    SurveyPoint points[SURVEY_BUCKETS];
    Survey *s = survey_new(true);
    add(s, "a", START_S, 2 * GIB, true);
    add(s, "a", START_S + 500, 3 * GIB, true);
    add(s, "b", START_S + 900, 1 * GIB, true); /* to see what comes after */
    survey_series_all(s, points);
    assert_int_equal(s->width_s, 1);
    assert_int_equal(survey_series_count(s), 901);
    assert_true(points[SURVEY_HOLD_S].known && points[SURVEY_HOLD_S].mean_kb == 2 * GIB);
    assert_false(points[SURVEY_HOLD_S + 1].known);
    assert_false(points[499].known);
    assert_true(points[500 + SURVEY_HOLD_S].known);
    assert_true(points[500 + SURVEY_HOLD_S].mean_kb == 3 * GIB);
    assert_false(points[501 + SURVEY_HOLD_S].known);
    survey_free(s);
}

/* The dip of a minute in a year. */
TEST(dips_outlive_decimation)
{
    enum { MINUTES = 365 * 24 * 60, DIP = 123456 };
    Survey *s = survey_new(true);
    for (unsigned i = 0; i < MINUTES; i++)
        add(s, "a", START_S + 60 * i, i == DIP ? GIB / 2 : 4 * GIB, true);
    unsigned count = survey_series_count(s), first = (unsigned)(START_S / s->width_s - s->origin);
    assert_true(count > SURVEY_BUCKETS / 2 && count <= SURVEY_BUCKETS);
    SurveyPoint all = survey_series_host(s->hosts[0], first, count);
    assert_true(all.known && all.least_kb == GIB / 2);
    unsigned at = (unsigned)((START_S + 60ull * DIP) / s->width_s - s->origin);
    assert_true(survey_series_host(s->hosts[0], at, 1).least_kb == GIB / 2);
    assert_true(survey_series_host(s->hosts[0], at - 1, 1).least_kb == 4 * GIB);
    assert_true(survey_series_host(s->hosts[0], at, 1).mean_kb > 3.9 * GIB);
    survey_free(s);
}

/* The order in which samples come does not matter, but for rounding. */
TEST(order_does_not_matter)
{
    enum { SAMPLES = 5000 };
    unsigned order[SAMPLES];
    SurveyPoint points[3][SURVEY_BUCKETS];
    uint64_t seed = 7, width[3] = {0};
    for (unsigned way = 0; way < 3; way++) {
        Survey *s = survey_new(true);
        for (unsigned i = 0; i < SAMPLES; i++)
            order[i] = way == 1 ? SAMPLES - 1 - i : i;
        for (unsigned i = SAMPLES - 1; way == 2 && i > 0; i--) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            unsigned k = (unsigned)((seed >> 33) % (i + 1)), swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        for (unsigned i = 0; i < SAMPLES; i++)
            add(s, order[i] % 3 ? "a" : "b", START_S + 60 * order[i], GIB + order[i], order[i] % 2);
        width[way] = s->width_s;
        survey_series_all(s, points[way]);
        assert_int_equal(s->first_s, START_S);
        assert_int_equal(s->last_s, START_S + 60 * (SAMPLES - 1));
        unsigned count = survey_series_count(s);
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(points[way][i].known, points[0][i].known);
            assert_true(points[way][i].mean_kb - points[0][i].mean_kb < 0.001);
            assert_true(points[0][i].mean_kb - points[way][i].mean_kb < 0.001);
        }
        survey_free(s);
    }
    assert_true(width[0] == width[1] && width[1] == width[2]);
}

/* ---- the figures ----------------------------------------------------------------------------- */

typedef struct Elements {
    unsigned polylines, lines, texts, points;
    bool outside; /* a point that is no number or far from the picture */
    char text[65536];
} Elements;

static void on_start(GMarkupParseContext *c, const char *name, const char **names,
                     const char **values, void *ctx, GError **error)
{
    Elements *e = ctx;
    e->lines += strcmp(name, "line") == 0;
    e->texts += strcmp(name, "text") == 0;
    if (strcmp(name, "polyline") != 0)
        return;
    e->polylines++;
    for (; *names; names++, values++) {
        if (strcmp(*names, "points") != 0)
            continue;
        for (char *at = (char *)(uintptr_t)*values; *at;) {
            double x = strtod(at, &at);
            double y = *at == ',' ? strtod(at + 1, &at) : -1;
            e->points++;
            e->outside |= !(x >= 50 && x < 1200 && y >= 50 && y < 3000);
            at += strspn(at, " ");
        }
    }
}

static void on_text(GMarkupParseContext *c, const char *text, gsize len, void *ctx, GError **error)
{
    Elements *e = ctx;
    size_t used = strlen(e->text);
    (void)snprintf(e->text + used, sizeof e->text - used, "%.*s\n", (int)len, text);
}

static size_t draw(const Survey *s, void (*figure)(FILE *, const Survey *), Elements *ret)
{
    static const GMarkupParser parser = {.start_element = on_start, .text = on_text};
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    figure(f, s);
    (void)fclose(f);
    memset(ret, 0, sizeof *ret);
    GMarkupParseContext *c = g_markup_parse_context_new(&parser, 0, ret, NULL);
    GError *error = NULL;
    if (!g_markup_parse_context_parse(c, text, (gssize)len, &error) ||
        !g_markup_parse_context_end_parse(c, &error))
        fail_msg("%s", error->message);
    g_markup_parse_context_free(c);
    free(text);
    assert_false(ret->outside);
    return len;
}

static Elements elements;

static Survey *days(unsigned hosts, unsigned minutes)
{
    char name[32];
    uint64_t noise = 1;
    Survey *s = survey_new(true);
    for (unsigned h = 0; h < hosts; h++) {
        (void)snprintf(name, sizeof name, "host%u", h);
        for (unsigned i = 0; i < minutes; i++) {
            noise = noise * 6364136223846793005ull + 1442695040888963407ull;
            add(s, name, START_S + 60 * i, 2 * GIB + (noise >> 33) % (4 * GIB), noise >> 63);
        }
    }
    survey_finish(s);
    return s;
}

TEST(figure_1_has_two_lines)
{
    Survey *s = days(5, 7 * 24 * 60);
    size_t len = draw(s, survey_draw_all, &elements);
    assert_int_equal(elements.polylines, 2);
    assert_true(elements.points > SURVEY_BUCKETS);
    assert_true(len < 60000);
    assert_non_null(strstr(elements.text, "Time, days"));
    assert_non_null(strstr(elements.text, "Memory, GiB"));
    assert_non_null(strstr(elements.text, "All hosts"));
    assert_non_null(strstr(elements.text, "Idle hosts only"));
    assert_non_null(strstr(elements.text, "5 hosts together, from 2026-11-21 21:11 UTC"));
    survey_free(s);
}

TEST(figure_2_has_a_panel_for_each_host)
{
    Survey *s = days(5, 3 * 24 * 60);
    size_t len = draw(s, survey_draw_hosts, &elements);
    assert_int_equal(elements.polylines, 10);
    assert_true(len < 5 * 20000);
    assert_non_null(strstr(elements.text, "host0, 8 GiB"));
    assert_non_null(strstr(elements.text, "host4, 8 GiB"));
    survey_free(s);
}

TEST(figure_2_takes_some_of_each_size)
{
    Survey *s = days(100, 5);
    for (unsigned i = 0; i < 3; i++) {
        SurveySample one = {.time_s = START_S + i};
        survey_sample_host(&one, "small");
        one.kb[SURVEY_total] = one.kb[SURVEY_available] = GIB;
        assert_true(survey_add(s, &one));
    }
    survey_finish(s);
    size_t len = draw(s, survey_draw_hosts, &elements);
    assert_int_equal(elements.polylines, 2 * SURVEY_PANELS_MAX);
    assert_true(len < 24 * 20000);
    assert_non_null(strstr(elements.text, "24 of 101 hosts"));
    assert_non_null(strstr(elements.text, "small, 1 GiB"));
    survey_free(s);
}

/* Nothing is divided by nothing. */
TEST(one_sample_is_a_figure)
{
    Survey *s = survey_new(true);
    add(s, "a", START_S, 0, false);
    survey_finish(s);
    (void)draw(s, survey_draw_all, &elements);
    assert_int_equal(elements.polylines, 2);
    (void)draw(s, survey_draw_hosts, &elements);
    assert_int_equal(elements.polylines, 2);
    survey_free(s);
}

/* A level line needs no points in between. */
TEST(what_does_not_change_is_small)
{
    Survey *s = survey_new(true);
    for (unsigned i = 0; i < 100000; i++)
        add(s, "a", START_S + 60 * i, 3 * GIB, true);
    survey_finish(s);
    assert_true(draw(s, survey_draw_all, &elements) < 8000);
    assert_int_equal(elements.points, 4);
    survey_free(s);
}
