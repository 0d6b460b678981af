/* SPDX-License-Identifier: MIT */
/* A control group that was delegated to us, of the kernel's own: needs a hierarchy of version 2
 * that we may make groups in, with a controller to give on. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rmd/cgroup.h"
#include "tests/lib/case.h"
#include "tests/lib/child.h"
#include "tests/lib/needs.h"

enum { TEXT_BYTES = 64 };

static char group[PATH_MAX], controller[TEXT_BYTES];

static bool read_word(const char *dir_path, const char *file, char word[TEXT_BYTES])
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", dir_path, file);
    FILE *f = fopen(path, "re");
    bool read = f && fscanf(f, "%63s", word) == 1;
    if (f)
        (void)fclose(f);
    return read;
}

static bool enter(void)
{
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", group);
    FILE *f = fopen(path, "we");
    bool in = f && fputs("0", f) >= 0;
    return f && fclose(f) == 0 && in;
}

static int may_enter(void)
{
    return enter() ? 0 : 1;
}

static bool make_group(void)
{
    static const char *const tops[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(group, sizeof group, "%s/dodo-test-%d", tops[i], (int)getpid());
        if (!read_word(tops[i], "cgroup.subtree_control", controller) || mkdir(group, 0755) < 0)
            continue;
        if (in_a_child(may_enter) == 0)
            return true;
        (void)rmdir(group);
    }
    return false;
}

/* One that rmd has started before, as that which watches input devices. */
static bool start_helper(void)
{
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            (void)pause();
        _exit(0);
    }
    return pid > 0;
}

/* As if the group had been delegated to us: we are in it when we want controllers below. */
static int be_delegated(void)
{
    char word[TEXT_BYTES];
    if (!enter() || !start_helper())
        return 4;
    if (cgroup_enable(group, controller) != 0)
        return 1;
    if (!read_word(group, "cgroup.subtree_control", word) || strcmp(word, controller) != 0)
        return 2;
    return cgroup_enable(group, controller) == 0 ? 0 : 3; /* it is on */
}

TEST(delegated_group_is_left_for_one_below)
{
    char below[PATH_MAX + 8];
    int result = in_a_child(be_delegated);
    (void)snprintf(below, sizeof below, "%s/rmd", group);
    bool aside = rmdir(below) == 0;
    for (unsigned i = 0; !aside && errno == EBUSY && i < 1000; i++) { /* our helper ends after us */
        (void)usleep(10000);
        aside = rmdir(below) == 0;
    }
    assert_int_equal(rmdir(group), 0);
    assert_int_equal(result, 0);
    assert_true(aside);
}

int main(void)
{
    if (!make_group())
        return skip_all("no control group of version 2 is available here");
    return cases_run(NULL, NULL);
}
