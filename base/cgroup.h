/* SPDX-License-Identifier: MIT */
/* Memory limits of control groups, from the kernel's text files. Pure: memory_limit() reads the
 * files. See cgroups(7), proc_pid_mountinfo(5). */
#ifndef DODO_BASE_CGROUP_H
#define DODO_BASE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum CgroupKind { CGROUP_V1, CGROUP_V2, CGROUP_KINDS };

typedef struct CgroupMount {
    enum CgroupKind kind;
    char root[PATH_MAX];  /* the group that is mounted there */
    char point[PATH_MAX]; /* where */
} CgroupMount;

/* A line of /proc/self/cgroup: the process's group, "/a/b", in the hierarchy that limits memory.
 * False: another hierarchy's line, or no such line at all. */
bool cgroup_parse_group(const char *line, enum CgroupKind *ret_kind, char ret_group[PATH_MAX]);
/* A line of /proc/self/mountinfo: such a hierarchy. False: another file system's. */
bool cgroup_parse_mount(const char *line, CgroupMount *ret);
/* The path of @group below the mount, "" for the mounted group itself. That is also what a process
 * in a namespace of its own sees of a group that it has no name for. */
const char *cgroup_below(const CgroupMount *m, const char *group);
/* Cuts the last component off; false when there was none. */
bool cgroup_up(char *group);
/* The files of a group that hold its limits, beginning with the 0th; NULL: there are no more. Above
 * memory.high processes are slowed down until pages are reclaimed, and a pool's cannot be. */
enum { CGROUP_LIMITS = 2 };
const char *cgroup_limit_file(enum CgroupKind kind, unsigned i);
/* The file that says what the group uses. */
const char *cgroup_usage_file(enum CgroupKind kind);
/* What is in it, [bytes]; UINT64_MAX: no limit, or no number. */
uint64_t cgroup_parse_limit(const char *text);

#endif
