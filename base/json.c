/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void json_add(Json *j, const char *format, ...)
{
    va_list args;
    if (j->at >= j->cap)
        return;
    va_start(args, format);
    int n = vsnprintf(j->buf + j->at, j->cap - j->at, format, args);
    va_end(args);
    j->at = n >= 0 ? j->at + (size_t)n : j->cap;
}

/* With room for a terminating zero, which the next one overwrites. */
static void add_bytes(Json *j, const char *bytes, size_t len)
{
    if (j->at >= j->cap || len >= j->cap - j->at) {
        j->at = j->cap;
        return;
    }
    memcpy(j->buf + j->at, bytes, len);
    j->at += len;
    j->buf[j->at] = '\0';
}

static size_t plain_bytes(const char *text)
{
    size_t len = 0;
    while (text[len] >= ' ' && text[len] <= '~' && !strchr("\"\\<>&'", text[len]))
        len++;
    return len;
}

void json_string(Json *j, const char *text)
{
    add_bytes(j, "\"", 1);
    while (*text) {
        size_t plain = plain_bytes(text);
        add_bytes(j, text, plain);
        text += plain;
        if (*text)
            json_add(j, "\\u%04x", (unsigned char)*text++);
    }
    add_bytes(j, "\"", 1);
}

size_t json_end(const Json *j)
{
    return j->at < j->cap ? j->at : 0;
}
