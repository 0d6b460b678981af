/* SPDX-License-Identifier: MIT */
/* The disk model: see model.h. */
#include "tools/diskfs/model.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "base/time.h"

void disk_model_init(DiskModel *d)
{
    *d = (DiskModel){.position_ns = 8200 * NS_PER_US, .bytes_per_s = 200 << 20, .parallel = 1};
    for (size_t i = 0; i < DISK_PARALLEL_MAX; i++)
        d->streams[i].file = UINT64_MAX;
}

static int set_time(const char *value, uint64_t *ret_ns)
{
    uint64_t ns;
    if (parse_time(value, &ns) < 0 || ns > 60 * NS_PER_S)
        return -EINVAL;
    *ret_ns = ns;
    return 0;
}

static int set_rate(const char *value, uint64_t *ret_bytes)
{
    uint64_t bytes;
    if (parse_size(value, &bytes) < 0 || bytes == 0)
        return -EINVAL;
    *ret_bytes = bytes;
    return 0;
}

int disk_model_set(DiskModel *d, const char *key, const char *value)
{
    if (strcmp(key, "position") == 0)
        return set_time(value, &d->position_ns);
    if (strcmp(key, "latency") == 0)
        return set_time(value, &d->latency_ns);
    if (strcmp(key, "burst") == 0)
        return set_time(value, &d->burst_ns);
    if (strcmp(key, "bandwidth") == 0)
        return set_rate(value, &d->bytes_per_s);
    if (strcmp(key, "random-bandwidth") == 0)
        return set_rate(value, &d->random_bytes_per_s);
    if (strcmp(key, "iops") == 0)
        return parse_u64(value, 1, 100000000, &d->iops) < 0 ? -EINVAL : 0;
    if (strcmp(key, "parallel") == 0)
        return parse_u64(value, 1, DISK_PARALLEL_MAX, &d->parallel) < 0 ? -EINVAL : 0;
    return -EINVAL;
}

/* Does the access go on from one of the last? As many are remembered as are served at once: a
 * single head knows only where it is. */
static bool goes_on(DiskModel *d, uint64_t file, uint64_t offset, size_t len)
{
    DiskStream *stream = &d->streams[0];
    bool found = false;
    for (size_t i = 0; i < d->parallel && !found; i++) {
        DiskStream *s = &d->streams[i];
        found = s->file == file && s->end == offset;
        if (found || s->used < stream->used)
            stream = s;
    }
    *stream = (DiskStream){.file = file, .end = offset + len, .used = ++d->accesses};
    return found;
}

/* The place that is free first. */
static uint64_t *first_free(DiskModel *d)
{
    uint64_t *first = &d->free_ns[0];
    for (size_t i = 1; i < d->parallel; i++)
        if (d->free_ns[i] < *first)
            first = &d->free_ns[i];
    return first;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Uses @cost_ns of a rate from @at_ns on; returns up to when the rate is used up then. */
static uint64_t use(uint64_t *used_ns, uint64_t at_ns, uint64_t cost_ns)
{
    return *used_ns = max_u64(*used_ns, at_ns) + cost_ns;
}

/* @at_ns less what may be used ahead of its time. */
static uint64_t ahead(const DiskModel *d, uint64_t at_ns)
{
    return at_ns > d->burst_ns ? at_ns - d->burst_ns : 0;
}

uint64_t disk_model_serve(DiskModel *d, uint64_t file, uint64_t offset, size_t len, uint64_t now_ns)
{
    bool positions = !goes_on(d, file, offset, len);
    uint64_t *place = first_free(d), rate = d->bytes_per_s, start_ns = max_u64(now_ns, *place);
    if (positions && d->random_bytes_per_s > 0)
        rate = d->random_bytes_per_s;
    if (d->iops > 0) {
        uint64_t operations = (len + DISK_OPERATION_BYTES - 1) / DISK_OPERATION_BYTES;
        start_ns = max_u64(start_ns, ahead(d, d->operations_ns));
        (void)use(&d->operations_ns, start_ns, operations * NS_PER_S / d->iops);
    }
    uint64_t cost_ns = (uint64_t)((double)len * (double)NS_PER_S / (double)rate);
    uint64_t moved_ns = max_u64(start_ns, ahead(d, use(&d->bytes_ns, start_ns, cost_ns)));
    return *place = moved_ns + d->latency_ns + (positions ? d->position_ns : 0);
}
