/* SPDX-License-Identifier: MIT */
#include "rmd/sources.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/displays.h"
#include "rmd/source_kinds.h"
#include "rmd/source_report.h"

const SourceKind *const source_kinds[] = {
    &source_devices, &source_utmp,    &source_input, &source_logind,
    &source_x11,     &source_desktop, NULL};

struct Sources {
    Source *sources[SOURCES_MAX];
    unsigned count;
    const char *sockets, *host_sockets, *container;
    bool own_bus; /* the owner has named one */
};

Sources *sources_new(const SourceSettings *settings)
{
    _Static_assert(ARRAY_SIZE(source_kinds) <= SOURCES_MAX, "they fit a report");
    Sources *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sockets = settings->sockets ? settings->sockets : "/proc/net/unix";
    /* /proc/net is of rmd's own network namespace, /proc/1/net of the first process's. */
    s->host_sockets = settings->sockets ? settings->host_sockets : "/proc/1/net/unix";
    s->container = settings->container;
    s->own_bus = settings->bus != NULL;
    for (const SourceKind *const *kind = source_kinds; *kind; kind++) {
        Source *source = (*kind)->open(settings);
        if (!source)
            continue;
        source->kind = *kind;
        s->sources[s->count++] = source;
    }
    return s;
}

Sources *sources_free(Sources *s)
{
    for (unsigned i = 0; s && i < s->count; i++)
        s->sources[i]->kind->close(s->sources[i]);
    free(s);
    return NULL;
}

/* Whether nobody knows but those that see only terminals, and there is a display. */
static bool is_blind(const Sources *s, const SourcesReport *report)
{
    bool any = false;
    for (unsigned i = 0; i < report->count; i++) {
        any |= report->reports[i].known;
        if (report->reports[i].known && !report->reports[i].terminals_only)
            return false;
    }
    /* Also if that is unknown. */
    return any && (displays_run(s->sockets) != 0 ||
                   (s->host_sockets && displays_run(s->host_sockets) != 0));
}

/* Terminals and logins are those of rmd's own container, and nobody works there. What the owner
 * has passed into it (files, input devices, a display, a bus) is the owner's own choice. */
static bool sees_container_only(const Sources *s, unsigned i, const SourceReport *r)
{
    const SourceKind *kind = s->sources[i]->kind;
    return s->container &&
           (r->terminals_only || kind == &source_utmp || (kind == &source_logind && !s->own_bus));
}

static void look_at(Sources *s, unsigned i, uint64_t now_ns, uint64_t awake_ns, SourceReport *r)
{
    const SourceKind *kind = s->sources[i]->kind;
    *r = (SourceReport){.name = kind->name, .sessions = -1};
    kind->look(s->sources[i], now_ns, awake_ns, r);
    if (!sees_container_only(s, i, r))
        return;
    r->sessions = -1;
    if (r->known)
        source_unknown(r, "it sees only what is in the container that rmd runs in");
}

static void combine(SourcesReport *ret)
{
    for (unsigned i = 0; i < ret->count; i++) {
        const SourceReport *r = &ret->reports[i];
        if (!r->known || (ret->known && r->idle_ns >= ret->idle_ns))
            continue;
        ret->known = true;
        ret->idle_ns = r->idle_ns;
        ret->decides = (int)i;
    }
}

void sources_look(Sources *s, uint64_t now_ns, uint64_t awake_ns, SourcesReport *ret)
{
    *ret = (SourcesReport){.count = s->count, .decides = -1, .sessions = -1};
    for (unsigned i = 0; i < s->count; i++) {
        look_at(s, i, now_ns, awake_ns, &ret->reports[i]);
        if (ret->reports[i].sessions > ret->sessions)
            ret->sessions = ret->reports[i].sessions;
    }
    if (is_blind(s, ret))
        for (unsigned i = 0; i < ret->count; i++)
            if (ret->reports[i].known)
                source_unknown(
                    &ret->reports[i],
                    "it sees terminals only, and a display runs here that no source sees");
    combine(ret);
}

void sources_facts(const SourcesReport *report, Facts *facts)
{
    if (report->known)
        facts->value[FACT_console_idle] = (double)report->idle_ns / (double)NS_PER_S;
    if (report->sessions >= 0)
        facts->value[FACT_user_sessions] = report->sessions;
}
