/* SPDX-License-Identifier: MIT */
/* Carries out the core's jobs: reads and writes of files, and libdodo's calls. Blocks. */
#ifndef DODO_LIBMANAGE_CARRY_H
#define DODO_LIBMANAGE_CARRY_H

#include "libmanage/core.h"

/* What a CLONE is of; NULL: no memory. To be freed. */
uint8_t *job_copy(const CacheJob *j);
void job_carry_out(const CacheJob *job, CacheResult *ret);
/* Of a job that may have been an OPEN_REMOTE, when the core has had its result. */
void job_result_free(CacheResult *result);

#endif
