/* SPDX-License-Identifier: MIT */
/* The thread that resolves the manager's names for a program, and a library that ends before it. */
#include "libdodo/names.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "tests/lib/case.h"
#include "tests/lib/sanitizer.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t heard;
    unsigned times;
    Resolved found;
} ear = {.lock = PTHREAD_MUTEX_INITIALIZER, .heard = PTHREAD_COND_INITIALIZER};

static void hear(void *ctx, const Resolved *found)
{
    assert_ptr_equal(ctx, &ear);
    (void)pthread_mutex_lock(&ear.lock);
    ear.times++;
    ear.found = *found;
    (void)pthread_cond_signal(&ear.heard);
    (void)pthread_mutex_unlock(&ear.lock);
}

static void tell(const Resolved *found)
{
    (void)pthread_mutex_lock(&ear.lock); /* nothing of the library's is held */
    assert_string_equal(found->error, "");
    (void)pthread_mutex_unlock(&ear.lock);
}

static void wait_for_times(unsigned times)
{
    (void)pthread_mutex_lock(&ear.lock);
    while (ear.times < times)
        (void)pthread_cond_wait(&ear.heard, &ear.lock);
    (void)pthread_mutex_unlock(&ear.lock);
}

/* The kernel's own count: a listing of /proc/self/task ends early where a thread ends meanwhile. */
static unsigned threads(void)
{
    unsigned count = 0;
    char line[128];
    FILE *f = fopen("/proc/self/status", "re");
    assert_non_null(f);
    while (count == 0 && fgets(line, sizeof line, f))
        (void)sscanf(line, "Threads: %u", &count);
    (void)fclose(f);
    assert_int_not_equal(count, 0);
    return count;
}

/* Those that nobody waits for have ended, and given back what they had. */
static void wait_for_threads(void)
{
    enum { ALONE = 1 + UNDER_TSAN }; /* which has a thread of its own */
    while (threads() > ALONE)
        (void)sched_yield();
}

static Settings settings_of(const char *managers)
{
    Settings s = {.family = ADDR_IP4};
    assert_int_equal(places_parse(managers, 7700, &s.managers), 0);
    return s;
}

TEST(names__are_resolved_beside_the_program)
{
    const Settings s = settings_of("localhost:5");
    Names *n = names_new(&s, hear, &ear, tell);
    assert_non_null(n);
    ear.times = 0;
    for (unsigned i = 1; i <= 3; i++) {
        names_resolve(n);
        wait_for_times(i);
        assert_int_equal(ear.found.count, 1);
        assert_int_equal(ear.found.found[0].port, 5);
    }
    names_end(n);
    wait_for_threads();
}

/* Whether the thread has asked already or not: nobody hears of it afterwards, and nothing is left.
 */
TEST(names__are_not_waited_for_at_the_end)
{
    const Settings s = settings_of("localhost");
    for (unsigned i = 0; i < 50; i++) {
        Names *n = names_new(&s, hear, &ear, tell);
        names_resolve(n);
        names_end(n);
        (void)pthread_mutex_lock(&ear.lock);
        const unsigned times = ear.times;
        (void)pthread_mutex_unlock(&ear.lock);
        Names *other = names_new(&s, hear, &ear, tell);
        names_resolve(other);
        wait_for_times(times + 1);
        assert_int_equal(ear.times, times + 1);
        names_end(other);
    }
    wait_for_threads();
}

TEST(names__of_addresses_alone_there_are_none)
{
    const Settings s = settings_of("127.0.0.1");
    Resolved found;
    assert_null(names_new(&s, hear, &ear, tell));
    names_end(NULL);
    names_first(&s, &found);
    assert_int_equal(found.count, 1);
}

/* Without a key nobody on the network is believed, unless that is said to be wanted. */
TEST(names__of_the_network_need_a_key)
{
    Resolved found;
    Settings s = settings_of("10.0.0.1");
    names_first(&s, &found);
    assert_int_equal(found.count, 0);
    s.insecure = true;
    names_first(&s, &found);
    assert_int_equal(found.count, 1);
    s.insecure = false;
    s.keys_count = 1;
    names_first(&s, &found);
    assert_int_equal(found.count, 1);
}
