/* SPDX-License-Identifier: MIT */
/* How a source fills its report. */
#ifndef DODO_RMD_SOURCE_REPORT_H
#define DODO_RMD_SOURCE_REPORT_H

#include "rmd/source.h"

/* How long a look at one source may wait for another program. */
#define SOURCE_PATIENCE_NS (500 * NS_PER_MS)
/* One that did not answer, or is not there, is asked again after this. */
#define SOURCE_RETRY_NS (5 * NS_PER_S)

void source_known(SourceReport *ret, uint64_t idle_ns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void source_unknown(SourceReport *ret, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "5min", in whole seconds; returns @buf. */
char *source_age(uint64_t ns, char buf[32]);

#endif
