/* SPDX-License-Identifier: MIT */
#include "adapters/run/verdict.h"

#include <errno.h>
#include <string.h>

#include "tests/lib/case.h"

static const Executable plain = {.path = "/bin/p", .binary = "/bin/p", .kind = EXECUTABLE_DYNAMIC};
static const Surroundings root = {.uid = 0, .gid = 0};
static const Surroundings user = {.user_namespace = true, .uid = 1000, .gid = 1000};

/* All of these are in what is said; NULL: nothing keeps it from running. */
static void assert_obstacle(const Executable *e, const Surroundings *s, const char *first,
                            const char *second)
{
    char text[1000] = "";
    assert_int_equal(verdict_obstacle(e, s, text, sizeof text), first != NULL);
    if (first && !strstr(text, first))
        fail_msg("\"%s\" is not in \"%s\"", first, text);
    if (second && !strstr(text, second))
        fail_msg("\"%s\" is not in \"%s\"", second, text);
}

TEST(verdict__nothing_is_in_the_way)
{
    assert_obstacle(&plain, &root, NULL, NULL);
    assert_obstacle(&plain, &user, NULL, NULL);
    assert_non_null(strstr(verdict_way(&root), "root"));
    assert_non_null(strstr(verdict_way(&user), "user namespace"));
}

TEST(verdict__static_programs_run)
{
    Executable e = plain;
    e.kind = EXECUTABLE_STATIC;
    assert_obstacle(&e, &user, NULL, NULL);
    assert_non_null(strstr(verdict_kind(&e), "statically"));
}

TEST(verdict__rights_are_lost_in_a_user_namespace_alone)
{
    Executable e = plain;
    e.set_user = true;
    assert_obstacle(&e, &user, "set-user-ID", "dodo mount");
    assert_obstacle(&e, &root, NULL, NULL);
    e = plain;
    e.set_group = true;
    assert_obstacle(&e, &user, "set-group-ID", "dodo mount");
    assert_obstacle(&e, &root, NULL, NULL);
    e = plain;
    e.capabilities = true;
    assert_obstacle(&e, &user, "file capabilities", "dodo mount");
    assert_obstacle(&e, &root, NULL, NULL);
}

/* Those that the user has anyway. */
TEST(verdict__rights_of_the_user_are_not_lost)
{
    Executable e = plain;
    e.set_user = e.set_group = true;
    e.owner = user.uid;
    e.group = user.gid;
    assert_obstacle(&e, &user, NULL, NULL);
}

TEST(verdict__no_program)
{
    Executable e = plain;
    e.error = ENOENT;
    assert_obstacle(&e, &root, "/bin/p", strerror(ENOENT));
}

TEST(verdict__no_fuse)
{
    Surroundings s = root;
    s.fuse_error = ENOENT;
    assert_obstacle(&plain, &s, "/dev/fuse", "module fuse");
    s.fuse_error = EACCES;
    assert_obstacle(&plain, &s, strerror(EACCES), "allow this user");
}

TEST(verdict__no_namespace)
{
    Surroundings s = user;
    s.namespace_error = EPERM;
    assert_obstacle(&plain, &s, "max_user_namespaces", "dodo mount");
    s.user_namespace = false;
    assert_obstacle(&plain, &s, "--how user-namespace", "dodo mount");
}

TEST(verdict__no_mount)
{
    Surroundings s = root;
    s.mount_failed = true;
    assert_obstacle(&plain, &s, "mount does not start", NULL);
}
