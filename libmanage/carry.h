/* SPDX-License-Identifier: MIT */
/* Carries out the core's jobs: reads and writes of files, and libdodo's calls. Blocks. */
#ifndef DODO_LIBMANAGE_CARRY_H
#define DODO_LIBMANAGE_CARRY_H

#include "libmanage/core.h"

/* What a CLONE is of; NULL: no memory. To be freed. */
uint8_t *job_copy(const CacheJob *j);
void job_carry_out(const CacheJob *job, CacheResult *ret);
/* Carries out jobs that go beside each other, at most CACHE_BESIDE. @copies: of a CLONE's bytes;
 * where there is none, they are the pieces' own. @over is called as each ends, in their order. */
typedef void JobOver(void *ctx, unsigned i, const CacheResult *result);
void job_carry_out_beside(const CacheJob *jobs, const struct iovec *copies, unsigned count,
                          JobOver *over, void *ctx);
/* Of a job that may have been an OPEN_REMOTE, when the core has had its result. */
void job_result_free(CacheResult *result);

#endif
