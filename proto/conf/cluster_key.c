/* SPDX-License-Identifier: MIT */
#include "proto/conf/cluster_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/lines.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static int parse_key_line(const char *line, ClusterKey *ret)
{
    if (strlen(line) != (size_t)CLUSTER_KEY_SIZE * 2)
        return -EINVAL;
    for (size_t i = 0; i < CLUSTER_KEY_SIZE; i++) {
        int high = hex_digit(line[2 * i]), low = hex_digit(line[2 * i + 1]);
        if (high < 0 || low < 0)
            return -EINVAL;
        ret->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}

static int parse_keys(Lines *l, ClusterKey keys[CLUSTER_KEYS_MAX], unsigned *ret_count, char *error,
                      size_t error_cap)
{
    unsigned count = 0;
    int r;

    while ((r = lines_next(l, error, error_cap)) > 0) {
        if (count == CLUSTER_KEYS_MAX)
            return lines_fail(l, -EINVAL, "more than two keys; remove the oldest", error,
                              error_cap);
        if (parse_key_line(l->line, &keys[count++]) != 0)
            return lines_fail(l, -EINVAL, "expected 64 hexadecimal digits", error, error_cap);
    }
    if (r == 0 && count == 0) {
        (void)snprintf(error, error_cap, "%s: holds no key; make one with: dodo keygen > %s",
                       l->name, l->name);
        return -EINVAL;
    }
    *ret_count = count;
    return r;
}

/* Of secrets that are no longer needed: not optimized away. */
static void wipe(void *p, size_t n)
{
    memset(p, 0, n);
    __asm__ volatile("" : : "r"(p) : "memory");
}

int cluster_key_parse(const char *name, const char *text, size_t len,
                      ClusterKey ret_keys[CLUSTER_KEYS_MAX], unsigned *ret_count, char *error,
                      size_t error_cap)
{
    Lines l;
    ClusterKey keys[CLUSTER_KEYS_MAX] = {0};
    unsigned count = 0;

    lines_begin(&l, name, text, len);
    int r = parse_keys(&l, keys, &count, error, error_cap);
    if (r == 0) {
        memcpy(ret_keys, keys, sizeof keys);
        *ret_count = count;
    }
    wipe(keys, sizeof keys);
    wipe(l.line, sizeof l.line);
    return r;
}

void cluster_key_line(const ClusterKey *k, char ret[CLUSTER_KEY_LINE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof k->bytes; i++) {
        ret[2 * i] = digits[k->bytes[i] >> 4];
        ret[2 * i + 1] = digits[k->bytes[i] & 0xf];
    }
    ret[2 * sizeof k->bytes] = '\n';
}
