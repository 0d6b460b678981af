/* SPDX-License-Identifier: MIT */
/* What the synthetic benchmark tells at its end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "bench/synthetic.h"

enum { HISTOGRAM = 24, BAR_MAX = 40 }; /* up to 8 s */
static const char bar_text[] = "****************************************";
_Static_assert(sizeof bar_text == BAR_MAX + 1, "a bar");

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

/* By powers of two of a microsecond, the first from 0, the last without an end. */
static void count_times(const Run *run, uint64_t counts[HISTOGRAM])
{
    memset(counts, 0, HISTOGRAM * sizeof *counts);
    for (uint64_t i = 0; i < run->done; i++) {
        unsigned k = 0;
        while (k < HISTOGRAM - 1 && run->request_ns[i] >= NS_PER_US << k)
            k++;
        counts[k]++;
    }
}

/* Pairs of an upper bound in us, which is outside, and a count; of what holds any. */
static void print_histogram_json(const Run *run)
{
    uint64_t counts[HISTOGRAM];
    const char *comma = "";
    count_times(run, counts);
    printf("\"histogram_us\":[");
    for (unsigned k = 0; k < HISTOGRAM; k++)
        if (counts[k] > 0) {
            printf("%s[%u,%" PRIu64 "]", comma, 1u << k, counts[k]);
            comma = ",";
        }
    printf("],");
}

static void print_histogram(const Run *run)
{
    uint64_t counts[HISTOGRAM], most = 1;
    unsigned first = HISTOGRAM, last = 0;
    count_times(run, counts);
    for (unsigned k = 0; k < HISTOGRAM; k++)
        if (counts[k] > 0) {
            first = k < first ? k : first;
            last = k;
            most = counts[k] > most ? counts[k] : most;
        }
    for (unsigned k = first; k <= last; k++) {
        int bar = (int)((counts[k] * BAR_MAX + most - 1) / most);
        printf("from %8u us %12" PRIu64 " %5.1f %% %.*s\n", k ? 1u << (k - 1) : 0, counts[k],
               100.0 * (double)counts[k] / (double)run->done, bar, bar_text);
    }
}

static void print_json(const Run *run, const Sources *s)
{
    const Options *o = run->options;
    printf("{\"pattern\":\"%s\",\"backend\":\"%s\",\"size_bytes\":%" PRIu64
           ",\"request_bytes\":%" PRIu64 ",\"region_bytes\":%" PRIu64 ",\"iterations\":%" PRIu64
           ",\"compute_time_s\":%g,\"compute\":\"%s\",\"hot_data_percent\":%" PRIu64
           ",\"hot_requests_percent\":%" PRIu64 ",\"seed\":%" PRIu64 ",",
           pattern_names[o->pattern], o->backend->name, o->size_bytes, o->request_bytes,
           o->region_bytes, o->iterations, seconds(o->compute_ns),
           o->compute_sleeps ? "sleep" : "spin", o->hot_data_percent, o->hot_requests_percent,
           o->seed);
    printf("\"requests\":%" PRIu64 ",\"seconds\":%.6f,\"mb_per_s\":%.3f,\"iteration_seconds\":[",
           run->done, seconds(run->total_ns),
           (double)run->verified_bytes / 1e6 / seconds(run->total_ns));
    for (uint64_t i = 0; i < o->iterations; i++)
        printf("%s%.6f", i ? "," : "", seconds(run->iteration_ns[i]));
    printf("],\"read_seconds\":%.6f,\"request_us_p50\":%.1f,\"request_us_p99\":%.1f,",
           seconds(run->read_ns), bench_percentile(run->request_ns, run->done, 500) / 1e3,
           bench_percentile(run->request_ns, run->done, 990) / 1e3);
    if (o->histogram)
        print_histogram_json(run);
    printf("\"local_bytes\":%" PRIu64 ",\"remote_bytes\":%" PRIu64 ",\"file_bytes\":%" PRIu64
           ",\"regions_opened\":%" PRIu64 ",\"regions_failed\":%" PRIu64
           ",\"regions_lost\":%" PRIu64 ",\"verified_bytes\":%" PRIu64 ",\"wrong_bytes\":%" PRIu64
           ",\"errors\":%d}\n",
           s->local_bytes, s->remote_bytes, s->file_bytes, s->regions_opened, s->regions_failed,
           s->regions_lost, run->verified_bytes, run->wrong_bytes, run->wrong_bytes > 0);
}

static void print_text(const Run *run, const Sources *s)
{
    const Options *o = run->options;
    printf("%s on %s: %" PRIu64 " requests of %" PRIu64 " bytes in %.2f s, %.2f MB/s; "
           "%.0f %% of the bytes from remote memory; %" PRIu64 " bytes verified, %" PRIu64
           " wrong\n",
           pattern_names[o->pattern], o->backend->name, run->done, o->request_bytes,
           seconds(run->total_ns), (double)run->verified_bytes / 1e6 / seconds(run->total_ns),
           100.0 * (double)s->remote_bytes / (double)run->verified_bytes, run->verified_bytes,
           run->wrong_bytes);
    if (o->histogram)
        print_histogram(run);
}

void synthetic_print(Run *run, const Sources *s)
{
    (run->options->json ? print_json : print_text)(run, s);
}
