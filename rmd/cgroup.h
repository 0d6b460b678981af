/* SPDX-License-Identifier: MIT */
/* A control group of imd's own, where rmd may make one: a limit on its memory, and perhaps on its
 * share of the processors. Below a directory that the owner names (systemd: Delegate=yes). */
#ifndef DODO_RMD_CGROUP_H
#define DODO_RMD_CGROUP_H

#include <limits.h>
#include <stdint.h>

typedef struct Cgroup {
    char path[PATH_MAX]; /* "": none */
    int procs;           /* open file that a process joins by writing "0"; -1: none */
} Cgroup;

/* @parent: a directory of the unified hierarchy (v2) or of the memory controller's (v1).
 * @cpu_percent: of one processor, 0: no limit. 0; -errno: without a group. */
int cgroup_make(Cgroup *g, const char *parent, uint64_t memory_bytes, uint64_t cpu_percent);
/* After its processes are gone. */
void cgroup_remove(Cgroup *g);

#endif
