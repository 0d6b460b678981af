/* SPDX-License-Identifier: MIT */
/* DODO_MIRROR on a cluster of real programs: hosts are killed and stand still one after the other,
 * and no byte is read from the file for that. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/call_asserts.h"
#include "tests/lib/case.h"
#include "tests/lib/cluster.h"
#include "tests/lib/load.h"
#include "tests/unit/api_region.h"

enum { MIB = 1 << 20, LEN = 4 * MIB - 5000 };

static int set_up_of(const char *more, unsigned imds)
{
    char config[512];
    (void)snprintf(config, sizeof config,
                   "[client]\nstripe = 1M\nrefraction = 10s\nreopen = 50ms\n"
                   "request_deadline = 60s\ntransfer_deadline = 2s\n%s",
                   more);
    world_start(config, imds, LEN);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_of("", 3);
}

static int set_up_by_key(void **state)
{
    (void)state;
    return set_up_of("mirror = yes\n", 2);
}

/* None of it from the file. */
static void read_remote(int rd)
{
    uint64_t misses = stat_of(rd).misses;
    read_all(rd);
    assert_int_equal(stat_of(rd).misses, misses);
}

/* Until both copies have all of it. */
static void until_mirrored(int rd)
{
    int64_t until = now_ms() + CLUSTER_PATIENCE_MS;
    while (stat_of(rd).mirrored_bytes < LEN) {
        assert_true(now_ms() < until);
        assert_int_equal(dodo_mread(rd, 0, buf, 100), 100);
    }
    assert_int_equal(stat_of(rd).copies, 2);
    assert_int_equal(stat_of(rd).filled_bytes, LEN);
}

/* The host of the first copy. */
static Daemon *host_of(int rd)
{
    DodoStat st = stat_of(rd);
    for (unsigned i = 0; i < cluster.imds_count; i++)
        if (cluster.imds[i].pid && cluster_is_host(&cluster.imds[i], st.host))
            return &cluster.imds[i];
    fail_msg("no host is %s", st.host);
    return NULL;
}

static void write_some(int rd, unsigned seed, size_t at, size_t len)
{
    load_fresh(seed, content + at, len);
    assert_int_equal(dodo_mwrite(rd, (off_t)at, content + at, len), len);
}

static void survive(unsigned flags)
{
    int rd = opened(DODO_MIRROR | flags);
    read_all(rd);
    until_mirrored(rd); /* an opening does not wait for a second copy that is late */
    for (unsigned round = 0; round < 3; round++) {
        if (round > 0) /* so that a third one always has room */
            (void)cluster_imd(&cluster, "9M");
        Daemon *host = host_of(rd);
        if (round == 1)
            process_pause(host->pid);
        else
            daemon_kill(host);
        read_remote(rd);
        write_some(rd, 10 + round, round * MIB + 777, MIB / 2);
        read_remote(rd);
        if (round == 1)
            daemon_kill(host);
        until_mirrored(rd);
        read_remote(rd);
    }
    assert_int_equal(pread(fd, buf, LEN, 0), LEN);
    assert_memory_equal(buf, content, LEN);
    assert_int_equal(dodo_mclose(rd), 0);
}

TEST_WITH(hosts_die_one_after_the_other, set_up, tear_down)
{
    survive(0);
}

TEST_WITH(hosts_of_stripes_die_one_after_the_other, set_up, tear_down)
{
    survive(DODO_STRIPE);
}

/* The key makes all regions so. One host is not enough for two copies, but for one. */
TEST_WITH(key_mirrors_all_regions, set_up_by_key, tear_down)
{
    int rd = opened(0);
    assert_int_equal(stat_of(rd).flags, DODO_MIRROR);
    /* An opening does not wait for a second copy that is late. */
    for (int64_t until = now_ms() + CLUSTER_PATIENCE_MS; stat_of(rd).copies < 2;)
        assert_true(now_ms() < until);
    assert_int_equal(dodo_mclose(rd), 0);
    daemon_kill(&cluster.imds[1]);
    rd = opened(0);
    read_all(rd);
    write_some(rd, 3, 5, 100000);
    read_all(rd);
    assert_int_equal(stat_of(rd).copies, 1);
    assert_int_equal(dodo_mclose(rd), 0);
}

int main(int argc, char **argv)
{
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
