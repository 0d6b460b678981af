/* SPDX-License-Identifier: MIT */
/* The thread that works on files: all jobs are done, in order; its eventfd tells of what is done
 * and not taken back, and of nothing else; stopping waits for what was given. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "libdodo/file_worker.h"
#include "tests/lib/case.h"

enum { JOBS = 100, EACH = 1000 };

static int fd = -1;
static File *file;
static FileWorker worker;
static FileJob jobs[JOBS];
static uint8_t bytes[JOBS][EACH];

static int set_up(void **state)
{
    char path[] = "/tmp/dodo-test-file-worker-XXXXXX";
    FileGiven given;
    (void)state;
    fd = mkstemp(path);
    (void)unlink(path);
    if (fd < 0 || file_open(fd, 0, JOBS * EACH, false, false, NULL, 0, &given) < 0)
        return -1;
    file = given.file;
    for (unsigned i = 0; i < JOBS; i++)
        memset(bytes[i], (int)(i + 1), EACH);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    file_worker_stop(&worker);
    file_close(file);
    return close(fd);
}

static bool told(int timeout_ms)
{
    struct pollfd p = {.fd = worker.done_fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

static void give(enum FileJobKind kind, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        jobs[i] = (FileJob){.owner = bytes[i],
                            .file = file,
                            .buf = bytes[i],
                            .len = EACH,
                            .offset = (uint64_t)i * EACH,
                            .kind = kind};
        assert_true(file_worker_give(&worker, &jobs[i]));
    }
}

static void take(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        FileJob *job;
        while (!(job = file_worker_take(&worker)))
            assert_true(told(-1));
        assert_ptr_equal(job, &jobs[i]);
        assert_ptr_equal(job->owner, bytes[i]);
        assert_int_equal(job->result.count, EACH);
    }
    assert_null(file_worker_take(&worker));
    assert_false(told(0));
}

static void both_ways(void)
{
    give(FILE_JOB_WRITE, JOBS);
    take(JOBS);
    memset(bytes, 0, sizeof bytes);
    give(FILE_JOB_READ, JOBS);
    take(JOBS);
    for (unsigned i = 0; i < JOBS; i++)
        for (unsigned j = 0; j < EACH; j++)
            assert_int_equal(bytes[i][j], i + 1);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(worker__writes_and_reads)
{
    file_worker_init(&worker, -1);
    assert_null(file_worker_take(&worker)); /* nothing was given: there is no thread */
    assert_false(worker.started);
    both_ways();
}

/* A loop that takes one job each time it wakes gets them all. */
CASE(worker__tells_until_the_last_one_is_taken)
{
    unsigned done = 0;
    file_worker_init(&worker, -1);
    give(FILE_JOB_WRITE, JOBS);
    while (done < JOBS) {
        done = 0;
        (void)pthread_mutex_lock(&worker.lock);
        LIST_FOREACH(node, &worker.done)
            done++;
        (void)pthread_mutex_unlock(&worker.lock);
        (void)sched_yield();
    }
    for (unsigned i = 0; i < JOBS; i++) {
        assert_true(told(0));
        assert_ptr_equal(file_worker_take(&worker), &jobs[i]);
    }
    assert_false(told(0));
}

CASE(worker__tells_by_the_callers_descriptor)
{
    int own = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    file_worker_init(&worker, own);
    both_ways();
    file_worker_stop(&worker);
    assert_int_equal(close(own), 0); /* it was left to us */
}

CASE(worker__stops_after_all_that_was_given)
{
    uint8_t got[EACH];
    file_worker_init(&worker, -1);
    give(FILE_JOB_WRITE, JOBS);
    file_worker_stop(&worker);
    for (unsigned i = 0; i < JOBS; i++) {
        assert_int_equal(pread(fd, got, EACH, i * EACH), EACH);
        assert_memory_equal(got, bytes[i], EACH);
    }
    file_worker_stop(&worker); /* fine without a thread */
}

/* A program that prints, though it has no standard input, must not ring the worker's bell. */
CASE(worker__tells_by_no_standard_descriptor)
{
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    assert_true(in >= 0);
    assert_int_equal(close(STDIN_FILENO), 0);
    file_worker_init(&worker, -1);
    give(FILE_JOB_WRITE, 1);
    int got = worker.done_fd, taken = fcntl(STDIN_FILENO, F_GETFD);
    assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(close(in), 0);
    assert_true(got > STDERR_FILENO);
    assert_int_equal(taken, -1);
    take(1);
}

CASE(worker__errors_are_the_jobs)
{
    file_worker_init(&worker, -1);
    jobs[0] = (FileJob){.file = file, .buf = NULL, .len = 1, .kind = FILE_JOB_WRITE};
    assert_true(file_worker_give(&worker, &jobs[0]));
    FileJob *job;
    while (!(job = file_worker_take(&worker)))
        assert_true(told(-1));
    assert_int_equal(job->result.count, -1);
    assert_int_equal(job->result.error, EFAULT);
}
