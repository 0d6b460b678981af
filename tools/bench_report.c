/* SPDX-License-Identifier: MIT */
/* What dodo bench prints. */
#include <inttypes.h>

#include "base/parse.h"
#include "base/time.h"
#include "tools/bench.h"

enum { HOSTS_SHOWN = 64 };

typedef struct Figures {
    double p50_us, p99_us, p999_us, max_us, mean_us;
    double mb_per_s, cpu_us_per_mib, remote_share;
} Figures;

static double us(uint64_t ns)
{
    return (double)ns / NS_PER_US;
}

static Figures figures_of(const BenchRow *r)
{
    const Histogram *h = &r->times;
    uint64_t bytes = h->count * r->size;
    uint64_t read = r->sources.remote_bytes + r->sources.file_bytes;
    return (Figures){
        .p50_us = us(histogram_quantile(h, 50, 100)),
        .p99_us = us(histogram_quantile(h, 99, 100)),
        .p999_us = us(histogram_quantile(h, 999, 1000)),
        .max_us = us(h->greatest),
        .mean_us = h->count ? us(h->sum) / (double)h->count : 0,
        .mb_per_s = r->calls_per_s * (double)r->size / 1e6,
        .cpu_us_per_mib = bytes ? us(r->cpu_ns) / ((double)bytes / (1 << 20)) : 0,
        .remote_share = read ? (double)r->sources.remote_bytes / (double)read : 0,
    };
}

void bench_print_stage(FILE *to, const BenchArea *a, const BenchOptions *o)
{
    char hosts[HOSTS_SHOWN][BENCH_HOST_MAX], area[32], region[32];
    unsigned count = bench_area_hosts(a, hosts, HOSTS_SHOWN);
    uint64_t regions = bench_regions(&a->layout);
    (void)fprintf(to, "%s in %" PRIu64 " region%s of %s on %u host%s:",
                  format_size(a->layout.area_bytes, area, sizeof area), regions,
                  regions == 1 ? "" : "s",
                  format_size(bench_region_length(&a->layout, 0), region, sizeof region), count,
                  count == 1 ? "" : "s");
    for (unsigned i = 0; i < count; i++)
        (void)fprintf(to, " %s", hosts[i]);
    (void)fprintf(to, "; %" PRIu64 " thread%s, %s\n", o->threads, o->threads == 1 ? "" : "s",
                  bench_pattern_names[o->pattern]);
}

void bench_print_row(FILE *to, const BenchRow *r, bool first)
{
    char size[32];
    Figures f = figures_of(r);
    if (first)
        (void)fprintf(to, "%-5s %10s %9s %9s %9s %9s %9s %9s %10s %7s\n", "CALL", "SIZE", "CALLS/S",
                      "MB/S", "P50 US", "P99 US", "P99.9 US", "MAX US", "CPU US/MIB", "REMOTE");
    (void)fprintf(to, "%-5s %10s %9.0f %9.1f %9.1f %9.1f %9.1f %9.1f %10.0f %6.1f%%\n",
                  r->write ? "write" : "read", format_size(r->size, size, sizeof size),
                  r->calls_per_s, f.mb_per_s, f.p50_us, f.p99_us, f.p999_us, f.max_us,
                  f.cpu_us_per_mib, 100 * f.remote_share);
    (void)fflush(to);
}

static void print_row_json(FILE *to, const BenchRow *r)
{
    Figures f = figures_of(r);
    (void)fprintf(to,
                  "{\"call\":\"%s\",\"size_bytes\":%" PRIu64 ",\"calls\":%" PRIu64
                  ",\"calls_per_s\":%.3f,\"mb_per_s\":%.3f,\"p50_us\":%.3f,\"p99_us\":%.3f,"
                  "\"p99_9_us\":%.3f,\"max_us\":%.3f,\"mean_us\":%.3f,",
                  r->write ? "write" : "read", r->size, r->times.count, r->calls_per_s, f.mb_per_s,
                  f.p50_us, f.p99_us, f.p999_us, f.max_us, f.mean_us);
    (void)fprintf(to,
                  "\"cpu_us_per_mib\":%.3f,\"remote_share\":%.6f,\"remote_bytes\":%" PRIu64
                  ",\"file_bytes\":%" PRIu64 ",\"checked_bytes\":%" PRIu64
                  ",\"wrong_bytes\":%" PRIu64 "}",
                  f.cpu_us_per_mib, f.remote_share, r->sources.remote_bytes, r->sources.file_bytes,
                  r->checked_bytes, r->wrong_bytes);
}

/* Addresses have no character that JSON would want escaped. */
void bench_print_json(FILE *to, const BenchArea *a, const BenchOptions *o, const BenchRow *rows,
                      unsigned count)
{
    char hosts[HOSTS_SHOWN][BENCH_HOST_MAX];
    unsigned hosts_count = bench_area_hosts(a, hosts, HOSTS_SHOWN);
    uint64_t wrong = 0;
    (void)fprintf(to,
                  "{\"version\":\"%s\",\"area_bytes\":%" PRIu64 ",\"region_bytes\":%" PRIu64
                  ",\"regions\":%" PRIu64 ",\"threads\":%" PRIu64
                  ",\"pattern\":\"%s\",\"seconds\":%.3f,\"pause_us\":%.3f,\"hosts\":[",
                  DODO_VERSION, a->layout.area_bytes, bench_region_length(&a->layout, 0),
                  bench_regions(&a->layout), o->threads, bench_pattern_names[o->pattern],
                  (double)o->time_ns / NS_PER_S, us(o->pause_ns));
    for (unsigned i = 0; i < hosts_count; i++)
        (void)fprintf(to, "%s\"%s\"", i ? "," : "", hosts[i]);
    (void)fputs("],\"runs\":[", to);
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            (void)fputc(',', to);
        print_row_json(to, &rows[i]);
        wrong += rows[i].wrong_bytes;
    }
    (void)fprintf(to, "],\"wrong_bytes\":%" PRIu64 "}\n", wrong);
}
