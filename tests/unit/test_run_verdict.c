/* SPDX-License-Identifier: MIT */
#include "adapters/run/verdict.h"

#include <errno.h>
#include <string.h>

#include "tests/lib/case.h"

static const Executable plain = {.path = "/bin/p", .binary = "/bin/p", .kind = EXECUTABLE_DYNAMIC};
static const Surroundings root = {.how = HOW_NAMESPACE, .uid = 0, .gid = 0};
static const Surroundings user = {.how = HOW_USER_NAMESPACE, .uid = 1000, .gid = 1000};
static const Surroundings preload = {.how = HOW_PRELOAD, .uid = 1000, .gid = 1000};
/* Neither /dev/fuse nor a namespace. */
static const Surroundings bare = {
    .how = HOW_AUTO, .uid = 1000, .gid = 1000, .namespace_error = EPERM};

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
    assert_obstacle(&plain, &preload, NULL, NULL);
    assert_obstacle(&plain, &bare, NULL, NULL);
}

TEST(verdict__words_of_the_user)
{
    enum How how = HOW_PRELOAD;
    assert_true(verdict_how("auto", &how));
    assert_int_equal(how, HOW_AUTO);
    assert_true(verdict_how("namespace", &how));
    assert_int_equal(how, HOW_NAMESPACE);
    assert_true(verdict_how("user-namespace", &how));
    assert_int_equal(how, HOW_USER_NAMESPACE);
    assert_true(verdict_how("preload", &how));
    assert_int_equal(how, HOW_PRELOAD);
    assert_true(verdict_how("mount", &how));
    assert_int_equal(how, HOW_MOUNT);
    assert_false(verdict_how("fuse", &how));
    assert_false(verdict_how("", &how));
}

TEST(verdict__the_way_that_is_asked_for)
{
    Surroundings s = root;
    assert_int_equal(verdict_way(&plain, &s), WAY_NAMESPACE);
    assert_int_equal(verdict_way(&plain, &user), WAY_USER_NAMESPACE);
    assert_int_equal(verdict_way(&plain, &preload), WAY_PRELOAD);
    s.namespace_error = EPERM; /* no other way is tried */
    s.fuse_error = ENOENT;
    assert_int_equal(verdict_way(&plain, &s), WAY_NAMESPACE);
    s.how = HOW_USER_NAMESPACE; /* for root, too */
    assert_int_equal(verdict_way(&plain, &s), WAY_USER_NAMESPACE);
}

/* For all users, and also where a mount could be. */
TEST(verdict__the_library_where_it_reaches)
{
    Surroundings s = {.how = HOW_AUTO};
    Executable e = plain;
    assert_int_equal(verdict_way(&e, &s), WAY_PRELOAD);
    s.uid = 1000;
    assert_int_equal(verdict_way(&e, &s), WAY_PRELOAD);
    assert_int_equal(verdict_way(&e, &bare), WAY_PRELOAD);
    e.kind = EXECUTABLE_STATIC;
    assert_int_equal(verdict_way(&e, &s), WAY_USER_NAMESPACE);
    s.uid = 0;
    assert_int_equal(verdict_way(&e, &s), WAY_NAMESPACE);
    s.preload_error = ENOENT;
    assert_int_equal(verdict_way(&plain, &s), WAY_NAMESPACE);
}

TEST(verdict__a_mount_that_is_asked_for)
{
    Surroundings s = {.how = HOW_MOUNT};
    assert_int_equal(verdict_way(&plain, &s), WAY_NAMESPACE);
    s.uid = 1000;
    assert_int_equal(verdict_way(&plain, &s), WAY_USER_NAMESPACE);
    s.fuse_error = EACCES; /* no other way is tried */
    assert_int_equal(verdict_way(&plain, &s), WAY_USER_NAMESPACE);
    assert_obstacle(&plain, &s, "/dev/fuse: Permission denied", "allow this user");
}

/* What LD_PRELOAD does not reach fails as it would without this way. */
TEST(verdict__programs_that_no_preload_reaches)
{
    Executable e = plain;
    e.kind = EXECUTABLE_STATIC;
    assert_int_equal(verdict_way(&e, &bare), WAY_USER_NAMESPACE);
    assert_obstacle(&e, &bare, "max_user_namespaces", "nor does LD_PRELOAD reach /bin/p");
    assert_obstacle(&e, &preload, "linked statically", "dodo mount");
    e = plain;
    e.foreign = true;
    assert_int_equal(verdict_way(&e, &bare), WAY_USER_NAMESPACE);
    assert_obstacle(&e, &preload, "another loader", "dodo mount");
    e = plain;
    e.set_user = true; /* of root */
    assert_int_equal(verdict_way(&e, &bare), WAY_USER_NAMESPACE);
    assert_obstacle(&e, &preload, "set-user-ID", "dodo mount");
    e.owner = preload.uid;
    assert_obstacle(&e, &preload, NULL, NULL);
    e = plain;
    e.set_group = true;
    assert_obstacle(&e, &preload, "set-group-ID", "dodo mount");
    e = plain;
    e.capabilities = true;
    assert_obstacle(&e, &preload, "file capabilities", "dodo mount");
    e.kind = EXECUTABLE_UNKNOWN; /* a shell runs it */
    e.capabilities = false;
    assert_obstacle(&e, &preload, NULL, NULL);
}

TEST(verdict__no_library)
{
    Surroundings s = preload;
    s.preload_error = ENOENT;
    assert_obstacle(&plain, &s, "libdodo-preload.so: No such file", "install it");
    s = bare;
    s.preload_error = ENOENT;
    assert_obstacle(&plain, &s, "max_user_namespaces", "nor is there libdodo-preload.so");
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
    s.how = HOW_NAMESPACE;
    assert_obstacle(&plain, &s, "--how mount", "dodo mount");
}

TEST(verdict__no_mount)
{
    Surroundings s = root;
    s.mount_failed = true;
    assert_obstacle(&plain, &s, "mount does not start", NULL);
}
