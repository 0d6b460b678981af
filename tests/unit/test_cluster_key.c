/* SPDX-License-Identifier: MIT */
/* Cluster key files: what is read, and what is said when it cannot be. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proto/conf/cluster_key.h"
#include "tests/lib/case.h"
#include "tests/lib/temp_file.h"

#define DIGITS_A "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define DIGITS_B "FFfe0000000000000000000000000000000000000000000000000000000000Aa"

TEST(cluster_key_parse__table)
{
    static const struct {
        const char *text;
        int result;
        unsigned count;
        const char *error;
    } cases[] = {
        {DIGITS_A, 0, 1, "none"},
        {DIGITS_A "\n", 0, 1, "none"},
        {"# a key\n\n  " DIGITS_A "\t\r\n# end\n", 0, 1, "none"},
        {DIGITS_A "\n" DIGITS_B "\n", 0, 2, "none"},
        {"", -EINVAL, 0, "KEY: holds no key; make one with: dodo keygen > KEY"},
        {"# none\n", -EINVAL, 0, "KEY: holds no key; make one with: dodo keygen > KEY"},
        {DIGITS_A "\n" DIGITS_A "\n" DIGITS_A "\n", -EINVAL, 0,
         "KEY:3: more than two keys; remove the oldest"},
        {DIGITS_A "0\n", -EINVAL, 0, "KEY:1: expected 64 hexadecimal digits"},
        {DIGITS_A "\n0001\n", -EINVAL, 0, "KEY:2: expected 64 hexadecimal digits"},
        {"g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", -EINVAL, 0,
         "KEY:1: expected 64 hexadecimal digits"},
        {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1:", -EINVAL, 0,
         "KEY:1: expected 64 hexadecimal digits"},
        {DIGITS_A " " DIGITS_B, -EINVAL, 0, "KEY:1: expected 64 hexadecimal digits"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ClusterKey keys[CLUSTER_KEYS_MAX], before[CLUSTER_KEYS_MAX];
        char error[256] = "none";
        unsigned count = 77;
        memset(keys, 0xa5, sizeof keys);
        memset(before, 0xa5, sizeof before);
        assert_int_equal(cluster_key_parse("KEY", cases[i].text, strlen(cases[i].text), keys,
                                           &count, error, sizeof error),
                         cases[i].result);
        assert_string_equal(error, cases[i].error);
        assert_int_equal(count, cases[i].result ? 77 : cases[i].count);
        if (cases[i].result) {
            assert_memory_equal(keys, before, sizeof keys);
            continue;
        }
        for (unsigned b = 0; b < CLUSTER_KEY_SIZE; b++)
            assert_int_equal(keys[0].bytes[b], b);
        assert_int_equal(keys[1].bytes[0], count == 2 ? 0xff : 0);
        assert_int_equal(keys[1].bytes[1], count == 2 ? 0xfe : 0);
        assert_int_equal(keys[1].bytes[CLUSTER_KEY_SIZE - 1], count == 2 ? 0xaa : 0);
    }
}

/* ---- on the disk ----------------------------------------------------------------------------- */

IN_TEMP(cluster_key_read__one_key)
{
    ClusterKey keys[CLUSTER_KEYS_MAX];
    unsigned count = 0;
    char error[512] = "";
    const TempFile *t = *state;
    write_file(t, DIGITS_A, strlen(DIGITS_A), 0640); /* a group of daemons may share it */
    assert_int_equal(cluster_key_read(t->path, keys, &count, error, sizeof error), 0);
    assert_int_equal(count, 1);
    for (unsigned i = 0; i < CLUSTER_KEY_SIZE; i++)
        assert_int_equal(keys[0].bytes[i], i);
}

IN_TEMP(cluster_key_read__refuses_what_others_can_use)
{
    static const struct {
        mode_t mode;
        const char *what;
    } cases[] = {{0644, "readable"}, {0604, "readable"}, {0602, "usable"}, {0601, "usable"}};
    const TempFile *t = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ClusterKey keys[CLUSTER_KEYS_MAX] = {{{0xa5}}};
        char error[1024] = "", want[1024];
        unsigned count = 77;
        write_file(t, DIGITS_A, strlen(DIGITS_A), cases[i].mode);
        assert_int_equal(cluster_key_read(t->path, keys, &count, error, sizeof error), -EACCES);
        (void)snprintf(want, sizeof want, "%s: %s by others; run chmod o-rwx %s", t->path,
                       cases[i].what, t->path);
        assert_string_equal(error, want);
        assert_int_equal(count, 77);
        assert_int_equal(keys[0].bytes[0], 0xa5);
    }
}

IN_TEMP(cluster_key_read__says_what_is_wrong_inside)
{
    ClusterKey keys[CLUSTER_KEYS_MAX];
    unsigned count = 77;
    char error[512] = "";
    const TempFile *t = *state;
    write_file(t, "secret\n", 7, 0600);
    assert_int_equal(cluster_key_read(t->path, keys, &count, error, sizeof error), -EINVAL);
    expect_error(t, error, ":1: expected 64 hexadecimal digits");
    assert_int_equal(count, 77);
}

IN_TEMP(cluster_key_read__missing_file)
{
    ClusterKey keys[CLUSTER_KEYS_MAX];
    unsigned count;
    char error[512] = "";
    const TempFile *t = *state;
    assert_int_equal(cluster_key_read(t->path, keys, &count, error, sizeof error), -ENOENT);
    expect_error(t, error, ": No such file or directory");
}

/* What is said goes to logs. */
TEST(cluster_key_read__repeats_no_key_that_is_given_as_a_name)
{
    ClusterKey keys[CLUSTER_KEYS_MAX];
    static const char *const given[] = {DIGITS_A, DIGITS_B};
    for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
        unsigned count;
        char error[512] = "";
        assert_int_equal(cluster_key_read(given[i], keys, &count, error, sizeof error), -EINVAL);
        assert_null(strstr(error, given[i]));
        assert_non_null(strstr(error, "write it to a file"));
    }
}

TEST(cluster_key_read__no_regular_file)
{
    ClusterKey keys[CLUSTER_KEYS_MAX];
    unsigned count;
    char error[512] = "";
    assert_int_equal(cluster_key_read("/", keys, &count, error, sizeof error), -EINVAL);
    assert_string_equal(error, "/: not a regular file; make one with dodo keygen /");
}

static int read_key(const TempFile *t, char error[512])
{
    ClusterKey keys[CLUSTER_KEYS_MAX];
    unsigned count;
    *error = '\0';
    return cluster_key_read(t->path, keys, &count, error, 512);
}

/* A user who can change it can put a key there that he knows. */
IN_TEMP(cluster_key_read__only_what_nobody_else_can_change)
{
    const TempFile *t = *state;
    char error[512];
    static const mode_t modes[] = {0660, 0620, 0460};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        write_file(t, DIGITS_A, strlen(DIGITS_A), 0600);
        assert_int_equal(chmod(t->path, modes[i]), 0);
        assert_int_equal(read_key(t, error), -EACCES);
        assert_non_null(strstr(error, "chmod g-w"));
        assert_int_equal(chmod(t->path, 0600), 0);
    }
    assert_int_equal(read_key(t, error), 0);
    if (geteuid() != 0)
        return; /* one cannot give a file away */
    assert_int_equal(chown(t->path, 1002, 0), 0);
    assert_int_equal(read_key(t, error), -EACCES);
    assert_non_null(strstr(error, "belongs to another user"));
}

/* As one of others, of a file of @mode that belongs to another group. */
static void assert_refused(const TempFile *t, mode_t mode, const char *more)
{
    enum { OTHER_USER = 1001, OTHER_GROUP = 65533 };
    char error[512], expected[512];
    const bool root = geteuid() == 0;
    write_file(t, DIGITS_A, strlen(DIGITS_A), 0600);
    assert_int_equal(chmod(t->path, root ? mode : mode & ~(mode_t)S_IRUSR), 0);
    if (root)
        assert_true(chmod(t->dir, 0711) == 0 && chown(t->path, 0, OTHER_GROUP) == 0 &&
                    seteuid(OTHER_USER) == 0);
    int res = read_key(t, error);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(t->path, 0600), 0);
    assert_int_equal(res, -EACCES);
    (void)snprintf(expected, sizeof expected, "%s: Permission denied%s", t->path, more);
    assert_string_equal(error, expected);
}

/* Who is not in the group yet learns what to do, if that helps. */
IN_TEMP(cluster_key_read__refused_names_the_group)
{
    assert_refused(*state, 0640,
                   "; its group may read it, dodo as a rule: as root, adduser NAME dodo, then log "
                   "in again");
    assert_refused(*state, 0600, "");
}

/* A FIFO would keep who reads it waiting. */
IN_TEMP(cluster_key_read__only_files)
{
    const TempFile *t = *state;
    char error[512];
    assert_int_equal(mkfifo(t->path, 0600), 0);
    assert_int_equal(read_key(t, error), -EINVAL);
    assert_non_null(strstr(error, "not a regular file"));
}
