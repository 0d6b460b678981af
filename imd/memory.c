/* SPDX-License-Identifier: MIT */
#include "imd/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/parse.h"
#include "imd/cgroup.h"

enum { HUGE_PAGE = 2 << 20 };

uint64_t memory_available(void)
{
    char line[128];
    uint64_t kib, res = UINT64_MAX;
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f)
        return UINT64_MAX;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1) {
            res = kib << 10;
            break;
        }
    }
    (void)fclose(f);
    return res;
}

/* ---- the limit of the control group --------------------------------------------------------- */

/* @root and @path, put together; NULL: that cannot be opened. */
static FILE *open_below(const char *root, const char *path)
{
    char name[PATH_MAX];
    int n = snprintf(name, sizeof name, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof name ? fopen(name, "re") : NULL;
}

static uint64_t limit_read(const char *root, const char *file)
{
    char text[64];
    uint64_t res = UINT64_MAX;
    FILE *f = open_below(root, file);
    if (f && fgets(text, sizeof text, f))
        res = cgroup_parse_limit(text);
    if (f)
        (void)fclose(f);
    return res;
}

/* The limits of the group and of all above it, up to the mounted one. */
static void limit_of_mount(const char *root, const CgroupMount *m, const char *group,
                           MemoryLimit *ret)
{
    char at[PATH_MAX], file[PATH_MAX];
    (void)snprintf(at, sizeof at, "%s", cgroup_below(m, group));
    do {
        int n = snprintf(file, sizeof file, "%s%s/%s", m->point, at, cgroup_limit_file(m->kind));
        uint64_t bytes = n < (int)sizeof file ? limit_read(root, file) : UINT64_MAX;
        if (bytes < ret->bytes) {
            ret->bytes = bytes;
            memcpy(ret->file, file, (size_t)n + 1);
        }
    } while (cgroup_up(at));
}

void memory_limit(const char *root, MemoryLimit *ret)
{
    char groups[CGROUP_KINDS][PATH_MAX] = {"", ""}, group[PATH_MAX];
    char *line = NULL;
    size_t cap = 0;
    enum CgroupKind kind;
    CgroupMount mount;
    *ret = (MemoryLimit){.bytes = UINT64_MAX};
    FILE *f = open_below(root, "/proc/self/cgroup");
    while (f && getline(&line, &cap, f) > 0)
        if (cgroup_parse_group(line, &kind, group))
            memcpy(groups[kind], group, sizeof group);
    if (f)
        (void)fclose(f);
    f = open_below(root, "/proc/self/mountinfo");
    while (f && getline(&line, &cap, f) > 0)
        if (cgroup_parse_mount(line, &mount) && groups[mount.kind][0])
            limit_of_mount(root, &mount, groups[mount.kind], ret);
    if (f)
        (void)fclose(f);
    free(line);
}

/* ---- the pool ------------------------------------------------------------------------------- */

int pool_memory_check(uint64_t bytes, uint64_t available, const MemoryLimit *limit, char *error,
                      size_t error_cap)
{
    char wanted[32], there[32];
    (void)format_size(bytes, wanted, sizeof wanted);
    if (bytes > available) {
        (void)snprintf(error, error_cap,
                       "a pool of %s is more than this host has: %s are available; choose a "
                       "smaller --pool",
                       wanted, format_size(available, there, sizeof there));
        return -ENOMEM;
    }
    if (bytes > limit->bytes) {
        (void)snprintf(error, error_cap,
                       "a pool of %s is more than the %s that imd's control group may use; choose "
                       "a smaller --pool or raise the limit in %s",
                       wanted, format_size(limit->bytes, there, sizeof there), limit->file);
        return -ENOMEM;
    }
    return 0;
}

/* A mapping that starts at a huge page's boundary: one is mapped too much, the ends are cut off. */
static uint8_t *map_aligned(uint64_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (before)
        (void)munmap(p, before);
    (void)munmap(p + before + bytes, HUGE_PAGE - before);
    return p + before;
}

int pool_memory_map(PoolMemory *m, uint64_t bytes, char *error, size_t error_cap)
{
    char wanted[32];
    MemoryLimit limit;
    memory_limit("", &limit);
    int refused = pool_memory_check(bytes, memory_available(), &limit, error, error_cap);
    if (refused < 0)
        return refused;
    *m = (PoolMemory){.base = map_aligned(bytes), .bytes = bytes};
    if (!m->base) {
        int res = -errno;
        (void)snprintf(error, error_cap,
                       "cannot map a pool of %s: %s; choose a smaller --pool or raise ulimit -v",
                       format_size(bytes, wanted, sizeof wanted), strerror(-res));
        return res;
    }
    /* Advice: what the kernel cannot do costs speed, not correctness. */
    (void)madvise(m->base, bytes, MADV_HUGEPAGE);
    (void)madvise(m->base, bytes, MADV_DONTDUMP);
    m->locked = mlock2(m->base, bytes, MLOCK_ONFAULT) == 0;
    return 0;
}

void pool_memory_unmap(PoolMemory *m)
{
    if (m->base)
        (void)munmap(m->base, m->bytes);
    m->base = NULL;
}
