/* SPDX-License-Identifier: MIT */
#include "base/meminfo.h"

#include <stdlib.h>
#include <string.h>

bool meminfo_find(const char *text, const char *name, uint64_t *ret_bytes)
{
    size_t len = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || line[len] != ':')
            continue;
        char *end;
        unsigned long long kib = strtoull(line + len + 1, &end, 10);
        if (end == line + len + 1 || strncmp(end, " kB", 3) != 0 || kib > UINT64_MAX >> 10)
            return false;
        *ret_bytes = (uint64_t)kib << 10;
        return true;
    }
    return false;
}
