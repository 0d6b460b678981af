/* SPDX-License-Identifier: MIT */
/* The load of a host less the shares of what Dodo itself and the screen saver put on it (the
 * paper's 4.1). The kernel's load average is a damped count of the tasks that run or wait to run;
 * what a process adds to it is its time running and waiting, damped alike. Pure. */
#ifndef DODO_RMD_LOAD_H
#define DODO_RMD_LOAD_H

#include <stdbool.h>
#include <stdint.h>

/* The first average of /proc/loadavg: 0, or -EINVAL. */
int load_parse(const char *loadavg, double *ret);

/* The damped share of one process, or of several that are one for us. */
typedef struct LoadShare {
    bool began;
    uint64_t at_ns, busy_ns; /* as reported last */
    double share;            /* tasks, as the load average of one minute counts them */
} LoadShare;

/* @busy_ns: the time that its tasks have run, or waited to run, since it began. If it is less than
 * last time, it is a new process: counted from there. Nothing is forgotten except by damping; the
 * load average does not forget sooner either. */
void load_share_update(LoadShare *s, uint64_t busy_ns, uint64_t now_ns);
/* The process is not there (any more). */
void load_share_gone(LoadShare *s, uint64_t now_ns);
/* It may be there, but cannot be seen now: what it runs meanwhile counts as load of others. */
void load_share_lost(LoadShare *s, uint64_t now_ns);
/* What is left of @average; not below 0. */
double load_less(double average, const LoadShare *shares, unsigned count);

#endif
