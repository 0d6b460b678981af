/* SPDX-License-Identifier: MIT */
/* Fractions exactly as they are written, for what must not depend on binary rounding: 7 % of 100
 * transactions are 7, not 8. Pure. */
#ifndef DODO_EXAMPLES_DECIMAL_H
#define DODO_EXAMPLES_DECIMAL_H

#include <errno.h>
#include <stdint.h>

/* "0.005" as 5000000 when @digits is 9. Digits, perhaps a point and 1 .. @digits more; 0, or
 * -EINVAL, or -ERANGE above @max, with *ret untouched. */
static inline int decimal_parse(const char *text, unsigned digits, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;
    unsigned point = 0, after = 0, before = 0;
    for (; *text; text++) {
        if (*text == '.' && !point && before > 0) {
            point = 1;
            continue;
        }
        if (*text < '0' || *text > '9' || (point && after == digits))
            return -EINVAL;
        if (value > (UINT64_MAX - 9) / 10)
            return -ERANGE;
        value = value * 10 + (uint64_t)(*text - '0');
        *(point ? &after : &before) += 1;
    }
    if (before == 0 || (point && after == 0))
        return -EINVAL;
    for (; after < digits; after++) {
        if (value > UINT64_MAX / 10)
            return -ERANGE;
        value *= 10;
    }
    if (value > max)
        return -ERANGE;
    *ret = value;
    return 0;
}

#endif
