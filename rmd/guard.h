/* SPDX-License-Identifier: MIT */
/* A process that outlives rmd for as long as imd does. If rmd is killed, imd leaves by itself. But
 * one that hangs or is stopped would keep its memory and its port, and the next imd could not
 * start. The guard kills it when its time to leave is over. */
#ifndef DODO_RMD_GUARD_H
#define DODO_RMD_GUARD_H

#include <stdint.h>
#include <sys/types.h>

typedef struct Guard {
    pid_t pid;   /* 0: none runs */
    int channel; /* its closing shows the guard our end; -1: none */
} Guard;

/* Of the process of @pidfd, which gets @patience_ns after our end. From any thread of a program
 * with threads. 0, -errno. */
int guard_start(Guard *g, int pidfd, uint64_t patience_ns);
/* That process is gone and its pidfd says so. Where none runs, nothing happens. */
void guard_end(Guard *g);

#endif
