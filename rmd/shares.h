/* SPDX-License-Identifier: MIT */
/* How long processes have run or waited to run: what they add to the load. */
#ifndef DODO_RMD_SHARES_H
#define DODO_RMD_SHARES_H

#include <stdbool.h>
#include <stdint.h>

/* Tasks that a question looks at: any user may give a process any name, and as many threads as he
 * likes, which cost him nothing while they sleep. The others count as load. */
enum { SHARES_PROCESSES_MAX = 32, SHARES_TASKS_MAX = 256 };

/* All tasks of a process. 0; -ENOENT: it is not there; -errno: it cannot be read now, or has too
 * many. @proc: "/proc". */
int shares_of_process(const char *proc, int pid, uint64_t *ret_ns);

typedef struct ShareOne {
    int pid;
    bool known;
    uint64_t busy_ns; /* at the last question; if known */
} ShareOne;

typedef struct ShareSet {
    unsigned count;
    ShareOne of[SHARES_PROCESSES_MAX];
    uint64_t sum_ns;
    uint64_t searched_ns; /* 0: never */
} ShareSet;
/* Of all processes with one of these names (as the kernel cuts them, 15 characters; NULL at the
 * end) and of those that they started, since each was found: what it ran before that, perhaps under
 * another name, is not known to be of now. Searched for only now and then. @now_ns: monotonic. */
uint64_t shares_of_names(const char *proc, char *const *names, ShareSet *set, uint64_t now_ns);

#endif
