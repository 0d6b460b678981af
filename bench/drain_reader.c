/* SPDX-License-Identifier: MIT */
/* drain-reader FILE REGIONS REGION-BYTES THREADS: threads that read and write regions of a data
 * set, which FILE becomes, at random places, while scripts/bench-drain takes hosts out of service.
 * It prints "ready" when all is in remote memory. Each line on standard input names the next phase,
 * and ends the one before: what that was goes out as a line of JSON. Status 1 if a byte was wrong.
 */
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
static unsigned threads, regions;
static uint64_t region_bytes;
static int *rds;
static atomic_bool over;
static atomic_ulong wrong;

static void die(const char *what)
{
    (void)fprintf(stderr, "drain-reader: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint64_t remote_bytes(uint64_t *ret_file_bytes)
{
    uint64_t filled = 0;
    *ret_file_bytes = 0;
    for (unsigned i = 0; i < regions; i++) {
        DodoStat st;
        if (dodo_stat(rds[i], &st) < 0)
            die("dodo_stat");
        filled += st.filled_bytes;
        *ret_file_bytes += st.misses;
    }
    return filled;
}

/* One call of a thread: a read that is checked, or a write of what the file has there. */
static void one_call(Reader *r, Random *random, uint8_t *buf)
{
    unsigned i = (unsigned)random_below(random, regions);
    uint64_t at = random_below(random, region_bytes / REQUEST) * REQUEST;
    bool writes = random_below(random, 100) < WRITE_PERCENT;
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

static void *reader_main(void *ctx)
{
    Reader *r = ctx;
    Random random = {.state = r->number};
    static _Thread_local uint8_t buf[REQUEST];
    while (!over)
        one_call(r, &random, buf);
    return NULL;
}

/* What all have done since the last time. */
static void tell(const char *phase, uint64_t begun_ns, uint64_t file_bytes)
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
           "\"wrong\":%lu,\"file_bytes\":%" PRIu64 ",\"mean_us\":%.1f,\"p50_us\":%.1f,"
           "\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f}\n",
           phase, (double)(now - begun_ns) / 1e9, reads, writes, failed, (unsigned long)wrong,
           file_bytes, reads ? (double)sum / (double)reads / 1e3 : 0,
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
        rds[i] = dodo_mopen_flags(region_bytes, fd, (off_t)(i * region_bytes), 0);
        if (rds[i] < 0)
            die(dodo_last_error());
    }
}

static void fill_all(void)
{
    uint64_t file_bytes, wanted = regions * region_bytes;
    for (unsigned tries = 0; remote_bytes(&file_bytes) < wanted; tries++) {
        if (tries == 600)
            die("it is not all in remote memory after a minute");
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
    uint64_t begun = os_now_ns(), missed, before;
    (void)remote_bytes(&before);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        (void)remote_bytes(&missed);
        tell(phase, begun, missed - before);
        memcpy(phase, line, sizeof phase);
        begun = os_now_ns();
        before = missed;
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        (void)fprintf(stderr, "usage: drain-reader FILE REGIONS REGION-BYTES THREADS\n");
        return 2;
    }
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
