/* SPDX-License-Identifier: MIT */
/* An imd that the owner's monitor, played by the test, makes smaller and larger while a program
 * uses it, on a cluster of real programs: the memory is given back, nothing is lost. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "base/os.h"
#include "base/time.h"
#include "tests/lib/case.h"
#include "tests/lib/cluster.h"
#include "tests/lib/load.h"
#include "tests/lib/sanitizer.h"

#if UNDER_SANITIZER
/* The sanitizer's shadow comes and goes with the pool; what it makes slow is less. */
enum { HAS_RESIDENT = 0, REGIONS = 6 };
#else
enum { HAS_RESIDENT = 1, REGIONS = 12 };
#endif

enum { MIB = 1 << 20, REGION = 4 * MIB, LEN = REGIONS * REGION, POOL = LEN + 4 * REGION };
enum { MEMORY_HUGE = 2 * MIB, TELLS_MAX = 1000 };

static Cluster cluster;
static Daemon *imd;
static int fd = -1, owner = -1;
static uint8_t *content, *buf;
static int rds[REGIONS];

/* The next message of imd's that starts with @word. */
static uint64_t patience_end(void)
{
    return os_now_ns() + CLUSTER_PATIENCE_MS * NS_PER_MS;
}

static void hear(const char *word, char text[256])
{
    for (unsigned i = 0; i < TELLS_MAX; i++) {
        struct pollfd p = {.fd = owner, .events = POLLIN};
        assert_int_equal(poll(&p, 1, CLUSTER_PATIENCE_MS), 1);
        ssize_t n = recv(owner, text, 255, 0);
        assert_true(n > 0);
        text[n] = '\0';
        if (strncmp(text, word, strlen(word)) == 0)
            return;
    }
    fail_msg("%s was not said", word);
}

static void limit_to(uint64_t bytes)
{
    char text[256];
    int n = snprintf(text, sizeof text, "limit %" PRIu64, bytes);
    assert_int_equal(send(owner, text, (size_t)n, 0), n);
}

/* Until what is in use is no more than @limit, which is then the limit. */
static uint64_t wait_reached(uint64_t limit)
{
    uint64_t used, told;
    char text[256];
    do {
        hear("used ", text);
        assert_int_equal(sscanf(text, "used %" SCNu64 " limit %" SCNu64, &used, &told), 2);
    } while (told != limit || used > limit);
    return used;
}

static uint64_t resident(pid_t pid)
{
    char path[64], line[256];
    uint64_t kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %" SCNu64, &kib) == 1)
            break;
    (void)fclose(f);
    return kib << 10;
}

static int set_up(void **state)
{
    char text[256], pool[32];
    (void)state;
    cluster_start(&cluster,
                  "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n"
                  "[imd]\nbeat = 100ms\n"
                  "[client]\nrefraction = 1us\nreopen = 50ms\nrequest_deadline = 60s\n"
                  "transfer_deadline = 20s\n",
                  true);
    (void)snprintf(pool, sizeof pool, "%uM", POOL / MIB);
    imd = cluster_imd_owned(&cluster, pool, &owner);
    hear("ready epoch=", text);
    (void)snprintf(pool, sizeof pool, "pool=%u", POOL);
    assert_non_null(strstr(text, pool));
    fd = cluster_file(&cluster, NULL);
    content = malloc(LEN);
    buf = malloc(LEN);
    assert_non_null(content);
    assert_non_null(buf);
    load_fresh(0, content, LEN);
    assert_int_equal(pwrite(fd, content, LEN, 0), LEN);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)dodo_shutdown();
    (void)close(fd);
    if (owner >= 0)
        (void)close(owner);
    free(content);
    free(buf);
    cluster_end(&cluster);
    return 0;
}

static bool is_remote(int rd)
{
    DodoStat before, after;
    assert_int_equal(dodo_stat(rd, &before), 0);
    assert_int_equal(dodo_mread(rd, 0, buf, REGION), REGION);
    assert_int_equal(dodo_stat(rd, &after), 0);
    return after.hits - before.hits == REGION;
}

static void open_all(void)
{
    for (int i = 0; i < REGIONS; i++) {
        rds[i] = dodo_mopen_flags(REGION, fd, (off_t)i * REGION, DODO_FALLBACK);
        assert_true(rds[i] >= 0);
        for (const uint64_t until = patience_end(); !is_remote(rds[i]);)
            assert_true(os_now_ns() < until);
    }
}

static void check_all(void)
{
    for (int i = 0; i < REGIONS; i++) {
        memset(buf, 0, REGION);
        assert_int_equal(dodo_mread(rds[i], 0, buf, REGION), REGION);
        assert_memory_equal(buf, content + (size_t)i * REGION, REGION);
    }
}

static void close_all(void)
{
    for (int i = 0; i < REGIONS; i++)
        assert_int_equal(dodo_mclose(rds[i]), 0);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(limit__memory_is_given_back_and_nothing_is_lost)
{
    uint64_t empty = resident(imd->pid);
    open_all();
    uint64_t full = resident(imd->pid);
    if (HAS_RESIDENT)
        assert_in_range(full, empty + LEN - MIB, empty + LEN + 8 * MIB);
    limit_to(3 * REGION);
    assert_true(wait_reached(3 * REGION) <= 3 * REGION);
    if (HAS_RESIDENT)
        assert_in_range(resident(imd->pid), empty, empty + 3 * REGION + 8 * MIB);
    check_all(); /* from the file, mostly */
    limit_to(0);
    assert_int_equal(wait_reached(0), 0);
    if (HAS_RESIDENT)
        assert_in_range(resident(imd->pid), 0, empty + 8 * MIB);
    check_all();
    limit_to(LEN); /* and there is room again */
    for (int i = 0; i < REGIONS; i++)
        for (unsigned looks = 0; !is_remote(rds[i]); looks++)
            assert_true(looks < 100 * TELLS_MAX);
    check_all();
    close_all();
    limit_to(0);
    assert_int_equal(wait_reached(0), 0);
}

CASE(limit__the_least_recently_used_go)
{
    open_all();
    for (unsigned round = 0; round < 20; round++) /* the oldest, but used last: recency is coarse */
        for (int i = 0; i < 3; i++)
            assert_true(is_remote(rds[i]));
    limit_to(3 * REGION);
    (void)wait_reached(3 * REGION);
    for (int i = 0; i < 3; i++)
        assert_true(is_remote(rds[i]));
    close_all();
}

static uint64_t remote_bytes(int rd, off_t from, size_t len)
{
    DodoStat before, after;
    assert_int_equal(dodo_stat(rd, &before), 0);
    assert_int_equal(dodo_mread(rd, from, buf, len), len);
    assert_int_equal(dodo_stat(rd, &after), 0);
    assert_memory_equal(buf, content + from, len);
    return after.hits - before.hits;
}

/* The region's second half is in remote memory, and used. What is read then of the first half fills
 * nothing: there is no room, and only what was not used for some seconds makes any. False: that
 * took so long, on a busy machine, that the second half is such. */
static bool keeps_what_is_used(int rd, size_t half)
{
    const uint64_t age_ns = 2 * NS_PER_S;
    for (const uint64_t until = patience_end(); remote_bytes(rd, (off_t)half, half) < half;)
        assert_true(os_now_ns() < until);
    uint64_t began_ns = os_now_ns(), used = remote_bytes(rd, (off_t)half, half);
    uint64_t other = remote_bytes(rd, 0, half), left = remote_bytes(rd, (off_t)half, half);
    if (os_now_ns() - began_ns >= age_ns)
        return false;
    assert_int_equal(used, half);
    assert_in_range(other, 0, 2 * MEMORY_HUGE);
    assert_int_equal(left, half);
    return true;
}

/* Of one large region the parts go that were not used lately. The region stays, with the rest. */
CASE(limit__takes_the_unused_parts_of_a_region)
{
    const size_t half = LEN / 2;
    int rd = dodo_mopen(LEN, fd, 0);
    assert_true(rd >= 0);
    for (const uint64_t until = patience_end(); remote_bytes(rd, 0, LEN) < LEN;)
        assert_true(os_now_ns() < until);
    for (unsigned i = 0; i < 20; i++) /* recency is coarse */
        assert_int_equal(remote_bytes(rd, (off_t)half, half), half);
    limit_to(half + MEMORY_HUGE);
    assert_in_range(wait_reached(half + MEMORY_HUGE), half - MEMORY_HUGE, half + MEMORY_HUGE);
    assert_int_equal(remote_bytes(rd, (off_t)half, half), half);
    for (const uint64_t until = patience_end(); !keeps_what_is_used(rd, half);)
        assert_true(os_now_ns() < until);
    limit_to(POOL);
    for (const uint64_t until = patience_end(); remote_bytes(rd, 0, LEN) < LEN;)
        assert_true(os_now_ns() < until);
    /* What the program gives up by itself the host has back, too. */
    assert_int_equal(dodo_mdiscard(rd, 0, half), 0);
    while (wait_reached(POOL) > half + MEMORY_HUGE)
        ;
    assert_int_equal(remote_bytes(rd, 0, MEMORY_HUGE), 0);
    assert_int_equal(remote_bytes(rd, (off_t)half, half), half);
    assert_int_equal(dodo_mclose(rd), 0);
}

/* A region takes no memory for its neighbour, which may never be used: what is in use is what the
 * host lacks. */
CASE(limit__of_regions_smaller_than_a_huge_page)
{
    enum { SMALL = 64 << 10, PAIRS = LEN / MEMORY_HUGE };
    int small[PAIRS], other[PAIRS];
    const uint64_t empty = resident(imd->pid);
    for (int i = 0; i < PAIRS; i++) {
        small[i] = dodo_mopen_flags(SMALL, fd, (off_t)i * MEMORY_HUGE, DODO_FALLBACK);
        other[i] = dodo_mopen_flags(MEMORY_HUGE - SMALL, fd, (off_t)i * MEMORY_HUGE + SMALL,
                                    DODO_FALLBACK);
        assert_true(small[i] >= 0 && other[i] >= 0);
    }
    for (int i = 0; i < PAIRS; i++)
        for (const uint64_t until = patience_end();;) {
            DodoStat before, after;
            assert_true(os_now_ns() < until);
            assert_int_equal(dodo_stat(small[i], &before), 0);
            assert_int_equal(dodo_mread(small[i], 0, buf, SMALL), SMALL);
            assert_int_equal(dodo_stat(small[i], &after), 0);
            if (after.hits - before.hits == SMALL)
                break;
        }
    if (HAS_RESIDENT)
        assert_in_range(resident(imd->pid), 0, empty + PAIRS * SMALL + 8 * MIB);
    limit_to(0);
    assert_int_equal(wait_reached(0), 0);
    if (HAS_RESIDENT)
        assert_in_range(resident(imd->pid), 0, empty + 8 * MIB);
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(dodo_mclose(small[i]), 0);
        assert_int_equal(dodo_mclose(other[i]), 0);
    }
}

/* Threads read and write while the pool breathes: each byte is what was written last. */
CASE(limit__breathes_under_load)
{
    const LoadConfig config = {.fd = fd,
                               .base = 0,
                               .regions = 4,
                               .threads = 4,
                               .ops = LOAD_FOREVER,
                               .flags = DODO_FALLBACK};
    Load *load = load_start(&config);
    for (unsigned i = 0; i < 40; i++) {
        load_wait(load, 20);
        limit_to(i % 4 == 0 ? 0 : (uint64_t)(i * 7919 % 64) << 14);
        if (i % 8 == 0)
            (void)wait_reached(0);
    }
    limit_to(POOL);
    load_wait(load, 50);
    load_stop(load);
    assert_int_equal(load_join(load), 0);
    load_free(load);
}

/* Also where somebody else has imd read its files again: what rmd said at the start stands on imd's
 * command line, and is old by now. */
CASE(reload__what_rmd_has_said_last_counts)
{
    char text[256];
    const int n = snprintf(text, sizeof text, "reload 2 77777777 0 %s", cluster.manager);
    assert_int_equal(send(owner, text, (size_t)n, 0), n);
    daemon_says(imd, "rate_bytes=77777777");
    assert_int_equal(kill(imd->pid, SIGHUP), 0);
    daemon_says(imd, "rate_bytes=77777777");
}

CASE(hang_up__is_the_end)
{
    open_all();
    (void)close(owner);
    owner = -1;
    daemon_says(imd, "owner_gone");
    int status = child_wait(imd->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(imd->out);
    imd->pid = 0;
    check_all();
    close_all();
}

/* ---- an imd that can read no file any more ----------------------------------------------------
 */

static int set_up_alone(void **state)
{
    (void)state;
    cluster_start(&cluster, "[imd]\nbeat = 100ms\nmanager_dead = 300ms\n", false);
    imd = cluster_imd_owned(&cluster, "1M", &owner);
    return 0;
}

static int tear_down_alone(void **state)
{
    (void)state;
    (void)close(owner);
    cluster_end(&cluster);
    return 0;
}

/* The child of imd's that reads them for it. */
static pid_t reader_of_files(void)
{
    char path[64], name[32] = "";
    int pid = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)imd->pid, (int)imd->pid);
    FILE *children = fopen(path, "re");
    assert_non_null(children);
    while (strcmp(name, "imd-reload") != 0) {
        assert_int_equal(fscanf(children, "%d", &pid), 1);
        (void)snprintf(path, sizeof path, "/proc/%d/comm", pid);
        FILE *comm = fopen(path, "re");
        assert_non_null(comm);
        assert_int_equal(fscanf(comm, "%31s", name), 1);
        (void)fclose(comm);
    }
    (void)fclose(children);
    return pid;
}

TEST_WITH(reload__what_rmd_says_needs_no_file, set_up_alone, tear_down_alone)
{
    static const char text[] = "reload 2 0 0 127.0.0.1:1";
    assert_int_equal(kill(reader_of_files(), SIGKILL), 0);
    daemon_says(imd, "not_reloaded");
    assert_int_equal(send(owner, text, sizeof text - 1, 0), sizeof text - 1);
    daemon_says(imd, "manager_lost manager=127.0.0.1:1");
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    cluster_programs(argv[1], argv[2]);
    return cases_run(NULL, NULL);
}
