/* SPDX-License-Identifier: MIT */
/* rmd's options: numbers, lists, what fits and what does not. */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/conf/defaults.h"
#include "rmd/options.h"
#include "tests/lib/bad_conf.h"
#include "tests/lib/case.h"

static char *file_path;
static RmdOptions options;

static int set_up(void **state)
{
    static const char *const variables[] = {"DODO_MANAGER",  "DODO_KEY", "DODO_CLUSTER",
                                            "DODO_INSECURE", "DODO_LOG", "DODO_CONFIG"};
    for (size_t i = 0; i < G_N_ELEMENTS(variables); i++)
        g_unsetenv(variables[i]);
    int fd = g_file_open_tmp("dodo-rmd-XXXXXX", &file_path, NULL);
    if (fd < 0)
        return -1;
    (void)close(fd);
    rmd_options_init(&options);
    return 0;
}

static int tear_down(void **state)
{
    config_clear(&rmd_program, &options);
    (void)g_unlink(file_path);
    g_clear_pointer(&file_path, g_free);
    return 0;
}

/* Once more, with this file and these words, separated by '|'. */
static enum ConfigOutcome load_text(const char *text, const char *line, char *error)
{
    g_autofree char *whole =
        g_strdup_printf("rmd|--config|%s%s%s", file_path, *line ? "|" : "", line);
    g_auto(GStrv) words = g_strsplit(whole, "|", -1);
    g_autofree char **argv = g_memdup2(words, sizeof *words * (g_strv_length(words) + 1));
    char **rest = argv;
    int argc = (int)g_strv_length(words);
    config_clear(&rmd_program, &options);
    rmd_options_init(&options);
    *error = '\0';
    assert_true(g_file_set_contents(file_path, text, -1, NULL));
    return config_load(&rmd_program, &argc, &rest, &options, error);
}

static enum ConfigOutcome load(const char *group, const char *line, char *error)
{
    g_autofree char *text = g_strdup_printf("[rmd]\n%s\n", group);
    return load_text(text, line, error);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(defaults_are_the_papers)
{
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(load("", "", error), CONFIG_OK);
    assert_int_equal(options.idle_after_ns, 300 * NS_PER_S);
    assert_true(options.load_below == 0.3);
    assert_int_equal(options.poll_ns, NS_PER_S);
    assert_false(options.dedicated);
    assert_string_equal(options.sources.consoles[1], "/dev/pts/*");
    options.check = true;
    assert_int_equal(rmd_options_check(&options, error), 0);
    assert_true(options.pool_max_bytes == UINT64_MAX);
}

/* It sends imd all of them when it reads its files again. */
CASE(caps_of_imds_own_are_known)
{
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(
        load("rate_packets = 900\n[imd]\nrate_bytes = 3M\nrate_packets = 700", "", error),
        CONFIG_OK);
    assert_int_equal(options.imd.rate_bytes, 0);
    assert_int_equal(options.imd.own_rate_bytes, 3 << 20);
    assert_int_equal(options.imd.rate_packets, 900);
    assert_int_equal(options.imd.own_rate_packets, 700);
}

/* As any other value: with the place where it stands. */
CASE(rules_are_tried_where_they_stand)
{
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(load("recruit_when = load < 0.5", "--reclaim-when|load > 2", error),
                     CONFIG_OK);
    assert_int_equal(load("\nrecruit_when = lode < 0.5", "", error), CONFIG_BAD);
    g_autofree char *want = g_strconcat(
        file_path, ":3: recruit_when: there is no fact called lode; see RULES in dodo-rmd(8)",
        NULL);
    assert_string_equal(error, want);
    assert_int_equal(load("", "--reclaim-when|load", error), CONFIG_USAGE);
    assert_string_equal(error, "reclaim_when: its value is neither true nor false; see RULES in "
                               "dodo-rmd(8)");
}

CASE(numbers)
{
    static const char *const bad[] = {"", "-1", "0.3x", ".3", "nan", "inf", "1e9", " 0.3 0.4"};
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(load("load_below = 1.25", "", error), CONFIG_OK);
    assert_true(options.load_below == 1.25);
    assert_int_equal(load("load_below = 1.25", "--load-below|2", error), CONFIG_OK);
    assert_true(options.load_below == 2);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *line = g_strdup_printf("--load-below|%s", bad[i]);
        assert_int_equal(load("", line, error), CONFIG_USAGE);
    }
    assert_int_equal(load("", "--load-below|x", error), CONFIG_USAGE);
    assert_string_equal(error, "--load-below x: expected a number such as 0.5, 0 to 100000");
}

CASE(lists)
{
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(load("console =  /dev/a   /dev/b ", "", error), CONFIG_OK);
    assert_int_equal(g_strv_length(options.sources.consoles), 2);
    assert_string_equal(options.sources.consoles[1], "/dev/b");
    assert_int_equal(load("console = /dev/a", "--console|/c d|--console|/e", error), CONFIG_OK);
    assert_int_equal(g_strv_length(options.sources.consoles), 2);
    assert_string_equal(options.sources.consoles[0], "/c d");
    assert_string_equal(options.sources.consoles[1], "/e");
    assert_int_equal(load("console =", "", error), CONFIG_BAD);
    assert_non_null(strstr(error, "console: expected texts, with blanks between them"));
}

CASE(pool)
{
    static const char *const bad[] = {"much", "1K", "automatic"};
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(load("pool = 64M", "", error), CONFIG_OK);
    assert_int_equal(options.pool_max_bytes, 64 << 20);
    assert_int_equal(load("pool = 64M", "--pool|auto", error), CONFIG_OK);
    assert_true(options.pool_max_bytes == UINT64_MAX);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *line = g_strconcat("--pool|", bad[i], NULL);
        g_autofree char *want = g_strdup_printf(
            "--pool %s: expected auto, or a size such as 64M or 1.5G, 64 KiB to 256 TiB", bad[i]);
        assert_int_equal(load("", line, error), CONFIG_USAGE);
        assert_string_equal(error, want);
    }
}

CASE(mistakes_are_reported_as_by_all)
{
    for (size_t i = 0; i < BAD_CONFS; i++) {
        char error[CONFIG_ERROR_MAX];
        g_autofree char *want = g_strconcat(file_path, bad_confs[i].says, NULL);
        assert_int_equal(load_text(bad_confs[i].text, "", error), CONFIG_BAD);
        assert_string_equal(error, want);
    }
}

/* rmd's imd would refuse to start, again and again. */
CASE(populate_is_not_for_rmd)
{
    char error[CONFIG_ERROR_MAX];
    g_autofree char *want = g_strconcat(file_path,
                                        ":2: [imd] populate is for hosts without an owner: remove "
                                        "it where rmd lends the memory",
                                        NULL);
    assert_int_equal(load_text("[imd]\npopulate = no\n", "", error), CONFIG_OK);
    assert_int_equal(load_text("[imd]\npopulate = yes\n", "", error), CONFIG_BAD);
    assert_string_equal(error, want);
}

/* rmd has an option for each key that the table calls its own, and for no other. */
CASE(takes_its_keys)
{
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *key = &conf_keys[i];
        bool taken = false;
        for (unsigned t = 0; t < CONFIG_TABLES_MAX && rmd_program.tables[t]; t++)
            for (size_t n = 0; n < rmd_program.tables[t]->count; n++)
                if (rmd_program.tables[t]->keys[n].group &&
                    strcmp(rmd_program.tables[t]->keys[n].group, key->group) == 0 &&
                    strcmp(rmd_program.tables[t]->keys[n].name, key->name) == 0)
                    taken = true;
        if (taken != !!(key->readers & CONF_RMD))
            fail_msg("[%s] %s", key->group, key->name);
    }
}

CASE(none_switches_a_source_off)
{
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(load("utmp = none\ninput = none\nconsole = none", "--check", error),
                     CONFIG_OK);
    assert_int_equal(rmd_options_check(&options, error), 0);
    assert_null(options.sources.utmp);
    assert_null(options.sources.input);
    assert_null(options.sources.consoles);
}

CASE(what_is_needed)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"--listen|127.0.0.1",
         "--manager HOST:PORT is needed, here or as [dodo] manager in the config file"},
        {"--manager|127.0.0.1", ""},
        {"--manager|127.0.0.1|--listen|eth0:0", ""},
        {"--manager|::1|--listen|127.0.0.1",
         "--manager and --listen must both be IPv4 or both IPv6 addresses"},
        {"--manager|127.0.0.1|--listen|127.0.0.1|--pool|1.5G", ""},
        {"--manager|127.0.0.1|--listen|127.0.0.1", ""},
        {"--explain", ""},
        {"--survey|/tmp/x", ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char error[CONFIG_ERROR_MAX];
        assert_int_equal(load("", cases[i].line, error), CONFIG_OK);
        assert_int_equal(rmd_options_check(&options, error) < 0, *cases[i].want != '\0');
        assert_string_equal(error, cases[i].want);
    }
    char error[CONFIG_ERROR_MAX];
    assert_int_equal(load("", "--manager|127.0.0.1|--listen|127.0.0.1", error), CONFIG_OK);
    assert_int_equal(options.listen.addr.port, DEFAULT_RMD_PORT);
    assert_int_equal(load("", "--manager|127.0.0.1", error), CONFIG_OK);
    assert_int_equal(options.listen.addr.port, DEFAULT_RMD_PORT);
}
