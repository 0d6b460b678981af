/* SPDX-License-Identifier: MIT */
/* Sizes, times, booleans and numbers as people write them, and the text of key files. Nothing here
 * depends on the locale. */
#include "base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/time.h"

typedef struct Unit {
    const char *name;
    uint64_t value;
} Unit;

static const uint64_t scales[PARSE_FRACTION_DIGITS + 1] = {1,     10,     100,    1000,
                                                           10000, 100000, 1000000};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits from *text on, which is moved past all of them. -EINVAL: none; -ERANGE: too large. */
static int parse_digits(const char **text, uint64_t *ret)
{
    const char *p = *text;
    bool too_large = false;
    uint64_t v = 0;

    if (!is_digit(*p))
        return -EINVAL;
    for (; is_digit(*p); p++)
        too_large |= __builtin_mul_overflow(v, 10, &v) ||
                     __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    *text = p;
    *ret = v;
    return too_large ? -ERANGE : 0;
}

/* The digits after a point: *ret_fraction / *ret_scale. */
static int parse_fraction(const char **text, uint64_t *ret_fraction, uint64_t *ret_scale)
{
    const char *start = *text;
    int r = parse_digits(text, ret_fraction);
    if (r != 0 || *text - start > PARSE_FRACTION_DIGITS)
        return -EINVAL;
    *ret_scale = scales[*text - start];
    return 0;
}

/* whole + fraction / scale. */
typedef struct Decimal {
    uint64_t whole, fraction, scale;
} Decimal;

/* Digits, and perhaps a point with more of them. 0; -ERANGE: the whole does not fit, but @text is
 * behind it; -EINVAL. */
static int parse_decimal(const char **text, Decimal *ret)
{
    *ret = (Decimal){.scale = 1};
    int r = parse_digits(text, &ret->whole);
    if (r == -EINVAL || **text != '.')
        return r;
    ++*text;
    return parse_fraction(text, &ret->fraction, &ret->scale) != 0 ? -EINVAL : r;
}

/* A number, perhaps with a fraction, and one of @units; a unit without a name stands for none. */
static int parse_quantity(const char *text, const Unit *units, size_t units_count, uint64_t *ret)
{
    Decimal d;
    uint64_t v;
    size_t u = 0;

    int r = parse_decimal(&text, &d);
    if (r == -EINVAL)
        return r;
    while (u < units_count && strcmp(text, units[u].name) != 0)
        u++;
    if (u == units_count || (d.scale > 1 && units[u].value == 1))
        return -EINVAL;
    /* The fraction's product cannot overflow: below 10^6 times an hour in ns or 2^40. */
    if (r != 0 || __builtin_mul_overflow(d.whole, units[u].value, &v) ||
        __builtin_add_overflow(v, d.fraction * units[u].value / d.scale, &v))
        return -ERANGE;
    *ret = v;
    return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
    static const Unit units[] = {
        {"", 1},
        {"K", (uint64_t)1 << 10},
        {"M", (uint64_t)1 << 20},
        {"G", (uint64_t)1 << 30},
        {"T", (uint64_t)1 << 40},
        {"k", (uint64_t)1 << 10},
        {"m", (uint64_t)1 << 20},
        {"g", (uint64_t)1 << 30},
        {"t", (uint64_t)1 << 40},
    };
    return parse_quantity(text, units, ARRAY_SIZE(units), ret_bytes);
}

/* Descending, for format_time(). */
static const Unit time_units[] = {
    {"h", 3600 * NS_PER_S}, {"min", 60 * NS_PER_S}, {"s", NS_PER_S},
    {"ms", NS_PER_MS},      {"us", NS_PER_US},      {"ns", 1},
    {"", NS_PER_S},
};

int parse_time(const char *text, uint64_t *ret_ns)
{
    return parse_quantity(text, time_units, ARRAY_SIZE(time_units), ret_ns);
}

int parse_bool(const char *text, bool *ret)
{
    static const char *const words[][2] = {
        {"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        for (int value = 0; value < 2; value++) {
            if (strcmp(text, words[i][value]) == 0) {
                *ret = value;
                return 0;
            }
        }
    }
    return -EINVAL;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
    uint64_t v;
    int r = parse_digits(&text, &v);
    if (r == -EINVAL || *text)
        return -EINVAL;
    if (r != 0 || v < min || v > max)
        return -ERANGE;
    *ret = v;
    return 0;
}

int parse_number(const char *text, double min, double max, double *ret)
{
    Decimal d;
    int r = parse_decimal(&text, &d);
    if (r == -EINVAL || *text)
        return -EINVAL;
    /* Of two exact integers, so that 0.3 is the number that a compiler makes of it. */
    const double v = d.fraction == 0 ? (double)d.whole
                                     : (double)(d.whole * d.scale + d.fraction) / (double)d.scale;
    if (r != 0 || d.whole > UINT64_MAX / d.scale - 1 || v < min || v > max)
        return -ERANGE;
    *ret = v;
    return 0;
}

/* @v in units of @unit / @parts, rounded. unit * parts is below 2^64 - unit / 2, and so is
 * v / unit * parts. */
static uint64_t in_parts(uint64_t v, uint64_t unit, uint64_t parts)
{
    return v / unit * parts + (v % unit * parts + unit / 2) / unit;
}

char *format_size(uint64_t bytes, char *buf, size_t cap)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned u = 0;

    while (u + 1 < ARRAY_SIZE(names) && bytes >> (10 * u) >= 1024)
        u++;
    uint64_t tenths = in_parts(bytes, (uint64_t)1 << (10 * u), 10);
    if (tenths == 10240) { /* rounded up to 1024 of this unit (never of the last) */
        tenths = 10;
        u++;
    }
    if (tenths % 10)
        (void)snprintf(buf, cap, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, names[u]);
    else
        (void)snprintf(buf, cap, "%" PRIu64 " %s", tenths / 10, names[u]);
    return buf;
}

static char *format_rounded_time(uint64_t ns, char *buf, size_t cap)
{
    const Unit *unit = time_units;
    while (unit->value > ns)
        unit++;
    uint64_t thousandths = in_parts(ns, unit->value, 1000);
    char fraction[8];
    int n = snprintf(fraction, sizeof fraction, ".%03u", (unsigned)(thousandths % 1000));
    while (n > 0 && (fraction[n - 1] == '0' || fraction[n - 1] == '.'))
        fraction[--n] = '\0';
    (void)snprintf(buf, cap, "%" PRIu64 "%s%s", thousandths / 1000, fraction, unit->name);
    return buf;
}

char *format_time(uint64_t ns, char *buf, size_t cap)
{
    const Unit *unit = time_units;

    if (ns == 0 || ns == TIME_NEVER) {
        (void)snprintf(buf, cap, "%s", ns ? "never" : "0s");
        return buf;
    }
    while (ns % unit->value != 0)
        unit++; /* ends at "ns", whose value is 1 */
    if (ns / unit->value > 9999)
        return format_rounded_time(ns, buf, cap);
    (void)snprintf(buf, cap, "%" PRIu64 "%s", ns / unit->value, unit->name);
    return buf;
}

/* ---- texts of key files --------------------------------------------------------------------- */

/* "[group]": copies the name. */
static int parse_group(const char *line, char *group, size_t cap)
{
    size_t n = strcspn(++line, "[]");
    if (n == 0 || n >= cap || strcmp(line + n, "]") != 0)
        return -EINVAL;
    memcpy(group, line, n);
    group[n] = '\0';
    return 0;
}

/* "key = value": cuts the line in two. */
static int parse_pair(char *line, char **ret_key, char **ret_value)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return -EINVAL;
    const char *start = line, *end = equals;
    lines_trim(&start, &end);
    if (start == end || memchr(start, ' ', (size_t)(end - start)) ||
        memchr(start, '\t', (size_t)(end - start)))
        return -EINVAL;
    line[end - line] = '\0';
    *ret_key = line;
    *ret_value = equals + 1;
    while (lines_is_space(**ret_value))
        ++*ret_value;
    return 0;
}

/* What @fn says to a line. */
static int tell_line(const Lines *l, const KeyLine *line, KeyFileFn fn, void *ctx, char *error,
                     size_t error_cap)
{
    char message[KEY_ERROR_MAX] = "this key or its value is not understood";
    int r = fn(ctx, line, message, sizeof message);
    return r != 0 ? lines_fail(l, r, message, error, error_cap) : 0;
}

int key_text_parse(const char *name, const char *text, size_t len, KeyFileFn fn, void *ctx,
                   char *error, size_t error_cap)
{
    Lines l;
    char group[64] = "";
    char *key, *value;
    int r;

    lines_begin(&l, name, text, len);
    while ((r = lines_next(&l, error, error_cap)) > 0) {
        if (*l.line == '[') {
            if (parse_group(l.line, group, sizeof group) != 0)
                return lines_fail(&l, -EINVAL, "expected \"[group]\"", error, error_cap);
            r = tell_line(&l, &(KeyLine){group, NULL, NULL, l.number}, fn, ctx, error, error_cap);
            if (r != 0)
                return r;
            continue;
        }
        if (parse_pair(l.line, &key, &value) != 0)
            return lines_fail(&l, -EINVAL, "expected \"key = value\"", error, error_cap);
        if (!*group)
            return lines_fail(&l, -EINVAL, "expected a \"[group]\" line before the first key",
                              error, error_cap);
        r = tell_line(&l, &(KeyLine){group, key, value, l.number}, fn, ctx, error, error_cap);
        if (r != 0)
            return r;
    }
    return r;
}
