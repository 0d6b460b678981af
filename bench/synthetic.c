/* SPDX-License-Identifier: MIT */
/* The paper's synthetic benchmark (5.2.2): in each iteration as many requests as the data set has,
 * one after the other, in one of three patterns:
 *   sequential  the whole set from its start to its end
 *   hotcold     80 % of the requests (--hot-requests) go to the first 20 % of the set (--hot-data);
 *               random within each part
 *   random      anywhere
 * Regions are made in the first iteration and given back at the end. Every byte is verified. */
#include "bench/synthetic.h"

#include <dodo/dodo.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/printable.h"
#include "base/random.h"
#include "base/time.h"
#include "base/written.h"
#include "examples/progress.h"

const char *const pattern_names[PATTERN_MAX] = {"sequential", "hotcold", "random"};

/* Which of @count requests of the set comes next. */
static uint64_t pick(const Options *o, uint64_t i, uint64_t count, Random *random)
{
    uint64_t hot = count * o->hot_data_percent / 100;
    switch (o->pattern) {
    case PATTERN_SEQUENTIAL:
        return i;
    case PATTERN_HOTCOLD:
        if (hot > 0 && random_below(random, 100) < o->hot_requests_percent)
            return random_below(random, hot);
        return hot + random_below(random, count - hot);
    case PATTERN_RANDOM:
    case PATTERN_MAX:
        break;
    }
    return random_below(random, count);
}

static void compute(uint64_t ns, bool sleep)
{
    uint64_t now, end = os_now_ns() + ns;
    while (ns > 0 && (now = os_now_ns()) < end)
        if (sleep) {
            struct timespec left = time_to_timespec(end - now);
            (void)nanosleep(&left, NULL);
        }
}

static int one_request(Run *run, Source *source, uint64_t index, void *buf)
{
    const Options *o = run->options;
    uint64_t offset = index * o->request_bytes, left = o->size_bytes - offset;
    size_t len = left < o->request_bytes ? (size_t)left : (size_t)o->request_bytes;
    uint64_t start = os_now_ns();
    int r = source_read(source, offset, buf, len);
    if (r < 0) {
        fprintf(stderr, "dodo-synthetic: reading %zu bytes at %" PRIu64 ": %s\n", len, offset,
                r == -ENODATA ? "the file is shorter" : strerror(-r));
        return r;
    }
    uint64_t ns = os_now_ns() - start;
    run->read_ns += ns;
    run->request_ns[run->done++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
    uint64_t wrong = bench_data_wrong(offset, buf, len);
    if (wrong > 0 && run->wrong_bytes == 0)
        fprintf(stderr, "dodo-synthetic: %" PRIu64 " of %zu bytes at %" PRIu64 " are wrong\n",
                wrong, len, offset);
    run->wrong_bytes += wrong;
    run->verified_bytes += len;
    return 0;
}

static int run_all(Run *run, Source *source)
{
    const Options *o = run->options;
    void *buf CLEANUP_FREE = malloc(o->request_bytes);
    Random random = {o->seed};
    Progress progress = {.on = o->progress};
    if (!buf)
        return -ENOMEM;
    for (uint64_t it = 0; it < o->iterations; it++) {
        char text[64];
        uint64_t start = os_now_ns();
        snprintf(text, sizeof text, "iteration %" PRIu64 " of %" PRIu64, it + 1, o->iterations);
        for (uint64_t i = 0; i < run->requests; i++) {
            int r = one_request(run, source, pick(o, i, run->requests, &random), buf);
            if (r < 0)
                return r;
            compute(o->compute_ns, o->compute_sleeps);
            progress_show(&progress, run->done, run->requests * o->iterations, text);
        }
        run->iteration_ns[it] = os_now_ns() - start;
        run->total_ns += run->iteration_ns[it];
    }
    return 0;
}

static int benchmark(const Options *o)
{
    uint64_t requests = (o->size_bytes + o->request_bytes - 1) / o->request_bytes;
    Run run = {.options = o, .requests = requests};
    SourceSettings settings = {.program = "dodo-synthetic",
                               .file = o->file,
                               .backend = o->backend,
                               .policy = o->policy,
                               .size_bytes = o->size_bytes,
                               .region_bytes = o->region_bytes,
                               .region_flags = DODO_RDONLY,
                               .prefetch = o->prefetch};
    Source source;
    int r = source_open(&source, &settings);
    run.iteration_ns = calloc(o->iterations, sizeof *run.iteration_ns);
    run.request_ns = calloc(requests * o->iterations, sizeof *run.request_ns);
    if (r == 0 && (!run.iteration_ns || !run.request_ns)) {
        fprintf(stderr, "dodo-synthetic: no memory for %" PRIu64 " requests\n", requests);
        r = -ENOMEM;
    }
    if (r == 0)
        r = run_all(&run, &source);
    source_close(&source);
    if (r == 0)
        synthetic_print(&run, &source.sources);
    free(run.iteration_ns);
    free(run.request_ns);
    return r < 0 || run.wrong_bytes > 0;
}

int main(int argc, char **argv)
{
    Options options;
    int status;
    os_keep_standard();
    if (options_parse(&options, argc, argv, &status) != 0)
        return status;
    if (!options.make)
        return written_check("dodo-synthetic", benchmark(&options));
    int r = bench_file_make(options.file, options.size_bytes);
    char shown[256];
    if (r < 0)
        fprintf(stderr, "dodo-synthetic: making %s: %s\n",
                printable_short(options.file, shown, sizeof shown), strerror(-r));
    return r < 0;
}
