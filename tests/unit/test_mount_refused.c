/* SPDX-License-Identifier: MIT */
#include "adapters/mount/refused.h"

#include <errno.h>

#include "tests/lib/case.h"

#define assert_text(want, ...)                                    \
    do {                                                          \
        char text[200];                                           \
        refused_text(&(Refused){__VA_ARGS__}, text, sizeof text); \
        assert_string_equal(text, want);                          \
    } while (0)

/* libfuse's fusermount3 opens it as the user, too. */
TEST(refused__the_device_comes_first)
{
    assert_text("/dev/fuse: Permission denied: allow this user or container to use it",
                .device_error = EACCES, .helper = true);
    assert_text("/dev/fuse: Permission denied: allow this user or container to use it",
                .device_error = EACCES);
    assert_text("/dev/fuse: Operation not permitted: allow this user or container to use it",
                .device_error = EPERM, .root = true);
    assert_text("/dev/fuse: No such file or directory: load the kernel's module fuse, or give the "
                "container that device",
                .device_error = ENOENT, .root = true);
}

TEST(refused__a_helper_is_for_users)
{
    assert_text("cannot mount: a user who is not root needs fusermount3, of the package fuse3",
                .root = false);
    assert_text("cannot mount, for the reason above", .helper = true);
    assert_text("cannot mount, for the reason above", .root = true);
}
