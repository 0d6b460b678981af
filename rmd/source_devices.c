/* SPDX-License-Identifier: MIT */
/* Access times of device files, the paper's way (4.1): the kernel sets a terminal's when somebody
 * types there. It does so in steps of 8 s, to hide keystrokes. So a time may be that much too old,
 * but the first key after a silence is seen immediately. */
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/source_kinds.h"
#include "rmd/source_report.h"
#include "rmd/stamps.h"

typedef struct DevicesSource {
    Source base;
    char *const *patterns;
    Stamps stamps;
    bool terminals_only; /* at the look under way */
} DevicesSource;

static Source *devices_open(const SourceSettings *settings)
{
    if (!settings->consoles || !settings->consoles[0])
        return NULL;
    DevicesSource *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->patterns = settings->consoles;
    return &s->base;
}

/* The master of all pseudo-terminals: what programs print there counts as read. */
static bool is_ptmx(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(5, 2);
}

static bool is_terminal(const struct stat *st)
{
    enum { CONSOLES = 4, PTYS_FIRST = 136, PTYS_LAST = 143 };
    unsigned number = major(st->st_rdev);
    return S_ISCHR(st->st_mode) &&
           (number == CONSOLES || (number >= PTYS_FIRST && number <= PTYS_LAST));
}

/* Memory, mice of the old kind, and input devices: who reads them moves no time of theirs. */
static bool keeps_no_time(const struct stat *st)
{
    enum { MEMORY = 1, MISC = 10, INPUT = 13 };
    unsigned number = major(st->st_rdev);
    return S_ISCHR(st->st_mode) && (number == MEMORY || number == MISC || number == INPUT);
}

/* How many files it found; -errno: one is there that cannot be looked at; -ENOTTY: that keeps no
 * time. */
static int devices_add(DevicesSource *s, const glob_t *found)
{
    int count = 0;
    for (size_t i = 0; i < found->gl_pathc; i++) {
        struct stat st;
        if (stat(found->gl_pathv[i], &st) != 0) {
            if (errno != ENOENT) /* it may have gone meanwhile */
                return -errno;
        } else if (keeps_no_time(&st)) {
            return -ENOTTY;
        } else if (!is_ptmx(&st)) {
            stamps_add(&s->stamps, found->gl_pathv[i], time_from_timespec(st.st_atim));
            s->terminals_only &= is_terminal(&st);
            count++;
        }
    }
    return count;
}

/* The same for one pattern. A file that is asked for by its name has to be there. */
static int devices_look_at(DevicesSource *s, const char *pattern)
{
    glob_t found;
    int r = glob(pattern, GLOB_NOSORT, NULL, &found);
    int count = r == 0 ? devices_add(s, &found) : r == GLOB_NOMATCH ? 0 : -EACCES;
    globfree(&found);
    return count == 0 && !strpbrk(pattern, "*?[") ? -ENOENT : count;
}

static void devices_look(Source *base, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret)
{
    DevicesSource *s = (DevicesSource *)(void *)base;
    int count = 0;
    s->terminals_only = true;
    stamps_begin(&s->stamps, now_ns, awake_ns);
    for (char *const *p = s->patterns; *p; p++) {
        int r = devices_look_at(s, *p);
        if (r < 0) {
            source_unknown(ret, "%s: %s", *p,
                           r == -ENOTTY ? "its time does not tell when it was read; see [rmd] input"
                                        : strerror(-r));
            return;
        }
        count += r;
    }
    if (count == 0) {
        source_unknown(ret, "no file is there that matches %s%s", s->patterns[0],
                       s->patterns[1] ? " or the others" : "");
        return;
    }
    char age[32];
    uint64_t idle_ns = stamps_end(&s->stamps);
    ret->terminals_only = s->terminals_only;
    source_known(ret, idle_ns, "%d device file%s, last read %s ago", count, count == 1 ? "" : "s",
                 source_age(idle_ns, age));
}

static void devices_close(Source *base)
{
    free(base);
}

const SourceKind source_devices = {"devices", devices_open, devices_look, devices_close};
