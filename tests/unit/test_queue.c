/* SPDX-License-Identifier: MIT */
/* Asynchronous reads on a real cluster: every row of the errors by name, every byte verified,
 * waiting, event loops. (How they end otherwise: test_queue_ends.) */
#include "tests/lib/case.h"
#include "tests/unit/queue_fixture.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>

static const char striped[] = "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n"
                              "[client]\ntransfer_deadline = 60s\nrequest_deadline = 60s\n"
                              "refraction = 1us\nstripe = 64K\n";

#define CASE(name) TEST_WITH(name, NULL, tear_down)

/* ---- arguments ------------------------------------------------------------------------------ */

CASE(open__einval)
{
    begin(patient, 1, 1);
    assert_null(dodo_queue_open(0));
    assert_int_equal(errno, EINVAL);
    assert_null(dodo_queue_open(DEPTH_MAX + 1));
    assert_int_equal(errno, EINVAL);
    assert_true(strlen(dodo_last_error()) > 0);
}

CASE(open__enomem_without_settings)
{
    begin(patient, 1, 1);
    assert_int_equal(dodo_queue_close(q), 0);
    assert_int_equal(dodo_shutdown(), 0);
    assert_int_equal(setenv("DODO_MANAGER", "non sense", 1), 0);
    q = dodo_queue_open(1);
    int error = errno;
    assert_int_equal(setenv("DODO_MANAGER", cluster.manager, 1), 0);
    assert_null(q);
    assert_int_equal(error, ENOMEM);
    assert_non_null(strstr(dodo_last_error(), "DODO_MANAGER"));
}

CASE(calls__einval)
{
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
CASE(read__errors_come_by_the_completion)
{
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

CASE(read__eagain_when_full)
{
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

CASE(calls__errno_is_left_alone)
{
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
CASE(read__every_byte)
{
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
        fill(rds[0], REGION);
        fill(rds[1], REGION - 777);
    }
    for (int r = 0; r < 2; r++) {
        DodoStat st = stat_of(rds[r]);
        assert_true(st.hits > 0 && st.misses > 0);
        assert_int_equal(st.active, 1);
    }
}

/* Writes beside: what was there before or what is written. */
CASE(read__beside_writes)
{
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

CASE(read__larger_than_any_window)
{
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

/* A read of several stripes, on several hosts, is one read. */
CASE(read__striped)
{
    begin(striped, 2, 16);
    int rd = opened(FILE_BYTES - 99, 99, DODO_STRIPE);
    for (int pass = 0; pass < 3; pass++) {
        for (int batch = 0; batch < 8; batch++) {
            for (int i = 0; i < 16; i++)
                submit(&jobs[i], rd, 99, (batch * 16 + i) * 60000, 64 * KIB - i);
            take_good(16);
        }
        fill(rd, FILE_BYTES - 99);
    }
    assert_true(stat_of(rd).hits > 0);
    for (int i = 0; i < 16; i++)
        submit(&jobs[i], rd, 99, i * 60000, 64 * KIB);
    assert_int_equal(dodo_mclose(rd), 0);
    take_good(16);
}

/* FALLBACK without memory: all comes from the file, short at its end. */
CASE(read__fallback)
{
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

CASE(wait__zero_when_none_is_under_way)
{
    DodoDone done;
    begin(patient, 1, 2);
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 0);
    assert_int_equal(dodo_queue_wait(q, &done, 1, INT_MAX), 0);
    submit(&jobs[0], opened(MIB, 0, 0), 0, 0, 100);
    take_good(1);
    assert_int_equal(dodo_queue_wait(q, &done, 1, -1), 0);
}

CASE(wait__zero_at_the_timeout)
{
    DodoDone done;
    begin(patient, 1, 2);
    int rd = opened(MIB, 0, 0);
    fill(rd, MIB);
    process_pause(cluster.imds[0].pid);
    submit(&jobs[0], rd, 0, 5, 10000);
    assert_int_equal(dodo_queue_wait(q, &done, 1, 0), 0);
    assert_int_equal(dodo_queue_wait(q, &done, 1, 20), 0);
    assert_true(jobs[0].under_way);
    (void)kill(cluster.imds[0].pid, SIGCONT);
    take_good(1);
}

CASE(wait__takes_no_more_than_asked)
{
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

CASE(wait__signals_do_not_end_it)
{
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
CASE(fd__poll_loop)
{
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

/* A read that is over when it has begun shows, too. */
CASE(fd__readable_when_a_read_ends_at_once)
{
    DodoDone done;
    begin(patient, 1, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dodo_queue_read(q, -1, 0, jobs[0].buf, 1, &jobs[i]), 0);
        assert_true(readable(0));
        assert_int_equal(dodo_queue_wait(q, &done, 1, 0), 1);
        assert_ptr_equal(done.tag, &jobs[i]);
        assert_int_equal(done.error, ENOMEM);
        assert_false(readable(0));
    }
}

/* Two queues in one epoll(7) descriptor. */
CASE(fd__epoll_of_two_queues)
{
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

int main(int argc, char **argv)
{
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
