/* SPDX-License-Identifier: MIT */
#include "imd/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/parse.h"

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
    char wanted[32], there[32];
    uint64_t available = memory_available();
    (void)format_size(bytes, wanted, sizeof wanted);
    if (bytes > available) {
        (void)snprintf(error, error_cap,
                       "a pool of %s is more than this host has: %s are available; choose a "
                       "smaller --pool",
                       wanted, format_size(available, there, sizeof there));
        return -ENOMEM;
    }
    *m = (PoolMemory){.base = map_aligned(bytes), .bytes = bytes};
    if (!m->base) {
        int res = -errno;
        (void)snprintf(error, error_cap,
                       "cannot map a pool of %s: %s; choose a smaller --pool or raise ulimit -v",
                       wanted, strerror(-res));
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
