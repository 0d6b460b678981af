/* SPDX-License-Identifier: MIT */
#include "base/env.h"

#include <stdarg.h>
#include <stdio.h>

enum { TRACE_MAX = 160 };

void env_trace(const Env *env, const char *format, ...)
{
    char text[TRACE_MAX];
    va_list args;
    if (!env->trace)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* a cut line is still a line */
    va_end(args);
    env->trace(env->ctx, text);
}
