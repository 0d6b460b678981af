/* SPDX-License-Identifier: MIT */
/* Bytes written as hexadecimal digits in tests, spaces ignored. */
#ifndef DODO_TESTS_LIB_HEX_H
#define DODO_TESTS_LIB_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int hex_nibble(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = strchr(digits, c);
    return c && at ? (int)(at - digits) : -1;
}

/* Returns the number of bytes; aborts on what is not hexadecimal or does not fit: a test's own
 * mistake. */
static inline size_t hex_bytes(const char *hex, uint8_t *out, size_t cap)
{
    size_t n = 0;
    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        if (n == cap || hex_nibble(hex[0]) < 0 || hex_nibble(hex[1]) < 0)
            abort();
        out[n++] = (uint8_t)(hex_nibble(hex[0]) << 4 | hex_nibble(hex[1]));
        hex++;
    }
    return n;
}

#endif
