/* SPDX-License-Identifier: MIT */
/* manage-two: random reads of one or two files through the region cache, or by pread: what a read
 * of each file takes. The second file is cheap to read (on a tmpfs, say), the first is not; or the
 * kernel's cache holds a part of the first. Every byte is verified. Prints a line of JSON; status 1
 * if a byte was wrong or a read failed. */
#include <dodo/dodo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"
#include "examples/command_line.h"
#include "examples/source.h"

enum {
    FILES = 2,
    REQUESTS_MAX = 100000000,
    REQUEST_MAX = 1 << 20,
    WARM_BYTES = 128 << 10,
    REGION_BYTES = 1 << 30,
};

static const char help_text[] =
    "Usage: manage-two --file FILE [OPTION...]\n"
    "Reads FILE, and perhaps another one, at random places, through libmanage's region cache or "
    "by\n"
    "pread, and says what a read of each took.\n"
    "\n"
    "  --file FILE        a data set of dodo-synthetic --make\n"
    "  --cheap FILE       another one, which is cheap to read\n"
    "  --share PERCENT    of the reads that go to --file; the others go to --cheap (default: 100)\n"
    "  --warm PERCENT     of --file that the kernel's cache holds when the reads begin (default: "
    "0)\n"
    "  --request SIZE     bytes a read (default: 8K)\n"
    "  --requests N       reads (default: 10000)\n"
    "  --settle N         reads before those that are measured (default: 0)\n"
    "  --backend BACKEND  disk, which is pread, or manage (the default)\n"
    "  --seed N           of the random numbers (default: 1)\n"
    "  --help, --version\n";

typedef struct Options {
    const char *paths[FILES];
    const Backend *backend;
    uint64_t share_percent, warm_percent;
    uint64_t request_bytes, requests, settle, seed;
} Options;

typedef struct File {
    SourceSettings settings;
    Source source;
    uint64_t requests; /* that it has room for */
    uint32_t *ns;      /* of each read */
    uint64_t reads, total_ns;
} File;

typedef struct Run {
    Options options;
    File files[FILES];
    uint64_t wrong_bytes;
} Run;

/* ---- the files -------------------------------------------------------------------------------
 */

static int complain(const char *path, const char *what)
{
    fprintf(stderr, "manage-two: %s: %s\n", path, what);
    return -1;
}

/* What the kernel's cache holds: the file's first part, and nothing of the rest. */
static int warm(const File *f, uint64_t bytes)
{
    CLEANUP_FREE char *buf = malloc(WARM_BYTES);
    int fd = f->source.fd;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* advice: not more than is asked for */
    for (uint64_t at = 0; buf && at < bytes; at += WARM_BYTES)
        if (pread(fd, buf, WARM_BYTES, (off_t)at) < 0)
            return -1;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
    return buf ? 0 : -1;
}

static int open_file(Run *run, unsigned i)
{
    const Options *o = &run->options;
    File *f = &run->files[i];
    f->settings = (SourceSettings){.program = "manage-two",
                                   .file = o->paths[i],
                                   .backend = o->backend,
                                   .region_bytes = REGION_BYTES,
                                   .region_flags = DODO_RDONLY};
    if (!o->paths[i])
        return 0;
    if (source_open(&f->source, &f->settings) < 0)
        return -1; /* it has said why */
    f->requests = f->source.size_bytes / o->request_bytes;
    f->ns = calloc(o->requests, sizeof *f->ns);
    if (!f->ns || f->requests == 0)
        return complain(o->paths[i], f->ns ? "is shorter than a request" : "no memory");
    if (i == 0 && warm(f, f->source.size_bytes * o->warm_percent / 100) < 0)
        return complain(o->paths[i], "cannot be read");
    return 0;
}

/* False: a region was not opened, so that reads went to the file. */
static bool close_file(File *f)
{
    if (f->settings.file)
        source_close(&f->source);
    return f->source.sources.regions_failed == 0;
}

/* ---- reading ---------------------------------------------------------------------------------
 */

static int read_one(Run *run, Random *random, void *buf, bool counts)
{
    const Options *o = &run->options;
    File *f = &run->files[random_below(random, 100) >= o->share_percent];
    uint64_t offset = random_below(random, f->requests) * o->request_bytes;
    uint64_t start_ns = os_now_ns();
    int r = source_read(&f->source, offset, buf, o->request_bytes);
    uint64_t ns = os_now_ns() - start_ns;
    if (r < 0)
        return complain(f->settings.file, strerror(-r));
    run->wrong_bytes += bench_data_wrong(offset, buf, o->request_bytes);
    if (counts) {
        f->ns[f->reads++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
        f->total_ns += ns;
    }
    return 0;
}

static int read_all(Run *run)
{
    const Options *o = &run->options;
    CLEANUP_FREE void *buf = malloc(o->request_bytes);
    Random random = {o->seed};
    if (!buf)
        return -1;
    for (uint64_t i = 0; i < o->settle + o->requests; i++)
        if (read_one(run, &random, buf, i >= o->settle) < 0)
            return -1;
    return 0;
}

/* ---- what it prints --------------------------------------------------------------------------
 */

static double us(uint64_t ns)
{
    return (double)ns / (double)NS_PER_US;
}

static void print_file(const char *name, const File *f)
{
    printf("\"%s\": {\"reads\": %" PRIu64
           ", \"mean_us\": %.3f, \"p50_us\": %.3f, \"p999_us\": %.3f}",
           name, f->reads, f->reads ? us(f->total_ns) / (double)f->reads : 0,
           us(bench_percentile(f->ns, f->reads, 500)), us(bench_percentile(f->ns, f->reads, 999)));
}

static void print_run(const Run *run)
{
    Sources sources = {0};
    printf("{\"backend\": \"%s\", \"wrong_bytes\": %" PRIu64 ", ", run->options.backend->name,
           run->wrong_bytes);
    print_file("file", &run->files[0]);
    if (run->options.paths[1]) {
        printf(", ");
        print_file("cheap", &run->files[1]);
    }
    printf(", ");
    for (unsigned i = 0; i < FILES; i++)
        sources_add(&sources, &run->files[i].source.sources);
    sources_print_json(&sources);
    printf("}\n");
}

/* ---- the command line ------------------------------------------------------------------------
 */

static int parse_backend(void *options, const char *arg)
{
    const Backend *b = backend_find(arg);
    ((Options *)options)->backend = b;
    return b == &backend_disk || b == &backend_manage ? 0 : -1;
}

static const char *find_fault(const void *options, char *text)
{
    const Options *o = options;
    (void)text;
    if (!o->paths[0])
        return "--file is missing";
    if (o->request_bytes == 0 || o->request_bytes > REQUEST_MAX)
        return "--request must be from 1 to 1M";
    return o->share_percent < 100 && !o->paths[1] ? "--share needs --cheap" : NULL;
}

#define AT(field) offsetof(Options, field)
static const CommandOption option_table[] = {
    {"file", OPTION_TEXT, AT(paths[0])},
    {"cheap", OPTION_TEXT, AT(paths[1])},
    {"share", OPTION_COUNT, AT(share_percent), 0, 100},
    {"warm", OPTION_COUNT, AT(warm_percent), 0, 100},
    {"request", OPTION_SIZE, AT(request_bytes)},
    {"requests", OPTION_COUNT, AT(requests), 1, REQUESTS_MAX},
    {"settle", OPTION_COUNT, AT(settle), 0, REQUESTS_MAX},
    {"backend", OPTION_OTHER, .parse = parse_backend},
    {"seed", OPTION_COUNT, AT(seed), 0, UINT64_MAX},
    {NULL},
};

int main(int argc, char **argv)
{
    const CommandLine line = {"manage-two", "manage-two " DODO_VERSION, help_text, option_table,
                              find_fault};
    Run run = {.options = {.backend = &backend_manage,
                           .share_percent = 100,
                           .request_bytes = 8192,
                           .requests = 10000,
                           .seed = 1}};
    int status = 0;
    if (command_line_parse(&line, &run.options, argc, argv, &status))
        return status;
    bool good = true;
    for (unsigned i = 0; i < FILES; i++)
        good = good && open_file(&run, i) == 0;
    good = good && read_all(&run) == 0;
    for (unsigned i = 0; i < FILES; i++)
        good &= close_file(&run.files[i]); /* what came from where is known afterwards */
    if (good)
        print_run(&run);
    for (unsigned i = 0; i < FILES; i++)
        free(run.files[i].ns);
    return good && run.wrong_bytes == 0 && fflush(stdout) == 0 ? 0 : 1;
}
