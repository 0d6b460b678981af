/* SPDX-License-Identifier: MIT */
/* One line on a terminal that tells how far lu is and how long it will take; elsewhere lines, if
 * they are asked for. */
#ifndef DODO_EXAMPLES_LU_PROGRESS_H
#define DODO_EXAMPLES_LU_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LuProgress {
    bool terminal, lines;
    const char *what; /* NULL: nothing under way */
    uint64_t start_ns, last_ns;
    unsigned last_percent;
} LuProgress;

/* On standard error, when that is a terminal or @lines. */
void lu_progress_init(LuProgress *p, bool lines);
void lu_progress_start(LuProgress *p, const char *what);
void lu_progress(void *p, uint64_t done, uint64_t total); /* an LuProgressFn */
/* Wipes the line, so that other things can be printed. */
void lu_progress_end(LuProgress *p);

/* "factoring: 42 %, 35 s left"; what is left is shown after a second. Pure; returns @buf. */
char *lu_progress_text(const char *what, uint64_t done, uint64_t total, uint64_t elapsed_ns,
                       char *buf, size_t cap);

#endif
