/* SPDX-License-Identifier: MIT */
#include "rmd/pool_size.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/meminfo.h"
#include "base/num.h"
#include "proto/conf/imd_room.h"

/* The sum of the lines "NAME N", in pages; false: there is none, or one that is no number. */
static bool zoneinfo_sum(const char *zoneinfo, const char *name, uint64_t *ret_pages)
{
    size_t len = strlen(name);
    bool found = false;
    *ret_pages = 0;
    for (const char *line = zoneinfo; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n ");
        if (strncmp(line, name, len) != 0 || line[len] != ' ')
            continue;
        char *end;
        unsigned long long pages = strtoull(line + len, &end, 10);
        if (end == line + len || pages > UINT32_MAX)
            return false;
        *ret_pages += pages;
        found = true;
    }
    return found;
}

int memory_state_parse(const char *meminfo, const char *zoneinfo, uint64_t page_bytes,
                       MemoryState *ret)
{
    uint64_t total, idle, available, active_file, inactive_file, low_pages, listed_pages;
    uint64_t slab = 0, mapped = 0, dirty = 0, writeback = 0, shmem = 0, anonymous = 0;
    if (!meminfo_find(meminfo, "MemTotal", &total) || !meminfo_find(meminfo, "MemFree", &idle) ||
        !meminfo_find(meminfo, "MemAvailable", &available) ||
        !meminfo_find(meminfo, "Active(file)", &active_file) ||
        !meminfo_find(meminfo, "Inactive(file)", &inactive_file) ||
        !zoneinfo_sum(zoneinfo, "low", &low_pages) || total == 0 || idle > total || page_bytes == 0)
        return -EINVAL;
    /* Missing where the kernel was built without what they count. */
    (void)meminfo_find(meminfo, "SReclaimable", &slab);
    (void)meminfo_find(meminfo, "Mapped", &mapped); /* programs' code, and also shared memory */
    (void)meminfo_find(meminfo, "Shmem", &shmem);
    (void)meminfo_find(meminfo, "AnonPages", &anonymous);
    (void)meminfo_find(meminfo, "Dirty", &dirty);
    (void)meminfo_find(meminfo, "Writeback", &writeback);
    if (!zoneinfo_sum(zoneinfo, "count:", &listed_pages))
        listed_pages = 0;
    uint64_t cache = sub_u64(inactive_file, sub_u64(mapped, shmem) + dirty + writeback);
    uint64_t spare = min_u64(min_u64(idle + cache + slab, available), total);
    *ret = (MemoryState){
        .total_bytes = total,
        .spare_bytes = spare,
        .aside_bytes = min_u64(listed_pages * page_bytes, total - spare),
        .inactive_bytes = cache,
        .programs_bytes = anonymous + shmem,
        .active_bytes = active_file,
        .reserve_bytes = min_u64(low_pages * page_bytes, total),
    };
    return 0;
}

/* A line "name N" of /proc/vmstat is added; false: it is not there. */
static bool vmstat_add(const char *text, const char *name, uint64_t *pages)
{
    size_t len = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || line[len] != ' ')
            continue;
        *pages += strtoull(line + len + 1, NULL, 10);
        return true;
    }
    return false;
}

void memory_state_evicted(MemoryState *m, const char *vmstat, uint64_t page_bytes)
{
    static const char *const evicted[] = {"pswpout", "workingset_refault_file",
                                          "workingset_refault_anon",
                                          "workingset_refault"}; /* of all, before Linux 5.9 */
    static const char *const reclaimed[] = {"pgsteal_kswapd", "pgsteal_direct",
                                            "pgsteal_khugepaged"};
    uint64_t evicted_pages = 0, reclaimed_pages = 0;
    bool known = false;
    for (size_t i = 0; i < sizeof evicted / sizeof evicted[0]; i++)
        (void)vmstat_add(vmstat, evicted[i], &evicted_pages);
    for (size_t i = 0; i < sizeof reclaimed / sizeof reclaimed[0]; i++)
        known |= vmstat_add(vmstat, reclaimed[i], &reclaimed_pages);
    m->evicted_bytes = evicted_pages * page_bytes;
    m->reclaimed_bytes = known ? reclaimed_pages * page_bytes : m->evicted_bytes;
}

void memory_state_commit(MemoryState *m, const char *meminfo, const char *overcommit)
{
    uint64_t most, promised;
    m->strict = strncmp(overcommit, "2", 1) == 0 && meminfo_find(meminfo, "CommitLimit", &most) &&
                meminfo_find(meminfo, "Committed_AS", &promised);
    m->commit_left_bytes = m->strict ? sub_u64(most, promised) : 0;
}

void memory_state_limit(MemoryState *m, uint64_t limit_bytes, uint64_t left_bytes)
{
    if (limit_bytes >= m->total_bytes)
        return;
    m->limit_bytes = limit_bytes > 0 ? limit_bytes : 1;
    m->limit_left_bytes = sub_u64(left_bytes, limit_bytes / IMD_ROOM_DIVISOR);
}

/* @bytes, or what a control group allows while @held_bytes of it are lent. */
static uint64_t within_limit(const MemoryState *m, uint64_t bytes, uint64_t held_bytes)
{
    return m->limit_bytes ? min_u64(bytes, m->limit_left_bytes + held_bytes) : bytes;
}

uint64_t memory_headroom_bytes(const MemoryState *m)
{
    return m->total_bytes / 100 * HEADROOM_PERCENT;
}

uint64_t memory_lendable_bytes(const MemoryState *m, uint64_t held_bytes)
{
    uint64_t bytes = sub_u64(min_u64(m->spare_bytes + held_bytes, m->total_bytes),
                             m->reserve_bytes + memory_headroom_bytes(m));
    return within_limit(m, bytes, held_bytes);
}

uint64_t memory_ceiling_bytes(const MemoryState *m, uint64_t held_bytes)
{
    uint64_t bytes = sub_u64(m->total_bytes, m->reserve_bytes + memory_headroom_bytes(m));
    return within_limit(m, bytes, held_bytes);
}
