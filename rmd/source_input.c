/* SPDX-License-Identifier: MIT */
/* Keyboards, mice and the like, as reported by another process that has no network: what is typed
 * never comes near the process that talks to the cluster. While that process does not answer, the
 * devices count as touched. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/source_kinds.h"
#include "rmd/source_report.h"

typedef struct InputSource {
    Source base;
    const char *path;
    InputAsk ask;
    void *ctx;
} InputSource;

static Source *input_open(const SourceSettings *settings)
{
    InputSource *s = settings->input && settings->input_ask ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->path = settings->input;
    s->ask = settings->input_ask;
    s->ctx = settings->input_ctx;
    return &s->base;
}

static void refused(const InputSource *s, const InputReport *r, SourceReport *ret)
{
    char name[16] = "";
    if (r->refused != INPUT_NO_NUMBER)
        (void)snprintf(name, sizeof name, " event%u", r->refused);
    source_unknown(ret, "%s%s: %s%s", s->path, name, strerror(r->error),
                   r->error == EACCES || r->error == EPERM ? "; is rmd in the group input?" : "");
}

static void input_look(Source *base, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret)
{
    InputSource *s = (InputSource *)(void *)base;
    InputReport r;
    char age[32];
    (void)now_ns;
    int res = s->ask(s->ctx, awake_ns, &r);
    if (res < 0) {
        source_known(ret, 0, "the process that watches %s %s: it counts as touched", s->path,
                     res == -EPIPE ? "has ended, and rmd must be started again"
                                   : "does not answer");
        return;
    }
    const uint64_t idle_ns = min_u64(r.idle_s * NS_PER_S, awake_ns);
    if (r.error)
        refused(s, &r, ret);
    else if (r.devices == 0)
        source_unknown(ret, "%s: no input devices are here", s->path);
    else
        source_known(ret, idle_ns, "%u input device%s, last used %s ago", r.devices,
                     r.devices == 1 ? "" : "s", source_age(idle_ns, age));
}

static void input_close(Source *base)
{
    free(base);
}

const SourceKind source_input = {"input", input_open, input_look, input_close};
