/* SPDX-License-Identifier: MIT */
#include "adapters/preload/last.h"

#include <string.h>

enum { STATE = 3, THREADS = 20 }; /* fields, from 1 */

/* Field @number, which comes after the second one's end at @at; NULL: there is none. */
static const char *field(const char *at, unsigned number)
{
    for (unsigned i = 2; at && i < number; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

static unsigned count_at(const char *at)
{
    unsigned count = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        count = count * 10 + (unsigned)(*at - '0');
    return count;
}

bool last_has_ended(const char *stat, unsigned own)
{
    const char *name_end = strrchr(stat, ')'); /* the name may have any characters */
    const char *state = field(name_end, STATE), *threads = field(name_end, THREADS);
    return state && threads && *state == 'Z' &&
           count_at(threads) <= own + 1; /* the main thread counts until the end */
}
