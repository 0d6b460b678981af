/* SPDX-License-Identifier: MIT */
/* A configuration of several files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/conf/conf.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

static TmpDir dir;
static char main_path[256], error[KEY_ERROR_MAX];
static char taken[512]; /* "beat=5s nice=3 ": what a reader got, in order */

static int set_up(void **state)
{
    (void)state;
    tmpdir_make(&dir);
    (void)tmpdir_path(&dir, "dodo.conf", main_path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tmpdir_remove(&dir);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

static int take(void *ctx, const ConfKey *k, const ConfValue *v, char *text, size_t cap)
{
    (void)ctx, (void)text, (void)cap;
    const size_t at = strlen(taken);
    (void)snprintf(taken + at, sizeof taken - at, "%s=%s ", k->name, v->text);
    return 0;
}

static int read_files(void)
{
    *taken = *error = '\0';
    return conf_file_read(main_path, CONF_IMD, take, NULL, error, sizeof error);
}

static void assert_error(const char *file, const char *says)
{
    char want[KEY_ERROR_MAX];
    (void)snprintf(want, sizeof want, "%s/%s%s", dir.path, file, says);
    if (strncmp(error, want, strlen(want)) != 0)
        fail_msg("\"%s\" is not \"%s\"", error, want);
}

CASE(files__are_read_by_their_names_after_the_first)
{
    tmpdir_text(&dir, "dodo.conf", "[imd]\nnice = 1\nthreads = 1\n");
    assert_int_equal(read_files(), 0);
    assert_string_equal(taken, "nice=1 threads=1 ");
    tmpdir_text(&dir, "dodo.conf.d/20-b.conf", "[imd]\nnice = 3\n");
    tmpdir_text(&dir, "dodo.conf.d/10-a.conf", "[imd]\nnice = 2\npool = 1G\n");
    tmpdir_text(&dir, "dodo.conf.d/9.conf", "[cmd]\ngrace = 1min\n");
    assert_int_equal(read_files(), 0);
    assert_string_equal(taken, "nice=1 threads=1 nice=2 pool=1G nice=3 ");
}

CASE(files__of_other_names_are_none)
{
    static const char *const names[] = {".hidden.conf", ".#a.conf", "a.conf~", "a.conf.dpkg-old",
                                        "README",       ".conf",    "aconf"};
    char name[64];
    tmpdir_text(&dir, "dodo.conf", "");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(name, sizeof name, "dodo.conf.d/%s", names[i]);
        tmpdir_text(&dir, name, "rubbish");
    }
    assert_int_equal(read_files(), 0);
}

CASE(mistakes__name_their_file)
{
    tmpdir_text(&dir, "dodo.conf", "[imd]\nbeat = 2s\n");
    tmpdir_text(&dir, "dodo.conf.d/a.conf", "[imd]\nnice = 1\n\nnice = 2\n");
    assert_int_equal(read_files(), -EINVAL);
    assert_error("dodo.conf.d/a.conf", ":4: [imd] nice is given twice, first at line 2");
    tmpdir_text(&dir, "dodo.conf.d/a.conf", "[imd]\nnicer = 1\n");
    assert_int_equal(read_files(), -EINVAL);
    assert_error("dodo.conf.d/a.conf", ":2: unknown key");
}

CASE(place__is_the_last_that_sets_a_key)
{
    char place[512];
    tmpdir_text(&dir, "dodo.conf", "[imd]\nnice = 1\npool = 1G\n");
    tmpdir_text(&dir, "dodo.conf.d/a.conf", "# nothing\n[cmd]\n[imd]\nnice = 2\n");
    assert_true(conf_place(main_path, "imd", "pool", place, sizeof place) > 0);
    assert_string_equal(place + strlen(main_path), ":3: ");
    assert_true(conf_place(main_path, "imd", "nice", place, sizeof place) > 0);
    assert_non_null(strstr(place, "dodo.conf.d/a.conf:4: "));
    assert_int_equal(conf_place(main_path, "imd", "threads", place, sizeof place), 0);
    assert_string_equal(place, "");
    assert_int_equal(conf_place(main_path, "imd", "nice", place, 8), 0); /* no room */
    assert_string_equal(place, "");
}

/* Of what counts in the end, and where the last of it stands. */
CASE(contradictions__are_those_of_all_files)
{
    tmpdir_text(&dir, "dodo.conf", "\n\n\n[imd]\nbeat = 8s\n");
    assert_int_equal(read_files(), -EINVAL);
    assert_error("dodo.conf", ":5: [imd] beat = 8s must be at most half of");
    tmpdir_text(&dir, "dodo.conf.d/a.conf", "[imd]\nmanager_dead = 20s\n");
    assert_int_equal(read_files(), 0);
    tmpdir_text(&dir, "dodo.conf.d/b.conf", "[imd]\nmanager_dead = 10s\n");
    assert_int_equal(read_files(), -EINVAL);
    assert_error("dodo.conf.d/b.conf", ":2: [imd] beat = 8s must be at most half of [imd] "
                                       "manager_dead = 10s");
}

CASE(first__must_be_there_if_it_is_asked_for)
{
    tmpdir_text(&dir, "dodo.conf.d/a.conf", "[imd]\nnice = 2\n");
    assert_int_equal(read_files(), -ENOENT);
    assert_error("dodo.conf", ": No such file or directory; give the right file with --config or "
                              "DODO_CONFIG");
}

CASE(directory__that_is_none)
{
    tmpdir_text(&dir, "dodo.conf", "");
    tmpdir_text(&dir, "dodo.conf.d", "");
    assert_int_equal(read_files(), -ENOTDIR);
    assert_error("dodo.conf.d", ": Not a directory; make it a directory of files, or remove it");
}

/* One error is enough. */
CASE(directory__below_a_file)
{
    tmpdir_text(&dir, "file", "");
    (void)tmpdir_path(&dir, "file/dodo.conf", main_path);
    assert_int_equal(read_files(), -ENOTDIR);
    assert_error("file/dodo.conf", ": Not a directory; give the right file");
}

/* What to do is there for a file deep in the tree, too. */
CASE(mistakes__in_a_file_with_a_long_path)
{
    char path[700] = "";
    (void)snprintf(path, sizeof path, "%s/", dir.path);
    while (strlen(path) < 600)
        (void)strcat(path, "./");
    (void)strcat(path, "dodo.conf");
    tmpdir_text(&dir, "dodo.conf", "[imd]\nbeat = 9s\n\nnicer = 1\n");
    *error = '\0';
    assert_int_equal(conf_file_read(path, CONF_IMD, NULL, NULL, error, sizeof error), -EINVAL);
    assert_memory_equal(error, "...", 3);
    assert_non_null(
        strstr(error, "./dodo.conf:4: unknown key \"nicer\" in [imd]; see dodo.conf(5)"));
    tmpdir_text(&dir, "dodo.conf", "[imd]\nbeat = 9s\n");
    assert_int_equal(conf_file_read(path, CONF_IMD, NULL, NULL, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "./dodo.conf:2: [imd] beat = 9s must be at most half of"));
    (void)strcat(path, "/x");
    assert_int_equal(conf_file_read(path, CONF_IMD, NULL, NULL, error, sizeof error), -ENOTDIR);
    assert_non_null(strstr(error, "./dodo.conf/x: Not a directory; give the right file"));
}

CASE(files__that_are_none)
{
    char path[256];
    tmpdir_text(&dir, "dodo.conf", "");
    tmpdir_text(&dir, "dodo.conf.d/a.conf", "");
    (void)tmpdir_path(&dir, "dodo.conf.d/b.conf", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_files(), -EISDIR);
    assert_error("dodo.conf.d/b.conf",
                 ": Is a directory; make it a file of settings, or remove it");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink(path, path), 0);
    assert_int_equal(read_files(), -ELOOP);
    assert_error("dodo.conf.d/b.conf", ": Too many levels of symbolic links; make it a file");
}

CASE(directory__has_a_limit)
{
    char name[64];
    tmpdir_text(&dir, "dodo.conf", "");
    for (int i = 1; i <= CONF_FILES_MAX; i++) {
        assert_int_equal(read_files(), 0);
        (void)snprintf(name, sizeof name, "dodo.conf.d/%d.conf", i);
        tmpdir_text(&dir, name, "");
    }
    assert_int_equal(read_files(), -E2BIG);
    assert_error("dodo.conf.d", ": more than 63 files: join some of them");
}

/* The other program may have another file; where it has none, its default counts. */
CASE(doubt__is_a_key_against_a_default_of_another_program)
{
    static const struct {
        const char *text, *doubt;
    } cases[] = {
        {"[cmd]\nclient_dead = 9s\n",
         "/dodo.conf:2: [client] alive = 5s (its default) must be at most half of [cmd] "
         "client_dead = 9s; "},
        {"[client]\nalive = 16s\n",
         "/dodo.conf:2: [client] alive = 16s must be at most half of [cmd] client_dead = 30s (its "
         "default); "},
        {"[client]\nalive = 1s\n[cmd]\nclient_dead = 9s\n", NULL},
        {"[cmd]\nclient_dead = 10s\n", NULL},
        {"[cmd]\nclient_dead = 9s\nclient_dead = x\n", NULL}, /* an error */
        {"", NULL},
    };
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        tmpdir_text(&dir, "dodo.conf", cases[i].text);
        *error = '\0';
        assert_int_equal(conf_file_doubt(main_path, error, sizeof error), cases[i].doubt != NULL);
        if (cases[i].doubt) {
            assert_error("", cases[i].doubt + 1);
            assert_int_equal(read_files(), 0);
        }
    }
}
