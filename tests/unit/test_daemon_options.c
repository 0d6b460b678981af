/* SPDX-License-Identifier: MIT */
/* Options, environment and config file: who beats whom, and what is said to bad input. */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/options.h"
#include "proto/conf/defaults.h"
#include "imd/options.h"
#include "tests/lib/bad_conf.h"
#include "tests/lib/case.h"

static char *file_path; /* of the config file of the test under way */

static const char *const variables[] = {"DODO_MANAGER",  "DODO_KEY", "DODO_CLUSTER",
                                        "DODO_INSECURE", "DODO_LOG", "DODO_CONFIG"};

static int set_up(void **state)
{
    for (size_t i = 0; i < G_N_ELEMENTS(variables); i++)
        g_unsetenv(variables[i]);
    int fd = g_file_open_tmp("dodo-options-XXXXXX", &file_path, NULL);
    if (fd < 0)
        return -1;
    (void)close(fd);
    return 0;
}

static int tear_down(void **state)
{
    (void)g_unlink(file_path);
    g_clear_pointer(&file_path, g_free);
    return 0;
}

/* Loads @program with the file's text and the command line, whose words are separated by blanks;
 * "@" stands for the file's path. Standard output goes nowhere meanwhile. */
static enum ConfigOutcome load(const ConfigProgram *program, void *options, const char *text,
                               const char *line, char *error)
{
    g_autofree char *whole = g_strdup_printf("prog%s%s", *line ? " " : "", line);
    g_auto(GStrv) words = g_strsplit(whole, " ", -1);
    g_autofree char **argv = g_new0(char *, g_strv_length(words) + 1);
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = strcmp(words[argc], "@") == 0 ? file_path : words[argc];
    char **rest = argv;
    *error = '\0';
    assert_true(g_file_set_contents(file_path, text, -1, NULL));
    (void)fflush(stdout);
    int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(out >= 0 && null >= 0 && dup2(null, STDOUT_FILENO) >= 0);
    enum ConfigOutcome res = config_load(program, &argc, &rest, options, error);
    (void)fflush(stdout);
    assert_true(dup2(out, STDOUT_FILENO) >= 0);
    (void)close(out);
    (void)close(null);
    return res;
}

static enum ConfigOutcome load_imd(ImdOptions *o, const char *text, const char *line, char *error)
{
    imd_options_init(o);
    return load(&imd_program, o, text, line, error);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- who beats whom -------------------------------------------------------------------------- */

CASE(load__option_beats_environment_beats_file)
{
    static const struct {
        const char *file, *env, *line, *want;
    } cases[] = {
        {"", NULL, "--config @", NULL},
        {"[dodo]\nmanager = 10.0.0.1:1\n", NULL, "--config @", "10.0.0.1:1"},
        {"[dodo]\nmanager = 10.0.0.1:1\n", "10.0.0.2:2", "--config @", "10.0.0.2:2"},
        {"[dodo]\nmanager = 10.0.0.1:1\n", "10.0.0.2:2", "--config @ --manager 10.0.0.3:3",
         "10.0.0.3:3"},
        {"[dodo]\nmanager = 10.0.0.1:1\n", NULL, "--config @ --manager=10.0.0.3", "10.0.0.3"},
        {"", "", "--config @", NULL}, /* an empty variable is none */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char error[CONFIG_ERROR_MAX];
        ImdOptions o;
        if (cases[i].env)
            g_setenv("DODO_MANAGER", cases[i].env, TRUE);
        else
            g_unsetenv("DODO_MANAGER");
        assert_int_equal(load_imd(&o, cases[i].file, cases[i].line, error), CONFIG_OK);
        if (cases[i].want)
            assert_string_equal(o.common.manager, cases[i].want);
        else
            assert_null(o.common.manager);
        config_clear(&imd_program, &o);
    }
}

CASE(load__file_by_environment)
{
    char error[CONFIG_ERROR_MAX];
    ImdOptions o;
    g_setenv("DODO_CONFIG", file_path, TRUE);
    assert_int_equal(load_imd(&o, "[imd]\nthreads = 7\n", "", error), CONFIG_OK);
    assert_int_equal(o.threads, 7);
    config_clear(&imd_program, &o);
    g_setenv("DODO_CONFIG", "/nonexistent/other", TRUE);
    assert_int_equal(load_imd(&o, "[imd]\nthreads = 7\n", "--config @", error), CONFIG_OK);
    assert_int_equal(o.threads, 7);
    config_clear(&imd_program, &o);
}

CASE(load__every_kind)
{
    char error[CONFIG_ERROR_MAX], text[ADDR_TEXT_MAX];
    ImdOptions o;
    assert_int_equal(
        load_imd(&o,
                 "[dodo]\nkey = /k e y\ncluster = blue\nlog_level = debug\nhello_retry = 7ms\n"
                 "[imd]\nlisten = [::1]\npool = 1.5G\nbeat = 2min\n"
                 "manager_dead = 1h\nwrites_max = 9\n",
                 "--config @ --nice 3 --insecure", error),
        CONFIG_OK);
    assert_string_equal(o.common.key, "/k e y");
    assert_string_equal(o.common.cluster, "blue");
    assert_true(o.common.insecure);
    assert_int_equal(o.common.log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(o.common.hello_retry_ns, 7 * NS_PER_MS);
    assert_string_equal(addr_format(&o.listen.addr, text, sizeof text), "[::1]:7701");
    assert_int_equal(o.pool_bytes, 1536ull << 20);
    assert_int_equal(o.beat_ns, 120 * NS_PER_S);
    assert_int_equal(o.writes_max, 9);
    assert_int_equal(o.nice, 3);
    config_clear(&imd_program, &o);
    assert_null(o.common.key);
}

/* ---- what is said to bad input ----------------------------------------------------------------
 */

CASE(load__says_what_to_do)
{
    /* @want: what the message must end with; "FILE" in it stands for the file's path. */
    static const struct {
        const char *file, *variable, *value, *line;
        enum ConfigOutcome outcome;
        const char *want;
    } cases[] = {
        {"[imd]\nbeat = 5s\npol = 64M\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:3: unknown key \"pol\" in [imd]; see dodo.conf(5)"},
        {"[dodo]\nfoo = 1\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:2: unknown key \"foo\" in [dodo]; see dodo.conf(5)"},
        {"[imds]\npool = 64M\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:1: unknown group [imds]: expected [dodo], [daemon], [client], [manage], [imd], "
         "[rmd] or [cmd]; see dodo.conf(5)"},
        {"[imd]\nbeat = soon\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:2: beat: expected a time such as 500ms, 30s or 5min, 1ms to 24h"},
        {"[imd]\nthreads = 65\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:2: threads: expected a number, 1 to 64"},
        {"[dodo]\ninsecure = perhaps\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:2: insecure: expected yes or no"},
        {"[dodo]\ncluster =\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:2: cluster: expected a text"},
        {"[dodo]\nmanager = a,,b\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:2: manager: expected a name or an address such as manager.example:7700, "
         "10.0.0.1:7700 or [fd00::1]:7700, or up to 8 with commas between them"},
        {"[imd]\nlisten = 10.0.0\n", NULL, NULL, "--config @", CONFIG_BAD,
         "FILE:2: listen: expected an address such as 10.0.0.1:7701 or [fd00::1]:7701, or an "
         "interface such as eth0"},
        {"", NULL, NULL, "--config /nonexistent/dodo.conf", CONFIG_BAD,
         "/nonexistent/dodo.conf: No such file or directory; give the right file with --config or "
         "DODO_CONFIG"},
        {"", "DODO_LOG", "loud", "--config @", CONFIG_BAD,
         "DODO_LOG=loud: expected error, warn, info or debug"},
        {"", NULL, NULL, "--pool 12Q", CONFIG_USAGE,
         "--pool 12Q: expected a size such as 64M or 1.5G, 64 KiB to 256 TiB"},
        {"", NULL, NULL, "--pool 4K", CONFIG_USAGE,
         "--pool 4K: expected a size such as 64M or 1.5G, 64 KiB to 256 TiB"},
        {"", NULL, NULL, "--bogus", CONFIG_USAGE, "Unknown option --bogus (see imd --help)"},
        {"", NULL, NULL, "--data-port 5", CONFIG_USAGE,
         "Unknown option --data-port (see imd --help)"}, /* only in the file */
        {"", NULL, NULL, "--insecure=no", CONFIG_USAGE,
         "--insecure takes no value (see imd --help)"},
        {"", NULL, NULL, "--pool 1M --help=", CONFIG_USAGE,
         "--help takes no value (see imd --help)"},
        {"", NULL, NULL, "--pool --insecure=no", CONFIG_USAGE,
         "--pool --insecure=no: expected a size such as 64M or 1.5G, 64 KiB to 256 TiB"},
        {"", NULL, NULL, "--inse=no", CONFIG_USAGE, "Unknown option --inse=no (see imd --help)"},
        {"", NULL, NULL, "-- --insecure=no", CONFIG_USAGE,
         "unexpected argument \"--\" (see imd --help)"},
        {"", NULL, NULL, "--pool", CONFIG_USAGE, "Missing argument for --pool (see imd --help)"},
        {"", NULL, NULL, "now", CONFIG_USAGE, "unexpected argument \"now\" (see imd --help)"},
        /* The command line is judged before the file. */
        {"", NULL, NULL, "--config=", CONFIG_USAGE, "--config : expected the name of a file"},
        {"[imd]\nnope = 1\n", NULL, NULL, "--config @ --nice 20", CONFIG_USAGE,
         "--nice 20: expected a number, 0 to 19"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char error[CONFIG_ERROR_MAX];
        ImdOptions o;
        if (cases[i].variable)
            g_setenv(cases[i].variable, cases[i].value, TRUE);
        assert_int_equal(load_imd(&o, cases[i].file, cases[i].line, error), cases[i].outcome);
        if (cases[i].variable)
            g_unsetenv(cases[i].variable);
        bool file = strncmp(cases[i].want, "FILE", 4) == 0;
        g_autofree char *want =
            g_strdup_printf("%s%s", file ? file_path : "", cases[i].want + (file ? 4 : 0));
        assert_string_equal(error, want);
        config_clear(&imd_program, &o);
    }
}

/* As any other value: with the place where it stands. */
CASE(load__lease_is_a_command)
{
    char error[CONFIG_ERROR_MAX];
    CmdOptions o;
    cmd_options_init(&o);
    assert_int_equal(load(&cmd_program, &o, "[cmd]\nlease = flock /x\n", "--config @", error),
                     CONFIG_BAD);
    g_autofree char *want =
        g_strconcat(file_path, ":2: lease: flock: give the program's absolute path", NULL);
    assert_string_equal(error, want);
    assert_int_equal(load(&cmd_program, &o, "", "--lease flock", error), CONFIG_USAGE);
    assert_string_equal(error, "lease: flock: give the program's absolute path");
    assert_int_equal(load(&cmd_program, &o, "", "--config @ --lease '/x", error), CONFIG_USAGE);
    assert_non_null(
        strstr(error, ": give a program's path and its arguments, quoted as in a shell"));
    config_clear(&cmd_program, &o);
}

/* The advice is there however long the words are that it is about. */
CASE(load__long_words_are_cut)
{
    static const struct {
        const char *file, *line, *starts, *ends; /* "%s": the word */
        enum ConfigOutcome outcome;
    } cases[] = {
        {"[imd]\n%s = 1\n", "--config @", ":2: unknown key \"xxx",
         "xxx...\" in [imd]; see dodo.conf(5)", CONFIG_BAD},
        {"", "--pool %s", "--pool xxx",
         "xxx...: expected a size such as 64M or 1.5G, 64 KiB to 256 TiB", CONFIG_USAGE},
        {"", "--%s", "Unknown option --xxx", "xxx... (see imd --help)", CONFIG_USAGE},
        {"", "%s", "unexpected argument \"xxx", "xxx...\" (see imd --help)", CONFIG_USAGE},
    };
    g_autofree char *word = g_strnfill(4000, 'x');
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char error[CONFIG_ERROR_MAX];
        ImdOptions o;
        g_auto(GStrv) file = g_strsplit(cases[i].file, "%s", -1);
        g_auto(GStrv) line = g_strsplit(cases[i].line, "%s", -1);
        g_autofree char *text = g_strjoinv(word, file), *words = g_strjoinv(word, line);
        assert_int_equal(load_imd(&o, text, words, error), cases[i].outcome);
        if (!strstr(error, cases[i].starts) || !g_str_has_suffix(error, cases[i].ends))
            fail_msg("\"%s\" is not \"%s...%s\"", error, cases[i].starts, cases[i].ends);
        config_clear(&imd_program, &o);
    }
}

CASE(load__answers_to_the_name_it_is_installed_by)
{
    static const struct {
        const char *called, *want;
    } cases[] = {{"/usr/sbin/dodo-imd", "Unknown option --bogus (see dodo-imd --help)"},
                 {"dodo-imd", "Unknown option --bogus (see dodo-imd --help)"},
                 {"/usr/sbin/dodo-cmd", "Unknown option --bogus (see imd --help)"},
                 {"/usr/libexec/dodo/imd", "Unknown option --bogus (see imd --help)"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char error[CONFIG_ERROR_MAX];
        char *words[] = {(char *)cases[i].called, (char *)"--bogus", NULL}, **argv = words;
        int argc = 2;
        ImdOptions o;
        imd_options_init(&o);
        assert_int_equal(config_load(&imd_program, &argc, &argv, &o, error), CONFIG_USAGE);
        assert_string_equal(error, cases[i].want);
        config_clear(&imd_program, &o);
    }
}

/* In the words that the libraries use, whosever group it is. */
CASE(load__mistakes_are_reported_as_by_all)
{
    for (size_t i = 0; i < BAD_CONFS; i++) {
        char error[CONFIG_ERROR_MAX];
        ImdOptions imd;
        CmdOptions cmd;
        g_autofree char *want = g_strconcat(file_path, bad_confs[i].says, NULL);
        assert_int_equal(load_imd(&imd, bad_confs[i].text, "--config @", error), CONFIG_BAD);
        assert_string_equal(error, want);
        config_clear(&imd_program, &imd);
        cmd_options_init(&cmd);
        assert_int_equal(load(&cmd_program, &cmd, bad_confs[i].text, "--config @", error),
                         CONFIG_BAD);
        assert_string_equal(error, want);
        config_clear(&cmd_program, &cmd);
    }
}

CASE(load__knows_other_programs_groups)
{
    static const char text[] = "[dodo]\nmanager = 10.0.0.1\n[client]\nverify = no\n"
                               "[manage]\ncache_size = 1M\nreadahead = 1M\n[rmd]\nbeat = 3s\n"
                               "[cmd]\ngrace = 9s\n[imd]\nbeat = 4s\n";
    char error[CONFIG_ERROR_MAX];
    ImdOptions imd;
    CmdOptions cmd;
    assert_int_equal(load_imd(&imd, text, "--config @", error), CONFIG_OK);
    assert_int_equal(imd.beat_ns, 4 * NS_PER_S);
    config_clear(&imd_program, &imd);
    cmd_options_init(&cmd);
    assert_int_equal(load(&cmd_program, &cmd, text, "--config @", error), CONFIG_OK);
    assert_int_equal(cmd.grace_ns, 9 * NS_PER_S);
    config_clear(&cmd_program, &cmd);
}

CASE(load__help_and_version)
{
    static const char *const lines[] = {"--help", "-h", "--version"};
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        char error[CONFIG_ERROR_MAX];
        ImdOptions o;
        assert_int_equal(load_imd(&o, "", lines[i], error), CONFIG_DONE);
        config_clear(&imd_program, &o);
    }
}

/* ---- the programs' tables ---------------------------------------------------------------------
 */

static const ConfigKey *bound(const ConfigProgram *p, const ConfKey *key)
{
    for (unsigned t = 0; t < CONFIG_TABLES_MAX && p->tables[t]; t++) {
        for (size_t i = 0; i < p->tables[t]->count; i++) {
            const ConfigKey *k = &p->tables[t]->keys[i];
            if (k->group && strcmp(k->group, key->group) == 0 && strcmp(k->name, key->name) == 0)
                return k;
        }
    }
    return NULL;
}

/* A program takes exactly the keys that the table says it takes, each into a field of its own. */
CASE(tables__programs_take_their_keys)
{
    static const ConfigProgram *const programs[] = {&imd_program, &cmd_program};
    union {
        ImdOptions imd;
        CmdOptions cmd;
    } o;
    for (unsigned i = 0; i < G_N_ELEMENTS(programs); i++) {
        const ConfigProgram *p = programs[i];
        memset(&o, 0, sizeof o);
        for (size_t n = 0; n < conf_keys_count; n++) {
            const ConfKey *key = &conf_keys[n];
            const ConfigKey *k = bound(p, key);
            if (!k != !(key->readers & p->reader))
                fail_msg("%s: [%s] %s", p->name, key->group, key->name);
            if (!k ||
                (key->kind != CONFIG_SIZE && key->kind != CONFIG_TIME && key->kind != CONFIG_COUNT))
                continue;
            g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT "%s", (guint64)key->max,
                                                    key->kind == CONFIG_TIME ? "ns" : "");
            uint64_t *field = (uint64_t *)(void *)((char *)&o + k->offset);
            assert_int_equal(*field, 0);
            assert_int_equal(config_set(k, &o, text), 0);
            assert_int_equal(*field, key->max);
        }
        config_clear(p, &o);
    }
}

CASE(tables__keys_are_in_the_table)
{
    static const ConfigProgram *const programs[] = {&imd_program, &cmd_program};
    for (unsigned i = 0; i < G_N_ELEMENTS(programs); i++)
        for (unsigned t = 0; t < CONFIG_TABLES_MAX && programs[i]->tables[t]; t++)
            for (size_t n = 0; n < programs[i]->tables[t]->count; n++) {
                const ConfigKey *k = &programs[i]->tables[t]->keys[n];
                if (k->group)
                    assert_non_null(conf_find(k->group, k->name));
            }
}

/* Right below and right above the ports of the data threads is room for the other one; they may be
 * the last ports that there are. */
CASE(load__ports_beside_each_other)
{
    static const struct {
        const char *listen;
        unsigned data;
    } ports[] = {{"10.0.0.1:7707", 7708}, {"10.0.0.1:7712", 7708}, {"10.0.0.1:7700", 65532}};
    for (unsigned i = 0; i < G_N_ELEMENTS(ports); i++) {
        char error[CONFIG_ERROR_MAX];
        ImdOptions o;
        g_autofree char *text = g_strdup_printf("[imd]\nlisten = %s\ndata_port = %u\nthreads = 4\n",
                                                ports[i].listen, ports[i].data);
        assert_int_equal(load_imd(&o, text, "--config @", error), CONFIG_OK);
        config_clear(&imd_program, &o);
    }
}

/* Fixed, for firewalls; but where others may serve at the same address. */
CASE(imd_check__data_ports)
{
    static const struct {
        const char *text, *listen;
        unsigned port;
    } cases[] = {
        {"", "10.0.0.1", 7720},
        {"", "10.0.0.1:9", 7720},
        {"", "10.0.0.1:0", 0},
        {"[imd]\ndata_port = 0\n", "10.0.0.1", 0},
        {"[imd]\ndata_port = 9000\n", "10.0.0.1:0", 9000},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char error[CONFIG_ERROR_MAX] = "";
        ImdOptions o;
        g_autofree char *line =
            g_strconcat("--config @ --manager 10.0.0.9 --pool 1M --listen ", cases[i].listen, NULL);
        assert_int_equal(load_imd(&o, cases[i].text, line, error), CONFIG_OK);
        assert_int_equal(imd_options_check(&o, error), 0);
        assert_int_equal(o.data_port, cases[i].port);
        config_clear(&imd_program, &o);
    }
}

CASE(imd_check__what_is_needed)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"--listen 127.0.0.1 --pool 1M",
         "--manager HOST:PORT is needed, here or as [dodo] manager in the config file"},
        {"--manager 127.0.0.1 --pool 1M --threads 8", ""},
        {"--manager 127.0.0.1 --listen eth0 --pool 1M --threads 8", ""},
        {"--manager 127.0.0.1 --listen eth0:65529 --pool 1M --threads 8",
         ":2: [imd] data_port: 65529, the port of --listen, is among those of the data threads, "
         "65528 "
         "to 65535: choose another"},
        {"--manager 127.0.0.1 --listen 127.0.0.1",
         "--pool SIZE is needed, here or as [imd] pool in the config file"},
        {"--manager 127.0.0.1 --pool 1M --transport raw",
         "With --transport raw, --interface NAME is needed, here or as [dodo] interface in the "
         "config file"},
        {"--manager ::1 --listen 127.0.0.1 --pool 1M",
         "--manager and --listen must both be IPv4 or both IPv6 addresses"},
        {"--manager 127.0.0.1 --listen 127.0.0.1 --pool 1M --threads 9",
         ":2: [imd] data_port: the ports of all 9 threads must be below 65536"},
        {"--manager 127.0.0.1 --listen 127.0.0.1 --pool 1M --owner-fd 3 --populate",
         "[imd] populate is for hosts without an owner: what rmd lends must be there to be given "
         "back"},
        {"--manager 127.0.0.1 --listen 127.0.0.1 --pool 1M --threads 8", ""},
        {"--manager 127.0.0.1 --listen 127.0.0.1 --pool 1M --threads 8 --populate", ""},
        {"--manager 127.0.0.1 --listen 127.0.0.1 --pool 70001", ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char error[CONFIG_ERROR_MAX];
        ImdOptions o;
        g_autofree char *line = g_strconcat("--config @ ", cases[i].line, NULL);
        assert_int_equal(load_imd(&o, "[imd]\ndata_port = 65528\n", line, error), CONFIG_OK);
        assert_int_equal(imd_options_check(&o, error) < 0, *cases[i].want != '\0');
        const bool placed = g_str_has_prefix(error, file_path); /* what the file says, names it */
        assert_string_equal(error + (placed ? strlen(file_path) : 0), cases[i].want);
        if (!*cases[i].want) {
            assert_in_range(o.threads, 1, 64);
            assert_int_equal(o.pool_bytes % 4096, 0);
        }
        config_clear(&imd_program, &o);
    }
}
