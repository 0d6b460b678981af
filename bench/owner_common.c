/* SPDX-License-Identifier: MIT */
#include "bench/owner_common.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/meminfo.h"
#include "base/os.h"
#include "base/time.h"

enum {
    PATIENCE_S = 150,  /* for imd to have its memory; after pressure rmd rests for a minute */
    LOOK_NS = 2000000, /* between looks for it */
};

void owner_pause_ns(long ns)
{
    struct timespec t = {0, ns};
    (void)nanosleep(&t, NULL);
}

/* A field of a file as meminfo_find() reads it; 0: unknown. */
static uint64_t field_bytes(const char *path, const char *name)
{
    char text[8192];
    uint64_t bytes;
    (void)os_text_read(AT_FDCWD, path, text, sizeof text);
    return meminfo_find(text, name, &bytes) ? bytes : 0;
}

uint64_t owner_meminfo(const char *name)
{
    return field_bytes("/proc/meminfo", name);
}

uint64_t owner_listed(void)
{
    static char text[1 << 20];
    uint64_t pages = 0;
    if (os_text_read(AT_FDCWD, "/proc/zoneinfo", text, sizeof text) <= 0)
        return 0;
    for (const char *at = text; (at = strstr(at, " count: ")) != NULL;) {
        at += strlen(" count: ");
        pages += strtoull(at, NULL, 10);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The process whose parent is rmd and whose name is imd; 0: none. */
static pid_t find_imd(pid_t rmd)
{
    char path[300], text[8192], parent[32];
    (void)snprintf(parent, sizeof parent, "\nPPid:\t%d\n", (int)rmd);
    DIR *dir = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        (void)snprintf(path, sizeof path, "/proc/%s/status", e->d_name);
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
            os_text_read(AT_FDCWD, path, text, sizeof text) > 0 &&
            strncmp(text, "Name:\timd\n", 10) == 0 && strstr(text, parent))
            found = atoi(e->d_name);
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

static uint64_t status_bytes(pid_t pid, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return field_bytes(path, name);
}

uint64_t owner_resident(pid_t pid)
{
    return status_bytes(pid, "VmRSS");
}

uint64_t owner_swapped(pid_t pid)
{
    return status_bytes(pid, "VmSwap");
}

pid_t owner_wait_imd(pid_t rmd, uint64_t bytes)
{
    uint64_t until = os_now_ns() + PATIENCE_S * NS_PER_S;
    while (os_now_ns() < until) {
        pid_t imd = find_imd(rmd);
        if (imd && owner_resident(imd) >= bytes)
            return imd;
        owner_pause_ns(LOOK_NS);
    }
    (void)fprintf(stderr, "no imd of rmd %d had %" PRIu64 " bytes within %d s\n", (int)rmd, bytes,
                  PATIENCE_S);
    return 0;
}
