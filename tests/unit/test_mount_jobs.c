/* SPDX-License-Identifier: MIT */
/* Jobs of a mount: one that waits for another does not keep it from running. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "adapters/mount/jobs.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "tests/lib/case.h"

/* The linker puts it before what the jobs call (meson.build). */
int __real_os_thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx);
int __wrap_os_thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx);

static bool refuses;

int __wrap_os_thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx)
{
    return refuses ? -EAGAIN : __real_os_thread_start(ret, run, ctx);
}

enum { ROUNDS = 200, AT_ONCE = 8, PATIENCE_S = 60 };

/* All of a round wait for each other. */
typedef struct Round {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned begun, ended, of;
    bool late;
} Round;

typedef struct RoundJob {
    Job job;
    Round *round;
} RoundJob;

static void meet(Job *job)
{
    Round *r = CONTAINER_OF(job, RoundJob, job)->round;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&r->lock);
    r->begun++;
    pthread_cond_broadcast(&r->changed);
    while (r->begun < r->of && !r->late)
        r->late = pthread_cond_timedwait(&r->changed, &r->lock, &until) != 0;
    r->ended++;
    pthread_mutex_unlock(&r->lock);
}

static void pushed(Jobs *jobs, unsigned of)
{
    RoundJob each[AT_ONCE];
    Round round = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .of = of};
    for (unsigned i = 0; i < of; i++) {
        each[i] = (RoundJob){{.run = meet}, &round};
        jobs_push(jobs, &each[i].job);
    }
    jobs_drain(jobs);
    assert_false(round.late);
    assert_int_equal(round.ended, of);
}

/* Also where a thread is idle that is about to take the first of them. */
TEST(push__each_job_has_a_thread)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        Jobs *jobs;
        assert_int_equal(jobs_new(&jobs), 0);
        for (unsigned of = 1; of <= AT_ONCE; of++)
            pushed(jobs, of);
        jobs_end(jobs);
    }
}

TEST(end__does_what_is_left)
{
    Jobs *jobs;
    Round round = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .of = 1};
    RoundJob each[3 * AT_ONCE];
    assert_int_equal(jobs_new(&jobs), 0);
    for (unsigned i = 0; i < ARRAY_SIZE(each); i++) {
        each[i] = (RoundJob){{.run = meet}, &round};
        jobs_push(jobs, &each[i].job);
    }
    jobs_end(jobs);
    assert_int_equal(round.ended, ARRAY_SIZE(each));
    jobs_end(NULL);
}

/* What must be done is done by the first thread, one after the other; without that there are no
 * jobs. */
TEST(threads__that_cannot_be_started)
{
    Jobs *jobs;
    Round round = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .of = 1};
    RoundJob each[3];
    assert_int_equal(jobs_new(&jobs), 0);
    refuses = true;
    for (unsigned i = 0; i < ARRAY_SIZE(each); i++) {
        each[i] = (RoundJob){{.run = meet}, &round};
        jobs_push(jobs, &each[i].job);
    }
    jobs_end(jobs);
    const int res = jobs_new(&jobs);
    refuses = false;
    assert_int_equal(round.ended, ARRAY_SIZE(each));
    assert_int_equal(res, -EAGAIN);
}
