/* SPDX-License-Identifier: MIT */
/* Key files and everything that their values are parsed as. What parses must survive being written
 * and parsed again. */
#include <errno.h>
#include <string.h>

#include "base/addr.h"
#include "base/parse.h"
#include "tests/fuzz/fuzz.h"

static void try_size(const char *text)
{
    char buf[32];
    uint64_t v = 1;
    int r = parse_size(text, &v);
    FUZZ_CHECK(r == 0 || ((r == -EINVAL || r == -ERANGE) && v == 1));
    FUZZ_CHECK(strlen(format_size(v, buf, sizeof buf)) < sizeof buf - 1);
}

static void try_time(const char *text)
{
    char buf[32];
    uint64_t v = 1, back;
    int r = parse_time(text, &v);
    FUZZ_CHECK(r == 0 || ((r == -EINVAL || r == -ERANGE) && v == 1));
    FUZZ_CHECK(strlen(format_time(v, buf, sizeof buf)) < sizeof buf - 1);
    if (parse_time(buf, &back) == 0) /* rounded to a thousandth at worst */
        FUZZ_CHECK((back > v ? back - v : v - back) <= v / 1000);
}

static void try_numbers(const char *text)
{
    uint64_t v = 0;
    bool b;
    int r = parse_u64(text, 10, 1000, &v);
    FUZZ_CHECK(r == 0 ? v >= 10 && v <= 1000 : v == 0);
    (void)parse_bool(text, &b);
}

static void try_addr(const char *text)
{
    char buf[ADDR_TEXT_MAX];
    Addr a, back;
    if (addr_parse(text, 7, &a) != 0)
        return;
    FUZZ_CHECK(addr_parse(addr_format(&a, buf, sizeof buf), 9, &back) == 0);
    FUZZ_CHECK(addr_equal(&a, &back) && addr_hash(&a) == addr_hash(&back));
}

static bool is_trimmed(const char *text)
{
    static const char spaces[] = " \t\r";
    size_t n = strlen(text);
    return n == 0 || (!strchr(spaces, text[0]) && !strchr(spaces, text[n - 1]));
}

static int take_key(void *ctx, const char *group, const char *key, const char *value, char *error,
                    size_t error_cap)
{
    unsigned *keys = ctx;
    FUZZ_CHECK(*group && *key && error_cap > 0);
    FUZZ_CHECK(!strpbrk(group, "[]\n") && !strpbrk(key, " \t=\n") && !strchr(value, '\n'));
    FUZZ_CHECK(is_trimmed(key) && is_trimmed(value));
    FUZZ_CHECK(strlen(key) + strlen(value) < KEY_LINE_MAX);
    try_size(value);
    try_time(value);
    try_numbers(value);
    try_addr(value);
    ++*keys;
    if (strcmp(key, "stop") != 0)
        return 0;
    (void)snprintf(error, error_cap, "%s", value);
    return -EDOM;
}

static void try_cluster_key(const char *text, size_t size)
{
    uint8_t keys[KEYS_MAX][KEY_BYTES];
    unsigned count = 0;
    char error[64] = "";
    int r = cluster_key_parse("KEY", text, size, keys, &count, error, sizeof error);
    FUZZ_CHECK(r == 0 ? count >= 1 && count <= KEYS_MAX : r == -EINVAL && *error && count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    char error[64] = "";
    unsigned keys = 0;

    int r = key_text_parse("FILE", text, size, take_key, &keys, error, sizeof error);
    FUZZ_CHECK(r == 0 || ((r == -EINVAL || r == -EDOM) && strncmp(error, "FILE:", 5) == 0));
    FUZZ_CHECK(r != -EDOM || keys > 0);
    try_cluster_key(text, size);
    return 0;
}
