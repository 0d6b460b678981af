/* SPDX-License-Identifier: MIT */
/* A control group of imd's own, where rmd may make one: a limit on its memory, and perhaps on its
 * share of the processors. Below a directory that the owner names (systemd: Delegate=). */
#ifndef DODO_RMD_CGROUP_H
#define DODO_RMD_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Cgroup {
    char path[PATH_MAX];  /* "": none */
    int procs;            /* open file that a process joins by writing "0"; -1: none */
    bool memory;          /* it limits memory */
    uint64_t cpu_percent; /* of one processor, as it limits them; 0: it does not */
    bool hurries;
} Cgroup;

/* Switches a controller on for the groups below @parent, in the unified hierarchy (v2). The kernel
 * refuses that while processes are in @parent itself. Where we are, or what we have started, we all
 * move to a group "rmd" below it, as the owner of a delegated group may. 0, or -errno. */
int cgroup_enable(const char *parent, const char *controller);
/* @parent: a directory of the unified hierarchy (v2), or of the memory or the cpu controller's
 * (v1), which limits one of them. @cpu_percent: 0: no limit. 0; -errno: without a group, since it
 * would limit nothing. */
int cgroup_make(Cgroup *g, const char *parent, uint64_t memory_bytes, uint64_t cpu_percent);
/* Moves a process into the group; without one nothing happens. 0, or -errno. */
int cgroup_join(const Cgroup *g, pid_t pid);
/* Lifts the limit on processors for as long as the owner waits for memory. */
void cgroup_hurry(Cgroup *g, bool on);
/* After its processes are gone. */
void cgroup_remove(Cgroup *g);

#endif
