/* SPDX-License-Identifier: MIT */
/* Key files and everything that their values are parsed as. What parses must survive being written
 * and parsed again. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/lines.h"
#include "base/parse.h"
#include "proto/conf/cluster_key.h"
#include "proto/conf/conf.h"
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

static int take_key(void *ctx, const KeyLine *l, char *error, size_t error_cap)
{
    unsigned *keys = ctx;
    const char *key = l->key, *value = l->value;
    FUZZ_CHECK(*l->group && !strpbrk(l->group, "[]\n") && l->number > 0 && error_cap > 0);
    if (!key)
        return 0;
    FUZZ_CHECK(*key && !strpbrk(key, " \t=\n") && !strchr(value, '\n'));
    FUZZ_CHECK(is_trimmed(key) && is_trimmed(value));
    FUZZ_CHECK(strlen(key) + strlen(value) < LINES_LINE_MAX);
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

/* What is taken lies in its range, and survives being written and parsed again. */
static int take_value(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    char what[32];
    ConfValue again;
    unsigned *taken = ctx;
    FUZZ_CHECK(error && cap > 0);
    FUZZ_CHECK((k->readers & CONF_RMD) && conf_find(k->group, k->name) == k);
    FUZZ_CHECK(conf_parse(k, v->text, &again) == 0 && again.count == v->count);
    if (k->kind == CONFIG_TIME || k->kind == CONFIG_COUNT) {
        FUZZ_CHECK((v->count >= k->min && v->count <= k->max) || (k->zero && v->count == 0));
        (void)snprintf(what, sizeof what, k->kind == CONFIG_TIME ? "%" PRIu64 "ns" : "%" PRIu64,
                       v->count);
        FUZZ_CHECK(conf_parse(k, what, &again) == 0 && again.count == v->count);
    }
    ++*taken;
    return 0;
}

/* The text as a config file: it is read, or the first mistake has its line. */
static void try_conf(const char *text, size_t size)
{
    char error[1024] = "";
    unsigned taken = 0;
    int r = conf_text_read("FILE", text, size, CONF_RMD, take_value, &taken, error, sizeof error);
    FUZZ_CHECK(r == 0 ? !*error : r == -EINVAL && strncmp(error, "FILE:", 5) == 0);
    FUZZ_CHECK(strlen(error) < sizeof error - 1);
}

static void try_cluster_key(const char *text, size_t size)
{
    ClusterKey keys[CLUSTER_KEYS_MAX];
    unsigned count = 0;
    char error[64] = "";
    int r = cluster_key_parse("KEY", text, size, keys, &count, error, sizeof error);
    FUZZ_CHECK(r == 0 ? count >= 1 && count <= CLUSTER_KEYS_MAX
                      : r == -EINVAL && *error && count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    char error[64] = "";
    unsigned keys = 0;

    int r = key_text_parse("FILE", text, size, take_key, &keys, error, sizeof error);
    FUZZ_CHECK(r == 0 || ((r == -EINVAL || r == -EDOM) && strncmp(error, "FILE:", 5) == 0));
    FUZZ_CHECK(r != -EDOM || keys > 0);
    try_conf(text, size);
    try_cluster_key(text, size);
    return 0;
}
