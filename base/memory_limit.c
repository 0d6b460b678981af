/* SPDX-License-Identifier: MIT */
#include "base/memory_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/cleanup.h"
#include "base/num.h"
#include "base/os.h"

/* On the heap: threads of programs may have small stacks. */
typedef struct Search {
    const char *root;
    char groups[CGROUP_KINDS][PATH_MAX]; /* this process's; empty: none */
    char group[PATH_MAX];
    CgroupMount mount;
    char at[PATH_MAX];   /* the group that is looked at, below the mount */
    char file[PATH_MAX]; /* of it */
    char name[PATH_MAX]; /* the file's, below the root */
} Search;

/* @path below the root; NULL: that cannot be opened. */
static FILE *open_below(Search *s, const char *path)
{
    int n = snprintf(s->name, sizeof s->name, "%s%s", s->root, path);
    return n > 0 && (size_t)n < sizeof s->name ? fopen(s->name, "re") : NULL;
}

/* What is in s->file. UINT64_MAX: it sets no limit. */
static uint64_t number_read(Search *s)
{
    char text[64];
    uint64_t res = UINT64_MAX;
    FILE *f = open_below(s, s->file);
    if (f && fgets(text, sizeof text, f))
        res = cgroup_parse_limit(text);
    if (f)
        (void)fclose(f);
    return res;
}

/* The same of a file of the group. */
static uint64_t level_read(Search *s, const char *name)
{
    int n = snprintf(s->file, sizeof s->file, "%s%s/%s", s->mount.point, s->at, name);
    return n > 0 && (size_t)n < sizeof s->file ? number_read(s) : UINT64_MAX;
}

/* The least limit of the group, which *ret takes. UINT64_MAX: it has none. */
static uint64_t level_limit(Search *s, MemoryLimit *ret)
{
    const char *name;
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; (name = cgroup_limit_file(s->mount.kind, i)); i++) {
        uint64_t bytes = level_read(s, name);
        least = min_u64(least, bytes);
        if (bytes >= ret->bytes)
            continue;
        ret->bytes = bytes;
        memcpy(ret->file, s->file, sizeof ret->file);
    }
    return least;
}

/* The limits of the group and of all above it, up to the mounted one. */
static void limit_of_mount(Search *s, MemoryLimit *ret)
{
    (void)snprintf(s->at, sizeof s->at, "%s", cgroup_below(&s->mount, s->groups[s->mount.kind]));
    do {
        uint64_t bytes = level_limit(s, ret);
        if (bytes == UINT64_MAX)
            continue;
        uint64_t used = level_read(s, cgroup_usage_file(s->mount.kind));
        ret->left_bytes = min_u64(ret->left_bytes, sub_u64(bytes, used));
    } while (cgroup_up(s->at));
}

void memory_limit(const char *root, MemoryLimit *ret)
{
    OS_DESCRIPTORS_BUSY;
    CLEANUP_FREE char *line = NULL;
    size_t cap = 0;
    enum CgroupKind kind;
    *ret = (MemoryLimit){.bytes = UINT64_MAX, .left_bytes = UINT64_MAX};
    CLEANUP_FREE Search *s = calloc(1, sizeof *s);
    if (!s)
        return;
    s->root = root;
    FILE *f = open_below(s, "/proc/self/cgroup");
    while (f && getline(&line, &cap, f) > 0)
        if (cgroup_parse_group(line, &kind, s->group))
            memcpy(s->groups[kind], s->group, sizeof s->group);
    if (f)
        (void)fclose(f);
    f = open_below(s, "/proc/self/mountinfo");
    while (f && getline(&line, &cap, f) > 0)
        if (cgroup_parse_mount(line, &s->mount) && s->groups[s->mount.kind][0])
            limit_of_mount(s, ret);
    if (f)
        (void)fclose(f);
}

uint64_t memory_limit_bytes(void)
{
    CLEANUP_FREE MemoryLimit *limit = malloc(sizeof *limit); /* as Search */
    if (!limit)
        return UINT64_MAX;
    memory_limit("", limit);
    return limit->bytes;
}
