/* SPDX-License-Identifier: MIT */
/* What the programs of scripts/bench-owner see of rmd's imd and of the host's memory. */
#ifndef DODO_BENCH_OWNER_COMMON_H
#define DODO_BENCH_OWNER_COMMON_H

#include <stdint.h>
#include <sys/types.h>

void owner_pause_ns(long ns);
/* A field of /proc/meminfo, as "MemFree", [bytes]; 0: unknown. */
uint64_t owner_meminfo(const char *name);
/* Free, too, but on the processors' own lists, which /proc/meminfo leaves out, [bytes]. */
uint64_t owner_listed(void);
/* What the process has of the host's memory, [bytes]. */
uint64_t owner_resident(pid_t pid);
uint64_t owner_swapped(pid_t pid); /* likewise, in swap */
/* The imd of that rmd, once it has @bytes; 0, and a line on stderr: there is none in time.
 */
pid_t owner_wait_imd(pid_t rmd, uint64_t bytes);

#endif
