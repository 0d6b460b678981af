/* SPDX-License-Identifier: MIT */
/* All sources of console activity that the settings want. One thread at a time.
 *
 * The host's console has been idle for the shortest time that any source reports; if none knows, it
 * is unknown. Where a display runs (X11, Wayland), sources that see only terminals do not know
 * unless another one does: somebody at a display need not touch a terminal for hours. In a
 * container, sources that see only the container do not know. */
#ifndef DODO_RMD_SOURCES_H
#define DODO_RMD_SOURCES_H

#include "rmd/facts.h"
#include "rmd/source.h"

typedef struct Sources Sources;

typedef struct SourcesReport {
    SourceReport reports[SOURCES_MAX]; /* of each source, in the order of source_kinds */
    unsigned count;
    bool known;
    uint64_t idle_ns; /* if known */
    int decides;      /* index of the report that idle_ns is of; -1: none */
    int sessions;     /* people logged in, the most that any source sees; -1: none knows */
} SourcesReport;

/* NULL: no memory. The settings are borrowed until sources_free(). */
Sources *sources_new(const SourceSettings *settings);
Sources *sources_free(Sources *s); /* NULL is fine; returns NULL */
/* Looks at each; at most about SOURCE_PATIENCE_NS for each that hangs. @now_ns: CLOCK_REALTIME;
 * @awake_ns: CLOCK_MONOTONIC. */
void sources_look(Sources *s, uint64_t now_ns, uint64_t awake_ns, SourcesReport *ret);
/* Sets console_idle and user_sessions, as far as they are known. */
void sources_facts(const SourcesReport *report, Facts *facts);

#endif
