/* SPDX-License-Identifier: MIT */
#include "rmd/sources.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/source_kinds.h"

const SourceKind *const source_kinds[] = {
    &source_devices, &source_utmp,    &source_input, &source_logind,
    &source_x11,     &source_desktop, NULL};

struct Sources {
    Source *sources[SOURCES_MAX];
    unsigned count;
};

Sources *sources_new(const SourceSettings *settings)
{
    _Static_assert(ARRAY_SIZE(source_kinds) <= SOURCES_MAX, "they fit a report");
    Sources *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
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
        if (!r->known || (ret->known && r->idle_ns >= ret->idle_ns))
            continue;
        ret->known = true;
        ret->idle_ns = r->idle_ns;
        ret->decides = (int)i;
    }
}

void sources_facts(const SourcesReport *report, Facts *facts)
{
    if (report->known)
        facts->value[FACT_console_idle] = (double)report->idle_ns / (double)NS_PER_S;
    if (report->sessions >= 0)
        facts->value[FACT_user_sessions] = report->sessions;
}
