/* SPDX-License-Identifier: MIT */
/* Asynchronous reads on a real cluster: every row of the errors by name, every byte verified, hosts
 * that die, regions that are closed, fork, exit, event loops, and threads with a queue each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/cluster.h"
#include "tests/lib/load.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { CHILDS_THREADS = 0 }; /* it allows a child of fork none */
#else
enum { CHILDS_THREADS = 1 };
#endif

enum { KIB = 1 << 10, MIB = 1 << 20, FILE_BYTES = 8 * MIB, READS = 64, DEPTH_MAX = 128 };

/* Nothing gives up on a busy machine, but where a test says so. */
static const char patient[] =
    "[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\nrefraction = 1us\n";
static const char hasty_host[] = "[client]\nrequest_deadline = 60s\ntransfer_deadline = 400ms\n"
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

static void begin(const char *config, unsigned imds, unsigned depth)
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

static int tear_down(void **state)
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

static void assert_fails(ssize_t result, int error)
{
    int saved = errno;
    assert_int_equal(result, -1);
    assert_int_equal(saved, error);
    assert_true(strlen(dodo_last_error()) > 0);
}

static DodoStat stat_of(int rd)
{
    DodoStat st;
    assert_int_equal(dodo_stat(rd, &st), 0);
    return st;
}

/* With memory for it, where there are hosts: one that a busy machine holds up is back soon. */
static int opened(size_t len, off_t offset, unsigned flags)
{
    for (;;) {
        int rd = dodo_mopen_flags(len, fd, offset, flags);
        if (rd < 0 && errno != ENOMEM)
            fail_msg("mopen: %s", dodo_last_error());
        if (rd >= 0 && (stat_of(rd).active || cluster.imds_count == 0))
            return rd;
        if (rd >= 0)
            (void)dodo_mclose(rd);
    }
}

/* Until all of the region is read from remote memory alone. */
static void fill(int rd, size_t len)
{
    uint8_t *buf = malloc(len);
    uint64_t misses;
    do {
        misses = stat_of(rd).misses;
        assert_int_equal(dodo_mread(rd, 0, buf, len), len);
    } while (stat_of(rd).misses != misses);
    free(buf);
}

static void submit(Job *job, int rd, off_t start, off_t at, size_t len)
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

static void assert_good(const DodoDone *done)
{
    Job *job = done->tag;
    assert_true(job->under_way);
    job->under_way = false;
    assert_int_equal(done->error, 0);
    assert_int_equal(done->result, job->len);
    assert_memory_equal(job->buf, content + job->start + job->at, job->len);
}

/* Takes @count reads back, all good. */
static void take_good(unsigned count)
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

static DodoDone take_one(void)
{
    DodoDone done = {.result = -2};
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 1);
    return done;
}

static bool readable(int timeout_ms)
{
    struct pollfd p = {.fd = dodo_queue_fd(q), .events = POLLIN};
    int n;
    while ((n = poll(&p, 1, timeout_ms)) < 0)
        assert_int_equal(errno, EINTR);
    return n == 1;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void open__einval(void **state)
{
    (void)state;
    begin(patient, 1, 1);
    assert_null(dodo_queue_open(0));
    assert_int_equal(errno, EINVAL);
    assert_null(dodo_queue_open(DEPTH_MAX + 1));
    assert_int_equal(errno, EINVAL);
    assert_true(strlen(dodo_last_error()) > 0);
}

static void open__enomem_without_settings(void **state)
{
    (void)state;
    begin(patient, 1, 1);
    assert_int_equal(dodo_queue_close(q), 0);
    assert_int_equal(dodo_shutdown(), 0);
    assert_int_equal(setenv("DODO_MANAGER", "nonsense", 1), 0);
    q = dodo_queue_open(1);
    int error = errno;
    assert_int_equal(setenv("DODO_MANAGER", cluster.manager, 1), 0);
    assert_null(q);
    assert_int_equal(error, ENOMEM);
    assert_non_null(strstr(dodo_last_error(), "DODO_MANAGER"));
}

static void calls__einval(void **state)
{
    (void)state;
    char byte;
    DodoDone done;
    begin(patient, 1, 1);
    assert_fails(dodo_queue_read(NULL, 0, 0, &byte, 1, NULL), EINVAL);
    assert_fails(dodo_queue_wait(NULL, &done, 1, 0), EINVAL);
    assert_fails(dodo_queue_fd(NULL), EINVAL);
    assert_fails(dodo_queue_close(NULL), EINVAL);
    assert_fails(dodo_queue_wait(q, NULL, 1, 0), EINVAL);
    assert_fails(dodo_queue_wait(q, &done, 0, 0), EINVAL);
    assert_fails(dodo_queue_wait(q, &done, 1, -2), EINVAL);
}

/* Those of the read come by its completion, each with its tag. */
static void read__errors_come_by_the_completion(void **state)
{
    (void)state;
    char byte;
    begin(patient, 1, DEPTH_MAX);
    int rd = opened(10000, 0, 0);
    const struct {
        int rd;
        off_t at;
        void *buf;
        size_t len;
        ssize_t result;
        int error;
    } rows[] = {
        {-1, 0, &byte, 1, -1, ENOMEM},
        {rd + 1, 0, &byte, 1, -1, ENOMEM},
        {rd, -1, &byte, 1, -1, EINVAL},
        {rd, 10001, &byte, 1, -1, EINVAL},
        {rd, 0, NULL, 1, -1, EINVAL},
        {rd, 0, &byte, (size_t)SSIZE_MAX + 1, -1, EINVAL},
        {rd, 0, NULL, 0, 0, 0},
        {rd, 10000, &byte, 1, 0, 0},
        {rd, 9999, jobs[0].buf, 100, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(
            dodo_queue_read(q, rows[i].rd, rows[i].at, rows[i].buf, rows[i].len, (void *)&rows[i]),
            0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        DodoDone done = take_one();
        size_t row = (size_t)(((const char *)done.tag - (const char *)rows) / sizeof *rows);
        assert_in_range(row, 0, sizeof rows / sizeof *rows - 1);
        assert_int_equal(done.result, rows[row].result);
        assert_int_equal(done.error, rows[row].error);
        if (done.result < 0)
            assert_true(strlen(dodo_last_error()) > 0);
    }
    assert_int_equal(jobs[0].buf[0], content[9999]);
    assert_int_equal(stat_of(rd).active, 1);
}

static void read__eagain_when_full(void **state)
{
    (void)state;
    begin(patient, 1, 4);
    int rd = opened(MIB, 0, 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            submit(&jobs[i], rd, 0, i * 1000, 1000);
        assert_fails(dodo_queue_read(q, rd, 0, jobs[4].buf, 1, NULL), EAGAIN);
        DodoDone done = take_one();
        assert_good(&done);
        submit(&jobs[4], rd, 0, 4000, 1000); /* there is room for one */
        assert_fails(dodo_queue_read(q, rd, 0, jobs[5].buf, 1, NULL), EAGAIN);
        take_good(4);
    }
}

static void calls__errno_is_left_alone(void **state)
{
    (void)state;
    begin(patient, 1, 1);
    int rd = opened(MIB, 0, 0);
    DodoDone done;
    errno = 12345;
    assert_int_equal(dodo_queue_read(q, rd, 0, jobs[0].buf, 5000, NULL), 0);
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 1);
    assert_int_equal(dodo_queue_read(q, -1, 0, jobs[0].buf, 1, NULL), 0);
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 1);
    assert_true(dodo_queue_fd(q) >= 0);
    assert_int_equal(dodo_queue_close(q), 0);
    q = dodo_queue_open(DEPTH_MAX);
    assert_non_null(q);
    assert_int_equal(errno, 12345);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* Sixteen of 64 KiB at once, over regions on two hosts; from the file, and then from memory. */
static void read__every_byte(void **state)
{
    (void)state;
    enum { REGION = 4 * MIB, EACH = 64 * KIB, DEPTH = 16 };
    begin(patient, 2, DEPTH);
    int rds[2] = {opened(REGION, 0, 0), opened(REGION - 777, REGION + 777, 0)};
    off_t starts[2] = {0, REGION + 777};
    for (int pass = 0; pass < 4; pass++) {
        for (int i = 0; i < DEPTH; i++)
            submit(&jobs[i], rds[i % 2], starts[i % 2], i / 2 * EACH + i * 100, EACH);
        for (unsigned i = DEPTH; i < 200; i++) {
            DodoDone done = take_one();
            assert_good(&done);
            Job *job = done.tag;
            off_t at = (off_t)(i * 37991u) % (REGION - EACH - 777);
            submit(job, rds[i % 2], starts[i % 2], at, EACH - i % 7);
        }
        take_good(DEPTH);
    }
    for (int r = 0; r < 2; r++) {
        DodoStat st = stat_of(rds[r]);
        assert_true(st.hits > 0 && st.misses > 0);
        assert_int_equal(st.active, 1);
    }
}

/* Writes beside: what was there before or what is written. */
static void read__beside_writes(void **state)
{
    (void)state;
    begin(patient, 1, 16);
    int rd = opened(MIB, 0, 0);
    uint8_t *fresh = malloc(64 * KIB);
    fill(rd, MIB);
    for (unsigned round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++)
            submit(&jobs[i], rd, 0, i * 10000, 50000);
        for (size_t i = 0; i < 64 * KIB; i++)
            fresh[i] = (uint8_t)~content[30000 + i];
        assert_int_equal(dodo_mwrite(rd, 30000, fresh, 64 * KIB), 64 * KIB);
        for (int n = 0; n < 8; n++) {
            DodoDone done = take_one();
            const Job *job = done.tag;
            assert_int_equal(done.result, job->len);
            for (size_t i = 0; i < job->len; i++) {
                size_t at = (size_t)job->at + i;
                bool written = at >= 30000 && at < 30000 + 64 * KIB;
                assert_true(job->buf[i] == content[at] ||
                            (written && job->buf[i] == fresh[at - 30000]));
            }
        }
        memcpy(content + 30000, fresh, 64 * KIB);
        for (int i = 0; i < 8; i++)
            submit(&jobs[i], rd, 0, i * 10000, 50000);
        take_good(8);
    }
    free(fresh);
}

static void read__larger_than_any_window(void **state)
{
    (void)state;
    begin(patient, 1, 2);
    int rd = opened(FILE_BYTES - 3, 3, 0);
    uint8_t *big[2] = {malloc(FILE_BYTES), malloc(FILE_BYTES)};
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(dodo_queue_read(q, rd, i, big[i], FILE_BYTES - 3, big[i]), 0);
        for (int i = 0; i < 2; i++) {
            DodoDone done = take_one();
            int which = done.tag == big[1];
            assert_int_equal(done.result, FILE_BYTES - 3 - which);
            assert_memory_equal(done.tag, content + 3 + which, FILE_BYTES - 3 - which);
        }
    }
    free(big[0]);
    free(big[1]);
}

/* FALLBACK without memory: all comes from the file, short at its end. */
static void read__fallback(void **state)
{
    (void)state;
    begin(patient, 0, 8);
    int rd = opened(2 * MIB, FILE_BYTES - MIB, DODO_FALLBACK);
    assert_int_equal(stat_of(rd).active, 0);
    for (int i = 0; i < 7; i++)
        submit(&jobs[i], rd, FILE_BYTES - MIB, i * 10000, 9999);
    take_good(7);
    assert_int_equal(dodo_queue_read(q, rd, MIB - 100, jobs[0].buf, 1000, &jobs[0]), 0);
    DodoDone done = take_one();
    assert_int_equal(done.result, 100);
    assert_memory_equal(jobs[0].buf, content + FILE_BYTES - 100, 100);
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void wait__zero_when_none_is_under_way(void **state)
{
    (void)state;
    DodoDone done;
    begin(patient, 1, 2);
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 0);
    assert_int_equal(dodo_queue_wait(q, &done, 1, INT_MAX), 0);
    submit(&jobs[0], opened(MIB, 0, 0), 0, 0, 100);
    take_good(1);
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 0);
}

static void wait__zero_at_the_timeout(void **state)
{
    (void)state;
    DodoDone done;
    begin(patient, 1, 2);
    int rd = opened(MIB, 0, 0);
    fill(rd, MIB);
    (void)kill(cluster.imds[0].pid, SIGSTOP);
    submit(&jobs[0], rd, 0, 5, 10000);
    assert_int_equal(dodo_queue_wait(q, &done, 1, 0), 0);
    assert_int_equal(dodo_queue_wait(q, &done, 1, 20), 0);
    assert_true(jobs[0].under_way);
    (void)kill(cluster.imds[0].pid, SIGCONT);
    take_good(1);
}

static void wait__takes_no_more_than_asked(void **state)
{
    (void)state;
    DodoDone done[3];
    begin(patient, 1, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(dodo_queue_read(q, -1, 0, NULL, 0, NULL), 0); /* over at once */
    assert_int_equal(dodo_queue_wait(q, done, 3, -1), 3);
    assert_true(readable(0));
    assert_int_equal(dodo_queue_wait(q, done, 3, 0), 3);
    assert_true(readable(0));
    assert_int_equal(dodo_queue_wait(q, done, 3, 0), 2);
    assert_false(readable(0));
}

static void on_signal(int number)
{
    (void)number;
}

typedef struct Storm {
    pthread_t target;
    atomic_bool over;
} Storm;

static void *storm_main(void *arg)
{
    Storm *s = arg;
    while (!s->over) {
        (void)pthread_kill(s->target, SIGUSR1);
        (void)sched_yield();
    }
    return NULL;
}

static void wait__signals_do_not_end_it(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal}, old; /* no SA_RESTART */
    Storm storm = {.target = pthread_self()};
    pthread_t thread;
    begin(patient, 1, 8);
    int rd = opened(MIB, 0, 0);
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(pthread_create(&thread, NULL, storm_main, &storm), 0);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 8; i++)
            submit(&jobs[i], rd, 0, i * 100000, 64 * KIB);
        take_good(8);
    }
    storm.over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
}

/* ---- event loops ---------------------------------------------------------------------------- */

/* Nobody waits in the library: poll tells when to go there. All bytes come, from the file and from
 * memory; then the descriptor falls silent. */
static void fd__poll_loop(void **state)
{
    (void)state;
    begin(patient, 2, 16);
    int rds[2] = {opened(MIB, 0, 0), opened(MIB, MIB, 0)};
    assert_int_equal(dodo_queue_fd(q), dodo_queue_fd(q));
    assert_false(readable(0));
    for (int pass = 0; pass < 3; pass++) {
        unsigned left = 0;
        for (int i = 0; i < 16; i++, left++)
            submit(&jobs[i], rds[i % 2], i % 2 * MIB, i * 50000, 60000);
        while (left > 0) {
            DodoDone done[5];
            assert_true(readable(-1));
            int n = dodo_queue_wait(q, done, 5, 0);
            assert_in_range(n, 0, left);
            for (int i = 0; i < n; i++)
                assert_good(&done[i]);
            left -= (unsigned)n;
        }
        while (readable(0)) { /* what came late is taken in */
            DodoDone done;
            assert_int_equal(dodo_queue_wait(q, &done, 1, 0), 0);
        }
    }
}

/* Two queues in one epoll(7) descriptor. */
static void fd__epoll_of_two_queues(void **state)
{
    (void)state;
    begin(patient, 1, 8);
    int rd = opened(MIB, 0, 0);
    DodoQueue *both[2] = {q, dodo_queue_open(8)};
    int loop = epoll_create1(EPOLL_CLOEXEC);
    unsigned left = 16;
    assert_non_null(both[1]);
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = both[i]};
        assert_int_equal(epoll_ctl(loop, EPOLL_CTL_ADD, dodo_queue_fd(both[i]), &event), 0);
        q = both[i];
        for (int j = 0; j < 8; j++)
            submit(&jobs[i * 8 + j], rd, 0, (i * 8 + j) * 60000, 60000);
    }
    while (left > 0) {
        struct epoll_event event;
        DodoDone done;
        if (epoll_wait(loop, &event, 1, -1) != 1)
            continue;
        if (dodo_queue_wait(event.data.ptr, &done, 1, 0) == 1) {
            assert_good(&done);
            left--;
        }
    }
    q = both[0];
    assert_int_equal(dodo_queue_close(both[1]), 0);
    (void)close(loop);
}

/* ---- hosts that die ------------------------------------------------------------------------- */

static void lost__all_that_are_in_flight(void **state)
{
    (void)state;
    begin(hasty_host, 1, READS);
    int rd = opened(4 * MIB, 0, 0);
    fill(rd, 4 * MIB);
    (void)kill(cluster.imds[0].pid, SIGSTOP); /* nothing is answered any more */
    for (int i = 0; i < READS; i++)
        submit(&jobs[i], rd, 0, i * 1000, 64 * KIB);
    daemon_kill(&cluster.imds[0]);
    for (int i = 0; i < READS; i++) {
        DodoDone done = take_one();
        Job *job = done.tag;
        assert_true(job->under_way); /* each just once */
        job->under_way = false;
        assert_int_equal(done.result, -1);
        assert_int_equal(done.error, ENOMEM);
    }
    assert_int_equal(stat_of(rd).active, 0);
    assert_int_equal(dodo_queue_read(q, rd, 0, jobs[0].buf, 1, NULL), 0);
    assert_int_equal(take_one().error, ENOMEM);
    (void)dodo_mclose(rd);
}

static void lost__fallback_goes_on_with_the_file(void **state)
{
    (void)state;
    begin(hasty_host, 1, READS);
    int rd = opened(4 * MIB, 0, DODO_FALLBACK);
    fill(rd, 4 * MIB);
    (void)kill(cluster.imds[0].pid, SIGSTOP);
    for (int i = 0; i < READS; i++)
        submit(&jobs[i], rd, 0, i * 1000, 64 * KIB);
    daemon_kill(&cluster.imds[0]);
    take_good(READS);
    assert_int_equal(stat_of(rd).active, 0);
}

/* ---- closing -------------------------------------------------------------------------------- */

/* The thread that would move its own reads on is the one that waits for them. */
static void mclose__of_what_is_under_way(void **state)
{
    (void)state;
    begin(patient, 1, 16);
    int other = opened(MIB, 4 * MIB, 0);
    for (int round = 0; round < 10; round++) {
        int rd = opened(MIB, 0, 0);
        if (round % 2)
            fill(rd, MIB);
        for (int i = 0; i < 8; i++) {
            submit(&jobs[i], rd, 0, i * 100000, 64 * KIB);
            submit(&jobs[8 + i], other, 4 * MIB, i * 100000, 64 * KIB);
        }
        assert_int_equal(dodo_mclose(rd), 0);
        take_good(16);
        assert_int_equal(dodo_queue_read(q, rd, 0, jobs[0].buf, 1, NULL), 0);
        assert_int_equal(take_one().error, ENOMEM);
    }
}

static void mclose__of_a_dead_host(void **state)
{
    (void)state;
    begin(hasty_host, 1, 16);
    int rd = opened(MIB, 0, 0);
    fill(rd, MIB);
    (void)kill(cluster.imds[0].pid, SIGSTOP);
    for (int i = 0; i < 16; i++)
        submit(&jobs[i], rd, 0, i, 64 * KIB);
    assert_fails(dodo_mclose(rd), EINVAL); /* lost while it was closed */
    for (int i = 0; i < 16; i++)
        assert_int_equal(take_one().error, ENOMEM);
}

static void *close_main(void *arg)
{
    return dodo_mclose(*(int *)arg) == 0 ? NULL : arg;
}

/* By another thread, while the owner waits for its reads, or does something else. */
static void mclose__by_another_thread(void **state)
{
    (void)state;
    void *bad;
    begin(patient, 1, 16);
    for (int round = 0; round < 10; round++) {
        pthread_t thread;
        int rd = opened(MIB, 0, 0);
        for (int i = 0; i < 16; i++)
            submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
        assert_int_equal(pthread_create(&thread, NULL, close_main, &rd), 0);
        if (round % 2)
            take_good(16);
        assert_int_equal(pthread_join(thread, &bad), 0);
        assert_null(bad);
        if (round % 2 == 0)
            take_good(16);
    }
}

static void close__waits_for_what_is_under_way(void **state)
{
    (void)state;
    begin(patient, 1, 16);
    int rd = opened(MIB, 0, 0);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 16; i++)
            submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
        assert_int_equal(dodo_queue_close(q), 0);
        for (int i = 0; i < 16; i++)
            assert_memory_equal(jobs[i].buf, content + jobs[i].at, jobs[i].len);
        q = dodo_queue_open(16);
        assert_non_null(q);
    }
    assert_int_equal(dodo_mclose(rd), 0);
}

static void shutdown__with_reads_under_way(void **state)
{
    (void)state;
    char byte;
    DodoDone done;
    begin(patient, 1, 16);
    int rd = opened(MIB, 0, 0);
    for (int i = 0; i < 16; i++)
        submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
    assert_int_equal(dodo_shutdown(), 0);
    assert_fails(dodo_queue_read(q, rd, 0, &byte, 1, NULL), EINVAL);
    assert_true(readable(0));
    take_good(16);
    assert_false(readable(0));
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 0);
    rd = opened(MIB, 0, 0); /* the library starts anew; this queue does not */
    assert_fails(dodo_queue_read(q, rd, 0, &byte, 1, NULL), EINVAL);
    assert_int_equal(dodo_queue_close(q), 0);
    q = dodo_queue_open(1);
    submit(&jobs[0], rd, 0, 0, 64 * KIB);
    take_good(1);
}

/* ---- fork and exit -------------------------------------------------------------------------- */

static int child_of_fork(int rd)
{
    char byte;
    DodoDone done;
    int bad = 0;
    bad |= dodo_queue_read(q, rd, 0, &byte, 1, NULL) != -1 || errno != EINVAL;
    bad |= (dodo_queue_wait(q, &done, 1, -1) != -1 || errno != EINVAL) << 1;
    bad |= (dodo_queue_fd(q) != -1 || errno != EINVAL) << 2;
    bad |= (dodo_queue_close(q) != -1 || errno != EINVAL) << 3;
    if (!CHILDS_THREADS)
        return bad;
    q = dodo_queue_open(4); /* one of its own */
    bad |= !q << 4;
    bad |= (q && dodo_queue_close(q) != 0) << 5;
    bad |= (dodo_shutdown() != 0) << 6;
    return bad;
}

static void fork__child_has_no_queues(void **state)
{
    (void)state;
    begin(patient, 1, 16);
    int rd = opened(MIB, 0, 0);
    (void)fflush(NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 16; i++)
            submit(&jobs[i], rd, 0, i * 10000, 64 * KIB);
        pid_t child = fork();
        if (child == 0)
            _exit(child_of_fork(rd));
        take_good(16); /* whatever the child does */
        int status = child_wait(child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* argv: the file. Ends in the middle of its reads. */
static int child_main(char **argv)
{
    static uint8_t buf[READS][64 * KIB];
    DodoQueue *mine = dodo_queue_open(READS);
    fd = open(argv[0], O_RDWR | O_CLOEXEC);
    int rd = dodo_mopen(MIB, fd, 0);
    if (!mine || rd < 0)
        return 1;
    for (int i = 0; i < READS; i++)
        if (dodo_queue_read(mine, rd, i, buf[i], sizeof buf[i], NULL) != 0)
            return 2;
    return 0;
}

static void exit__with_reads_under_way(void **state)
{
    (void)state;
    begin(patient, 1, 1);
    const char *args[] = {path, NULL};
    for (int round = 0; round < 3; round++)
        child_must_succeed(child_start(args), "exit");
}

/* ---- threads -------------------------------------------------------------------------------- */

enum { THREADS = 6, EACH_DEPTH = 8, EACH_READS = 150 };

static int shared_rds[2];
static atomic_uint wrong;

static void *reader_main(void *arg)
{
    unsigned self = *(unsigned *)arg;
    uint8_t(*bufs)[20000] = malloc(EACH_DEPTH * sizeof *bufs);
    off_t ats[EACH_DEPTH];
    DodoQueue *mine = dodo_queue_open(EACH_DEPTH);
    unsigned sent = 0, under_way = 0;
    bool idle[EACH_DEPTH];
    memset(idle, true, sizeof idle);
    while (mine && (sent < EACH_READS || under_way > 0)) {
        for (size_t i = 0; i < EACH_DEPTH && sent < EACH_READS; i++) {
            if (!idle[i])
                continue;
            unsigned n = self * 7919 + sent++;
            ats[i] = (off_t)(n * 13337u % (MIB - 20000)) + (n % 2) * MIB;
            idle[i] = false;
            under_way++;
            wrong += dodo_queue_read(mine, shared_rds[n % 2], ats[i] % MIB, bufs[i], 20000,
                                     (void *)i) != 0;
        }
        DodoDone done;
        if (dodo_queue_wait(mine, &done, 1, -1) != 1) {
            wrong++;
            break;
        }
        size_t i = (size_t)done.tag;
        wrong += done.result != 20000 || memcmp(bufs[i], content + ats[i], 20000) != 0;
        idle[i] = true;
        under_way--;
    }
    wrong += !mine || dodo_queue_close(mine) != 0;
    free(bufs);
    return NULL;
}

/* Many queues at once, beside plain calls, opening and closing. */
static void threads__a_queue_each(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    begin(patient, 2, 1);
    shared_rds[0] = opened(MIB, 0, 0);
    shared_rds[1] = opened(MIB, MIB, 0);
    wrong = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, reader_main, &numbers[i]), 0);
    }
    for (int round = 0; round < 10; round++) {
        int rd = opened(MIB, 3 * MIB, 0);
        submit(&jobs[0], rd, 3 * MIB, round * 1000, 64 * KIB);
        assert_int_equal(dodo_mwrite(shared_rds[0], 0, content, 64 * KIB), 64 * KIB);
        assert_int_equal(dodo_mclose(rd), 0);
        take_good(1);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        T(open__einval),
        T(open__enomem_without_settings),
        T(calls__einval),
        T(read__errors_come_by_the_completion),
        T(read__eagain_when_full),
        T(calls__errno_is_left_alone),
        T(read__every_byte),
        T(read__beside_writes),
        T(read__larger_than_any_window),
        T(read__fallback),
        T(wait__zero_when_none_is_under_way),
        T(wait__zero_at_the_timeout),
        T(wait__takes_no_more_than_asked),
        T(wait__signals_do_not_end_it),
        T(fd__poll_loop),
        T(fd__epoll_of_two_queues),
        T(lost__all_that_are_in_flight),
        T(lost__fallback_goes_on_with_the_file),
        T(mclose__of_what_is_under_way),
        T(mclose__of_a_dead_host),
        T(mclose__by_another_thread),
        T(close__waits_for_what_is_under_way),
        T(shutdown__with_reads_under_way),
        T(fork__child_has_no_queues),
        T(exit__with_reads_under_way),
        T(threads__a_queue_each),
    };
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return child_main(argv + 2);
    if (argc != 3) {
        (void)fprintf(stderr, "usage: %s CMD IMD\n", argv[0]);
        return 2;
    }
    cluster_programs(argv[1], argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
