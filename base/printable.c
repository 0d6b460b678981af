/* SPDX-License-Identifier: MIT */
#include "base/printable.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

static bool within(unsigned char c, unsigned char low, unsigned char high)
{
    return c >= low && c <= high;
}

/* The second byte is in a smaller range after some of the first ones: others would be longer than
 * need be, halves of a pair, or beyond the last character; or, after 0xc2, control characters. */
static bool second_good(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xc2:
    case 0xe0:
        return within(second, 0xa0, 0xbf);
    case 0xed:
        return within(second, 0x80, 0x9f);
    case 0xf0:
        return within(second, 0x90, 0xbf);
    case 0xf4:
        return within(second, 0x80, 0x8f);
    default:
        return within(second, 0x80, 0xbf);
    }
}

/* Marks that change the direction of the text that follows, and line separators: a reader would see
 * another order, or another line, than there is. U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066
 * to U+2069. */
static bool misleads(const unsigned char *c)
{
    if (c[0] == 0xd8)
        return c[1] == 0x9c;
    if (c[0] != 0xe2)
        return false;
    return c[1] == 0x80 ? within(c[2], 0x8e, 0x8f) || within(c[2], 0xa8, 0xae)
                        : c[1] == 0x81 && within(c[2], 0xa6, 0xa9);
}

size_t printable_character(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    if (*c < 0x80)
        return *c >= ' ' && *c != 0x7f;
    const size_t len = within(*c, 0xc2, 0xdf)   ? 2
                       : within(*c, 0xe0, 0xef) ? 3
                       : within(*c, 0xf0, 0xf4) ? 4
                                                : 0;
    if (len == 0 || !second_good(c[0], c[1]))
        return 0;
    for (size_t i = 2; i < len; i++)
        if (!within(c[i], 0x80, 0xbf))
            return 0;
    return misleads(c) ? 0 : len;
}

char *printable(char *text)
{
    for (char *c = text; *c;) {
        const size_t len = printable_character(c);
        if (len == 0)
            *c = '?';
        c += len > 0 ? len : 1;
    }
    return text;
}

static bool is_inside(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

char *printable_short(const char *text, char *buf, size_t cap)
{
    static const char more[] = "...";
    const size_t len = strnlen(text, cap);
    assert(cap >= sizeof more);
    if (len < cap) {
        memcpy(buf, text, len + 1);
        return printable(buf);
    }
    size_t end = cap - sizeof more;
    while (end > 0 && is_inside(text[end]))
        end--; /* between characters */
    memcpy(buf, text, end);
    memcpy(buf + end, more, sizeof more);
    return printable(buf);
}

char *printable_path(const char *path, char *buf, size_t cap)
{
    static const char more[] = "...";
    const size_t len = strlen(path);
    assert(cap >= sizeof more);
    if (len < cap)
        return printable_short(path, buf, cap);
    const char *end = path + len - (cap - sizeof more);
    while (is_inside(*end))
        end++;
    memcpy(buf, more, sizeof more - 1);
    memcpy(buf + sizeof more - 1, end, strlen(end) + 1);
    return printable(buf);
}
