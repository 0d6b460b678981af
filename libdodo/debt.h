/* SPDX-License-Identifier: MIT */
/* Is a host too slow to be of use? While something is asked of it, it owes a chunk in each transfer
 * deadline, however many calls ask. It may be some deadlines behind. A call does not answer for the
 * calls before it: the debt is forgotten when one begins while nothing else is asked of the host.
 * Silence is judged elsewhere. Pure. */
#ifndef DODO_LIBDODO_DEBT_H
#define DODO_LIBDODO_DEBT_H

#include <stdbool.h>
#include <stdint.h>

enum { DEBT_BEHIND_MAX = 8 }; /* deadlines */

typedef struct Debt {
    uint64_t owed_ns; /* what it is behind, */
    uint64_t at_ns;   /* counted until then */
    uint64_t call;    /* that asked last */
    unsigned asking;  /* transfers under way that wait for the host, and not for others' credit */
} Debt;

/* A transfer of @call begins to wait for the host, or no longer waits. Times are of one clock. */
void debt_enter(Debt *d, uint64_t call, uint64_t now_ns);
void debt_leave(Debt *d);
/* So many chunks of one of them were finished, long or short. */
void debt_chunks(Debt *d, unsigned chunks, uint64_t deadline_ns, uint64_t now_ns);
bool debt_is_too_slow(const Debt *d, uint64_t deadline_ns);

#endif
