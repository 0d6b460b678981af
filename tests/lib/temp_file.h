/* SPDX-License-Identifier: MIT */
/* A text file of its own for each test, which reads it. */
#ifndef DODO_TESTS_LIB_TEMP_FILE_H
#define DODO_TESTS_LIB_TEMP_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/case.h"

typedef struct TempFile {
    char dir[256];
    char path[272];
} TempFile;

static inline int temp_setup(void **state)
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

static inline int temp_teardown(void **state)
{
    TempFile *t = *state;
    (void)unlink(t->path);
    int r = rmdir(t->dir);
    free(t);
    return r;
}

static inline void write_file(const TempFile *t, const char *text, size_t len, mode_t mode)
{
    FILE *f = fopen(t->path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(t->path, mode), 0);
}

static inline void expect_error(const TempFile *t, const char *error, const char *after_path)
{
    size_t n = strlen(t->path);
    assert_true(strlen(error) > n);
    assert_memory_equal(error, t->path, n);
    assert_string_equal(error + n, after_path);
}

#define IN_TEMP(name) TEST_WITH(name, temp_setup, temp_teardown)

#endif
