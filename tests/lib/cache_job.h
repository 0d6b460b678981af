/* SPDX-License-Identifier: MIT */
/* For tests that carry out the region cache's jobs: the bytes of a job's buffers. */
#ifndef DODO_TESTS_CACHE_JOB_H
#define DODO_TESTS_CACHE_JOB_H

#include <string.h>

#include "libmanage/core.h"

/* Of what the job writes: that must not change until it is over. */
static inline uint64_t cache_job_digest(const CacheJob *job)
{
    uint64_t h = 14695981039346656037ull;
    if (job->kind == CACHE_WRITE || job->kind == CACHE_CLONE)
        for (int i = 0; i < job->iov_count; i++)
            for (size_t k = 0; k < job->iov[i].iov_len; k++)
                h = (h ^ ((uint8_t *)job->iov[i].iov_base)[k]) * 1099511628211ull;
    return h;
}

/* Until a read is over, what is in its buffers is nothing. */
static inline void cache_job_spoil(const CacheJob *job)
{
    for (int i = 0; job->kind <= CACHE_READ_FILL && i < job->iov_count; i++)
        memset(job->iov[i].iov_base, 0xdd, job->iov[i].iov_len);
}

static inline size_t cache_job_part(const CacheJob *job, int i, uint64_t len)
{
    return job->iov[i].iov_len < len ? job->iov[i].iov_len : (size_t)len;
}

/* A read's first @len bytes. */
static inline void cache_job_give(const CacheJob *job, const uint8_t *from, uint64_t len)
{
    for (int i = 0; i < job->iov_count && len > 0; i++) {
        size_t n = cache_job_part(job, i, len);
        memcpy(job->iov[i].iov_base, from, n);
        from += n;
        len -= n;
    }
}

/* A write's first @len bytes. */
static inline void cache_job_take(const CacheJob *job, uint8_t *to, uint64_t len)
{
    for (int i = 0; i < job->iov_count && len > 0; i++) {
        size_t n = cache_job_part(job, i, len);
        memcpy(to, job->iov[i].iov_base, n);
        to += n;
        len -= n;
    }
}

#endif
