/* SPDX-License-Identifier: MIT */
#include "daemon/memory_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/cgroup.h"

/* @root and @path, put together; NULL: that cannot be opened. */
static FILE *open_below(const char *root, const char *path)
{
    char name[PATH_MAX];
    int n = snprintf(name, sizeof name, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof name ? fopen(name, "re") : NULL;
}

/* UINT64_MAX: it sets none. */
static uint64_t number_read(const char *root, const char *file)
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

/* A file of the group @at below the mount; its name into @file. */
static uint64_t level_read(const char *root, const CgroupMount *m, const char *at, const char *name,
                           char file[PATH_MAX])
{
    int n = snprintf(file, PATH_MAX, "%s%s/%s", m->point, at, name);
    return n < PATH_MAX ? number_read(root, file) : UINT64_MAX;
}

/* The least limit of the group @at; its name into @file. UINT64_MAX: none. */
static uint64_t level_limit(const char *root, const CgroupMount *m, const char *at,
                            char file[PATH_MAX])
{
    const char *name;
    char path[PATH_MAX];
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; (name = cgroup_limit_file(m->kind, i)); i++) {
        uint64_t bytes = level_read(root, m, at, name, path);
        if (bytes >= least)
            continue;
        least = bytes;
        memcpy(file, path, sizeof path);
    }
    return least;
}

/* The limits of the group and of all above it, up to the mounted one. */
static void limit_of_mount(const char *root, const CgroupMount *m, const char *group,
                           MemoryLimit *ret)
{
    char at[PATH_MAX], file[PATH_MAX];
    (void)snprintf(at, sizeof at, "%s", cgroup_below(m, group));
    do {
        uint64_t bytes = level_limit(root, m, at, file);
        if (bytes == UINT64_MAX)
            continue;
        if (bytes < ret->bytes) {
            ret->bytes = bytes;
            memcpy(ret->file, file, sizeof file);
        }
        uint64_t used = level_read(root, m, at, cgroup_usage_file(m->kind), file);
        uint64_t left = used < bytes ? bytes - used : 0;
        if (left < ret->left_bytes)
            ret->left_bytes = left;
    } while (cgroup_up(at));
}

void memory_limit(const char *root, MemoryLimit *ret)
{
    char groups[CGROUP_KINDS][PATH_MAX] = {"", ""}, group[PATH_MAX];
    char *line = NULL;
    size_t cap = 0;
    enum CgroupKind kind;
    CgroupMount mount;
    *ret = (MemoryLimit){.bytes = UINT64_MAX, .left_bytes = UINT64_MAX};
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
