/* SPDX-License-Identifier: MIT */
/* libmanage on a cluster of real programs, with a backing file that is slow to read: what leaves
 * the cache comes back from remote memory, and whatever dies meanwhile, every byte is right and no
 * call fails. */
#undef _FILE_OFFSET_BITS /* both names of the reading calls are defined here */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include <dodo/manage.h>

#include "base/cleanup.h"
#include "tests/lib/cluster.h"
#include "tests/lib/scenario.h"
#include "tests/lib/seccomp.h"
#include "tests/lib/sim_rng.h"

enum { KIB = 1 << 10, LEN = 2048 * KIB, CACHE = 512 * KIB, CHUNK = 16 * KIB };
enum { STEPS = 450, SHARED_FD = 9, PIPE_FD = 8 };

static const char patient[] = "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n"
                              "[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\n";
static const char no_host[] = "[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\n";
static const char hasty[] = "[client]\ntransfer_deadline = 500ms\nrequest_deadline = 1s\n"
                            "reopen = 50ms\nrefraction = 50ms\n";

/* ---- a slow file ------------------------------------------------------------------------------
 */

/* As an access to a disk: this program's reads of that file take their time, and are counted. */
static const struct timespec access_time = {0, 5000 * 1000};
static struct stat slow_file;
static atomic_uint file_reads;

static ssize_t slow(int fd, ssize_t n)
{
    struct stat st;
    int saved = errno;
    if (slow_file.st_ino && fstat(fd, &st) == 0 && st.st_ino == slow_file.st_ino &&
        st.st_dev == slow_file.st_dev) {
        file_reads++;
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &access_time, NULL);
    }
    errno = saved;
    return n;
}

#define EXPORT __attribute__((visibility("default")))
EXPORT ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
    return slow(fd, syscall(SYS_pread64, fd, buf, len, offset));
}
EXPORT ssize_t pread64(int fd, void *buf, size_t len, off64_t offset)
{
    return pread(fd, buf, len, offset);
}
EXPORT ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
    return slow(fd, syscall(SYS_preadv, fd, iov, (long)count, offset, 0L));
}
EXPORT ssize_t preadv64(int fd, const struct iovec *iov, int count, off64_t offset)
{
    return preadv(fd, iov, count, offset);
}

/* ---- the cluster and the model -----------------------------------------------------------------
 */

static Cluster cluster;
static Daemon *imd;
static int fd = -1, rd = -1;
static uint8_t *model; /* what the region must read as */
static SimRng rng;

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 131 + (offset >> 8) + (offset >> 16));
}

static struct manage_stats stats(void)
{
    struct manage_stats st;
    CHECK(manage_stats(&st) == 0);
    return st;
}

static void file_is_slow(int file)
{
    CHECK(fstat(file, &slow_file) == 0);
}

/* The kernel has all of the slow file in memory. It cannot say so from here on, as before
 * Linux 6.5.
 */
static void kernel_is_old(void)
{
    enum { CACHESTAT = 451 };
    CHECK(seccomp_refuse(CACHESTAT, ENOSYS));
}

static void file_make(void)
{
    kernel_is_old();
    fd = cluster_file(&cluster, NULL);
    model = malloc(LEN);
    CHECK(model);
    for (size_t i = 0; i < LEN; i++)
        model[i] = byte_at(i);
    CHECK(pwrite(fd, model, LEN, 0) == LEN);
    file_is_slow(fd);
    /* What was read ahead is found in local memory: the tests ask where it came from. */
    CHECK(dodo_manage_set(MANAGE_READAHEAD_BYTES, 0) == 0);
    sim_rng_init(&rng, 7, 0);
}

static void begin(const char *config)
{
    cluster_start(&cluster, config, false);
    imd = cluster_imd(&cluster, "64M");
    file_make();
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, CACHE) == 0);
}

static void open_region(unsigned flags)
{
    rd = dodo_copen_flags(LEN, fd, 0, flags);
    CHECK(rd >= 0);
}

static void file_check(void)
{
    uint8_t *got = malloc(LEN);
    CHECK(got && pread(fd, got, LEN, 0) == LEN && memcmp(got, model, LEN) == 0);
    free(got);
}

/* Closes; the file has everything. */
static void end(void)
{
    CHECK(cclose(rd) == 0);
    file_check();
    free(model);
    CHECK(close(fd) == 0);
    cluster_end(&cluster);
}

static void read_all(void)
{
    static uint8_t buf[CHUNK];
    for (off_t at = 0; at < LEN; at += CHUNK) {
        CHECK(cread(rd, at, buf, CHUNK) == CHUNK);
        CHECK(memcmp(buf, model + at, CHUNK) == 0);
    }
}

/* Reads all, again and again, until half of the reads of one pass find remote memory. */
static void until_remote(void)
{
    int64_t until = now_ms() + CLUSTER_PATIENCE_MS;
    uint64_t before;
    do {
        CHECK(now_ms() < until);
        before = stats().remote_hits;
        read_all();
    } while (stats().remote_hits - before < LEN / CHUNK / 2);
}

/* One random call, checked. */
static void step(void)
{
    static uint8_t buf[40000];
    size_t len = 1 + (size_t)sim_rng_below(&rng, sizeof buf);
    off_t at = (off_t)sim_rng_below(&rng, LEN);
    size_t want = (size_t)(LEN - at) < len ? (size_t)(LEN - at) : len;
    uint64_t what = sim_rng_below(&rng, 100);
    if (what < 70) {
        CHECK(cread(rd, at, buf, len) == (ssize_t)want && memcmp(buf, model + at, want) == 0);
    } else if (what < 98) {
        memset(buf, (int)what + (int)at, want);
        CHECK(cwrite(rd, at, buf, len) == (ssize_t)want);
        memcpy(model + at, buf, want);
    } else {
        CHECK(csync(rd) == 0);
        file_check();
    }
}

/* ---- remote memory ------------------------------------------------------------------------------
 */

static void remote__holds_what_left_the_cache(void)
{
    begin(patient);
    open_region(0);
    until_remote();
    struct manage_stats st = stats();
    CHECK(st.evictions > 0 && st.clone_bytes + st.extent_bytes >= LEN / 2);
    CHECK(st.local_hits + st.remote_hits + st.disk_reads >= LEN / CHUNK);
    CHECK(st.remote_bytes >= st.remote_hits && st.cached_bytes <= CACHE);
    uint64_t writes = st.writebacks;
    for (int i = 0; i < STEPS; i++) /* what is written is in both places, or in the right one */
        step();
    until_remote();
    CHECK(stats().writebacks > writes);
    end();
}

static void remote__is_none(void)
{
    begin(no_host);
    daemon_kill(imd); /* before it was ever asked */
    open_region(0);
    for (int i = 0; i < STEPS / 4; i++)
        step();
    CHECK(stats().remote_hits == 0);
    end();
}

/* What is written to both goes as far as the file takes it, and the program learns why not. */
static void remote__the_file_fails_beside_it(void)
{
    static uint8_t buf[CHUNK];
    struct rlimit limit;
    begin(patient);
    open_region(0);
    until_remote();
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const struct rlimit nothing = {0, limit.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &nothing) == 0);
    memset(buf, 0x5a, CHUNK);
    CHECK(cwrite(rd, 0, buf, CHUNK) == CHUNK);
    CHECK_FAILS(csync(rd), EFBIG);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    memcpy(model, buf, CHUNK);
    (void)!csync(rd); /* may still tell of what failed before */
    CHECK(csync(rd) == 0);
    read_all();
    end();
}

/* ---- who dies -----------------------------------------------------------------------------------
 */

static atomic_uint steps_done;

static void *worker_main(void *arg)
{
    (void)arg;
    for (; steps_done < STEPS; steps_done++)
        step();
    return NULL;
}

static void until_steps(unsigned count)
{
    while (steps_done < count)
        (void)sched_yield();
}

/* @first happens after a third of the steps, @second (or NULL) after two thirds. */
static void work_through(void (*first)(void), void (*second)(void))
{
    pthread_t worker;
    CHECK(pthread_create(&worker, NULL, worker_main, NULL) == 0);
    until_steps(STEPS / 3);
    first();
    until_steps(STEPS / 3 * 2);
    if (second)
        second();
    CHECK(pthread_join(worker, NULL) == 0);
    read_all();
}

static void kill_imd(void)
{
    daemon_kill(imd);
}

static void start_imd(void)
{
    imd = cluster_imd(&cluster, "64M");
}

static void died__imd(void)
{
    begin(hasty);
    open_region(0);
    until_remote();
    work_through(kill_imd, start_imd);
    until_remote();
    end();
}

static void kill_cmd(void)
{
    daemon_kill(&cluster.cmd);
}

static void start_cmd(void)
{
    cluster_cmd_again(&cluster);
}

static void died__cmd(void)
{
    begin(hasty);
    open_region(0);
    until_remote();
    work_through(kill_cmd, start_cmd);
    end();
}

static int owner = -1;

static void limit_to(uint64_t bytes)
{
    char text[64];
    int n = snprintf(text, sizeof text, "limit %" PRIu64, bytes);
    CHECK(send(owner, text, (size_t)n, 0) == n);
}

static void take_memory(void)
{
    limit_to(0);
}

static void give_memory(void)
{
    limit_to(64 << 20);
}

/* The owner takes his memory back: imd drops every region, and says so to who asks for it. */
static void gone__all_regions(void)
{
    cluster_start(&cluster, hasty, true);
    imd = cluster_imd_owned(&cluster, "64M", &owner);
    file_make();
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, CACHE) == 0);
    open_region(0);
    until_remote();
    work_through(take_memory, give_memory);
    until_remote();
    end();
    CHECK(close(owner) == 0);
}

/* ---- the program dies
 * ---------------------------------------------------------------------------- */

/* Writes versions of the region, and says which one is acknowledged. */
static void child__writes_versions(void)
{
    static uint8_t buf[CHUNK];
    file_is_slow(SHARED_FD);
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, CACHE) == 0);
    int region = dodo_copen_flags(LEN, SHARED_FD, 0, DODO_RETAIN);
    CHECK(region >= 0);
    for (uint8_t version = 1;; version++) {
        memset(buf, version, sizeof buf);
        for (off_t at = 0; at < LEN; at += CHUNK)
            CHECK(cwrite(region, at, buf, CHUNK) == CHUNK);
        CHECK(csync(region) == 0);
        if (write(PIPE_FD, &version, 1) != 1)
            _exit(0);
    }
}

static void versions_check(const uint8_t *buf, size_t len, uint8_t least)
{
    for (size_t i = 0; i < len; i++)
        CHECK(buf[i] == least || buf[i] == least + 1);
}

static void died__the_program(void)
{
    int ends[2];
    uint8_t version = 0, last = 0, *got = malloc(LEN), *again = malloc(LEN);
    begin(patient);
    CHECK(got && again && pipe(ends) == 0);
    CHECK(dup2(fd, SHARED_FD) == SHARED_FD && dup2(ends[1], PIPE_FD) == PIPE_FD);
    CHECK(close(ends[1]) == 0);
    pid_t pid = scenario_start("child__writes_versions");
    CHECK(close(PIPE_FD) == 0);
    while (last < 5 && read(ends[0], &version, 1) == 1)
        last = version;
    CHECK(last == 5 && kill(pid, SIGKILL) == 0);
    CHECK(WIFSIGNALED(scenario_wait(pid)));
    while (read(ends[0], &version, 1) == 1)
        last = version;
    CHECK(pread(fd, got, LEN, 0) == LEN);
    versions_check(got, LEN, last);
    open_region(DODO_RETAIN); /* free at once, and nothing in remote memory is stale */
    for (int pass = 0; pass < 4; pass++) {
        CHECK(cread(rd, 0, again, LEN) == LEN && memcmp(got, again, LEN) == 0);
    }
    memcpy(model, got, LEN);
    free(got);
    free(again);
    end();
}

/* ---- what is kept for the next run
 * ------------------------------------------------------------------ */

static void shared_region(unsigned flags)
{
    fd = SHARED_FD;
    file_is_slow(fd);
    model = malloc(LEN);
    CHECK(model);
    for (size_t i = 0; i < LEN; i++)
        model[i] = byte_at(i);
    open_region(flags);
}

static void child__reads_and_retains(void)
{
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 2 * LEN) == 0);
    shared_region(DODO_RETAIN | DODO_RDONLY);
    read_all();
    CHECK(csync(rd) == 0); /* what is cached is in remote memory now, and exit closes it */
}

/* The same, and ends when the parent says so. */
static void child__reads_and_waits(void)
{
    char byte = 0;
    child__reads_and_retains();
    CHECK(write(PIPE_FD, &byte, 1) == 1 && read(PIPE_FD, &byte, 1) == 1);
}

/* A first csync waits until remote memory is open; else the file serves meanwhile. */
static void child__reads_what_was_retained(void)
{
    shared_region(DODO_RETAIN | DODO_RDONLY);
    CHECK(csync(rd) == 0);
    unsigned before = file_reads;
    read_all();
    CHECK(file_reads == before);
    struct manage_stats st = stats();
    CHECK(st.disk_reads == 0 && st.disk_bytes == 0);
    CHECK(st.remote_bytes + st.readahead_bytes >= LEN);
    CHECK(cclose(rd) == 0);
}

static void child__reads_at_once(void)
{
    shared_region(DODO_RETAIN | DODO_RDONLY);
    read_all();
    struct manage_stats st = stats();
    CHECK(st.remote_bytes + st.readahead_bytes > 0);
}

/* A thread of the cache opens remote memory meanwhile. */
static void child__shuts_down_meanwhile(void)
{
    for (unsigned i = 0; i < 4; i++) {
        shared_region(DODO_RETAIN | DODO_RDONLY);
        (void)dodo_shutdown();
        read_all();
        (void)dodo_shutdown();
        CHECK(cclose(rd) == 0);
        free(model);
    }
}

/* The same file, opened with @flags in place of how it was. */
static void open_as(int flags)
{
    char name[32];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int again = open(name, flags | O_CLOEXEC);
    CHECK(again >= 0 && close(fd) == 0);
    fd = again;
}

static void begin_retained(void)
{
    begin(patient);
    file_settle(fd);   /* a release tells its last change from a later one */
    open_as(O_RDONLY); /* as nothing is retained while somebody can write */
    CHECK(dup2(fd, SHARED_FD) == SHARED_FD);
}

static void end_retained(void)
{
    open_as(O_RDWR);
    open_region(0);
    end();
}

static void retain__serves_the_next_run(void)
{
    begin_retained();
    CHECK(scenario_wait(scenario_start("child__reads_and_retains")) == 0);
    CHECK(scenario_wait(scenario_start("child__reads_what_was_retained")) == 0);
    CHECK(scenario_wait(scenario_start("child__reads_at_once")) == 0);
    CHECK(scenario_wait(scenario_start("child__reads_what_was_retained")) == 0);
    end_retained();
}

/* It waits for the cache's own threads. What they had of remote memory, the file serves. */
static void shutdown__while_the_cache_is_at_work(void)
{
    begin_retained();
    for (unsigned i = 0; i < 12; i++)
        CHECK(scenario_wait(scenario_start("child__shuts_down_meanwhile")) == 0);
    end_retained();
}

/* The region would be given back to it: exit(3) has no time for all of a request's. */
static void retain__at_exit_waits_for_no_manager(void)
{
    enum { SOON_MS = 20 * 1000 }; /* a third of the request's deadline */
    int ends[2];
    char byte = 0;
    begin_retained();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK(dup2(ends[1], PIPE_FD) == PIPE_FD);
    pid_t pid = scenario_start("child__reads_and_waits");
    CHECK(read(ends[0], &byte, 1) == 1);
    kill_cmd();
    const int64_t before = now_ms();
    CHECK(write(ends[0], &byte, 1) == 1);
    CHECK(scenario_wait(pid) == 0 && now_ms() - before < SOON_MS);
    start_cmd();
    end_retained();
}

/* ---- beside libdodo's own calls
 * ----------------------------------------------------------------------- */

/* A range that is open in libdodo is cached without remote memory; and one whose remote memory the
 * cache uses is busy for libdodo. */
static void mopen__of_the_same_range(void)
{
    begin(patient);
    int direct = mopen(LEN, fd, 0);
    CHECK(direct >= 0);
    CHECK_FAILS(copen(LEN, fd, 0), EBUSY);
    CHECK_FAILS(copen(1, fd, 5000), EBUSY);
    CHECK(mclose(direct) == 0);
    open_region(0); /* nothing of it is in remote memory */
    CHECK_FAILS(mopen(LEN, fd, 0), EBUSY);
    until_remote();
    CHECK_FAILS(mopen(1, fd, 5000), EBUSY);
    CHECK(cclose(rd) == 0);
    direct = mopen(LEN, fd, 0);
    CHECK(direct >= 0 && mclose(direct) == 0);
    open_region(0);
    end();
}

static const Scenario scenarios[] = {
    SCENARIO(remote__holds_what_left_the_cache),
    SCENARIO(remote__is_none),
    SCENARIO(remote__the_file_fails_beside_it),
    SCENARIO(died__imd),
    SCENARIO(died__cmd),
    SCENARIO(gone__all_regions),
    SCENARIO(died__the_program),
    SCENARIO(retain__serves_the_next_run),
    SCENARIO(retain__at_exit_waits_for_no_manager),
    SCENARIO(shutdown__while_the_cache_is_at_work),
    SCENARIO(mopen__of_the_same_range),
    /* which are no cases by themselves */
    SCENARIO(child__writes_versions),
    SCENARIO(child__reads_and_retains),
    SCENARIO(child__reads_and_waits),
    SCENARIO(child__shuts_down_meanwhile),
    SCENARIO(child__reads_what_was_retained),
    SCENARIO(child__reads_at_once),
};
enum { CASES = ARRAY_SIZE(scenarios) - 6 };

int main(int argc, char **argv)
{
    const char *cmd_path = getenv("DODO_TEST_CMD"), *imd_path = getenv("DODO_TEST_IMD");
    if (cmd_path && imd_path)
        cluster_programs(cmd_path, imd_path);
    if (scenario_main(argc, argv, scenarios, ARRAY_SIZE(scenarios)))
        return 0;
    if (argc < 3 || setenv("DODO_TEST_CMD", argv[1], 1) != 0 ||
        setenv("DODO_TEST_IMD", argv[2], 1) != 0)
        return 2;
    return scenario_group(scenarios, CASES);
}
