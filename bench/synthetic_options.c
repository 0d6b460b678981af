/* SPDX-License-Identifier: MIT */
/* The command line of the synthetic benchmark. */
#include "bench/synthetic.h"

#include <string.h>

#include "examples/command_line.h"

enum {
    REQUEST_BYTES_MAX = 64 << 20,
    ITERATIONS_MAX = 1000000,
    REQUESTS_MAX = 1 << 28, /* the time of each is kept */
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
    "  --policy NAME         replacement policy of manage's cache: adaptive (the default), "
    "lru,\n"
    "                        mru, first-in, s3-fifo or sieve\n"
    "  --region-size SIZE    bytes of each Dodo region (default: 1M)\n"
    "  --prefetch            announce each Dodo region that is opened: it is read as a whole, in "
    "the\n"
    "                        background (dodo_prefetch)\n"
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

static int parse_pattern(void *options, const char *text)
{
    for (unsigned i = 0; i < PATTERN_MAX; i++)
        if (strcmp(text, pattern_names[i]) == 0) {
            ((Options *)options)->pattern = (enum Pattern)i;
            return 0;
        }
    return -1;
}

static int parse_compute(void *options, const char *text)
{
    Options *o = options;
    o->compute_sleeps = strcmp(text, "sleep") == 0;
    return o->compute_sleeps || strcmp(text, "spin") == 0 ? 0 : -1;
}

static int parse_backend(void *options, const char *text)
{
    Options *o = options;
    o->backend = backend_find(text);
    return o->backend ? 0 : -1;
}

#define AT(field) offsetof(Options, field)
static const CommandOption option_table[] = {
    {"file", OPTION_TEXT, AT(file)},
    {"make", OPTION_FLAG, AT(make)},
    {"size", OPTION_SIZE, AT(size_bytes)},
    {"request", OPTION_SIZE, AT(request_bytes)},
    {"iterations", OPTION_COUNT, AT(iterations), 1, ITERATIONS_MAX},
    {"pattern", OPTION_OTHER, .parse = parse_pattern},
    {"backend", OPTION_OTHER, .parse = parse_backend},
    {"policy", OPTION_TEXT, AT(policy)},
    {"region-size", OPTION_SIZE, AT(region_bytes)},
    {"compute-time", OPTION_TIME, AT(compute_ns)},
    {"compute", OPTION_OTHER, .parse = parse_compute},
    {"hot-data", OPTION_COUNT, AT(hot_data_percent), 1, 99},
    {"hot-requests", OPTION_COUNT, AT(hot_requests_percent), 0, 100},
    {"histogram", OPTION_FLAG, AT(histogram)},
    {"prefetch", OPTION_FLAG, AT(prefetch)},
    {"seed", OPTION_COUNT, AT(seed), 0, UINT64_MAX},
    {"json", OPTION_FLAG, AT(json)},
    {"progress", OPTION_FLAG, AT(progress)},
    {NULL},
};

/* What is wrong with the options as a whole; NULL: nothing. */
static const char *find_fault(const void *options, char *text)
{
    const Options *o = options;
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
    if (o->prefetch && o->backend != &backend_dodo)
        return "--prefetch is for --backend dodo";
    if (o->policy && !backend_has_policy(o->backend, o->policy))
        return "the back end has no such --policy";
    return NULL;
}

static const CommandLine command_line = {
    .program = "dodo-synthetic",
    .version = "dodo-synthetic " DODO_VERSION,
    .help = help_text,
    .options = option_table,
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
