/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

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

/* Characters that need no escape. */
static size_t plain_bytes(const char *text)
{
    size_t len = 0, next;
    while (!strchr("\"\\<>&'", text[len]) && (next = printable_character(text + len)) > 0)
        len += next;
    return len;
}

void json_string(Json *j, const char *text)
{
    add_bytes(j, "\"", 1);
    for (;; text++) {
        size_t plain = plain_bytes(text);
        add_bytes(j, text, plain);
        text += plain;
        if (!*text)
            break;
        /* A byte that is no character counts as an unknown one. */
        json_add(j, "\\u%04x", (*text & 0x80) ? 0xfffd : (unsigned)*text);
    }
    add_bytes(j, "\"", 1);
}

size_t json_end(const Json *j)
{
    return j->at < j->cap ? j->at : 0;
}
