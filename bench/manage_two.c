/* SPDX-License-Identifier: MIT */
/* manage-two: random reads of one or two files through the region cache, or by pread: what a read
 * of each file takes. The second file is cheap to read (on a tmpfs, say), the first is not; or the
 * kernel's cache holds a part of the first. Every byte is verified. Prints a line of JSON; status 1
 * if a byte was wrong or a read failed. */
#include <dodo/manage.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"
#include "examples/command_line.h"

enum { FILES = 2, REQUESTS_MAX = 100000000, REQUEST_MAX = 1 << 20, WARM_BYTES = 128 << 10 };

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
    uint64_t share_percent, warm_percent;
    uint64_t request_bytes, requests, settle, seed;
    bool plain; /* pread */
} Options;

typedef struct File {
    int fd, rd;
    uint64_t size_bytes;
    uint32_t *ns; /* of each read */
    uint64_t reads, total_ns;
} File;

typedef struct Run {
    Options options;
    File files[FILES];
    uint64_t wrong_bytes;
} Run;

/* ---- the files -------------------------------------------------------------------------------
 */

static int complain(const char *what, const char *path)
{
    fprintf(stderr, "manage-two: %s%s%s: %s\n", what, path ? " " : "", path ? path : "",
            strerror(errno));
    return -1;
}

/* What the kernel's cache holds: the file's first part, and nothing of the rest. */
static int warm(const File *f, uint64_t bytes)
{
    CLEANUP_FREE char *buf = malloc(WARM_BYTES);
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED); /* advice: no harm where ignored */
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);   /* not more than was asked for */
    for (uint64_t at = 0; buf && at < bytes; at += WARM_BYTES)
        if (pread(f->fd, buf, WARM_BYTES, (off_t)at) < 0)
            return -1;
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_NORMAL);
    return buf ? 0 : -1;
}

static int open_file(Run *run, unsigned i)
{
    const Options *o = &run->options;
    File *f = &run->files[i];
    struct stat st;
    f->fd = f->rd = -1;
    if (!o->paths[i])
        return 0;
    f->fd = open(o->paths[i], O_RDONLY | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &st) < 0)
        return complain("cannot open", o->paths[i]);
    f->size_bytes = (uint64_t)st.st_size / o->request_bytes * o->request_bytes;
    f->ns = calloc(o->requests, sizeof *f->ns);
    if (!f->ns || f->size_bytes == 0) {
        errno = f->ns ? ENODATA : ENOMEM;
        return complain("cannot use", o->paths[i]);
    }
    if (i == 0 && warm(f, f->size_bytes * o->warm_percent / 100) < 0)
        return complain("cannot read", o->paths[i]);
    if (!o->plain && (f->rd = dodo_copen_flags(f->size_bytes, f->fd, 0, DODO_RDONLY)) < 0) {
        fprintf(stderr, "manage-two: copen: %s\n", dodo_last_error());
        return -1;
    }
    return 0;
}

static int close_file(File *f)
{
    int failed = f->rd >= 0 && dodo_cclose(f->rd) < 0;
    if (f->fd >= 0)
        (void)close(f->fd);
    free(f->ns);
    return failed ? complain("cclose", NULL) : 0;
}

/* ---- reading ---------------------------------------------------------------------------------
 */

static int read_one(Run *run, Random *random, void *buf, bool counts)
{
    const Options *o = &run->options;
    File *f = &run->files[random_below(random, 100) >= o->share_percent];
    uint64_t offset = random_below(random, f->size_bytes / o->request_bytes) * o->request_bytes;
    uint64_t start_ns = os_now_ns();
    ssize_t n = o->plain ? pread(f->fd, buf, o->request_bytes, (off_t)offset)
                         : dodo_cread(f->rd, (off_t)offset, buf, o->request_bytes);
    uint64_t ns = os_now_ns() - start_ns;
    if (n != (ssize_t)o->request_bytes)
        return complain("a read fails", NULL);
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
    struct manage_stats st;
    dodo_manage_stats(&st);
    printf("{\"backend\": \"%s\", \"wrong_bytes\": %" PRIu64 ", ",
           run->options.plain ? "disk" : "manage", run->wrong_bytes);
    print_file("file", &run->files[0]);
    if (run->options.paths[1]) {
        printf(", ");
        print_file("cheap", &run->files[1]);
    }
    printf(", \"local_hits\": %" PRIu64 ", \"remote_hits\": %" PRIu64 ", \"disk_reads\": %" PRIu64
           "}\n",
           st.local_hits, st.remote_hits, st.disk_reads);
}

/* ---- the command line ------------------------------------------------------------------------
 */

static int parse_backend(void *options, const char *arg)
{
    ((Options *)options)->plain = strcmp(arg, "disk") == 0;
    return strcmp(arg, "disk") == 0 || strcmp(arg, "manage") == 0 ? 0 : -1;
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
    Run run = {
        .options = {.share_percent = 100, .request_bytes = 8192, .requests = 10000, .seed = 1}};
    int status = 0;
    if (command_line_parse(&line, &run.options, argc, argv, &status))
        return status;
    bool good = true;
    for (unsigned i = 0; i < FILES; i++)
        good = good && open_file(&run, i) == 0;
    good = good && read_all(&run) == 0;
    if (good)
        print_run(&run);
    for (unsigned i = 0; i < FILES; i++)
        good &= close_file(&run.files[i]) == 0;
    return good && run.wrong_bytes == 0 && fflush(stdout) == 0 ? 0 : 1;
}
