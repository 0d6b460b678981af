/* SPDX-License-Identifier: MIT */
#include "adapters/preload/last.h"

#include <stdio.h>
#include <string.h>

bool last_has_ended(const char *stat, unsigned own)
{
    char state;
    unsigned threads;
    const char *at = strrchr(stat, ')'); /* of the name, which may have any characters */
    return at &&
           sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u",
                  &state, &threads) == 2 &&
           state == 'Z' && threads <= own + 1; /* the main thread counts until the end */
}
