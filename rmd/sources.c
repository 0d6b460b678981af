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
    const char *sockets;
};

Sources *sources_new(const SourceSettings *settings)
{
    _Static_assert(ARRAY_SIZE(source_kinds) <= SOURCES_MAX, "they fit a report");
    Sources *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sockets = settings->sockets ? settings->sockets : "/proc/net/unix";
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
    return any && displays_run(s->sockets) != 0; /* also if that cannot be told */
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
        Source *source = s->sources[i];
        SourceReport *r = &ret->reports[i];
        *r = (SourceReport){.name = source->kind->name, .sessions = -1};
        source->kind->look(source, now_ns, awake_ns, r);
        if (r->sessions > ret->sessions)
            ret->sessions = r->sessions;
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
