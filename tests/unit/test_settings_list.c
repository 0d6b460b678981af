/* SPDX-License-Identifier: MIT */
#include "tools/settings_list.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/case.h"

static SettingsList l;

static const char *environment[4]; /* name, value, ... */

static char *get(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(environment) && environment[i]; i += 2)
        if (strcmp(environment[i], name) == 0)
            return (char *)(uintptr_t)environment[i + 1];
    return NULL;
}

static const char *const names[] = {"/x.conf", "/x.conf.d/a.conf"};

static void read_text(const char *text)
{
    char error[KEY_ERROR_MAX] = "";
    settings_list_init(&l, names);
    int res =
        key_text_parse("/x.conf", text, strlen(text), settings_list_line, &l, error, sizeof error);
    settings_list_fault(&l, error);
    if (res == 0)
        settings_list_rules(&l);
    settings_list_environment(&l, get);
    if (res == 0)
        settings_list_variable_rules(&l);
}

static int tear_down(void **state)
{
    (void)state;
    settings_list_deinit(&l);
    memset(environment, 0, sizeof environment);
    return 0;
}

/* The line of a setting, without the blanks between its columns. */
static void assert_line(const char *want)
{
    g_autoptr(GString) out = g_string_new(NULL);
    settings_list_print(&l, out);
    g_autoptr(GRegex) blanks = g_regex_new(" {2,}", 0, 0, NULL);
    g_autofree char *text = g_regex_replace_literal(blanks, out->str, -1, 0, " ", 0, NULL);
    g_autofree char *line = g_strdup_printf("\n%s\n", want);
    g_autofree char *all = g_strdup_printf("\n%s", text);
    if (!strstr(all, line))
        fail_msg("no \"%s\" in%s", want, all);
}

static void assert_faults(unsigned count, const char *first)
{
    assert_int_equal(l.faults->len, count);
    if (count)
        assert_non_null(strstr(g_ptr_array_index(l.faults, 0), first));
}

#define CASE(name) TEST_WITH(name, NULL, tear_down)

CASE(list__has_each_key_and_its_default)
{
    read_text("");
    assert_faults(0, "");
    assert_line("[dodo] manager - not set");
    assert_line("[dodo] cluster dodo default");
    assert_line("[client] alive 5s default");
    assert_line("[client] stripe 16M default");
    assert_line("[manage] readahead 8M default");
    assert_line("[imd] nice 19 default");
    assert_line("[imd] rate_bytes 0 default");
    assert_line("[rmd] load_below 0.3 default");
    assert_line("[rmd] pool auto default");
    assert_line("[rmd] dedicated no default");
    g_autoptr(GString) out = g_string_new(NULL);
    settings_list_print(&l, out);
    g_auto(GStrv) lines = g_strsplit(out->str, "\n", -1);
    assert_int_equal(g_strv_length(lines), conf_keys_count + 1);
}

/* Option beats environment beats file beats default. */
CASE(value__comes_from_who_counts_most)
{
    static const char *const set[] = {"DODO_CLUSTER", "blue", "DODO_KEY", ""};
    memcpy(environment, set, sizeof set);
    read_text("[dodo]\nmanager = m:1\ncluster = red\nkey = /k\n\n[imd]\npool = 1.5G\n");
    settings_list_option(&l, "dodo", "manager", "n:2");
    assert_faults(0, "");
    assert_line("[dodo] manager n:2 command line");
    assert_line("[dodo] cluster blue DODO_CLUSTER");
    assert_line("[dodo] key /k /x.conf:4"); /* an empty variable is none */
    assert_line("[imd] pool 1.5G /x.conf:7");
}

CASE(value__is_printable)
{
    static const char *const set[] = {"DODO_CLUSTER", "a\nb\x1b[31m"};
    memcpy(environment, set, sizeof set);
    read_text("[dodo]\nkey = /caf\xc3\xa9\xff\n");
    assert_line("[dodo] cluster a?b?[31m DODO_CLUSTER");
    assert_line("[dodo] key /caf\xc3\xa9? /x.conf:2");
}

CASE(value__comes_from_the_last_file_that_sets_it)
{
    static const char more[] = "[imd]\n\nnice = 6\npool = 1M\npool = 2M\nbeat = 20s\n";
    char error[KEY_ERROR_MAX] = "";
    read_text("[imd]\nnice = 5\nthreads = 2\n");
    settings_list_next(&l);
    assert_int_equal(
        key_text_parse(names[1], more, strlen(more), settings_list_line, &l, error, sizeof error),
        0);
    settings_list_rules(&l);
    assert_line("[imd] nice 6 /x.conf.d/a.conf:3");
    assert_line("[imd] pool 1M /x.conf.d/a.conf:4");
    assert_line("[imd] threads 2 /x.conf:3");
    assert_faults(2, "/x.conf.d/a.conf:5: [imd] pool is given twice");
    assert_non_null(strstr(g_ptr_array_index(l.faults, 1), "/x.conf.d/a.conf:6: [imd] beat"));
}

/* It is not shown, and the fault says what belongs there. */
CASE(secret__is_no_name_of_a_file)
{
#define SECRET "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef"
    static const char *const set[] = {"DODO_KEY", SECRET};
    memcpy(environment, set, sizeof set);
    read_text("[dodo]\nkey = \"" SECRET "\"\n[cmd]\nmetrics_token_file = " SECRET "\n");
    assert_line("[dodo] key - not set");
    assert_line("[cmd] metrics_token_file - not set");
    assert_faults(3, "/x.conf:2: key: expected the name of a file");
    assert_non_null(
        strstr(g_ptr_array_index(l.faults, 1), "/x.conf:4: metrics_token_file: expect"));
    assert_non_null(strstr(g_ptr_array_index(l.faults, 2), "DODO_KEY=(hidden): expected the name"));
    g_autoptr(GString) out = g_string_new(NULL);
    settings_list_json(&l, out);
    assert_null(strstr(out->str, "0123456789"));
}

/* Each fault is said, and what is right beside it counts. */
CASE(faults__are_all_listed)
{
    static const char *const set[] = {"DODO_LOG", "loud"};
    memcpy(environment, set, sizeof set);
    read_text("[dodo]\nmanagre = m\nmanager = m\n[imd]\npool = lots\nnice = 5\nnice = 6\n[x]\n"
              "beat = 20s\n");
    assert_line("[dodo] manager m /x.conf:3");
    assert_line("[imd] nice 5 /x.conf:6");
    assert_line("[imd] pool - not set");
    assert_line("[dodo] log_level info default");
    assert_faults(6, "/x.conf:2: unknown key \"managre\" in [dodo]");
    assert_non_null(strstr(g_ptr_array_index(l.faults, 1), "/x.conf:5: pool: expected a size"));
    assert_non_null(strstr(g_ptr_array_index(l.faults, 2), "/x.conf:7: [imd] nice is given twice"));
    assert_non_null(strstr(g_ptr_array_index(l.faults, 3), "/x.conf:8: unknown group [x]"));
    assert_non_null(
        strstr(g_ptr_array_index(l.faults, 4), "/x.conf:9: unknown key \"beat\" in [x]"));
    assert_non_null(strstr(g_ptr_array_index(l.faults, 5), "DODO_LOG=loud: expected error"));
}

CASE(faults__are_contradictions_too)
{
    read_text("[imd]\nbeat = 20s\n");
    assert_faults(1, "/x.conf:2: [imd] beat = 20s must be at most half of");
}

/* What copen() refuses. */
CASE(faults__are_contradictions_of_variables_too)
{
    static const char *const set[] = {"DODO_READAHEAD", "1G", "DODO_POLL", "5ms"};
    memcpy(environment, set, sizeof set);
    read_text("[manage]\ncache_size = 64M\nreadahead = 1M\n");
    assert_faults(
        1, "DODO_READAHEAD: [manage] readahead = 1 GiB must be at most [manage] cache_size = "
           "64 MiB (/x.conf:2); otherwise the cache has no room for what is read ahead");
}

CASE(faults__of_a_variable_name_a_default)
{
    static const char *const set[] = {"DODO_READAHEAD", "1T"};
    memcpy(environment, set, sizeof set);
    read_text("");
    assert_faults(1,
                  "DODO_READAHEAD: [manage] readahead = 1 TiB must be at most [manage] cache_size");
    assert_non_null(strstr(g_ptr_array_index(l.faults, 0), " (its default); otherwise"));
}

CASE(faults__of_two_variables_name_both)
{
    static const char *const set[] = {"DODO_READAHEAD", "2M", "DODO_CACHE_SIZE", "1M"};
    memcpy(environment, set, sizeof set);
    read_text("[manage]\ncache_size = 64M\n");
    assert_faults(
        1, "DODO_READAHEAD: [manage] readahead = 2 MiB must be at most [manage] cache_size = "
           "1 MiB (DODO_CACHE_SIZE); otherwise");
}

CASE(faults__of_a_variable_name_the_line_of_the_other)
{
    static const char *const set[] = {"DODO_CACHE_SIZE", "1M"};
    memcpy(environment, set, sizeof set);
    read_text("[manage]\ncache_size = 64M\nreadahead = 2M\n");
    assert_faults(
        1, "DODO_CACHE_SIZE: [manage] readahead = 2 MiB (/x.conf:3) must be at most [manage] "
           "cache_size = 1 MiB; otherwise");
}

/* The manager of one command, and the key that counts beside DODO_INSECURE. */
CASE(variables__may_differ_from_what_daemons_have)
{
    static const char *const set[] = {"DODO_MANAGER", "[fd00::1]", "DODO_INSECURE", "yes"};
    memcpy(environment, set, sizeof set);
    read_text("[dodo]\nkey = /k\n[imd]\nlisten = 10.0.0.1\n");
    assert_faults(0, "");
}

/* imd and programs refuse both, wherever it comes from. */
CASE(faults__of_raw_frames)
{
    read_text("[dodo]\ntransport = raw\nkey = /k\n");
    assert_faults(1, "/x.conf:2: [dodo] transport = raw needs an interface");
    settings_list_deinit(&l);
    read_text("[dodo]\ntransport = raw\ninterface = eth0\n");
    assert_faults(1, "/x.conf:2: [dodo] transport = raw needs a cluster key");
    settings_list_deinit(&l);
    static const char *const raw[] = {"DODO_TRANSPORT", "raw"};
    memcpy(environment, raw, sizeof raw);
    read_text("[dodo]\ninsecure = no\ninterface = eth0\n");
    assert_faults(1, "DODO_TRANSPORT: [dodo] transport = raw needs a cluster key");
}

CASE(raw_frames__have_what_they_need)
{
    read_text("[dodo]\ntransport = raw\ninterface = eth0\ninsecure = yes\n");
    assert_faults(0, "");
    settings_list_deinit(&l);
    static const char *const rest[] = {"DODO_INTERFACE", "eth0", "DODO_KEY", "/k"};
    memcpy(environment, rest, sizeof rest);
    read_text("[dodo]\ntransport = raw\n");
    assert_faults(0, "");
    settings_list_deinit(&l);
    memset(environment, 0, sizeof environment);
    read_text("[dodo]\ntransport = udp\n");
    assert_faults(0, "");
}

CASE(faults__of_rmd_count_where_it_is_set_up)
{
    read_text("[rmd]\nlisten = 127.0.0.1\n[imd]\npopulate = yes\n");
    assert_faults(1, "/x.conf:4: [imd] populate is for hosts without an owner");
}

CASE(syntax__ends_the_reading)
{
    read_text("[dodo]\nmanager = m\nnonsense\ncluster = blue\n");
    assert_line("[dodo] manager m /x.conf:2");
    assert_line("[dodo] cluster dodo default");
    assert_faults(1, "/x.conf:3: expected \"key = value\"");
}

/* Names of files are UTF-8, or no text at all. */
CASE(json__has_texts_as_they_are)
{
    read_text("[dodo]\nkey = /etc/Schl\xc3\xbcssel\xff\"\ncluster = \x1b[1m\xc2\x9b\x7f\n");
    g_autoptr(GString) out = g_string_new(NULL);
    settings_list_json(&l, out);
    assert_non_null(strstr(out->str, "\"value\":\"\\u001b[1m\\u009b\\u007f\""));
    assert_non_null(strstr(out->str, "\"value\":\"/etc/Schl\xc3\xbcssel\xef\xbf\xbd\\\"\""));
}

CASE(json__has_all_of_it)
{
    read_text("[dodo]\nkey = /a \"b\"\n[imd]\nnice = 20\n");
    g_autoptr(GString) out = g_string_new(NULL);
    settings_list_json(&l, out);
    assert_non_null(strstr(out->str, "{\"group\":\"dodo\",\"key\":\"manager\",\"value\":null,"
                                     "\"source\":\"unset\",\"where\":\"not set\"}"));
    assert_non_null(strstr(out->str, "\"key\":\"key\",\"value\":\"/a \\"));
    assert_non_null(strstr(out->str, "\"source\":\"file\",\"where\":\"/x.conf:2\"}"));
    assert_non_null(strstr(out->str, "],\"faults\":[\"/x.conf:4: nice: expected a number"));
}
