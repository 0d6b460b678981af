/* SPDX-License-Identifier: MIT */
/* The terminals of those who are logged in, as w(1) sees them: local and remote. Each login and
 * logout is activity too, so the file's own time counts as a stamp.
 *
 * If there is no file of sessions, nothing keeps one here; somebody may still be logged in. Then
 * this source does not know. The same if all sessions are on displays, which have no terminal. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/source_kinds.h"
#include "rmd/source_report.h"
#include "rmd/stamps.h"
#include "rmd/utmp.h"

typedef struct UtmpSource {
    Source base;
    const char *path, *terminals;
    Stamps stamps;
} UtmpSource;

static Source *utmp_open(const SourceSettings *settings)
{
    UtmpSource *s = settings->utmp ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->path = settings->utmp;
    s->terminals = settings->terminals ? settings->terminals : "/dev";
    return &s->base;
}

/* How many of the sessions have a terminal. */
static unsigned terminals_add(UtmpSource *s, const Utmp *u)
{
    unsigned count = 0;
    for (unsigned i = 0; i < u->count; i++) {
        char path[256];
        struct stat st;
        (void)snprintf(path, sizeof path, "%s/%s", s->terminals, u->sessions[i].line);
        if (!u->sessions[i].line[0] || stat(path, &st) != 0)
            continue;
        stamps_add(&s->stamps, path, time_from_timespec(st.st_atim));
        count++;
    }
    return count;
}

static void report(UtmpSource *s, const Utmp *u, SourceReport *ret)
{
    char age[32];
    stamps_add(&s->stamps, s->path, u->changed_ns);
    unsigned terminals = terminals_add(s, u);
    uint64_t idle_ns = stamps_end(&s->stamps);
    (void)source_age(idle_ns, age);
    ret->sessions = (int)u->count;
    ret->terminals_only = true;
    if (u->count > 0 && terminals == 0)
        source_unknown(ret, "%u logged in, but not on a terminal that can be looked at", u->count);
    else if (u->count == 0)
        source_known(ret, idle_ns, "nobody is logged in, for %s", age);
    else
        source_known(ret, idle_ns, "%u logged in, last typed or came %s ago", u->count, age);
}

static void utmp_look(Source *base, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret)
{
    UtmpSource *s = (UtmpSource *)(void *)base;
    CLEANUP(utmp_clear) Utmp u;
    int r = utmp_read(s->path, &u);
    stamps_begin(&s->stamps, now_ns, awake_ns);
    if (r == -ENODATA)
        source_unknown(ret, "%s: no sessions are recorded here", s->path);
    else if (r == -EBADMSG)
        source_unknown(ret, "%s: it is no file of sessions", s->path);
    else if (r == -E2BIG)
        source_unknown(ret, "%s: more than %d are logged in", s->path, UTMP_SESSIONS_MAX);
    else if (r != 0)
        source_unknown(ret, "%s: %s", s->path, strerror(-r));
    else
        report(s, &u, ret);
}

static void utmp_close(Source *base)
{
    free(base);
}

const SourceKind source_utmp = {"utmp", utmp_open, utmp_look, utmp_close};
