/* SPDX-License-Identifier: MIT */
/* What control groups leave a process, whatever the host has. */
#ifndef DODO_BASE_MEMORY_LIMIT_H
#define DODO_BASE_MEMORY_LIMIT_H

#include <limits.h>
#include <stdint.h>

typedef struct MemoryLimit {
    uint64_t bytes; /* UINT64_MAX: there is none */
    uint64_t
        left_bytes; /* until the first of the groups has used up its own; UINT64_MAX likewise */
    char file[PATH_MAX]; /* that sets it */
} MemoryLimit;

/* The lowest of the limits of this process's own control group and those above it, in either
 * version of control groups. @root: before all paths; "" for this host's own files. A limit that
 * cannot be read does not count; a group whose use cannot be read has nothing left. */
void memory_limit(const char *root, MemoryLimit *ret);
/* Of it, what the limit is; this host's. UINT64_MAX: there is none, or no memory to find out. */
uint64_t memory_limit_bytes(void);

#endif
