/* SPDX-License-Identifier: MIT */
/* Which regions are copies of one another. Pure. */
#ifndef DODO_TOOLS_COPIES_H
#define DODO_TOOLS_COPIES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/wire.h"

/* A region, with what the list that it stands in says of it. */
typedef struct RegionRow {
    RegionStatus region;
    bool leaves;     /* its host is being drained */
    uint64_t piece;  /* as in RegionCopy; 0: not known */
    unsigned copies; /* copies_count(): it and those that the same program has open of the same
                        piece elsewhere; 0: not known, or it is not open */
} RegionRow;

/* Of a list in any order, which it sorts. */
void copies_count(RegionRow *rows, size_t count);
/* How a region is marked: "to move", "moving" (there is another copy already); "": not at all. */
const char *copies_mark(const RegionRow *r);

#endif
