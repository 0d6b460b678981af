/* SPDX-License-Identifier: MIT */
/* Which of several places has the program. */
#include <glib.h>
#include <sys/stat.h>

#include "daemon/program.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

static const char *const places[] = {"../imd/imd", "../libexec/dodo/imd", "/nonexistent/dodo/imd",
                                     NULL};

static void make(const TmpDir *d, const char *name, mode_t mode)
{
    char path[256];
    tmpdir_text(d, name, "#!/bin/sh\n");
    assert_int_equal(chmod(tmpdir_path(d, name, path), mode), 0);
}

/* @name is in @d, or absolute. */
static void check(const TmpDir *d, const char *own, const char *name)
{
    g_autofree char *dir = g_build_filename(d->path, own, NULL);
    g_autofree char *found = program_find_from(dir, places);
    g_autofree char *wanted = g_canonicalize_filename(name, d->path);
    assert_string_equal(found, wanted);
}

TEST(program__is_the_one_built_beside_this)
{
    TmpDir d;
    tmpdir_make(&d);
    make(&d, "imd/imd", 0755);
    make(&d, "libexec/dodo/imd", 0755);
    check(&d, "rmd", "imd/imd");
    tmpdir_remove(&d);
}

TEST(program__is_the_one_installed_with_this)
{
    TmpDir d;
    tmpdir_make(&d);
    make(&d, "usr/local/libexec/dodo/imd", 0755);
    check(&d, "usr/local/sbin", "usr/local/libexec/dodo/imd");
    tmpdir_remove(&d);
}

TEST(program__can_be_run)
{
    TmpDir d;
    char path[256];
    tmpdir_make(&d);
    make(&d, "imd/imd", 0644);
    (void)tmpdir_path(&d, "libexec/dodo/imd/directory", path);
    check(&d, "rmd", "/nonexistent/dodo/imd");
    make(&d, "imd/imd", 0755);
    check(&d, "rmd", "imd/imd");
    tmpdir_remove(&d);
}

TEST(program__that_is_nowhere_is_the_last_place)
{
    TmpDir d;
    tmpdir_make(&d);
    check(&d, "rmd", "/nonexistent/dodo/imd");
    tmpdir_remove(&d);
}

TEST(program__is_looked_for_from_this_one)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *name = g_path_get_basename(self);
    const char *const here[] = {"nothing-of-that-name", name, "/nonexistent", NULL};
    g_autofree char *found = program_find(here);
    assert_string_equal(found, self);
}
