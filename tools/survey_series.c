/* SPDX-License-Identifier: MIT */
/* What was available over time, in buckets that all hosts share. Their width doubles whenever a
 * sample would need one too many, so that recordings of any length, in any order, take the same
 * room. */
#include <string.h>

#include "tools/survey.h"

static void merge(SurveyBucket *into, const SurveyBucket *from)
{
    if (from->count == 0)
        return;
    into->least_kb =
        into->count && into->least_kb < from->least_kb ? into->least_kb : from->least_kb;
    into->sum_kb += from->sum_kb;
    into->idle_sum_kb += from->idle_sum_kb;
    into->count += from->count;
}

/* ---- making room ----------------------------------------------------------------------------- */

static void move(const Survey *s, SurveyBucket *buckets, uint64_t origin, uint64_t width_s)
{
    SurveyBucket moved[SURVEY_BUCKETS] = {0};
    for (uint64_t i = 0; i < SURVEY_BUCKETS; i++)
        if (buckets[i].count)
            merge(&moved[(s->origin + i) * s->width_s / width_s - origin], &buckets[i]);
    memcpy(buckets, moved, sizeof moved);
}

/* Of the times seen so far and @time_s. The free room is where the series grew last, so that
 * samples that go one way rarely move everything. */
static void make_room(Survey *s, uint64_t time_s)
{
    bool earlier = time_s < s->first_s;
    uint64_t first_s = earlier ? time_s : s->first_s, last_s = earlier ? s->last_s : time_s;
    uint64_t width_s = s->width_s;
    while (last_s / width_s - first_s / width_s >= SURVEY_BUCKETS)
        width_s *= 2;
    uint64_t origin = first_s / width_s;
    if (earlier && last_s / width_s >= SURVEY_BUCKETS - 1)
        origin = last_s / width_s - (SURVEY_BUCKETS - 1);
    for (unsigned i = 0; i < s->host_count; i++)
        move(s, s->hosts[i]->buckets, origin, width_s);
    s->origin = origin;
    s->width_s = width_s;
}

void survey_series_add(Survey *s, SurveyHost *h, const SurveySample *sample)
{
    uint64_t time_s = sample->time_s;
    if (s->samples == 0) {
        s->width_s = 1;
        s->origin = time_s;
    } else if (time_s / s->width_s < s->origin ||
               time_s / s->width_s - s->origin >= SURVEY_BUCKETS) {
        make_room(s, time_s);
    }
    double kb = (double)sample->kb[SURVEY_available];
    SurveyBucket one = {
        .sum_kb = kb, .idle_sum_kb = sample->idle ? kb : 0, .least_kb = (float)kb, .count = 1};
    merge(&h->buckets[time_s / s->width_s - s->origin], &one);
}

/* ---- what came of it ------------------------------------------------------------------------- */

unsigned survey_series_count(const Survey *s)
{
    return s->samples ? (unsigned)(s->last_s / s->width_s - s->first_s / s->width_s + 1) : 0;
}

static SurveyPoint point_of(const SurveyBucket *b)
{
    if (b->count == 0)
        return (SurveyPoint){.known = false};
    return (SurveyPoint){.known = true,
                         .mean_kb = b->sum_kb / b->count,
                         .idle_kb = b->idle_sum_kb / b->count,
                         .least_kb = (double)b->least_kb};
}

SurveyPoint survey_series_host(const SurveyHost *h, unsigned first, unsigned buckets)
{
    SurveyBucket sum = {0};
    for (unsigned i = first; i < first + buckets && i < SURVEY_BUCKETS; i++)
        merge(&sum, &h->buckets[i]);
    return point_of(&sum);
}

static void add_host(const Survey *s, const SurveyHost *h, unsigned first, unsigned count,
                     SurveyPoint *ret)
{
    SurveyPoint held = {.known = false};
    unsigned held_at = 0;
    for (unsigned i = 0; i < count; i++) {
        SurveyPoint p = point_of(&h->buckets[first + i]);
        if (p.known) {
            held = p;
            held_at = i;
        } else if ((i - held_at) * s->width_s <= SURVEY_HOLD_S) {
            p = held;
        }
        if (!p.known)
            continue;
        ret[i].known = true;
        ret[i].mean_kb += p.mean_kb;
        ret[i].idle_kb += p.idle_kb;
        ret[i].least_kb += p.least_kb;
    }
}

void survey_series_all(const Survey *s, SurveyPoint *ret)
{
    unsigned count = survey_series_count(s);
    unsigned first = (unsigned)(s->first_s / (s->width_s ? s->width_s : 1) - s->origin);
    memset(ret, 0, count * sizeof *ret);
    for (unsigned i = 0; i < s->host_count; i++)
        add_host(s, s->hosts[i], first, count, ret);
}
