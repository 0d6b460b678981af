/* SPDX-License-Identifier: MIT */
/* The log of a program's whole life on a cluster of real programs: the names of its events. */
#include "tests/lib/case.h"
#include "tests/unit/api_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The killed host must be given up at some time, and the living one never counts as silent: it says
 * that it lives far more often. The program asks for memory more often than each 5 seconds
 * (reopen), so that the test is short. A region that the file may serve is opened without memory
 * where the manager takes longer than a retry: a busy one has a long time for its answer. */
#define STORY                                                                            \
    "[cmd]\nrequest_deadline = 20s\nhost_dead = 2s\n[imd]\nbeat = 200ms\n[client]\n"     \
    "transfer_deadline = 3s\nrequest_deadline = 60s\nrefraction = 1us\nreopen = 100ms\n" \
    "request_retry = 20s\nrequest_retry_max = 20s\n"

enum { EVENTS_MAX = 64, LEN = 64 * KIB };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static char events[EVENTS_MAX][32];
static unsigned events_count;
static int worst = DODO_LOG_DEBUG; /* of all lines */

static void on_line(void *ctx, int level, const char *text)
{
    (void)ctx;
    (void)pthread_mutex_lock(&lock);
    worst = level < worst ? level : worst;
    if (events_count < EVENTS_MAX)
        (void)snprintf(events[events_count++], sizeof events[0], "%.*s", (int)strcspn(text, " "),
                       text);
    (void)pthread_cond_broadcast(&came);
    (void)pthread_mutex_unlock(&lock);
}

/* Waits until so many events are there. */
static void await_events(unsigned count)
{
    struct timespec until;
    int result = 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLUSTER_PATIENCE_MS / 1000;
    (void)pthread_mutex_lock(&lock);
    while (events_count < count && result == 0)
        result = pthread_cond_timedwait(&came, &lock, &until);
    (void)pthread_mutex_unlock(&lock);
    for (unsigned i = 0; result != 0 && i < events_count; i++)
        print_error("%s\n", events[i]);
    assert_int_equal(result, 0);
}

static int worst_so_far(void)
{
    (void)pthread_mutex_lock(&lock);
    int level = worst;
    (void)pthread_mutex_unlock(&lock);
    return level;
}

TEST_WITH(story__of_a_whole_life, NULL, tear_down)
{
    static const char *const expected[] = {"manager_found", "region_opened", "host_lost",
                                           "region_back", "region_closed"};
    const unsigned count = sizeof expected / sizeof *expected;
    dodo_set_log(on_line, NULL);
    begin(STORY, "16M");
    int rd = opened(LEN, 0, DODO_FALLBACK);
    fill(rd, 0, 0, LEN);
    assert_int_equal(worst_so_far(), DODO_LOG_INFO); /* a healthy start */
    daemon_kill(&cluster.imds[0]);
    for (unsigned i = 0; i < 1000; i++)
        assert_reads(rd, 0, 0, 100);
    (void)cluster_imd(&cluster, "16M");
    await_events(4);
    assert_reads(rd, 0, 0, LEN);
    assert_int_equal(dodo_mclose(rd), 0);
    await_events(count);
    dodo_set_log(NULL, NULL);
    assert_int_equal(events_count, count);
    /* Each thread logs without a lock: that the manager was found may come behind what another one
     * did with it. */
    const bool crossed = strcmp(events[0], expected[1]) == 0;
    for (unsigned i = 0; i < count; i++)
        assert_string_equal(events[i], expected[crossed && i < 2 ? 1 - i : i]);
    assert_int_equal(worst, DODO_LOG_WARN);
}

int main(int argc, char **argv)
{
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
