/* SPDX-License-Identifier: MIT */
/* Links of a process: each call has one, there are no more than so many, and who comes then waits
 * until one is given back. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libdodo/runtime.h"
#include "tests/lib/case.h"

enum { LINKS = 1024 };

static Runtime *rt;
static atomic_int waiter;
static _Atomic(Link *) got;

static void *take_main(void *arg)
{
    waiter = (int)syscall(SYS_gettid);
    got = runtime_link_take(rt);
    runtime_link_give(rt, got);
    return arg;
}

/* Of a thread of this process, as the kernel has it. */
static char state_of(int tid)
{
    char name[64], text[256] = "";
    (void)snprintf(name, sizeof name, "/proc/self/task/%d/stat", tid);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(file, text, sizeof text - 1);
    (void)close(file);
    const char *end = n > 0 ? strrchr(text, ')') : NULL;
    return end ? end[2] : '?';
}

/* Whether there may be a descriptor or two for each link. */
static bool descriptors_allow(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= 3 * LINKS;
}

TEST(links__one_too_many_waits)
{
    static Link *links[LINKS];
    pthread_t thread;
    assert_int_equal(runtime_get(&rt), 0);
    for (unsigned i = 0; i < LINKS; i++) {
        links[i] = runtime_link_take(rt);
        for (unsigned k = 0; k < i; k++)
            assert_ptr_not_equal(links[i], links[k]);
    }
    assert_int_equal(pthread_create(&thread, NULL, take_main, NULL), 0);
    while (!got && (waiter == 0 || state_of(waiter) != 'S'))
        (void)sched_yield();
    assert_null(got);
    runtime_link_give(rt, links[LINKS / 2]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ptr_equal(got, links[LINKS / 2]);
    for (unsigned i = 0; i < LINKS; i++)
        if (i != LINKS / 2)
            runtime_link_give(rt, links[i]);
    assert_int_equal(runtime_stop(), 0);
}

int main(void)
{
    (void)unsetenv("DODO_MANAGER");
    (void)setenv("DODO_CONFIG", "/dev/null", 1);
    case_if(descriptors_allow(), links__one_too_many_waits, "too few descriptors");
    return cases_run(NULL, NULL);
}
