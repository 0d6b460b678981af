/* SPDX-License-Identifier: MIT */
/* The command line of the synthetic benchmark. */
#include "examples/synthetic.h"

#include <string.h>

#include "base/parse.h"
#include "examples/command_line.h"

enum {
    REQUEST_BYTES_MAX = 64 << 20,
    ITERATIONS_MAX = 1000000,
    REQUESTS_MAX = 1 << 28, /* the time of each is kept */
};

enum {
    OPT_FILE = COMMAND_LINE_OWN,
    OPT_MAKE,
    OPT_SIZE,
    OPT_REQUEST,
    OPT_ITERATIONS,
    OPT_PATTERN,
    OPT_BACKEND,
    OPT_POLICY,
    OPT_REGION_SIZE,
    OPT_COMPUTE_TIME,
    OPT_COMPUTE,
    OPT_HOT_DATA,
    OPT_HOT_REQUESTS,
    OPT_HISTOGRAM,
    OPT_SEED,
    OPT_JSON,
    OPT_PROGRESS,
};

static const struct option long_options[] = {
    {"file", required_argument, NULL, OPT_FILE},
    {"make", no_argument, NULL, OPT_MAKE},
    {"size", required_argument, NULL, OPT_SIZE},
    {"request", required_argument, NULL, OPT_REQUEST},
    {"iterations", required_argument, NULL, OPT_ITERATIONS},
    {"pattern", required_argument, NULL, OPT_PATTERN},
    {"backend", required_argument, NULL, OPT_BACKEND},
    {"policy", required_argument, NULL, OPT_POLICY},
    {"region-size", required_argument, NULL, OPT_REGION_SIZE},
    {"compute-time", required_argument, NULL, OPT_COMPUTE_TIME},
    {"compute", required_argument, NULL, OPT_COMPUTE},
    {"hot-data", required_argument, NULL, OPT_HOT_DATA},
    {"hot-requests", required_argument, NULL, OPT_HOT_REQUESTS},
    {"histogram", no_argument, NULL, OPT_HISTOGRAM},
    {"seed", required_argument, NULL, OPT_SEED},
    {"json", no_argument, NULL, OPT_JSON},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    COMMAND_LINE_COMMON,
};

static const char help_text[] =
    "Usage: dodo-synthetic --file FILE [OPTION...]\n"
    "Reads a data set again and again in one of three patterns, from its disk or through Dodo,\n"
    "verifies every byte and says how long it took.\n"
    "\n"
    "  --file FILE           the data set\n"
    "  --make                make FILE a data set of --size bytes, then end\n"
    "  --size SIZE           bytes of it that are used (default: 64M)\n"
    "  --request SIZE        bytes a request (default: 32K)\n"
    "  --iterations N        how often as many requests are made as the set has (default: 4)\n"
    "  --pattern PATTERN     sequential, hotcold or random (default: random)\n"
    "  --hot-data PERCENT    of the set that is hot in hotcold (default: 20)\n"
    "  --hot-requests PERCENT  that go there (default: 80)\n"
    "  --backend BACKEND     disk, dodo, or manage, the region cache (default: dodo)\n"
    "  --policy NAME         replacement policy of manage's cache: lru (the default), mru or "
    "first-in\n"
    "  --region-size SIZE    bytes of each Dodo region (default: 1M)\n"
    "  --compute-time TIME   computing between requests (default: 0; the paper has 10ms)\n"
    "  --compute HOW         spin, which takes a processor (the default), or sleep\n"
    "  --seed N              of the random numbers (default: 1)\n"
    "  --json                the result as one JSON object\n"
    "  --histogram           how many requests took how long, by powers of two of 1 us\n"
    "  --progress            lines of progress on standard error\n"
    "  --help, --version\n"
    "\n"
    "Sizes take K, M, G; times take us, ms, s. The manager is found by DODO_MANAGER=ADDR:PORT and\n"
    "DODO_KEY=FILE, or by the file dodo.conf(5). Status: 0; 1: a read failed or a byte was wrong;\n"
    "2: bad command line.\n";

static int parse_pattern(const char *text, enum Pattern *ret)
{
    for (unsigned i = 0; i < PATTERN_MAX; i++)
        if (strcmp(text, pattern_names[i]) == 0) {
            *ret = (enum Pattern)i;
            return 0;
        }
    return -1;
}

static int parse_compute(const char *text, bool *ret_sleeps)
{
    *ret_sleeps = strcmp(text, "sleep") == 0;
    return *ret_sleeps || strcmp(text, "spin") == 0 ? 0 : -1;
}

/* One option with its argument: 0, or < 0 when the argument is no good. */
static int take_option(void *ctx, int opt, const char *arg)
{
    Options *o = ctx;
    switch (opt) {
    case OPT_FILE:
        o->file = arg;
        return 0;
    case OPT_MAKE:
        o->make = true;
        return 0;
    case OPT_SIZE:
        return parse_size(arg, &o->size_bytes);
    case OPT_REQUEST:
        return parse_size(arg, &o->request_bytes);
    case OPT_ITERATIONS:
        return parse_u64(arg, 1, ITERATIONS_MAX, &o->iterations);
    case OPT_PATTERN:
        return parse_pattern(arg, &o->pattern);
    case OPT_BACKEND:
        o->backend = backend_find(arg);
        return o->backend ? 0 : -1;
    case OPT_POLICY:
        o->policy = arg;
        return 0;
    case OPT_REGION_SIZE:
        return parse_size(arg, &o->region_bytes);
    case OPT_COMPUTE_TIME:
        return parse_time(arg, &o->compute_ns);
    case OPT_COMPUTE:
        return parse_compute(arg, &o->compute_sleeps);
    case OPT_HOT_DATA:
        return parse_u64(arg, 1, 99, &o->hot_data_percent);
    case OPT_HOT_REQUESTS:
        return parse_u64(arg, 0, 100, &o->hot_requests_percent);
    case OPT_HISTOGRAM:
        o->histogram = true;
        return 0;
    case OPT_SEED:
        return parse_u64(arg, 0, UINT64_MAX, &o->seed);
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_PROGRESS:
        o->progress = true;
        return 0;
    default:
        return -1;
    }
}

/* What is wrong with the options as a whole; NULL: nothing. */
static const char *find_fault(void *ctx, char *text)
{
    const Options *o = ctx;
    if (!o->file)
        return "--file is missing";
    if (o->size_bytes == 0 || o->size_bytes > INT64_MAX)
        return "--size must be at least 1";
    if (o->request_bytes == 0 || o->request_bytes > REQUEST_BYTES_MAX)
        return "--request must be from 1 to 64M";
    if (o->request_bytes > o->size_bytes)
        return "--request is larger than --size";
    if (o->size_bytes / o->request_bytes >= REQUESTS_MAX / o->iterations)
        return "these are too many requests: give a larger --request or fewer --iterations";
    if (o->region_bytes == 0 || o->region_bytes > INT64_MAX)
        return "--region-size must be at least 1";
    if (o->policy && !backend_has_policy(o->backend, o->policy))
        return "the back end has no such --policy";
    return NULL;
}

static const CommandLine command_line = {
    .program = "dodo-synthetic",
    .version = "dodo-synthetic " DODO_VERSION,
    .help = help_text,
    .options = long_options,
    .take = take_option,
    .find_fault = find_fault,
};

int options_parse(Options *o, int argc, char **argv, int *ret_status)
{
    *o = (Options){.backend = &backend_dodo,
                   .size_bytes = 64 << 20,
                   .request_bytes = 32 << 10,
                   .region_bytes = 1 << 20,
                   .iterations = 4,
                   .seed = 1,
                   .hot_data_percent = 20,
                   .hot_requests_percent = 80,
                   .pattern = PATTERN_RANDOM};
    return command_line_parse(&command_line, o, argc, argv, ret_status);
}
