/* SPDX-License-Identifier: MIT */
/* Key files on the disk: what is read, and what is said when it cannot be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "tests/lib/case.h"

#define DIGITS "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"

/* A file of its own for each test. */
typedef struct TempFile {
    char dir[256];
    char path[272];
} TempFile;

static int temp_setup(void **state)
{
    TempFile *t = calloc(1, sizeof *t);
    const char *tmp = getenv("TMPDIR");
    if (!t)
        return -1;
    *state = t;
    (void)snprintf(t->dir, sizeof t->dir, "%s/dodo-keyfile-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(t->dir))
        return -1;
    (void)snprintf(t->path, sizeof t->path, "%s/file", t->dir);
    return 0;
}

static int temp_teardown(void **state)
{
    TempFile *t = *state;
    (void)unlink(t->path);
    int r = rmdir(t->dir);
    free(t);
    return r;
}

static void write_file(const TempFile *t, const char *text, size_t len, mode_t mode)
{
    FILE *f = fopen(t->path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(t->path, mode), 0);
}

static int count_keys(void *ctx, const KeyLine *l, char *error, size_t error_cap)
{
    if (!l->key)
        return 0;
    (void)snprintf(error, error_cap, "not this value: %s", l->value);
    if (strcmp(l->value, "refuse") == 0)
        return -EDOM;
    ++*(unsigned *)ctx;
    return 0;
}

static void expect_error(const TempFile *t, const char *error, const char *after_path)
{
    size_t n = strlen(t->path);
    assert_true(strlen(error) > n);
    assert_memory_equal(error, t->path, n);
    assert_string_equal(error + n, after_path);
}

#define IN_TEMP(name) TEST_WITH(name, temp_setup, temp_teardown)

IN_TEMP(key_file_read__calls_for_each_key)
{
    static const char text[] = "[cmd]\nlisten = 0.0.0.0:7700\n[imd]\npool = 64M\n";
    char error[512] = "";
    unsigned count = 0;
    write_file(*state, text, strlen(text), 0644);
    assert_int_equal(
        key_file_read(((TempFile *)*state)->path, count_keys, &count, error, sizeof error), 0);
    assert_int_equal(count, 2);
}

IN_TEMP(key_file_read__names_file_and_line)
{
    static const char text[] = "[cmd]\n# listen\nlisten\n";
    char error[512] = "";
    unsigned count = 0;
    const TempFile *t = *state;
    write_file(t, text, strlen(text), 0644);
    assert_int_equal(key_file_read(t->path, count_keys, &count, error, sizeof error), -EINVAL);
    expect_error(t, error, ":3: expected \"key = value\"");
}

IN_TEMP(key_file_read__passes_on_what_fn_says)
{
    static const char text[] = "[cmd]\nlisten = refuse\n";
    char error[512] = "";
    unsigned count = 0;
    const TempFile *t = *state;
    write_file(t, text, strlen(text), 0644);
    assert_int_equal(key_file_read(t->path, count_keys, &count, error, sizeof error), -EDOM);
    expect_error(t, error, ":2: not this value: refuse");
}

IN_TEMP(key_file_read__missing_file)
{
    char error[512] = "";
    unsigned count = 0;
    const TempFile *t = *state;
    assert_int_equal(key_file_read(t->path, count_keys, &count, error, sizeof error), -ENOENT);
    expect_error(t, error, ": No such file or directory");
}

IN_TEMP(key_file_read__directory)
{
    char error[512] = "";
    unsigned count = 0;
    const TempFile *t = *state;
    assert_int_equal(key_file_read(t->dir, count_keys, &count, error, sizeof error), -EISDIR);
    assert_non_null(strstr(error, ": Is a directory"));
}

IN_TEMP(key_file_read__size_limit)
{
    char error[512] = "";
    unsigned count = 0;
    const TempFile *t = *state;
    char *text = malloc(KEY_FILE_MAX + 1);
    assert_non_null(text);
    memset(text, '\n', KEY_FILE_MAX + 1);
    memcpy(text + KEY_FILE_MAX - 8, "[a]\nk=v\n", 8);
    write_file(t, text, KEY_FILE_MAX, 0644);
    assert_int_equal(key_file_read(t->path, count_keys, &count, error, sizeof error), 0);
    assert_int_equal(count, 1);
    write_file(t, text, KEY_FILE_MAX + 1, 0644);
    assert_int_equal(key_file_read(t->path, count_keys, &count, error, sizeof error), -EFBIG);
    assert_int_equal(count, 1);
    expect_error(t, error, ": larger than 65536 bytes; is this the right file?");
    free(text);
}

IN_TEMP(cluster_key_read__one_key)
{
    uint8_t keys[KEYS_MAX][KEY_BYTES];
    unsigned count = 0;
    char error[512] = "";
    const TempFile *t = *state;
    write_file(t, DIGITS, strlen(DIGITS), 0640); /* a group of daemons may share it */
    assert_int_equal(cluster_key_read(t->path, keys, &count, error, sizeof error), 0);
    assert_int_equal(count, 1);
    for (unsigned i = 0; i < KEY_BYTES; i++)
        assert_int_equal(keys[0][i], i);
}

IN_TEMP(cluster_key_read__refuses_what_others_can_use)
{
    static const struct {
        mode_t mode;
        const char *what;
    } cases[] = {{0644, "readable"}, {0604, "readable"}, {0602, "usable"}, {0601, "usable"}};
    const TempFile *t = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t keys[KEYS_MAX][KEY_BYTES] = {{0xa5}};
        char error[1024] = "", want[1024];
        unsigned count = 77;
        write_file(t, DIGITS, strlen(DIGITS), cases[i].mode);
        assert_int_equal(cluster_key_read(t->path, keys, &count, error, sizeof error), -EACCES);
        (void)snprintf(want, sizeof want, "%s: %s by others; run chmod o-rwx %s", t->path,
                       cases[i].what, t->path);
        assert_string_equal(error, want);
        assert_int_equal(count, 77);
        assert_int_equal(keys[0][0], 0xa5);
    }
}

IN_TEMP(cluster_key_read__says_what_is_wrong_inside)
{
    uint8_t keys[KEYS_MAX][KEY_BYTES];
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
    uint8_t keys[KEYS_MAX][KEY_BYTES];
    unsigned count;
    char error[512] = "";
    const TempFile *t = *state;
    assert_int_equal(cluster_key_read(t->path, keys, &count, error, sizeof error), -ENOENT);
    expect_error(t, error, ": No such file or directory");
}

static int read_key(const TempFile *t, char error[512])
{
    uint8_t keys[KEYS_MAX][KEY_BYTES];
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
        write_file(t, DIGITS, strlen(DIGITS), 0600);
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

/* A FIFO would keep who reads it waiting. */
IN_TEMP(cluster_key_read__only_files)
{
    const TempFile *t = *state;
    char error[512];
    assert_int_equal(mkfifo(t->path, 0600), 0);
    assert_int_equal(read_key(t, error), -EINVAL);
    assert_non_null(strstr(error, "not a regular file"));
}
