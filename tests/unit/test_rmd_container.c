/* SPDX-License-Identifier: MIT */
/* By what a container is known. */
#include <string.h>
#include <unistd.h>

#include "rmd/container.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

typedef struct Fixture {
    TmpDir dir;
    char how[CONTAINER_MAX];
} Fixture;

static int set_up(void **state)
{
    static Fixture f;
    tmpdir_make(&f.dir);
    f.how[0] = '\0';
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    tmpdir_remove(&f->dir);
    return 0;
}

static void processes(Fixture *f, const char *namespace)
{
    char path[256];
    tmpdir_text(&f->dir, "proc/self/ns/made", "");
    assert_int_equal(symlink(namespace, tmpdir_path(&f->dir, "proc/self/ns/pid", path)), 0);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_host)
{
    Fixture *f = *state;
    assert_false(container_detect(f->dir.path, NULL, f->how));
    processes(f, "pid:[4026531836]");
    assert_false(container_detect(f->dir.path, NULL, f->how));
    assert_false(container_detect(f->dir.path, "", f->how));
}

CASE(by_the_environment)
{
    Fixture *f = *state;
    assert_true(container_detect(f->dir.path, "podman", f->how));
    assert_non_null(strstr(f->how, "podman"));
}

CASE(by_the_file)
{
    Fixture *f = *state;
    tmpdir_text(&f->dir, "run/systemd/container", "lxc\n");
    assert_true(container_detect(f->dir.path, NULL, f->how));
    assert_string_equal(f->how, "/run/systemd/container says lxc");
}

CASE(by_the_processes)
{
    Fixture *f = *state;
    processes(f, "pid:[4026532201]");
    assert_true(container_detect(f->dir.path, NULL, f->how));
}
