/* SPDX-License-Identifier: MIT */
/* drain-reader FILE REGIONS REGION-BYTES THREADS [WORD...]: threads that read and write regions of
 * a data set, which FILE becomes, at random places, while scripts/bench-drain and
 * scripts/bench-copies take hosts away. It prints "ready" when all is in remote memory. Each line
 * on standard input names the next phase, and ends the one before: what that was goes out as a line
 * of JSON. "fill" puts all into remote memory again first. Status 1 if a byte was wrong.
 *
 * Words: "mirror" and "fallback", the regions' flags; "reads": no writes; a number: bytes a second
 * of all threads together, at most. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "base/num.h"
#include "base/os.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"

enum { REQUEST = 8192, CALLS_MAX = 1 << 22, THREADS_MAX = 16, WRITE_PERCENT = 10 };

typedef struct Reader {
    pthread_t thread;
    unsigned number;
    pthread_mutex_t lock; /* of what follows: of this phase */
    uint32_t *ns;         /* of each read */
    size_t reads, writes, failed;
    uint64_t read_ns;
} Reader;

static Reader readers[THREADS_MAX];
static unsigned threads, regions, write_percent = WRITE_PERCENT;
static uint64_t region_bytes, rate;
static int flags;
static int *rds;
static atomic_bool over;
static atomic_ulong wrong;

static void die(const char *what)
{
    (void)fprintf(stderr, "drain-reader: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* Sums over all regions. */
typedef struct Sums {
    uint64_t filled, mirrored; /* in remote memory now */
    uint64_t remote, file;     /* read so far */
} Sums;

static Sums sums_now(void)
{
    Sums s = {0};
    for (unsigned i = 0; i < regions; i++) {
        DodoStat st;
        if (dodo_stat(rds[i], &st) < 0)
            die("dodo_stat");
        s.filled += st.filled_bytes;
        s.mirrored += st.mirrored_bytes;
        s.remote += st.hits;
        s.file += st.misses;
    }
    return s;
}

static bool all_there(void)
{
    const Sums s = sums_now();
    return s.filled == regions * region_bytes && (!(flags & DODO_MIRROR) || s.mirrored == s.filled);
}

/* One call of a thread: a read that is checked, or a write of what the file has there. */
static void one_call(Reader *r, Random *random, uint8_t *buf)
{
    unsigned i = (unsigned)random_below(random, regions);
    uint64_t at = random_below(random, region_bytes / REQUEST) * REQUEST;
    bool writes = random_below(random, 100) < write_percent;
    if (writes)
        bench_data_make(i * region_bytes + at, buf, REQUEST);
    uint64_t begun = os_now_ns();
    ssize_t n = writes ? dodo_mwrite(rds[i], (off_t)at, buf, REQUEST)
                       : dodo_mread(rds[i], (off_t)at, buf, REQUEST);
    uint64_t took = os_now_ns() - begun;
    if (n == REQUEST && !writes)
        wrong += bench_data_wrong(i * region_bytes + at, buf, REQUEST);
    (void)pthread_mutex_lock(&r->lock);
    r->failed += n != REQUEST;
    r->writes += writes;
    if (!writes && r->reads < CALLS_MAX) {
        r->ns[r->reads++] = (uint32_t)min_u64(took, UINT32_MAX);
        r->read_ns += took;
    }
    (void)pthread_mutex_unlock(&r->lock);
}

/* What could not be done in time is not made up for. */
static void keep_rate(uint64_t *due_ns)
{
    const uint64_t now = os_now_ns();
    if (rate == 0)
        return;
    if (*due_ns > now)
        (void)usleep((useconds_t)((*due_ns - now) / NS_PER_US));
    else
        *due_ns = now;
    *due_ns += REQUEST * threads * NS_PER_S / rate;
}

static void *reader_main(void *ctx)
{
    Reader *r = ctx;
    Random random = {.state = r->number};
    uint64_t due_ns = 0;
    static _Thread_local uint8_t buf[REQUEST];
    while (!over) {
        keep_rate(&due_ns);
        one_call(r, &random, buf);
    }
    return NULL;
}

/* What all have done since the last time. */
static void tell(const char *phase, uint64_t begun_ns, const Sums *before, const Sums *after)
{
    static uint32_t all[CALLS_MAX];
    size_t reads = 0, writes = 0, failed = 0;
    uint64_t sum = 0, now = os_now_ns();
    for (unsigned i = 0; i < threads; i++) {
        Reader *r = &readers[i];
        (void)pthread_mutex_lock(&r->lock);
        size_t n = min_u64(r->reads, CALLS_MAX - reads);
        memcpy(all + reads, r->ns, n * sizeof *all);
        reads += n;
        writes += r->writes;
        failed += r->failed;
        sum += r->read_ns;
        r->reads = r->writes = r->failed = 0;
        r->read_ns = 0;
        (void)pthread_mutex_unlock(&r->lock);
    }
    printf("{\"phase\":\"%s\",\"seconds\":%.3f,\"reads\":%zu,\"writes\":%zu,\"failed\":%zu,"
           "\"wrong\":%lu,\"file_bytes\":%" PRIu64 ",\"remote_bytes\":%" PRIu64
           ",\"filled\":%" PRIu64 ",\"mirrored\":%" PRIu64 ",\"mean_us\":%.1f,\"p50_us\":%.1f,"
           "\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f}\n",
           phase, (double)(now - begun_ns) / 1e9, reads, writes, failed, (unsigned long)wrong,
           after->file - before->file, after->remote - before->remote, after->filled,
           after->mirrored, reads ? (double)sum / (double)reads / 1e3 : 0,
           bench_percentile(all, reads, 500) / 1e3, bench_percentile(all, reads, 990) / 1e3,
           bench_percentile(all, reads, 999) / 1e3, bench_percentile(all, reads, 1000) / 1e3);
    (void)fflush(stdout);
}

static void open_all(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    rds = calloc(regions, sizeof *rds);
    if (fd < 0 || !rds)
        die(path);
    for (unsigned i = 0; i < regions; i++) {
        rds[i] = dodo_mopen_flags(region_bytes, fd, (off_t)(i * region_bytes), flags);
        if (rds[i] < 0)
            die(dodo_last_error());
    }
}

static void fill_all(void)
{
    for (unsigned tries = 0; !all_there(); tries++) {
        if (tries == 3000)
            die("it is not all in remote memory after five minutes");
        for (unsigned i = 0; i < regions; i++) {
            DodoStat st;
            if (dodo_stat(rds[i], &st) == 0 && st.filled_bytes < region_bytes)
                (void)dodo_prefetch(rds[i], 0, region_bytes);
        }
        (void)usleep(100000);
    }
}

static void start_all(void)
{
    for (unsigned i = 0; i < threads; i++) {
        Reader *r = &readers[i];
        r->number = i;
        r->ns = malloc(CALLS_MAX * sizeof *r->ns);
        if (!r->ns || pthread_mutex_init(&r->lock, NULL) != 0 ||
            pthread_create(&r->thread, NULL, reader_main, r) != 0)
            die("threads");
    }
}

static void follow_phases(void)
{
    char line[64], phase[64] = "start";
    uint64_t begun = os_now_ns();
    Sums before = sums_now();
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, "fill") == 0)
            fill_all();
        const Sums after = sums_now();
        tell(phase, begun, &before, &after);
        memcpy(phase, line, sizeof phase);
        begun = os_now_ns();
        before = after;
    }
}

static void take_word(const char *word)
{
    if (strcmp(word, "mirror") == 0)
        flags |= DODO_MIRROR;
    else if (strcmp(word, "fallback") == 0)
        flags |= DODO_FALLBACK;
    else if (strcmp(word, "reads") == 0)
        write_percent = 0;
    else
        rate = strtoull(word, NULL, 10);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        (void)fprintf(stderr, "usage: drain-reader FILE REGIONS REGION-BYTES THREADS [WORD...]\n");
        return 2;
    }
    for (int i = 5; i < argc; i++)
        take_word(argv[i]);
    regions = (unsigned)strtoul(argv[2], NULL, 10);
    region_bytes = strtoull(argv[3], NULL, 10);
    threads = (unsigned)min_u64(strtoul(argv[4], NULL, 10), THREADS_MAX);
    if (regions == 0 || region_bytes < REQUEST || threads == 0)
        die("there must be regions of 8192 bytes at least, and threads");
    if (bench_file_make(argv[1], regions * region_bytes) < 0)
        die(argv[1]);
    open_all(argv[1]);
    fill_all();
    (void)puts("ready");
    (void)fflush(stdout);
    start_all();
    follow_phases();
    over = true;
    for (unsigned i = 0; i < threads; i++)
        (void)pthread_join(readers[i].thread, NULL);
    for (unsigned i = 0; i < regions; i++)
        (void)dodo_mclose(rds[i]);
    return wrong ? 1 : 0;
}
