/* SPDX-License-Identifier: MIT */
/* The library with many threads in it at once, on a real cluster: every byte is verified. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/case.h"
#include "tests/lib/call_asserts.h"
#include "tests/lib/cluster.h"
#include "tests/lib/load.h"
#include "tests/lib/sanitizer.h"

enum { SCALE = UNDER_TSAN ? 4 : 1 };

enum { THREADS = 8, ON_TWO_HOSTS = 6 /* regions: so many do not all fall on one of two hosts */ };

/* Hosts are not to be lost by a busy machine's scheduling, but where a test says so. */
#define PATIENT_MANAGER                                 \
    "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n" \
    "[client]\nrequest_deadline = 60s\n"
static const char patient[] = PATIENT_MANAGER "transfer_deadline = 60s\n";
/* What is dead is so for good; who is only held up is back before. */
static const char mortal[] = PATIENT_MANAGER "transfer_deadline = 15s\n";
static const char hasty[] = "[client]\ntransfer_deadline = 500ms\nrequest_deadline = 2s\n"
                            "reopen = 50ms\nrefraction = 50ms\n[cmd]\nhost_dead = 1s\n"
                            "request_deadline = 500ms\n[imd]\nbeat = 200ms\n";

static Cluster cluster;
static int fd = -1;

static int set_up(const char *config, bool sealed)
{
    cluster_start(&cluster, config, sealed);
    (void)cluster_imd(&cluster, "64M");
    (void)cluster_imd(&cluster, "64M");
    fd = cluster_file(&cluster, NULL);
    return 0;
}

static int set_up_patient(void **state)
{
    (void)state;
    return set_up(patient, false);
}

static int set_up_sealed(void **state)
{
    (void)state;
    return set_up(patient, true);
}

static int set_up_mortal(void **state)
{
    (void)state;
    return set_up(mortal, false);
}

static int set_up_hasty(void **state)
{
    (void)state;
    return set_up(hasty, false);
}

static int tear_down(void **state)
{
    (void)state;
    (void)dodo_shutdown();
    (void)close(fd);
    cluster_end(&cluster);
    return 0;
}

static LoadConfig load_config(unsigned ops)
{
    return (LoadConfig){.fd = fd, .base = 12345, .regions = 2, .threads = THREADS, .ops = ops};
}

#define PATIENT(name) TEST_WITH(name, set_up_patient, tear_down)
#define SEALED(name) TEST_WITH(name, set_up_sealed, tear_down)
#define MORTAL(name) TEST_WITH(name, set_up_mortal, tear_down)
#define HASTY(name) TEST_WITH(name, set_up_hasty, tear_down)

/* ---- bytes ---------------------------------------------------------------------------------- */

PATIENT(threads__every_byte)
{
    LoadConfig config = load_config(400 / SCALE);
    Load *l = load_start(&config);
    assert_int_equal(load_join(l), 0);
    assert_int_equal(load_lost(l), 0);
    for (unsigned r = 0; r < config.regions; r++) {
        DodoStat st = stat_of(load_rd(l, r));
        assert_int_equal(st.active, 1);
        assert_true(st.hits > 0 && st.misses > 0 && st.written > 0);
    }
    load_free(l);
}

SEALED(threads__every_byte_sealed)
{
    threads__every_byte(state);
}

/* More threads than the machine has cores by far; fewer calls each. */
SEALED(threads__a_crowd)
{
    LoadConfig config = load_config(12 / SCALE);
    config.threads = 48;
    Load *l = load_start(&config);
    assert_int_equal(load_join(l), 0);
    load_free(l);
}

/* ---- closing beside other calls ------------------------------------------------------------- */

typedef struct Race {
    pthread_barrier_t barrier;
    int rd;
    atomic_uint closed, refused;
} Race;

static void *race_main(void *arg)
{
    Race *r = arg;
    uint8_t buf[5000];
    bool good = true;
    (void)pthread_barrier_wait(&r->barrier);
    for (int i = 0; i < 3; i++) {
        ssize_t n = dodo_mread(r->rd, i * 1000, buf, sizeof buf);
        good &= n == (ssize_t)sizeof buf || (n == -1 && errno == ENOMEM); /* closed meanwhile */
    }
    if (dodo_mclose(r->rd) == 0)
        r->closed++;
    else if (errno == EINVAL)
        r->refused++;
    return good ? NULL : r;
}

PATIENT(close__one_of_many_wins)
{
    assert_int_equal(ftruncate(fd, 8192), 0);
    for (int round = 0; round < 20 / SCALE; round++) {
        pthread_t threads[THREADS];
        Race r = {.rd = dodo_mopen(8192, fd, 0)};
        assert_true(r.rd >= 0);
        (void)pthread_barrier_init(&r.barrier, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, race_main, &r), 0);
        for (int i = 0; i < THREADS; i++) {
            void *bad;
            assert_int_equal(pthread_join(threads[i], &bad), 0);
            assert_null(bad);
        }
        assert_int_equal(r.closed, 1);
        assert_int_equal(r.refused, THREADS - 1);
        (void)pthread_barrier_destroy(&r.barrier);
    }
}

/* ---- signals -------------------------------------------------------------------------------- */

static _Atomic uint64_t signals_seen;
static atomic_bool storm_over;

static void on_signal(int number)
{
    (void)number;
    signals_seen++;
}

/* To every working thread in turn, the next one when the last was handled: as fast as they come. */
static void *storm_main(void *arg)
{
    Load *l = arg;
    for (unsigned i = 0; !storm_over; i++) {
        uint64_t before = signals_seen;
        (void)pthread_kill(load_thread(l, i % THREADS), SIGUSR1);
        for (int spins = 0; signals_seen == before && spins < 1000 && !storm_over; spins++)
            (void)sched_yield();
    }
    return NULL;
}

SEALED(signals__a_storm_disturbs_nothing)
{
    struct sigaction action = {.sa_handler = on_signal}, old; /* no SA_RESTART */
    pthread_t storm;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    signals_seen = 0;
    storm_over = false;
    LoadConfig config = load_config(LOAD_FOREVER);
    Load *l = load_start(&config);
    assert_int_equal(pthread_create(&storm, NULL, storm_main, l), 0);
    load_wait(l, 1600 / SCALE);
    while (signals_seen < 1000 / SCALE)
        load_wait(l, 1);
    storm_over = true;
    assert_int_equal(pthread_join(storm, NULL), 0);
    load_stop(l);
    assert_int_equal(load_join(l), 0);
    load_free(l);
    assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
}

/* ---- cancellation --------------------------------------------------------------------------- */

/* Threads that are cancelled in the middle of calls finish those: nothing is left locked, counted
 * or half done, and the others go on. */
SEALED(cancel__waits_for_the_call)
{
    LoadConfig config = load_config(LOAD_FOREVER);
    Load *l = load_start(&config);
    for (unsigned i = 0; i < THREADS / 2; i++) {
        load_wait(l, 40 / SCALE);
        assert_int_equal(pthread_cancel(load_thread(l, i)), 0);
    }
    load_wait(l, 200 / SCALE);
    load_stop(l);
    assert_int_equal(load_join(l), THREADS / 2);
    load_free(l); /* waits for calls in progress: there is none */
}

PATIENT(cancel__state_is_given_back)
{
    char buf[10];
    int old;
    assert_int_equal(ftruncate(fd, 8192), 0);
    for (int wanted = PTHREAD_CANCEL_ENABLE;; wanted = PTHREAD_CANCEL_DISABLE) {
        assert_int_equal(pthread_setcancelstate(wanted, NULL), 0);
        int rd = dodo_mopen(8192, fd, 0);
        assert_int_equal(dodo_mwrite(rd, 0, buf, sizeof buf), sizeof buf);
        assert_int_equal(dodo_mread(rd, 0, buf, sizeof buf), sizeof buf);
        assert_int_equal(dodo_mread(rd, -1, buf, sizeof buf), -1);
        assert_int_equal(dodo_msync(rd), 0);
        assert_int_equal(dodo_mclose(rd), 0);
        assert_int_equal(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old), 0);
        assert_int_equal(old, wanted);
        if (wanted == PTHREAD_CANCEL_DISABLE)
            break;
    }
}

/* ---- the log hook --------------------------------------------------------------------------- */

static _Atomic uint64_t lines_seen;

static void on_line(void *ctx, int level, const char *text)
{
    if (ctx == &lines_seen && level >= DODO_LOG_ERROR && level <= DODO_LOG_DEBUG && *text)
        lines_seen++;
}

/* Regions are lost, told by several threads, while the hook comes and goes. */
HASTY(log__hook_comes_and_goes)
{
    LoadConfig config = load_config(LOAD_FOREVER);
    config.may_lose = true;
    lines_seen = 0;
    Load *l = load_start(&config);
    load_wait(l, 50);
    for (int i = 0; i < 1000; i++) {
        if (i == 500) {
            daemon_kill(&cluster.imds[0]);
            daemon_kill(&cluster.imds[1]);
        }
        dodo_set_log(i % 2 ? NULL : on_line, &lines_seen);
    }
    dodo_set_log(on_line, &lines_seen);
    while (stat_of(load_rd(l, 0)).active || stat_of(load_rd(l, 1)).active)
        load_wait(l, 1);
    load_stop(l);
    assert_int_equal(load_join(l), 0);
    load_free(l);
    dodo_set_log(NULL, NULL);
}

/* ---- hosts that die ------------------------------------------------------------------------- */

/* Its regions become inactive, those of the other host stay, no call hangs, no byte is lost. */
MORTAL(host__killed_under_load)
{
    LoadConfig config = load_config(LOAD_FOREVER);
    config.may_lose = true;
    config.regions = ON_TWO_HOSTS;
    Load *l = load_start(&config);
    load_wait(l, 300 / SCALE);
    DodoStat st = stat_of(load_rd(l, 0));
    unsigned dead = cluster_is_host(&cluster.imds[0], st.host) ? 0 : 1;
    assert_true(cluster_is_host(&cluster.imds[dead], st.host));
    bool on_dead[ON_TWO_HOSTS];
    for (unsigned r = 0; r < config.regions; r++) {
        st = stat_of(load_rd(l, r));
        assert_int_equal(st.active, 1);
        on_dead[r] = cluster_is_host(&cluster.imds[dead], st.host);
    }
    daemon_kill(&cluster.imds[dead]);
    while (stat_of(load_rd(l, 0)).active)
        load_wait(l, 1);
    for (unsigned r = 0; r < config.regions; r++)
        assert_int_equal(stat_of(load_rd(l, r)).active, !on_dead[r]); /* all of them at once */
    load_wait(l, 200 / SCALE);
    load_stop(l);
    assert_int_equal(load_join(l), 0);
    for (unsigned r = 0; r < config.regions; r++)
        assert_int_equal(stat_of(load_rd(l, r)).active, !on_dead[r]);
    load_free(l);
}

/* FALLBACK: not a call fails while all hosts die, and the regions come back with a new one. */
HASTY(fallback__goes_on_and_comes_back)
{
    LoadConfig config = load_config(LOAD_FOREVER);
    config.flags = DODO_FALLBACK;
    Load *l = load_start(&config);
    load_wait(l, 300 / SCALE);
    for (int round = 0; round < 2; round++) {
        unsigned now = cluster.imds_count;
        for (unsigned i = 0; i < now; i++)
            daemon_kill(&cluster.imds[i]);
        while (stat_of(load_rd(l, 0)).active || stat_of(load_rd(l, 1)).active)
            load_wait(l, 1);
        load_wait(l, 100 / SCALE);
        (void)cluster_imd(&cluster, "64M");
        while (!stat_of(load_rd(l, 0)).active || !stat_of(load_rd(l, 1)).active)
            load_wait(l, 1);
        uint64_t hits = stat_of(load_rd(l, 0)).hits;
        while (stat_of(load_rd(l, 0)).hits == hits)
            load_wait(l, 1);
    }
    load_stop(l);
    assert_int_equal(load_join(l), 0);
    assert_int_equal(load_lost(l), 0);
    load_free(l);
}

int main(int argc, char **argv)
{
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
