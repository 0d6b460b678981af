/* SPDX-License-Identifier: MIT */
#include "adapters/run/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "adapters/run/namespace.h"
#include "adapters/run/reads.h"
#include "adapters/run/surroundings.h"
#include "base/printable.h"

/* A line; names of files are in it. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    (void)puts(printable(line));
}

static bool try_mounts(const MountOptions *o, const GPtrArray *dirs)
{
    g_autofree StartedMount *mounts = g_new0(StartedMount, dirs->len + 1);
    guint count = 0;
    while (count < dirs->len && mounts_start(o, dirs->pdata[count], &mounts[count]))
        count++;
    mounts_end(mounts, count);
    return count == dirs->len;
}

static void print_dirs(const GPtrArray *dirs)
{
    for (guint i = 0; i < dirs->len; i++)
        say("through the cache: %s", (const char *)dirs->pdata[i]);
}

/* What the library serves of the program's reads. */
static void print_reads(const Executable *e, const Surroundings *where)
{
    g_autofree char *text = verdict_unreached(e, where) ? NULL : reads_text(e);
    if (text)
        printf("%s", text);
}

static void print_mount(const Executable *e, enum Way way, const GPtrArray *dirs)
{
    say("yes: %s would run %s", e->path, verdict_way_text(way));
    say("%s is %s; that does not matter, as it reads through a mount", e->binary, verdict_kind(e));
    print_dirs(dirs);
    if (dirs->len == 0)
        say("nothing would go through the cache: name a directory by --dir");
    else
        say("below these, FIFOs and sockets do not reach programs outside, and there are no shared "
            "mappings for writing");
}

static void print_preload(const Executable *e, const GPtrArray *dirs, bool given)
{
    say("yes: %s would run %s", e->path, verdict_way_text(WAY_PRELOAD));
    say("%s is %s; what it reads by read(2), pread(2) and the like goes through the cache; what it "
        "reads by stdio or a memory mapping does so with --how mount",
        e->binary, verdict_kind(e));
    if (given)
        print_dirs(dirs);
    else
        say("through the cache: large files of all directories");
}

bool check_program(const MountOptions *o, enum How how, const GPtrArray *dirs, bool given,
                   const char *name)
{
    Executable e;
    char text[PATH_MAX + 512];
    Surroundings where;
    surroundings_look(how, &where);
    executable_look(name, getenv("PATH"), &e);
    enum Way way = verdict_way(&e, &where);
    if (way != WAY_PRELOAD)
        surroundings_try_mount(&where);
    bool obstacle = verdict_obstacle(&e, &where, text, sizeof text);
    if (!obstacle && way != WAY_PRELOAD) {
        where.namespace_error = namespace_enter(way == WAY_USER_NAMESPACE) ? 0 : errno;
        where.mount_failed = where.namespace_error == 0 && !try_mounts(o, dirs);
        obstacle = verdict_obstacle(&e, &where, text, sizeof text);
    }
    if (obstacle)
        say("no: %s", text);
    else if (way == WAY_PRELOAD)
        print_preload(&e, dirs, given);
    else
        print_mount(&e, way, dirs);
    if (!obstacle && e.kind == EXECUTABLE_DYNAMIC)
        print_reads(&e, &where);
    return !obstacle;
}
