/* SPDX-License-Identifier: MIT */
#include "rmd/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rmd/process_stat.h"

enum {
    CPU_PERIOD_US = 100000,
    VALUE_MAX = 64,
    OURS_MAX = 16,
    GENERATIONS = 4 /* rmd, rmd-keeper, rmd-input */
};

static int write_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path)
        return -ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int res = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    (void)close(fd);
    return res;
}

/* The first of them that is there. */
static int limit_memory(const char *dir, uint64_t bytes)
{
    char value[VALUE_MAX];
    (void)snprintf(value, sizeof value, "%" PRIu64, bytes);
    int res = write_file(dir, "memory.max", value);
    if (res == -ENOENT)
        res = write_file(dir, "memory.limit_in_bytes", value);
    return res;
}

/* 0: no limit. */
static int limit_cpu(const char *dir, uint64_t percent)
{
    char value[VALUE_MAX] = "-1", both[2 * VALUE_MAX];
    if (percent)
        (void)snprintf(value, sizeof value, "%" PRIu64, percent * CPU_PERIOD_US / 100);
    (void)snprintf(both, sizeof both, "%s %d", percent ? value : "max", CPU_PERIOD_US);
    int res = write_file(dir, "cpu.max", both);
    return res == -ENOENT ? write_file(dir, "cpu.cfs_quota_us", value) : res; /* of 100 ms, too */
}

static int open_procs(const char *dir)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/cgroup.procs", dir) >= sizeof path)
        return -ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* This process, or one that it has started, or that such a one has. */
static bool is_ours(int pid)
{
    char name[PROCESS_NAME_BYTES];
    for (unsigned i = 1; pid != getpid(); i++)
        if (i == GENERATIONS || !process_stat("/proc", pid, name, &pid))
            return false;
    return true;
}

/* Those of ours that are in the group itself. */
static unsigned find_ours(const char *dir, int pids[OURS_MAX])
{
    char path[PATH_MAX];
    unsigned count = 0;
    int pid;
    if ((size_t)snprintf(path, sizeof path, "%s/cgroup.procs", dir) >= sizeof path)
        return 0;
    FILE *f = fopen(path, "re");
    while (f && count < OURS_MAX && fscanf(f, "%d", &pid) == 1)
        if (is_ours(pid))
            pids[count++] = pid;
    if (f)
        (void)fclose(f);
    return count;
}

/* Out of the way, below. 0; -ESRCH: none of us is in the way; -errno. */
static int step_aside(const char *parent)
{
    char dir[PATH_MAX], value[VALUE_MAX];
    int pids[OURS_MAX];
    const unsigned count = find_ours(parent, pids);
    int res = 0;
    if (count == 0)
        return -ESRCH;
    if ((size_t)snprintf(dir, sizeof dir, "%s/rmd", parent) >= sizeof dir)
        return -ENAMETOOLONG;
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return -errno;
    for (unsigned i = 0; i < count && res == 0; i++) {
        (void)snprintf(value, sizeof value, "%d", pids[i]);
        res = write_file(dir, "cgroup.procs", value);
        if (res == -ESRCH) /* it has just ended */
            res = 0;
    }
    return res;
}

int cgroup_enable(const char *parent, const char *controller)
{
    char value[VALUE_MAX];
    (void)snprintf(value, sizeof value, "+%s", controller);
    int res = write_file(parent, "cgroup.subtree_control", value);
    if (res == -EBUSY && step_aside(parent) == 0)
        res = write_file(parent, "cgroup.subtree_control", value);
    return res;
}

int cgroup_make(Cgroup *g, const char *parent, uint64_t memory_bytes, uint64_t cpu_percent)
{
    *g = (Cgroup){.procs = -1};
    if ((size_t)snprintf(g->path, sizeof g->path, "%s/imd-%d", parent, (int)getpid()) >=
        sizeof g->path) {
        g->path[0] = '\0'; /* what is left of it is somebody else's */
        return -ENAMETOOLONG;
    }
    /* If there is no such controller, or no such file (v1), that does not matter: the limits
     * decide. */
    int enabled = cgroup_enable(parent, "memory");
    (void)cgroup_enable(parent, "cpu");
    if (mkdir(g->path, 0755) < 0 && errno != EEXIST) {
        int res = -errno;
        g->path[0] = '\0';
        return res;
    }
    int res = limit_memory(g->path, memory_bytes);
    g->memory = res == 0;
    if (res == -ENOENT)
        res = enabled < 0 ? enabled : res; /* it says more */
    if (cpu_percent && limit_cpu(g->path, cpu_percent) == 0)
        g->cpu_percent = cpu_percent;
    if (g->cpu_percent)
        res = 0;
    if (res == 0)
        res = g->procs = open_procs(g->path);
    if (res < 0)
        cgroup_remove(g);
    return res < 0 ? res : 0;
}

int cgroup_join(const Cgroup *g, pid_t pid)
{
    char text[VALUE_MAX];
    if (g->procs < 0)
        return 0;
    int len = snprintf(text, sizeof text, "%d", (int)pid);
    return pwrite(g->procs, text, (size_t)len, 0) < 0 ? -errno : 0;
}

void cgroup_hurry(Cgroup *g, bool on)
{
    if (!g->cpu_percent || g->hurries == on)
        return;
    g->hurries = on;
    (void)limit_cpu(g->path, on ? 0 : g->cpu_percent);
}

void cgroup_remove(Cgroup *g)
{
    if (g->procs >= 0)
        (void)close(g->procs);
    if (g->path[0])
        (void)rmdir(g->path); /* what is left of one goes with the next, or with the host */
    *g = (Cgroup){.procs = -1};
}
