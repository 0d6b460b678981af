/* SPDX-License-Identifier: MIT */
/* How far a program is: "progress: 42%  TEXT" on stderr, not more than five times a second. */
#ifndef DODO_EXAMPLES_PROGRESS_H
#define DODO_EXAMPLES_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Progress {
    bool on;
    uint64_t last_ns;
    unsigned last_percent;
} Progress;
void progress_show(Progress *p, uint64_t done, uint64_t total, const char *text);

#endif
