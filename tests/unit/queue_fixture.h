/* SPDX-License-Identifier: MIT */
/* What the tests of asynchronous reads share: a cluster, a file, a queue, and reads that know what
 * they must bring. A test file includes this once. */
#ifndef DODO_TESTS_QUEUE_FIXTURE_H
#define DODO_TESTS_QUEUE_FIXTURE_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/call_asserts.h"
#include "tests/lib/case.h"
#include "tests/lib/cluster.h"
#include "tests/lib/load.h"

enum { KIB = 1 << 10, MIB = 1 << 20, FILE_BYTES = 8 * MIB, READS = 64, DEPTH_MAX = 128 };

/* Nothing gives up on a busy machine, but where a test says so. */
static const char patient[] =
    "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n"
    "[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\nrefraction = 1us\n";
static const char hasty_host[] = "[client]\nrequest_deadline = 60s\ntransfer_deadline = 2s\n"
                                 "refraction = 1us\nreopen = 1h\n";

static Cluster cluster;
static int fd = -1;
static char path[128];
static uint8_t *content; /* of the file */
static DodoQueue *q;

/* A read, and what it must bring. */
typedef struct Job {
    int rd;
    off_t start, at; /* of the region in the file; in the region */
    size_t len;
    bool under_way;
    uint8_t buf[64 * KIB];
} Job;

static Job *jobs;

static inline void begin(const char *config, unsigned imds, unsigned depth)
{
    cluster_start(&cluster, config, false);
    for (unsigned i = 0; i < imds; i++)
        (void)cluster_imd(&cluster, "32M");
    fd = cluster_file(&cluster, path);
    content = malloc(FILE_BYTES);
    jobs = calloc(READS, sizeof *jobs);
    load_fresh(0, content, FILE_BYTES);
    if (!jobs || pwrite(fd, content, FILE_BYTES, 0) != FILE_BYTES)
        abort();
    q = dodo_queue_open(depth);
    assert_non_null(q);
}

static inline int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < cluster.imds_count; i++)
        if (cluster.imds[i].pid)
            (void)kill(cluster.imds[i].pid, SIGCONT);
    if (q)
        (void)dodo_queue_close(q);
    q = NULL;
    (void)dodo_shutdown();
    (void)close(fd);
    free(content);
    free(jobs);
    cluster_end(&cluster);
    return 0;
}

/* With memory for it, where there are hosts. */
static inline int opened(size_t len, off_t offset, unsigned flags)
{
    if (cluster.imds_count > 0)
        return opened_active(len, fd, offset, flags);
    int rd = dodo_mopen_flags(len, fd, offset, flags);
    if (rd < 0)
        fail_msg("mopen: %s", dodo_last_error());
    return rd;
}

/* With all of it in remote memory, on a host that is not given up yet. */
static inline int opened_full(size_t len, unsigned flags)
{
    uint8_t *buf = malloc(len);
    int rd = opened_filled(len, fd, 0, flags, buf);
    free(buf);
    return rd;
}

/* Until all of the region is read from remote memory alone. */
static inline void fill(int rd, size_t len)
{
    uint8_t *buf = malloc(len);
    uint64_t misses;
    do {
        misses = stat_of(rd).misses;
        assert_int_equal(dodo_mread(rd, 0, buf, len), len);
    } while (stat_of(rd).misses != misses);
    free(buf);
}

static inline void submit(Job *job, int rd, off_t start, off_t at, size_t len)
{
    memset(job->buf, 0, sizeof job->buf);
    job->rd = rd;
    job->start = start;
    job->at = at;
    job->len = len;
    job->under_way = true;
    if (dodo_queue_read(q, rd, at, job->buf, len, job) != 0)
        fail_msg("read: %s", dodo_last_error());
}

static inline void assert_good(const DodoDone *done)
{
    Job *job = done->tag;
    assert_true(job->under_way);
    job->under_way = false;
    assert_int_equal(done->error, 0);
    assert_int_equal(done->result, job->len);
    assert_memory_equal(job->buf, content + job->start + job->at, job->len);
}

/* Takes @count reads back, all good. */
static inline void take_good(unsigned count)
{
    DodoDone done[16];
    while (count > 0) {
        int n = dodo_queue_wait(q, done, 16, -1);
        assert_in_range(n, 1, count);
        for (int i = 0; i < n; i++)
            assert_good(&done[i]);
        count -= (unsigned)n;
    }
}

static inline DodoDone take_one(void)
{
    DodoDone done = {.result = -2};
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 1);
    return done;
}

static inline bool readable(int timeout_ms)
{
    struct pollfd p = {.fd = dodo_queue_fd(q), .events = POLLIN};
    int n;
    while ((n = poll(&p, 1, timeout_ms)) < 0)
        assert_int_equal(errno, EINTR);
    return n == 1;
}

#endif
