/* SPDX-License-Identifier: MIT */
#include "tools/copies.h"

#include <stdlib.h>
#include <string.h>

static bool has_copies(const RegionRow *r)
{
    return r->piece != 0 && r->region.use == REGION_USE_OPEN;
}

static int compare(const void *a, const void *b)
{
    const RegionRow *x = a, *y = b;
    if (has_copies(x) != has_copies(y))
        return has_copies(x) ? -1 : 1;
    if (x->piece != y->piece)
        return x->piece < y->piece ? -1 : 1;
    return memcmp(&x->region.client, &y->region.client, sizeof x->region.client);
}

void copies_count(RegionRow *rows, size_t count)
{
    if (count == 0) /* there may be no array */
        return;
    qsort(rows, count, sizeof *rows, compare);
    for (size_t first = 0, end; first < count && has_copies(&rows[first]); first = end) {
        for (end = first + 1; end < count && compare(&rows[first], &rows[end]) == 0; end++)
            continue;
        for (size_t i = first; i < end; i++)
            rows[i].copies = (unsigned)(end - first);
    }
}

const char *copies_mark(const RegionRow *r)
{
    const bool stays = !r->leaves || r->region.use == REGION_USE_FREEING;
    return stays ? "" : r->copies > 1 ? "moving" : "to move";
}
