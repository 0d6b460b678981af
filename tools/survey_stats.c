/* SPDX-License-Identifier: MIT */
/* Sums over samples, by hosts and by groups of hosts. */
#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tools/survey.h"

/* ---- mean and deviation ---------------------------------------------------------------------- */

/* Welford's way: sums of squares would lose what is small beside the mean. */
void survey_moments_add(SurveyMoments *m, double v)
{
    double before = v - m->mean;
    m->mean += before / (double)++m->count;
    m->squares += before * (v - m->mean);
}

double survey_moments_deviation(const SurveyMoments *m)
{
    return m->count ? sqrt(m->squares / (double)m->count) : 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

enum { GROUPS_A_DOUBLING = 4 };

unsigned survey_group_of(uint64_t total_kb)
{
    total_kb = total_kb < GROUPS_A_DOUBLING ? GROUPS_A_DOUBLING : total_kb;
    unsigned power = 63 - (unsigned)__builtin_clzll(total_kb);
    uint64_t base = 1ull << power, step = base / GROUPS_A_DOUBLING;
    unsigned group = power * GROUPS_A_DOUBLING + (unsigned)((total_kb - base + step - 1) / step);
    return group < SURVEY_GROUPS_MAX ? group : SURVEY_GROUPS_MAX - 1;
}

uint64_t survey_group_kb(unsigned group)
{
    uint64_t base = 1ull << group / GROUPS_A_DOUBLING;
    return base + base / GROUPS_A_DOUBLING * (group % GROUPS_A_DOUBLING);
}

static void group_add(SurveyGroup *g, SurveyHost *h, unsigned index, const SurveySample *sample)
{
    uint64_t bit = 1ull << index % 64;
    if (!(h->groups[index / 64] & bit))
        g->hosts++;
    h->groups[index / 64] |= bit;
    g->idle_samples += sample->idle;
    for (int i = 0; i < SURVEY_MEMORY_COUNT; i++)
        survey_moments_add(&g->kb[i], (double)sample->kb[i]);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static SurveyHost *host_new(Survey *s, const char *name)
{
    if (s->host_count == SURVEY_HOSTS_MAX)
        return NULL;
    SurveyHost *h = g_new0(SurveyHost, 1);
    g_strlcpy(h->name, name, sizeof h->name);
    if (s->series)
        h->buckets = g_new0(SurveyBucket, SURVEY_BUCKETS);
    s->hosts[s->host_count++] = h;
    g_hash_table_insert(s->by_name, h->name, h);
    return h;
}

static SurveyHost *host_of(Survey *s, const char *name)
{
    if (s->last && strcmp(s->last->name, name) == 0)
        return s->last;
    SurveyHost *h = g_hash_table_lookup(s->by_name, name);
    if (!h)
        h = host_new(s, name);
    s->last = h ? h : s->last;
    return h;
}

static void host_add(SurveyHost *h, const SurveySample *sample)
{
    double available = (double)sample->kb[SURVEY_available];
    double lendable = (double)sample->kb[SURVEY_lendable];
    h->samples++;
    h->total_kb = sample->kb[SURVEY_total];
    survey_moments_add(&h->total, (double)h->total_kb);
    survey_moments_add(&h->available, available);
    survey_moments_add(&h->available_idle, sample->idle ? available : 0);
    survey_moments_add(&h->lendable, lendable);
    survey_moments_add(&h->lendable_idle, sample->idle ? lendable : 0);
}

/* ---- all ------------------------------------------------------------------------------------- */

Survey *survey_new(bool series)
{
    Survey *s = g_new0(Survey, 1);
    s->series = series;
    s->hosts = g_new0(SurveyHost *, SURVEY_HOSTS_MAX);
    s->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    return s;
}

Survey *survey_free(Survey *s)
{
    if (!s)
        return NULL;
    g_hash_table_unref(s->by_name);
    for (unsigned i = 0; i < s->host_count; i++) {
        g_free(s->hosts[i]->buckets);
        g_free(s->hosts[i]);
    }
    g_free(s->hosts);
    g_free(s);
    return NULL;
}

bool survey_add(Survey *s, const SurveySample *sample)
{
    SurveyHost *h = host_of(s, sample->host);
    if (!h)
        return false;
    unsigned index = survey_group_of(sample->kb[SURVEY_total]);
    host_add(h, sample);
    group_add(&s->groups[index], h, index, sample);
    if (s->series)
        survey_series_add(s, h, sample);
    s->first_s = s->samples ? min_u64(s->first_s, sample->time_s) : sample->time_s;
    s->last_s = max_u64(s->last_s, sample->time_s);
    s->samples++;
    return true;
}

static int by_name(const void *a, const void *b)
{
    const SurveyHost *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

void survey_finish(Survey *s)
{
    if (s->host_count)
        qsort(s->hosts, s->host_count, sizeof *s->hosts, by_name);
}
