/* SPDX-License-Identifier: MIT */
/* The priority of imd's session, where the kernel groups processes by those, and where imd is not
 * root: then a group may be changed ten times a second, and the rest is refused. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "imd/priority.h"
#include "tests/lib/case.h"
#include "tests/lib/child.h"
#include "tests/lib/needs.h"

enum { NOBODY = 65534, TRIES_MAX = 10000 };

/* Gives up being root: the files of /proc stay ours. False: not possible, or there are no groups.
 */
static bool begin(void)
{
    if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
        return false;
    (void)prctl(PR_SET_DUMPABLE, 1);
    return setsid() >= 0 && access("/proc/self/autogroup", R_OK | W_OK) == 0;
}

/* Until nothing is left to do; other programs of this host may be in the way. */
static bool settle(void)
{
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        uint64_t now = os_now_ns(), due = priority_due_ns();
        if (due == TIME_NEVER)
            return true;
        if (due > now)
            (void)poll(NULL, 0, (int)((due - now) / NS_PER_MS) + 1);
        priority_expire(os_now_ns());
    }
    return false;
}

static int nice_of_group(void)
{
    int nice = -100;
    FILE *f = fopen("/proc/self/autogroup", "re");
    if (f && fscanf(f, "/autogroup-%*u nice %d", &nice) != 1)
        nice = -101;
    if (f)
        (void)fclose(f);
    return nice;
}

static int may_begin(void)
{
    return begin() ? 0 : 1;
}

/* What fails; 0: nothing. */
static int live(void)
{
    if (!begin())
        return 9;
    priority_open(19, os_now_ns());
    if (!settle() || nice_of_group() != 19)
        return 1;
    priority_group(true, os_now_ns());
    priority_group(false, os_now_ns()); /* too soon for the kernel */
    if (!settle() || nice_of_group() != 19)
        return 2;
    priority_group(false, os_now_ns());
    priority_group(true, os_now_ns());
    if (!settle() || nice_of_group() != 0)
        return 3;
    return 0;
}

static int not_a_leader(void)
{
    if (!begin())
        return 9;
    pid_t pid = fork();
    if (pid == 0) {
        priority_open(19, os_now_ns());
        priority_group(false, os_now_ns());
        _exit(priority_due_ns() == TIME_NEVER ? 0 : 1);
    }
    int status = 1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? nice_of_group() : 1;
}

TEST(changes_as_soon_as_it_may)
{
    assert_int_equal(in_a_child(live), 0);
}

TEST(session_of_others_is_left_alone)
{
    assert_int_equal(in_a_child(not_a_leader), 0);
}

int main(void)
{
    if (in_a_child(may_begin) != 0)
        return skip_all("no groups of sessions are available here");
    return cases_run(NULL, NULL);
}
