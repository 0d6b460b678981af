/* SPDX-License-Identifier: MIT */
/* The parts of dodo survey: reading recordings, sums and series of bounded size, the report, the
 * figures. The command itself is survey.c. */
#ifndef DODO_TOOLS_SURVEY_H
#define DODO_TOOLS_SURVEY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "rmd/survey.h"

enum {
    SURVEY_HOSTS_MAX = 4096,
    SURVEY_GROUPS_MAX = 256, /* four for each doubling of memory */
    SURVEY_BUCKETS = 1024,   /* of time, in all; the width doubles when more would be needed */
    SURVEY_HOLD_S = 180,     /* a host's last sample stands for so long where none follows */
};

/* Mean and deviation of a stream; zeroed: empty. */
typedef struct SurveyMoments {
    uint64_t count;
    double mean, squares; /* of the differences from the mean */
} SurveyMoments;
void survey_moments_add(SurveyMoments *m, double v);
/* Of all that was added, not of what it may be a sample of: divided by the count. */
double survey_moments_deviation(const SurveyMoments *m);

/* Hosts of one memory size. */
typedef struct SurveyGroup {
    uint64_t hosts, idle_samples;
    SurveyMoments kb[SURVEY_MEMORY_COUNT];
} SurveyGroup;
/* The group of @total_kb: sizes are rounded up, four to each doubling, since a kernel manages a bit
 * less than is built in. */
unsigned survey_group_of(uint64_t total_kb);
uint64_t survey_group_kb(unsigned group);

typedef struct SurveyBucket {
    double sum_kb, idle_sum_kb; /* of available; the latter while idle */
    float least_kb;
    uint32_t count;
} SurveyBucket;

typedef struct SurveyHost {
    char name[SURVEY_HOST_MAX + 1];
    uint64_t total_kb; /* as of its last sample */
    uint64_t samples;
    SurveyMoments total, available, available_idle, lendable,
        lendable_idle; /* *_idle: 0 while busy */
    uint64_t groups[SURVEY_GROUPS_MAX / 64];
    SurveyBucket *buckets; /* SURVEY_BUCKETS; NULL: no series are kept */
} SurveyHost;

typedef struct Survey Survey;
struct Survey {
    bool series;
    SurveyGroup groups[SURVEY_GROUPS_MAX];
    SurveyHost **hosts; /* by their names after survey_finish(), until then as they came */
    unsigned host_count;
    void *by_name; /* GHashTable */
    SurveyHost *last;
    uint64_t samples, first_s, last_s;
    /* Buckets stand for [ (origin + i) * width_s, ... + width_s ). */
    uint64_t origin, width_s;
};

/* @series: buckets are kept, for figures. */
Survey *survey_new(bool series);
Survey *survey_free(Survey *s); /* NULL is fine; returns NULL */
/* False: of one host too many; left out. */
bool survey_add(Survey *s, const SurveySample *sample);
void survey_finish(Survey *s);

/* ---- survey_series.c ------------------------------------------------------------------------- */

/* Called by survey_add(). */
void survey_series_add(Survey *s, SurveyHost *h, const SurveySample *sample);
unsigned survey_series_count(const Survey *s); /* of buckets, from the first to the last in use */

typedef struct SurveyPoint {
    bool known;
    double mean_kb, idle_kb, least_kb;
} SurveyPoint;
/* What one host had available, over @buckets buckets from @first on. */
SurveyPoint survey_series_host(const SurveyHost *h, unsigned first, unsigned buckets);
/* All hosts together: the sums of what each had. @ret: survey_series_count() of them. */
void survey_series_all(const Survey *s, SurveyPoint *ret);

/* ---- survey_read.c --------------------------------------------------------------------------- */

/* What was left out of one recording. */
typedef struct SurveyLosses {
    uint64_t damaged, first_damaged; /* lines; the latter's number, from 1 */
    uint64_t foreign, hosts;         /* lines of another version; of hosts too many */
} SurveyLosses;
/* 0, or -errno of reading. */
int survey_read(Survey *s, FILE *from, SurveyLosses *ret);

/* ---- survey_report.c ------------------------------------------------------------------------- */

/* What the hosts have together if all are on, on the average. */
typedef struct SurveyTotals {
    double memory_kb, available_kb, available_idle_kb, lendable_kb, lendable_idle_kb;
} SurveyTotals;
SurveyTotals survey_totals(const Survey *s);

/* "23.5 GiB", "2026-11-21 21:15" (UTC); both return @buf, of 32 bytes. */
char *survey_size_text(double kb, char *buf, size_t cap);
char *survey_time_text(uint64_t time_s, char *buf, size_t cap);

/* @kb: in KiB, else in MiB. */
void survey_print_table(FILE *to, const Survey *s, bool kb);
void survey_print_json(FILE *to, const Survey *s, const SurveyLosses *losses);

/* ---- survey_svg.c ---------------------------------------------------------------------------- */

/* The paper's Figure 1: what is available in all, on all hosts and on idle ones. */
void survey_draw_all(FILE *to, const Survey *s);
/* Its Figure 2: a panel for each host, or for as many of each size if there are too many. */
enum { SURVEY_PANELS_MAX = 24 };
void survey_draw_hosts(FILE *to, const Survey *s);

#endif
