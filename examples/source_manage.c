/* SPDX-License-Identifier: MIT */
/* The back end that reads and writes through the region cache: libmanage decides what is where. */
#include "examples/source.h"

#include <dodo/manage.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/num.h"

/* Their numbers are MANAGE_LRU and on. */
static const char *const policies[] = {"lru",     "mru",   "first-in", "adaptive",
                                       "s3-fifo", "sieve", NULL};

static unsigned open_sources;
static struct manage_stats before; /* what was done before the first of them was opened */

static int set_policy(const char *name)
{
    int policy = MANAGE_LRU;
    if (!name) /* the library's default */
        return 0;
    while (strcmp(policies[policy], name) != 0)
        policy++;
    return csetPolicy(policy) < 0 ? -errno : 0;
}

static int source_manage_open(Source *s)
{
    int r = set_policy(s->settings->policy);
    if (r < 0)
        fprintf(stderr, "%s: csetPolicy: %s\n", s->settings->program, strerror(-r));
    if (open_sources++ == 0)
        (void)manage_stats(&before);
    return r;
}

/* The region's descriptor, opened on its first use; -1: use the file. */
static int region_descriptor(Source *s, uint64_t index)
{
    uint64_t region_bytes = s->settings->region_bytes;
    int *rd = &s->regions[index];
    if (*rd >= 0)
        return *rd;
    uint64_t start = index * region_bytes;
    *rd = dodo_copen_flags(min_u64(s->size_bytes - start, region_bytes), s->fd, (off_t)start,
                           s->settings->region_flags);
    if (*rd >= 0) {
        s->sources.regions_opened++;
        /* What an earlier run left there is worth waiting for; without it the file serves. */
        if (s->settings->region_flags & DODO_RETAIN)
            (void)!csync(*rd);
        return *rd;
    }
    s->sources.regions_failed++;
    if (!s->told)
        fprintf(stderr, "%s: copen: %s; using the file meanwhile\n", s->settings->program,
                strerror(errno));
    s->told = true;
    return -1;
}

/* A region that cannot be written back stays open, with its data. */
static int region_close(Source *s, uint64_t index)
{
    if (s->regions[index] >= 0 && cclose(s->regions[index]) < 0)
        return -errno;
    s->regions[index] = -1;
    return 0;
}

static int source_manage_read(Source *s, uint64_t offset, void *buf, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        uint64_t index;
        n = source_first_part(s, offset + at, len - at, &index);
        int rd = region_descriptor(s, index);
        off_t in_region = (off_t)(offset + at - index * s->settings->region_bytes);
        ssize_t got = rd < 0 ? 0 : cread(rd, in_region, (char *)buf + at, n);
        int r = rd < 0              ? source_read_file(s, offset + at, (char *)buf + at, n)
                : got < 0           ? -errno
                : got != (ssize_t)n ? -ENODATA
                                    : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int source_manage_write(Source *s, uint64_t offset, const void *buf, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        uint64_t index;
        n = source_first_part(s, offset + at, len - at, &index);
        int rd = region_descriptor(s, index);
        off_t in_region = (off_t)(offset + at - index * s->settings->region_bytes);
        ssize_t put = rd < 0 ? 0 : cwrite(rd, in_region, (const char *)buf + at, n);
        int r = rd < 0              ? source_write_file(s, offset + at, (const char *)buf + at, n)
                : put < 0           ? -errno
                : put != (ssize_t)n ? -EIO /* the file took a part, and gave no reason */
                                    : 0;
        if (r < 0)
            return r;
        s->sources.written_bytes += rd < 0 ? 0 : n;
    }
    return 0;
}

static int source_manage_sync(Source *s)
{
    int r = 0;
    for (uint64_t i = 0; i < s->regions_count; i++)
        if (s->regions[i] >= 0 && csync(s->regions[i]) < 0 && r == 0)
            r = -errno;
    return r;
}

/* The cache counts for all sources together: the last one tells. */
static void source_manage_close(Source *s)
{
    struct manage_stats now;
    for (uint64_t i = 0; i < s->regions_count; i++)
        (void)region_close(s, i); /* who wrote has synced */
    if (--open_sources > 0 || manage_stats(&now) < 0)
        return;
    s->sources.local_bytes += now.local_bytes - before.local_bytes;
    s->sources.remote_bytes += now.remote_bytes - before.remote_bytes;
    s->sources.file_bytes += now.disk_bytes - before.disk_bytes;
}

const Backend backend_manage = {.name = "manage",
                                .policies = policies,
                                .open = source_manage_open,
                                .read = source_manage_read,
                                .write = source_manage_write,
                                .drop = region_close,
                                .sync = source_manage_sync,
                                .close = source_manage_close};
