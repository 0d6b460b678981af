/* SPDX-License-Identifier: MIT */
/* The table of keys: its defaults and ranges, and what its types take. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/conf/conf.h"
#include "tests/lib/case.h"

static bool is_number(const ConfKey *k)
{
    return k->kind == CONFIG_SIZE || k->kind == CONFIG_TIME || k->kind == CONFIG_COUNT;
}

TEST(keys__are_there_once)
{
    for (size_t i = 0; i < conf_keys_count; i++) {
        assert_ptr_equal(conf_find(conf_keys[i].group, conf_keys[i].name), &conf_keys[i]);
        assert_int_not_equal(conf_keys[i].readers, 0);
    }
    assert_null(conf_find("client", "pool"));
}

TEST(keys__defaults_are_values)
{
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *k = &conf_keys[i];
        ConfValue v;
        if (conf_default(k, &v) != 0) {
            assert_false(k->preset);
            continue;
        }
        if (is_number(k) && !(k->zero && v.count == 0) && v.count != UINT64_MAX)
            assert_in_range(v.count, k->min, k->max);
        if (k->kind == CONFIG_NUMBER)
            assert_true(v.number >= (double)k->min && v.number <= (double)k->max);
    }
}

static int parse_number_of(const ConfKey *k, uint64_t v, ConfValue *ret)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64 "%s", v, k->kind == CONFIG_TIME ? "ns" : "");
    return conf_parse(k, text, ret);
}

TEST(keys__edges)
{
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *k = &conf_keys[i];
        ConfValue v = {.count = 7};
        if (!is_number(k))
            continue;
        assert_int_equal(parse_number_of(k, k->min, &v), 0);
        assert_int_equal(v.count, k->min);
        assert_int_equal(parse_number_of(k, k->max, &v), 0);
        assert_int_equal(v.count, k->max);
        assert_int_equal(parse_number_of(k, k->max + 1, &v), -EINVAL);
        if (k->min > 0)
            assert_int_equal(parse_number_of(k, k->min - 1, &v), -EINVAL);
        if (k->min > 1)
            assert_int_equal(parse_number_of(k, 0, &v), k->zero ? 0 : -EINVAL);
    }
}

TEST(values__table)
{
    static const struct {
        const char *group, *name, *text;
        int result;
    } cases[] = {
        {"dodo", "cluster", "", -EINVAL},
        {"dodo", "cluster", "a b", 0},
        {"dodo", "insecure", "on", 0},
        {"dodo", "insecure", "oui", -EINVAL},
        {"dodo", "log_level", "warn", 0},
        {"dodo", "log_level", "war", -EINVAL},
        {"dodo", "log_level", "warning", -EINVAL},
        {"dodo", "manager", "[::1]", 0},
        {"dodo", "manager", "::1:x", -EINVAL},
        {"rmd", "console", "/dev/a /dev/b", 0},
        {"rmd", "console", " ", -EINVAL},
        {"rmd", "console", " \t\n \t\n", -EINVAL},
        {"rmd", "console", "\t/dev/a", 0},
        {"rmd", "explain", "full", 0},
        {"rmd", "explain", "coarse|full", -EINVAL},
        {"rmd", "pool", "auto", 0},
        {"rmd", "load_below", "0.3", 0},
        {"rmd", "load_below", "100000.5", -EINVAL},
        {"client", "honest_filesystems", "0xEF53, 1 ,2", 0},
        {"client", "honest_filesystems", "0x", -EINVAL},
        {"client", "honest_filesystems", "1 2", -EINVAL},
        {"client", "honest_filesystems", "10000000000000000", -EINVAL},
        {"client", "honest_filesystems", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", 0},
        {"client", "honest_filesystems", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ConfValue v;
        int result = conf_parse(conf_find(cases[i].group, cases[i].name), cases[i].text, &v);
        if (result != cases[i].result)
            fail_msg("%s = %s: %d", cases[i].name, cases[i].text, result);
    }
}

TEST(values__text_has_a_limit)
{
    char text[4097], error[256];
    ConfValue v;
    const ConfKey *k = conf_find("dodo", "key");
    memset(text, 'x', sizeof text);
    text[4095] = '\0';
    assert_int_equal(conf_parse(k, text, &v), 0);
    text[4095] = 'x';
    text[4096] = '\0';
    assert_int_equal(conf_parse(k, text, &v), -EINVAL);
    (void)conf_refuse(k, "key", error, sizeof error);
    assert_string_equal(error, "key: expected the name of a file, of at most 4095 characters, and "
                               "not what is in the file");
}

/* ---- variables ------------------------------------------------------------------------------- */

static const char *const *env_now; /* name, value, name, value, NULL */

static char *env_get(const char *name)
{
    for (size_t i = 0; env_now[i]; i += 2)
        if (strcmp(env_now[i], name) == 0)
            return (char *)(uintptr_t)env_now[i + 1];
    return NULL;
}

static int count_value(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    (void)k;
    (void)v;
    (void)error;
    (void)cap;
    ++*(unsigned *)ctx;
    return 0;
}

TEST(env__only_the_readers_own)
{
    static const char *const some[] = {"DODO_CACHE_SIZE", "much", "DODO_POLL", "1ms",
                                       "DODO_LOG",        "",     NULL};
    char error[256] = "";
    unsigned count = 0;
    env_now = some;
    assert_int_equal(conf_env_read(CONF_CLIENT, env_get, count_value, &count, error, sizeof error),
                     0);
    assert_int_equal(count, 1);
    assert_int_equal(conf_env_read(CONF_MANAGE, env_get, count_value, &count, error, sizeof error),
                     -EINVAL);
    assert_string_equal(error,
                        "DODO_CACHE_SIZE=much: expected a size such as 64M or 1.5G, 0 B to 1 EiB");
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A reader gets each of its keys once, and no others. */
TEST(text__tells_the_reader_its_keys)
{
    static const char text[] = "[dodo]\ncluster = a\n[imd]\nbeat = 1s\n[cmd]\ngrace = 1min\n";
    static const struct {
        unsigned reader, keys;
    } cases[] = {{CONF_CLIENT, 1}, {CONF_MANAGE, 0}, {CONF_CMD, 2}, {CONF_IMD, 2}, {CONF_TOOL, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[256] = "";
        unsigned count = 0;
        assert_int_equal(conf_text_read("FILE", text, strlen(text), cases[i].reader, count_value,
                                        &count, error, sizeof error),
                         0);
        assert_int_equal(count, cases[i].keys);
    }
}

/* The port of its control socket is none of the data threads': they count up from data_port. */
TEST(text__data_ports_leave_out_the_control_port)
{
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"[imd]\nlisten = 10.0.0.1:7707\ndata_port = 7708\nthreads = 4\n", 0},
        {"[imd]\nlisten = 10.0.0.1:7708\ndata_port = 7708\nthreads = 4\n", -EINVAL},
        {"[imd]\nlisten = 10.0.0.1:7711\ndata_port = 7708\nthreads = 4\n", -EINVAL},
        {"[imd]\nlisten = 10.0.0.1:7712\ndata_port = 7708\nthreads = 4\n", 0},
        {"[imd]\nlisten = 10.0.0.1:7708\ndata_port = 7708\n", -EINVAL},
        {"[imd]\nlisten = 10.0.0.1:7709\ndata_port = 7708\n", 0},
        {"[imd]\nlisten = 10.0.0.1:3\ndata_port = 0\nthreads = 4\n", 0}, /* any free ones */
        {"[imd]\ndata_port = 65532\nthreads = 4\n", 0},
        {"[imd]\ndata_port = 65533\nthreads = 4\n", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[256] = "";
        unsigned count = 0;
        int result = conf_text_read("FILE", cases[i].text, strlen(cases[i].text), CONF_IMD,
                                    count_value, &count, error, sizeof error);
        if (result != cases[i].result)
            fail_msg("%s: %d, %s", cases[i].text, result, error);
    }
}

/* An imd that rmd kills before its own deadline says no good-byes. */
TEST(text__rmd_waits_for_imd)
{
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"[imd]\nleave_deadline = 2s\n[rmd]\nleave_deadline = 1s\n", -EINVAL},
        {"[imd]\nleave_deadline = 1s\n[rmd]\nleave_deadline = 1s\n", 0},
        {"[imd]\nleave_deadline = 1s\n[rmd]\nleave_deadline = 2s\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[256] = "";
        unsigned count = 0;
        assert_int_equal(conf_text_read("FILE", cases[i].text, strlen(cases[i].text), CONF_RMD,
                                        count_value, &count, error, sizeof error),
                         cases[i].result);
    }
    assert_true(conf_find("imd", "leave_deadline")->count <=
                conf_find("rmd", "leave_deadline")->count);
}
