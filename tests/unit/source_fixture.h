/* SPDX-License-Identifier: MIT */
/* A source of console activity under a test that says what time it is. */
#ifndef DODO_TESTS_SOURCE_FIXTURE_H
#define DODO_TESTS_SOURCE_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "rmd/source_kinds.h"
#include "tests/lib/case.h"

#define S NS_PER_S
#define NOW (1700000000 * S)
#define AWAKE (100000 * S)

typedef struct Fixture {
    Source *source;
    SourceReport report; /* of the last look */
} Fixture;

static inline int set_up(void **state)
{
    *state = calloc(1, sizeof(Fixture));
    return *state ? 0 : -1;
}

static inline void source_end(Fixture *f)
{
    if (f->source)
        f->source->kind->close(f->source);
    f->source = NULL;
}

static inline int tear_down(void **state)
{
    source_end(*state);
    free(*state);
    return 0;
}

static inline void source_start(Fixture *f, const SourceKind *kind, const SourceSettings *settings)
{
    source_end(f);
    f->source = kind->open(settings);
    assert_non_null(f->source);
    f->source->kind = kind;
}

/* A look @after_ns the beginning. */
static inline void look(Fixture *f, uint64_t after_ns)
{
    f->report = (SourceReport){.name = "x", .sessions = -1};
    f->source->kind->look(f->source, NOW + after_ns, AWAKE + after_ns, &f->report);
    assert_true(f->report.text[0] != '\0');
}

static inline void assert_idle(const Fixture *f, uint64_t idle_ns, const char *text)
{
    if (!f->report.known || f->report.idle_ns != idle_ns || !strstr(f->report.text, text))
        fail_msg("known %d, idle %.3f s, not %.3f: %s", f->report.known,
                 (double)f->report.idle_ns / 1e9, (double)idle_ns / 1e9, f->report.text);
}

static inline void assert_unknown(const Fixture *f, const char *text)
{
    if (f->report.known || !strstr(f->report.text, text))
        fail_msg("known %d: %s", f->report.known, f->report.text);
}

#endif
