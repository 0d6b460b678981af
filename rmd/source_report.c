/* SPDX-License-Identifier: MIT */
#include "rmd/source_report.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/parse.h"
#include "base/time.h"

void source_known(SourceReport *ret, uint64_t idle_ns, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(ret->text, sizeof ret->text, format, args);
    va_end(args);
    ret->known = true;
    ret->idle_ns = idle_ns;
}

void source_unknown(SourceReport *ret, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(ret->text, sizeof ret->text, format, args);
    va_end(args);
    ret->known = false;
    ret->idle_ns = 0;
}

char *source_age(uint64_t ns, char buf[32])
{
    ns += 1; /* right after the look before is as long ago as that look */
    return format_time(ns - ns % NS_PER_S, buf, 32);
}
