/* SPDX-License-Identifier: MIT */
/* The table of inodes: each is there once, for as long as the kernel or a job knows it, and its
 * descriptor goes with it. */
#include <fcntl.h>

#include "adapters/mount/mount.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

static TmpDir dir;
static Mount mount;
static unsigned forgotten;

static void on_forget(Mount *m, Inode *inode)
{
    assert_ptr_equal(m, &mount);
    assert_true(inode->fd >= 0);
    forgotten++;
}

static int set_up(void **state)
{
    (void)state;
    tmpdir_make(&dir);
    tmpdir_text(&dir, "one", "1");
    tmpdir_text(&dir, "two", "2");
    mount = (Mount){.forget = on_forget};
    forgotten = 0;
    return inodes_init(&mount, open(dir.path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int tear_down(void **state)
{
    (void)state;
    inodes_end(&mount);
    tmpdir_remove(&dir);
    return 0;
}

static Inode *look_up(const char *name)
{
    struct stat st;
    Inode *inode = NULL;
    assert_int_equal(inodes_look_up(&mount, &mount.root, name, &inode, &st), 0);
    assert_int_equal(inode->ino, st.st_ino);
    return inode;
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(inodes__looked_up_often_are_one)
{
    unsigned before = open_descriptors();
    Inode *one = look_up("one"), *two = look_up("two");
    assert_ptr_not_equal(one, two);
    assert_ptr_equal(look_up("one"), one);
    assert_ptr_equal(look_up("one"), one);
    assert_int_equal(mount.inodes.count, 2);
    assert_int_equal(open_descriptors(), before + 2);
    inodes_forget(&mount, one, 2);
    assert_int_equal(forgotten, 0);
    assert_ptr_equal(look_up("one"), one);
    inodes_forget(&mount, one, 2);
    assert_int_equal(forgotten, 1);
    assert_int_equal(mount.inodes.count, 1);
    assert_int_equal(open_descriptors(), before + 1);
}

/* The kernel may forget a file while a job is at it, and find it again meanwhile. */
CASE(inodes__outlast_the_kernels_interest)
{
    Inode *one = look_up("one");
    inodes_ref(&mount, one);
    inodes_forget(&mount, one, 1);
    assert_int_equal(forgotten, 0);
    assert_ptr_equal(look_up("one"), one);
    inodes_unref(&mount, one);
    assert_int_equal(forgotten, 0);
    inodes_forget(&mount, one, 1);
    assert_int_equal(forgotten, 1);
    assert_int_equal(mount.inodes.count, 0);
}

/* Our own processes find a file that has lost its name; by no other name than its own. */
CASE(inodes__have_a_name_for_our_own_processes)
{
    struct stat st;
    char name[INODE_NAME_MAX], other[INODE_NAME_MAX];
    Inode *one = look_up("one"), *two = look_up("two"), *found = NULL;
    inodes_name(one, name);
    inodes_name(two, other);
    assert_string_not_equal(name, other);
    assert_int_equal(unlinkat(mount.root.fd, "one", 0), 0);
    assert_int_equal(inodes_look_up_own(&mount, name, &found, &st), 0);
    assert_ptr_equal(found, one);
    assert_int_equal(st.st_ino, one->ino);
    assert_int_equal(st.st_nlink, 0);
    inodes_forget(&mount, one, 1);
    assert_int_equal(forgotten, 0);
    inodes_forget(&mount, one, 1);
    assert_int_equal(forgotten, 1);
    assert_int_equal(inodes_look_up_own(&mount, name, &found, &st), -ENOENT);
    other[strlen(other) + 1] = '\0';
    other[strlen(other)] = 'x';
    assert_int_equal(inodes_look_up_own(&mount, other, &found, &st), -ENOENT);
    assert_int_equal(inodes_look_up_own(&mount, "two", &found, &st), -ENOENT);
}

CASE(inodes__the_root_is_no_entry)
{
    struct stat st;
    Inode *inode;
    assert_int_equal(inodes_look_up(&mount, &mount.root, ".", &inode, &st), -EINVAL);
    assert_int_equal(inodes_look_up(&mount, &mount.root, "none", &inode, &st), -ENOENT);
    inodes_forget(&mount, &mount.root, 1);
    assert_int_equal(forgotten, 0);
    assert_int_equal(mount.inodes.count, 0);
}
