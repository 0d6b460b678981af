/* SPDX-License-Identifier: MIT */
#include "adapters/totals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"

static const char first_word[] = "total";

typedef struct Field {
    const char *name;
    size_t offset;
} Field;
static const Field fields[] = {
#define FIELD(name) {#name, offsetof(ReadTotals, name)},
    READ_TOTALS(FIELD)
#undef FIELD
};

static uint64_t *value_of(ReadTotals *t, const Field *f)
{
    return (uint64_t *)((char *)t + f->offset);
}

char *totals_line(const ReadTotals *t, char line[TOTALS_LINE_MAX])
{
    ReadTotals copy = *t;
    int len = snprintf(line, TOTALS_LINE_MAX, "%s", first_word);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        len += snprintf(line + len, TOTALS_LINE_MAX - (size_t)len, " %s=%" PRIu64, fields[i].name,
                        *value_of(&copy, &fields[i]));
    return line;
}

/* " NAME=VALUE" at *@at, and *@at behind it. */
static bool take_field(const char **at, const Field *f, uint64_t *ret)
{
    size_t len = strlen(f->name);
    const char *p = *at;
    char *end;
    if (*p != ' ' || strncmp(p + 1, f->name, len) != 0 || p[1 + len] != '=')
        return false;
    p += len + 2;
    errno = 0;
    *ret = strtoull(p, &end, 10);
    if (end == p || *p == '-' || errno != 0)
        return false;
    *at = end;
    return true;
}

bool totals_add(ReadTotals *t, const char *line)
{
    ReadTotals sum = *t;
    size_t len = sizeof first_word - 1;
    if (strncmp(line, first_word, len) != 0)
        return false;
    line += len;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        uint64_t value;
        if (!take_field(&line, &fields[i], &value))
            return false;
        *value_of(&sum, &fields[i]) += value;
    }
    if (*line && *line != '\n')
        return false;
    *t = sum;
    return true;
}

char *totals_text(const ReadTotals *t, const char *through, char *text, size_t cap)
{
    char all[32], local[32], remote[32], file[32], uncached[32], time[32];
    (void)snprintf(
        text, cap,
        "%s read through %s in %" PRIu64 " reads, which took %s: %s from local "
        "memory (%" PRIu64 " hits), %s from remote memory (%" PRIu64
        " hits), %s from their files (%" PRIu64 " reads), %s of files that are not cached "
        "(%" PRIu64 " reads)",
        format_size(t->bytes, all, sizeof all), through, t->reads,
        format_time(t->ns, time, sizeof time), format_size(t->local_bytes, local, sizeof local),
        t->local_reads, format_size(t->remote_bytes, remote, sizeof remote), t->remote_reads,
        format_size(t->file_bytes, file, sizeof file), t->file_reads,
        format_size(t->uncached_bytes, uncached, sizeof uncached), t->uncached_reads);
    return text;
}
