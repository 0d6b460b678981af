/* SPDX-License-Identifier: MIT */
/* The disk model: see model.h. */
#include "tools/diskfs/model.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
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

static uint64_t bytes_ns(uint64_t bytes, uint64_t bytes_per_s)
{
    return (uint64_t)((double)bytes * (double)NS_PER_S / (double)bytes_per_s);
}

/* What an access does to the head that serves it. */
typedef struct Motion {
    bool positions;   /* it moves to another place */
    uint64_t gap_len; /* else: how many bytes it passes over first */
} Motion;

static bool in_gap(const DiskStream *s, uint64_t file, uint64_t offset, size_t len)
{
    return s->file == file && s->gap_begin <= offset && offset + len <= s->gap_end;
}

/* Does the access go on from @s, with a gap that is passed over sooner than the head moves? */
static bool goes_on(const DiskModel *d, const DiskStream *s, uint64_t file, uint64_t offset)
{
    return s->file == file && s->end <= offset &&
           bytes_ns(offset - s->end, d->bytes_per_s) <= d->position_ns;
}

/* As many streams are remembered as accesses are served at once: a single head knows only where it
 * is. */
static Motion move(DiskModel *d, uint64_t file, uint64_t offset, size_t len)
{
    DiskStream *stream = &d->streams[0];
    Motion motion = {.positions = true};
    for (size_t i = 0; i < d->parallel; i++)
        if (in_gap(&d->streams[i], file, offset, len))
            return (Motion){0};
    for (size_t i = 0; i < d->parallel && motion.positions; i++) {
        DiskStream *s = &d->streams[i];
        motion.positions = !goes_on(d, s, file, offset);
        if (!motion.positions || s->used < stream->used)
            stream = s;
    }
    DiskStream next = {.file = file, .end = offset + len, .used = ++d->accesses};
    if (!motion.positions) {
        motion.gap_len = offset - stream->end;
        next.gap_begin = motion.gap_len > 0 ? stream->end : stream->gap_begin;
        next.gap_end = motion.gap_len > 0 ? offset : stream->gap_end;
    }
    *stream = next;
    return motion;
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
    Motion motion = move(d, file, offset, len);
    uint64_t *place = first_free(d), rate = d->bytes_per_s, start_ns = max_u64(now_ns, *place);
    if (motion.positions && d->random_bytes_per_s > 0)
        rate = d->random_bytes_per_s;
    if (d->iops > 0) {
        uint64_t operations = (len + DISK_OPERATION_BYTES - 1) / DISK_OPERATION_BYTES;
        start_ns = max_u64(start_ns, ahead(d, d->operations_ns));
        (void)use(&d->operations_ns, start_ns, operations * NS_PER_S / d->iops);
    }
    uint64_t cost_ns = bytes_ns(len, rate);
    uint64_t moved_ns = max_u64(start_ns, ahead(d, use(&d->bytes_ns, start_ns, cost_ns)));
    uint64_t reach_ns =
        motion.positions ? d->position_ns : bytes_ns(motion.gap_len, d->bytes_per_s);
    return *place = moved_ns + d->latency_ns + reach_ns;
}
