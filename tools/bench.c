/* SPDX-License-Identifier: MIT */
/* dodo bench: how fast the cluster is for a client on this host, through the library. */
#include "tools/bench.h"

#include <dodo/dodo.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/printable.h"
#include "base/time.h"
#include "daemon/start.h"
#include "tools/command.h"

#define OPTION(field) offsetof(BenchOptions, field)

static const ConfigKey keys[] = {
    {NULL, "read", "Measure reads; so it is if neither is given", NULL, OPTION(read), CONFIG_BOOL},
    {NULL, "write", "Measure writes, after the reads if both are given", NULL, OPTION(write),
     CONFIG_BOOL},
    {NULL, "size", "Bytes a call, or several: 4K,8K,1M; 8K if not given", "SIZES", OPTION(size),
     CONFIG_TEXT},
    {NULL, "threads", "Threads that call at once, each in a part of its own; 1 if not given", "N",
     OPTION(threads), CONFIG_COUNT, 1, BENCH_THREADS_MAX},
    {NULL, "pattern", "sequential, or random if not given", "PATTERN", OPTION(pattern_name),
     CONFIG_TEXT},
    {NULL, "seconds", "How long each size is measured; 2s if not given", "TIME", OPTION(time_ns),
     CONFIG_TIME, NS_PER_MS, 24 * 3600 * NS_PER_S},
    {NULL, "pause", "Pause of each thread after a call; none if not given", "TIME",
     OPTION(pause_ns), CONFIG_TIME, 0, NS_PER_S},
    {NULL, "area", "Bytes that the calls go to; 64M if not given", "SIZE", OPTION(area_bytes),
     CONFIG_SIZE, 1, (uint64_t)1 << 40},
    {NULL, "region_size", "Bytes of each region of it; 16M if not given", "SIZE",
     OPTION(region_bytes), CONFIG_SIZE, 1, (uint64_t)1 << 40},
    {NULL, "file", "Read regions of this file, instead of a temporary one", "FILE", OPTION(file),
     CONFIG_TEXT},
    {NULL, "dir", "Where the temporary file is made; TMPDIR or /tmp if not given", "DIR",
     OPTION(dir), CONFIG_TEXT},
    {NULL, "progress", "Report progress on standard error; on a terminal always", NULL,
     OPTION(progress), CONFIG_BOOL},
    {NULL, "json", "Print JSON", NULL, OPTION(tool.json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo bench",
    .reader = CONF_TOOL,
    .summary = "Measures reads and writes of remote memory from this host. Every byte is checked.",
    .tables = {&own, &config_manager, &tool_timeout, &config_common},
};

/* ---- signals --------------------------------------------------------------------------------- */

volatile sig_atomic_t bench_signal;

static void on_signal(int number)
{
    bench_signal = number;
}

/* The first one ends the run in order, the next one at once: nothing is left behind either way. */
static void signals_take(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* ---- options --------------------------------------------------------------------------------- */

static void options_init(BenchOptions *o)
{
    const char *tmp = g_getenv("TMPDIR");
    *o = (BenchOptions){.size = g_strdup("8K"),
                        .pattern_name = g_strdup(bench_pattern_names[BENCH_RANDOM]),
                        .dir = g_strdup(tmp && *tmp ? tmp : "/tmp"),
                        .threads = 1,
                        .time_ns = 2 * NS_PER_S,
                        .area_bytes = 64 << 20,
                        .region_bytes = 16 << 20,
                        .progress = isatty(STDERR_FILENO)};
    tool_options_init(&o->tool);
}

/* What the options mean together; 0, or -EINVAL with @error. */
static int options_judge(BenchOptions *o, char *error)
{
    BenchLayout layout = {o->area_bytes, o->region_bytes};
    char text[32], shown[100];
    if (!o->write)
        o->read = true;
    if (bench_sizes_parse(o->size, &o->sizes) < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "--size %s: expected up to %u sizes such as 8K or 4K,8K,1M, from 1 B to %s",
                       printable_short(o->size, shown, sizeof shown), (unsigned)BENCH_SIZES_MAX,
                       format_size(BENCH_CALL_MAX, text, sizeof text));
    else if (bench_pattern_parse(o->pattern_name, &o->pattern) < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "--pattern %s: expected sequential or random",
                       printable_short(o->pattern_name, shown, sizeof shown));
    else if (o->file && o->write)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "--file is only read: leave --write or --file away");
    else if (bench_regions(&layout) > BENCH_REGIONS_MAX)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "--area and --region-size make %" PRIu64 " regions: give larger ones",
                       bench_regions(&layout));
    else
        for (unsigned i = 0; i < o->sizes.count; i++)
            if (bench_slots(&layout, o->sizes.bytes[i]) < o->threads)
                (void)snprintf(error, CONFIG_ERROR_MAX,
                               "calls of %s do not fit: give a larger --area or --region-size, or "
                               "fewer --threads",
                               format_size(o->sizes.bytes[i], text, sizeof text));
    return *error ? -EINVAL : 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* The tool's own words about a cluster that does not answer are plainer than the library's. */
static int greet(const BenchOptions *o, char *error)
{
    ToolClient c;
    int res = tool_client_open_manager(&c, &o->tool, NULL, error);
    if (res == 0)
        tool_client_close(&c);
    return res;
}

static int measure_all(const BenchArea *a, const BenchOptions *o, BenchRow *rows, char *error)
{
    unsigned count = 0;
    uint64_t wrong = 0;
    int res = 0;
    if (!o->tool.json)
        bench_print_stage(stdout, a, o);
    for (int write = !o->read; write <= (int)o->write && res == 0; write++) {
        for (unsigned i = 0; i < o->sizes.count && res == 0; i++) {
            BenchRow *row = &rows[count];
            res = bench_run(a, o, write, o->sizes.bytes[i], row, error);
            if (res == 0 && !o->tool.json)
                bench_print_row(stdout, row, count == 0);
            wrong += row->wrong_bytes;
            count += res == 0;
        }
    }
    if (res == 0 && o->tool.json)
        bench_print_json(stdout, a, o, rows, count);
    if (res == 0 && wrong > 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%" PRIu64 " bytes were wrong", wrong);
        res = -EIO;
    }
    return res;
}

static int bench(const BenchOptions *o, char *error)
{
    BenchArea area = {.fd = -1};
    BenchRow *rows CLEANUP_FREE = calloc(2 * BENCH_SIZES_MAX, sizeof *rows);
    int res = rows ? greet(o, error) : -ENOMEM;
    if (res < 0)
        return res;
    start_tell_library(&o->tool.common);
    res = bench_area_open(&area, o, error);
    if (res == 0)
        res = bench_area_fill(&area, o->progress, error);
    if (res == 0)
        res = measure_all(&area, o, rows, error);
    bench_area_close(&area);
    return res;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    BenchOptions o;
    int status = EXIT_SUCCESS;
    options_init(&o);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK && options_judge(&o, error) < 0)
        outcome = CONFIG_USAGE;
    if (outcome != CONFIG_OK) {
        status = start_config_failed(&program, outcome, error);
    } else {
        signals_take();
        int res = bench(&o, error);
        if (bench_signal)
            (void)snprintf(error, sizeof error, "interrupted");
        if (res < 0 || bench_signal)
            status = start_failed(&program, EXIT_START, *error ? error : strerror(-res));
    }
    config_clear(&program, &o);
    if (bench_signal) { /* who waits for this process should see what ended it */
        (void)signal(bench_signal, SIG_DFL);
        (void)raise(bench_signal);
    }
    return status;
}

const Command command_bench = {"bench", "Measure reads and writes of remote memory", run};
