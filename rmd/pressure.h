/* SPDX-License-Identifier: MIT */
/* The state of the host's memory: what /proc says when asked, and the kernel's own word that tasks
 * wait for memory (PSI, since Linux 5.2). */
#ifndef DODO_RMD_PRESSURE_H
#define DODO_RMD_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_limit.h"
#include "rmd/pool_size.h"

typedef struct Pressure {
    int trigger, fd;                        /* fd becomes readable; -1: the kernel reports
                                             * nothing */
    int meminfo, zones, vmstat, overcommit; /* open files; -1: not */
    uint64_t vmstat_ns, evicted_bytes, reclaimed_bytes; /* read last; 0: never */
    char *zoneinfo;
    MemoryLimit limit;
    uint64_t limit_ns; /* looked for last; 0: never */
} Pressure;

/* Never fails: what is not there is logged, and done without. */
void pressure_open(Pressure *p);
void pressure_close(Pressure *p);
/* Takes the event of fd. True: tasks have waited for memory. */
bool pressure_take(Pressure *p);
/* 0, or -errno: not known. */
int pressure_memory(Pressure *p, MemoryState *ret, uint64_t now_ns);

#endif
