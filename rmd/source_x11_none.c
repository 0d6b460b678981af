/* SPDX-License-Identifier: MIT */
/* In place of source_x11.c where Dodo is built without XCB. */
#include <stdlib.h>

#include "rmd/source_kinds.h"
#include "rmd/source_report.h"

static Source *x11_open(const SourceSettings *settings)
{
    return settings->display ? calloc(1, sizeof(Source)) : NULL;
}

static void x11_look(Source *base, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret)
{
    (void)base, (void)now_ns, (void)awake_ns;
    source_unknown(ret, "Dodo was built without X11");
}

static void x11_close(Source *base)
{
    free(base);
}

const SourceKind source_x11 = {"x11", x11_open, x11_look, x11_close};
