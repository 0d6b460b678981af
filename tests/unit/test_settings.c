/* SPDX-License-Identifier: MIT */
/* What the library takes from its config file and environment, and what it says of mistakes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/conf/defaults.h"
#include "libdodo/settings.h"
#include "tests/lib/bad_conf.h"
#include "tests/lib/case.h"

static const char hex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
static char path[64];
static char error[SETTINGS_ERROR_MAX];

static int set_up(void **state)
{
    (void)state;
    static const char *const names[] = {"DODO_MANAGER",  "DODO_KEY",    "DODO_CLUSTER",
                                        "DODO_INSECURE", "DODO_CONFIG", "DODO_TRANSPORT",
                                        "DODO_INTERFACE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unsetenv(names[i]);
    (void)strcpy(path, "/tmp/dodo-test-settings-XXXXXX");
    close(mkstemp(path));
    error[0] = '\0';
    return setenv("DODO_CONFIG", path, 1);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void config(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(settings__defaults)
{
    Settings s;
    assert_int_equal(settings_load(&s, error), 0);
    assert_int_equal(s.managers.count, 0);
    assert_int_equal(s.refraction_ns, DEFAULT_REFRACTION_NS);
    assert_int_equal(s.cluster, cluster_number(DEFAULT_CLUSTER));
    assert_int_equal(s.keys_count, 0);
}

CASE(settings__file)
{
    Settings s;
    config("[dodo]\nmanager = 127.0.0.1:7711\ncluster = lab\nlog_level = debug\n"
           "[client]\nrefraction = 250ms\nalive = 1s\nregions_max = 12\nfill_queue = 2M\n"
           "honest_filesystems = 0x65735546, 6969\n[imd]\npool = 64M\n[cmd]\ngrace = 2s\n");
    assert_int_equal(settings_load(&s, error), 0);
    assert_int_equal(s.managers.of[0].addr.port, 7711);
    assert_int_equal(s.cluster, cluster_number("lab"));
    assert_int_equal(s.refraction_ns, 250000000);
    assert_int_equal(s.alive_ns, 1000000000);
    assert_int_equal(s.regions_max, 12);
    assert_int_equal(s.fill_queue_bytes, 2 << 20);
    assert_int_equal(s.filesystems_count, 2);
    assert_int_equal(s.filesystems[0], 0x65735546);
    assert_int_equal(s.filesystems[1], 0x6969);
}

CASE(settings__environment_beats_file)
{
    Settings s;
    config("[dodo]\nmanager = 127.0.0.1:1\n");
    (void)setenv("DODO_MANAGER", "[::1]:2", 1);
    assert_int_equal(settings_load(&s, error), 0);
    assert_int_equal(s.managers.of[0].addr.kind, ADDR_IP6);
    assert_int_equal(s.managers.of[0].addr.port, 2);
}

CASE(settings__default_port)
{
    Settings s;
    (void)setenv("DODO_MANAGER", "127.0.0.1", 1);
    assert_int_equal(settings_load(&s, error), 0);
    assert_int_equal(s.managers.of[0].addr.port, DEFAULT_CMD_PORT);
}

/* What they stand for is not known yet, so that a key is not asked for. */
CASE(settings__names_of_the_manager)
{
    Settings s;
    (void)setenv("DODO_MANAGER", "manager.example:1, 127.0.0.1,other", 1);
    assert_int_equal(settings_load(&s, error), 0);
    assert_int_equal(s.managers.count, 3);
    assert_string_equal(s.managers.of[0].name, "manager.example");
    assert_int_equal(s.managers.of[0].addr.port, 1);
    assert_string_equal(s.managers.of[2].name, "other");
    assert_int_equal(s.managers.of[2].addr.port, DEFAULT_CMD_PORT);
    (void)setenv("DODO_MANAGER", "other,10.0.0.1", 1);
    assert_int_equal(settings_load(&s, error), -EACCES);
}

CASE(settings__mistakes_are_named)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"[client]\nrefractoin = 1s\n", "refractoin"},
        {"[dodo]\nmanagre = 1\n", "managre"},
        {"[dodo]\nmanager = host.example:x\n", "manager"},
        {"[client]\nalive = 0s\n", "alive"},
        {"[client]\nalive = soon\n", ":2:"},
        {"[client]\nhonest_filesystems = ext4\n", "honest_filesystems"},
        {"[client]\nregions_max = 0\n", "regions_max"},
        {"manager\n", ":1:"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Settings s;
        config(rows[i].text);
        assert_true(settings_load(&s, error) < 0);
        if (!strstr(error, rows[i].says))
            fail_msg("row %zu: \"%s\" does not name %s", i, error, rows[i].says);
    }
}

CASE(settings__mistakes_are_reported_as_by_all)
{
    for (size_t i = 0; i < BAD_CONFS; i++) {
        Settings s;
        config(bad_confs[i].text);
        *error = '\0';
        if (settings_load(&s, error) != -EINVAL)
            fail_msg("taken: %s", bad_confs[i].text);
        assert_memory_equal(error, path, strlen(path));
        assert_string_equal(error + strlen(path), bad_confs[i].says);
    }
}

/* Groups of others are known, and their values may be anything that these take. */
CASE(settings__groups_of_others)
{
    Settings s;
    config("[daemon]\nuser = dodo\n[imd]\npool = 1G\nrate_bytes = 0\npopulate = yes\n"
           "[rmd]\npool = auto\nexplain = off\nload_below = 1.5\n[cmd]\ndistrust = 0\n"
           "[manage]\nreadahead = 0\n");
    assert_int_equal(settings_load(&s, error), 0);
}

/* Each key that the table calls the library's changes something of it, and no other does. */
CASE(settings__takes_its_keys)
{
    static Settings before, after;
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *k = &conf_keys[i];
        char text[256], value[64];
        if (k->kind == CONFIG_LEVEL) /* the log's */
            continue;
        if (k->kind == CONFIG_SIZE || k->kind == CONFIG_TIME || k->kind == CONFIG_COUNT)
            (void)snprintf(value, sizeof value, "%llu%s",
                           (unsigned long long)(k->count > k->min && k->count <= k->max
                                                    ? k->count - 1
                                                    : k->min + 1),
                           k->kind == CONFIG_TIME ? "ns" : "");
        else if (k->kind == CONFIG_CHOICE)
            (void)snprintf(value, sizeof value, "%s", strrchr(k->words, '|') + 1);
        else
            (void)snprintf(value, sizeof value, "%s",
                           k->kind == CONFIG_BOOL ? k->count ? "no" : "yes"
                           : k->kind == CONFIG_ADDR || k->kind == CONFIG_LISTEN ||
                                   k->kind == CONFIG_PLACES
                               ? "127.0.0.1:9"
                               : "1");
        /* Some keys need a control group, and none may be given twice. */
        (void)snprintf(text, sizeof text, "%s[%s]\n%s = %s\n",
                       strcmp(k->name, "cgroup") == 0 ? "" : "[rmd]\ncgroup = x\n", k->group,
                       k->name, value);
        memset(&before, 0, sizeof before);
        memset(&after, 0, sizeof after);
        config("");
        assert_int_equal(settings_load(&before, error), 0);
        config(text);
        int result = settings_load(&after, error);
        /* The file of the key is not there, and raw frames need more. */
        if (result != 0 && strcmp(k->name, "key") != 0 && strcmp(k->name, "transport") != 0)
            fail_msg("%s%s", text, error);
        if (!memcmp(&before, &after, sizeof before) != !(k->readers & CONF_CLIENT))
            fail_msg("[%s] %s", k->group, k->name);
    }
}

CASE(settings__raw_frames_need_interface_and_key)
{
    Settings s;
    config("[dodo]\ntransport = raw\n");
    assert_int_equal(settings_load(&s, error), -EINVAL);
    assert_non_null(strstr(error, "DODO_INTERFACE"));
    config("[dodo]\ntransport = raw\ninterface = a/b\n");
    assert_int_equal(settings_load(&s, error), -EINVAL);
    config("[dodo]\ntransport = raw\ninterface = eth0\n");
    assert_int_equal(settings_load(&s, error), -EACCES);
    assert_non_null(strstr(error, "DODO_KEY"));
    config("[dodo]\ntransport = raw\ninterface = eth0\ninsecure = yes\n");
    assert_int_equal(settings_load(&s, error), 0);
    assert_true(s.raw);
    assert_string_equal(s.interface, "eth0");
    config("[dodo]\ntransport = frames\n");
    assert_int_equal(settings_load(&s, error), -EINVAL);
}

CASE(settings__named_file_must_exist)
{
    Settings s;
    (void)setenv("DODO_CONFIG", "/nonexistent/dodo.conf", 1);
    assert_int_equal(settings_load(&s, error), -ENOENT);
    assert_non_null(strstr(error, "/nonexistent/dodo.conf"));
}

CASE(settings__bad_environment)
{
    Settings s;
    (void)setenv("DODO_MANAGER", "no where", 1);
    assert_int_equal(settings_load(&s, error), -EINVAL);
    assert_non_null(strstr(error, "DODO_MANAGER"));
}

/* ---- privileged programs -------------------------------------------------------------------- */

/* In a program that has more privileges than who started it; 0: it obeys none of the environment.
 */
static int with_privileges(void)
{
    Settings s;
    if (getauxval(AT_SECURE) == 0)
        return 2;
    if (settings_load(&s, error) != 0) /* DODO_CONFIG names a file that is not there */
        return 3;
    return s.cluster == cluster_number("theirs") || s.insecure ? 4 : 0;
}

/* As of a setuid program: its effective user is not its real one. */
CASE(settings__privileged_program_ignores_the_environment)
{
    int status;
    if (geteuid() != 0) {
        print_message("# no root\n");
        skip();
    }
    (void)setenv("DODO_CONFIG", "/nonexistent/dodo.conf", 1);
    (void)setenv("DODO_CLUSTER", "theirs", 1);
    (void)setenv("DODO_INSECURE", "1", 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (setresuid(65534, 0, 0) == 0)
            (void)execl("/proc/self/exe", "test-settings", "privileged", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- keys ----------------------------------------------------------------------------------- */

CASE(key__other_hosts_need_one)
{
    Settings s;
    (void)setenv("DODO_MANAGER", "10.1.2.3:7700", 1);
    assert_int_equal(settings_load(&s, error), -EACCES);
    assert_non_null(strstr(error, "DODO_KEY"));
    (void)setenv("DODO_INSECURE", "1", 1);
    assert_int_equal(settings_load(&s, error), 0);
}

CASE(key__is_read)
{
    Settings s;
    char key[] = "/tmp/dodo-test-key-XXXXXX";
    int fd = mkstemp(key);
    assert_int_equal(write(fd, hex, sizeof hex - 1), sizeof hex - 1);
    close(fd);
    (void)setenv("DODO_MANAGER", "10.1.2.3:7700", 1);
    (void)setenv("DODO_KEY", key, 1);
    assert_int_equal(settings_load(&s, error), 0);
    assert_int_equal(s.keys_count, 1);
    assert_int_equal(s.keys[0].bytes[31], 0x1f);

    assert_int_equal(chmod(key, 0644), 0);
    assert_int_equal(settings_load(&s, error), -EACCES);
    assert_non_null(strstr(error, "chmod"));
    assert_int_equal(unlink(key), 0);
    assert_int_equal(settings_load(&s, error), -ENOENT);
    assert_non_null(strstr(error, key));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "privileged") == 0)
        return with_privileges();
    return cases_run(NULL, NULL);
}
