/* SPDX-License-Identifier: MIT */
/* An imd whose traffic is capped, on a cluster of real programs: it is slow, and nobody takes it
 * for dead. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/case.h"
#include "tests/lib/cluster.h"
#include "tests/lib/load.h"

enum { KIB = 1 << 10, THREADS = 12, AREA = 256 * KIB, LEN = THREADS * AREA, RATE = 256 * KIB };

static Cluster cluster;
static int fd = -1, rd = -1;
static uint8_t *content, *buf;

/* One data thread. The library's deadline is longer than a busy machine holds imd up, and shorter
 * than what is asked for together takes. */
static int set_up(void **state)
{
    (void)state;
    cluster_start(&cluster,
                  "transfer_deadline = 8s\nrequest_deadline = 60s\n"
                  "[cmd]\nrequest_deadline = 20s\n[imd]\nrate_bytes = 256K\nthreads = 1\n",
                  false);
    (void)cluster_imd(&cluster, "16M");
    fd = cluster_file(&cluster, NULL);
    content = malloc(LEN);
    buf = malloc(LEN);
    assert_non_null(content);
    assert_non_null(buf);
    load_fresh(0, content, LEN);
    assert_int_equal(pwrite(fd, content, LEN, 0), LEN);
    rd = dodo_mopen(LEN, fd, 0);
    assert_true(rd >= 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(dodo_mclose(rd), 0);
    (void)dodo_shutdown();
    (void)close(fd);
    free(content);
    free(buf);
    cluster_end(&cluster);
    return 0;
}

static DodoStat stat_now(void)
{
    DodoStat st;
    assert_int_equal(dodo_stat(rd, &st), 0);
    return st;
}

static void *reader(void *arg)
{
    size_t at = (size_t)(uintptr_t)arg * AREA;
    return (void *)(intptr_t)dodo_mread(rd, (off_t)at, buf + at, AREA);
}

static void *writer(void *arg)
{
    size_t at = (size_t)(uintptr_t)arg * AREA;
    return (void *)(intptr_t)dodo_mwrite(rd, (off_t)at, content + at, AREA);
}

/* All threads at once, each with its part. */
static void together(void *(*call)(void *))
{
    pthread_t threads[THREADS];
    void *result;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_int_equal((intptr_t)result, AREA);
    }
}

/* Writes, then reads: all of it goes by the host, which is never given up. That it takes as long as
 * the cap says is the one time that a test may rely on. */
TEST_WITH(cap__is_kept_and_the_host_stays, set_up, tear_down)
{
    int64_t start = now_ms();
    together(writer);
    int64_t written = now_ms();
    DodoStat before = stat_now();
    together(reader);
    int64_t read = now_ms();
    DodoStat after = stat_now();
    assert_memory_equal(buf, content, LEN);
    assert_true(after.active);
    assert_int_equal(after.hits - before.hits, LEN);
    assert_int_equal(after.misses, before.misses);
    print_message("# %d KiB at %d KiB/s: written in %d ms, read in %d ms\n", LEN / KIB, RATE / KIB,
                  (int)(written - start), (int)(read - written));
    /* What began last is paid for afterwards. */
    assert_true(written - start >= 900ll * LEN / RATE);
    assert_true(read - written >= 900ll * LEN / RATE);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    cluster_programs(argv[1], argv[2]);
    return cases_run(NULL, NULL);
}
