/* SPDX-License-Identifier: MIT */
/* How long processes have run or waited to run: what they add to the load. */
#ifndef DODO_RMD_SHARES_H
#define DODO_RMD_SHARES_H

#include <stdint.h>

/* Tasks that a question looks at: any user may give a process any name, and as many threads as he
 * likes, which cost him nothing while they sleep. The others count as load. */
enum { SHARES_PROCESSES_MAX = 32, SHARES_TASKS_MAX = 256 };

/* All tasks of a process. 0; -errno: it is not there. @proc: "/proc". */
int shares_of_process(const char *proc, int pid, uint64_t *ret_ns);

typedef struct ShareSet {
    unsigned count;
    int pids[SHARES_PROCESSES_MAX];
    uint64_t searched_ns; /* 0: never */
} ShareSet;
/* Of all processes with one of these names (as the kernel cuts them, 15 characters; NULL at the
 * end) and of those that they started. Searched for only now and then. @now_ns: monotonic. */
uint64_t shares_of_names(const char *proc, char *const *names, ShareSet *set, uint64_t now_ns);

#endif
