/* SPDX-License-Identifier: MIT */
/* The lines "NAME:   123 kB" of /proc/meminfo and of /proc/PID/status. Pure. */
#ifndef DODO_BASE_MEMINFO_H
#define DODO_BASE_MEMINFO_H

#include <stdbool.h>
#include <stdint.h>

/* The number behind @name, a word at the beginning of a line and its colon. False: it is not there,
 * or no size. */
bool meminfo_find(const char *text, const char *name, uint64_t *ret_bytes);

#endif
