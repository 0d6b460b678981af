/* SPDX-License-Identifier: MIT */
/* Input devices that are watched by the test's own process. */
#ifndef DODO_TESTS_LIB_INPUT_DIRECT_H
#define DODO_TESTS_LIB_INPUT_DIRECT_H

#include "rmd/input_watch.h"

/* An InputAsk of an InputWatch. */
static inline int input_direct_ask(void *ctx, uint64_t awake_ns, InputReport *ret)
{
    input_watch_look(ctx, awake_ns, ret);
    return 0;
}

#endif
