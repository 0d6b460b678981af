/* SPDX-License-Identifier: MIT */
#include "base/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

void lines_begin(Lines *l, const char *name, const char *text, size_t len)
{
    static const char mark[3] = {'\xef', '\xbb', '\xbf'};
    if (len >= sizeof mark && memcmp(text, mark, sizeof mark) == 0) {
        text += sizeof mark;
        len -= sizeof mark;
    }
    l->name = name;
    l->at = text;
    l->end = len ? text + len : text;
    l->number = 0;
}

bool lines_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

int lines_fail(const Lines *l, int r, const char *message, char *error, size_t error_cap)
{
    char name[LINES_NAME_MAX];
    (void)snprintf(error, error_cap, "%s:%u: %s", printable_path(l->name, name, sizeof name),
                   l->number, message);
    return r;
}

void lines_trim(const char **start, const char **end)
{
    while (*start < *end && lines_is_space(**start))
        ++*start;
    while (*start < *end && lines_is_space((*end)[-1]))
        --*end;
}

static int fail_long(const Lines *l, char *error, size_t error_cap)
{
    char message[64];
    (void)snprintf(message, sizeof message, "the line is too long: it may have %zu bytes",
                   sizeof l->line - 1);
    return lines_fail(l, -EINVAL, message, error, error_cap);
}

int lines_next(Lines *l, char *error, size_t error_cap)
{
    while (l->at < l->end) {
        const char *start = l->at;
        const char *newline = memchr(start, '\n', (size_t)(l->end - start));
        const char *end = newline ? newline : l->end;
        l->at = newline ? newline + 1 : l->end;
        l->number++;
        lines_trim(&start, &end);
        size_t n = (size_t)(end - start);
        if (n == 0 || *start == '#')
            continue;
        if (n >= sizeof l->line)
            return fail_long(l, error, error_cap);
        if (memchr(start, '\0', n))
            return lines_fail(l, -EINVAL, "a zero byte: is this a text file?", error, error_cap);
        memcpy(l->line, start, n);
        l->line[n] = '\0';
        return 1;
    }
    return 0;
}
