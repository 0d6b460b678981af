/* SPDX-License-Identifier: MIT */
#include "base/hidden.h"

#include <string.h>

static const char hex_digits[] = "0123456789abcdefABCDEF";

bool hidden_is(const char *text)
{
    if (strchr(text, '/'))
        return false;
    for (;;) {
        const size_t n = strspn(text, hex_digits);
        if (n >= HIDDEN_DIGITS)
            return true;
        if (!text[n])
            return false;
        text += n + 1;
    }
}

char *hidden_copy(const char *text, char *buf, size_t cap)
{
    static const char instead[] = "(hidden)";
    size_t at = 0;
    while (*text) {
        const size_t row = strspn(text, hex_digits);
        const bool hide = row >= HIDDEN_DIGITS;
        const char *from = hide ? instead : text;
        const size_t len = hide ? sizeof instead - 1 : row > 0 ? row : 1;
        if (len >= cap - at)
            break;
        memcpy(buf + at, from, len);
        at += len;
        text += hide ? row : len;
    }
    buf[at] = '\0';
    return buf;
}
