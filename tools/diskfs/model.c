/* SPDX-License-Identifier: MIT */
/* The disk model: see model.h. */
#include "tools/diskfs/model.h"

#include <errno.h>
#include <time.h>

#include "base/os.h"
#include "base/parse.h"
#include "base/time.h"

int disk_model_init(DiskModel *d, const char *position, const char *bandwidth)
{
    DiskModel m = {.next_file = UINT64_MAX};
    if (parse_time(position, &m.position_ns) < 0 || parse_size(bandwidth, &m.bytes_per_s) < 0 ||
        m.bytes_per_s == 0 || m.position_ns > 60 * NS_PER_S)
        return -EINVAL;
    *d = m;
    return 0;
}

uint64_t disk_model_serve(DiskModel *d, uint64_t file, uint64_t offset, size_t len, uint64_t now_ns)
{
    uint64_t cost_ns = (uint64_t)((double)len * (double)NS_PER_S / (double)d->bytes_per_s);
    if (file != d->next_file || offset != d->next_offset)
        cost_ns += d->position_ns;
    d->next_file = file;
    d->next_offset = offset + len;
    if (d->free_ns < now_ns)
        d->free_ns = now_ns;
    return d->free_ns += cost_ns;
}

void disk_model_wait(DiskModel *d, uint64_t file, uint64_t offset, size_t len)
{
    uint64_t end_ns = disk_model_serve(d, file, offset, len, os_now_ns());
    struct timespec end = {.tv_sec = (time_t)(end_ns / NS_PER_S),
                           .tv_nsec = (long)(end_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}
