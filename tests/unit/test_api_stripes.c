/* SPDX-License-Identifier: MIT */
/* DODO_STRIPE on a cluster of real programs: a region larger than any of its hosts. */
#include <stdio.h>
#include <fcntl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/call_asserts.h"
#include "tests/lib/case.h"
#include "tests/lib/cluster.h"
#include "tests/lib/load.h"
#include "tests/unit/api_region.h"

enum { MIB = 1 << 20, LEN = 20 * MIB - 5000 };

static int set_up(void **state)
{
    (void)state;
    world_start("[client]\nstripe = 1M\nrefraction = 1us\nreopen = 50ms\n"
                "request_deadline = 60s\ntransfer_deadline = 2s\n",
                3, LEN);
    return 0;
}

/* Reads until all of it comes from remote memory. */
static void read_until_remote(int rd)
{
    int64_t until = now_ms() + CLUSTER_PATIENCE_MS;
    for (uint64_t hits = 0; hits < LEN;) {
        uint64_t before = stat_of(rd).hits;
        assert_true(now_ms() < until);
        read_all(rd);
        hits = stat_of(rd).hits - before;
    }
    assert_int_equal(stat_of(rd).filled_bytes, LEN);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(region_larger_than_any_host)
{
    assert_int_equal(dodo_mopen(LEN, fd, 0), -1);
    assert_int_equal(errno, ENOMEM);
    int rd = opened(DODO_STRIPE);
    DodoStat st = stat_of(rd);
    assert_int_equal(st.length, LEN);
    assert_int_equal(st.flags, DODO_STRIPE);
    assert_int_equal(st.active, 1);
    assert_true(strlen(st.host) > 0);
    read_until_remote(rd);

    load_fresh(1, content + MIB - 100, 3 * MIB);
    assert_int_equal(dodo_mwrite(rd, MIB - 100, content + MIB - 100, 3 * MIB), 3 * MIB);
    assert_int_equal(dodo_msync(rd), 0);
    read_until_remote(rd);
    assert_int_equal(stat_of(rd).written, 3 * MIB);
    assert_int_equal(pread(fd, buf, LEN, 0), LEN);
    assert_memory_equal(buf, content, LEN);
    assert_int_equal(dodo_mclose(rd), 0);
    assert_int_equal(dodo_mclose(rd), -1);
}

/* Each read of the queue goes to several hosts; at first what they bring comes from the file. */
CASE(queue_over_many_stripes)
{
    enum { READS = 10, EACH = 2 * MIB - 777 };
    int rd = opened(DODO_STRIPE);
    DodoQueue *q = dodo_queue_open(READS);
    assert_non_null(q);
    for (unsigned round = 0; round < 3; round++) {
        DodoDone done[READS];
        unsigned taken = 0;
        memset(buf, 0, LEN);
        for (unsigned i = 0; i < READS; i++)
            assert_int_equal(
                dodo_queue_read(q, rd, (off_t)(i * EACH), buf + (size_t)i * EACH, EACH, buf), 0);
        while (taken < READS) {
            int n = dodo_queue_wait(q, done, READS, CLUSTER_PATIENCE_MS);
            assert_true(n > 0);
            for (int i = 0; i < n; i++)
                assert_int_equal(done[i].result, EACH);
            taken += (unsigned)n;
        }
        assert_memory_equal(buf, content, (size_t)READS * EACH);
        read_until_remote(rd);
        if (round == 1)
            daemon_kill(&cluster.imds[1]);
        if (round == 1)
            (void)cluster_imd(&cluster, "9M");
    }
    assert_int_equal(dodo_queue_close(q), 0);
    assert_int_equal(dodo_mclose(rd), 0);
}

CASE(host_dies_and_another_comes)
{
    int rd = opened(DODO_STRIPE);
    read_until_remote(rd);
    daemon_kill(&cluster.imds[0]);
    read_all(rd);
    assert_int_equal(stat_of(rd).active, 1);
    (void)cluster_imd(&cluster, "9M");
    read_until_remote(rd);
    assert_int_equal(dodo_mclose(rd), 0);
}

CASE(all_hosts_die)
{
    int rd = opened(DODO_STRIPE);
    read_until_remote(rd);
    for (unsigned i = 0; i < 3; i++)
        daemon_kill(&cluster.imds[i]);
    assert_int_equal(dodo_mread(rd, 0, buf, LEN), -1);
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(stat_of(rd).active, 0);
    assert_int_equal(dodo_mwrite(rd, 0, buf, 10), -1);
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(dodo_mclose(rd), -1);
    assert_int_equal(errno, EINVAL);
}

/* The same file, opened with @flags in place of how it was. */
static void open_as(int flags)
{
    char name[32];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int again = open(name, flags | O_CLOEXEC);
    assert_true(again >= 0);
    assert_int_equal(close(fd), 0);
    fd = again;
}

/* Each stripe by itself; none is found by an opening that could write. */
CASE(retained_for_the_next_run)
{
    const unsigned keep = DODO_STRIPE | DODO_RETAIN | DODO_RDONLY;
    open_as(O_RDONLY);
    int64_t until = now_ms() + CLUSTER_PATIENCE_MS;
    int rd = opened(keep);
    while (!stat_of(rd).reused) { /* the file was written a moment ago: its stamp must settle */
        assert_true(now_ms() < until);
        read_until_remote(rd);
        assert_int_equal(dodo_mclose(rd), 0);
        assert_int_equal(dodo_shutdown(), 0);
        rd = opened(keep);
    }
    read_all(rd);
    assert_int_equal(stat_of(rd).misses, 0);
    assert_int_equal(dodo_mclose(rd), 0);
    open_as(O_RDWR);
    rd = opened(DODO_STRIPE | DODO_RETAIN);
    assert_int_equal(stat_of(rd).reused, 0);
    assert_int_equal(dodo_mclose(rd), 0);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    cluster_programs(argv[1], argv[2]);
    return cases_run(NULL, NULL);
}
