/* SPDX-License-Identifier: MIT */
/* Config files on the disk: what is read, and what is said when it cannot be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/lines.h"
#include "base/parse.h"
#include "tests/lib/case.h"
#include "tests/lib/temp_file.h"

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

/* Nobody writes to it; nor is it read if somebody does. */
IN_TEMP(key_file_read__pipe)
{
    char error[512] = "";
    unsigned count = 0;
    const TempFile *t = *state;
    assert_int_equal(mkfifo(t->path, 0600), 0);
    assert_int_equal(key_file_read(t->path, count_keys, &count, error, sizeof error), -EINVAL);
    expect_error(t, error, ": a pipe, which can be read only once; give a file");
}

IN_TEMP(key_file_read__size_limit)
{
    char error[512] = "";
    unsigned count = 0;
    const TempFile *t = *state;
    char *text = malloc(LINES_FILE_MAX + 1);
    assert_non_null(text);
    memset(text, '\n', LINES_FILE_MAX + 1);
    memcpy(text + LINES_FILE_MAX - 8, "[a]\nk=v\n", 8);
    write_file(t, text, LINES_FILE_MAX, 0644);
    assert_int_equal(key_file_read(t->path, count_keys, &count, error, sizeof error), 0);
    assert_int_equal(count, 1);
    write_file(t, text, LINES_FILE_MAX + 1, 0644);
    assert_int_equal(key_file_read(t->path, count_keys, &count, error, sizeof error), -EFBIG);
    assert_int_equal(count, 1);
    expect_error(t, error, ": larger than 65536 bytes; is this the right file?");
    free(text);
}
