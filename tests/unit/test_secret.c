/* SPDX-License-Identifier: MIT */
/* The user's secret: made once, the same for all processes, used only if it is this user's alone.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdodo/secret.h"
#include "tests/lib/child.h"
#include "tests/lib/seccomp.h"
#include "tests/lib/tmpdir_case.h"

static uint8_t secret[SECRET_BYTES];
static char why[512];

static void assert_refused(int error, const char *advice)
{
    why[0] = '\0';
    assert_int_equal(secret_get(secret, why, sizeof why), -error);
    if (!strstr(why, advice))
        fail_msg("no \"%s\" in: %s", advice, why);
}

/* Names in the state directory. */
static unsigned files(void)
{
    char path[256];
    unsigned n = 0;
    DIR *d = opendir(tmpdir_path(&dir, "dodo", path));
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(d);
    return n;
}

#define CASE(name) TEST_WITH(name, state_set_up, dir_tear_down)

CASE(secret__is_made_once)
{
    uint8_t again[SECRET_BYTES];
    char path[256];
    struct stat st;
    mode_t old = umask(0);
    assert_int_equal(secret_get(secret, why, sizeof why), 0);
    (void)umask(old);
    assert_int_equal(stat(tmpdir_path(&dir, "dodo/secret", path), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, SECRET_BYTES);
    assert_int_equal(files(), 1);
    assert_int_equal(secret_get(again, why, sizeof why), 0);
    assert_memory_equal(secret, again, SECRET_BYTES);
    tmpdir_delete(&dir, "dodo/secret");
    assert_int_equal(secret_get(again, why, sizeof why), 0);
    assert_memory_not_equal(secret, again, SECRET_BYTES);
}

enum { AT_ONCE = 8, ROUNDS = 25 };

/* Those that need it first at the same time agree on one. */
CASE(secret__is_one_for_all_processes)
{
    for (int round = 0; round < ROUNDS; round++) {
        int go[2], out[2];
        uint8_t first[SECRET_BYTES];
        char byte;
        assert_int_equal(pipe(go), 0);
        assert_int_equal(pipe(out), 0);
        for (int i = 0; i < AT_ONCE; i++)
            if (fork() == 0) {
                (void)close(go[1]);
                (void)!read(go[0], &byte, 1); /* until the parent closes it */
                if (secret_get(secret, why, sizeof why) == 0)
                    (void)!write(out[1], secret, sizeof secret);
                _exit(0);
            }
        (void)close(go[0]);
        (void)close(go[1]);
        for (int i = 0; i < AT_ONCE; i++) {
            assert_int_equal(read(out[0], secret, sizeof secret), sizeof secret);
            if (i == 0)
                memcpy(first, secret, sizeof secret);
            assert_memory_equal(first, secret, sizeof secret);
            assert_true(wait(NULL) > 0);
        }
        (void)close(out[0]);
        (void)close(out[1]);
        assert_int_equal(files(), 1); /* no draft is left */
        tmpdir_delete(&dir, "dodo/secret");
    }
}

CASE(secret__others_may_know_is_none)
{
    char path[256];
    assert_int_equal(secret_get(secret, why, sizeof why), 0);
    (void)tmpdir_path(&dir, "dodo/secret", path);
    assert_int_equal(chmod(path, 0640), 0);
    assert_refused(EPERM, "remove it");
    assert_int_equal(chmod(path, 0601), 0);
    assert_refused(EPERM, "remove it");
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(secret_get(secret, why, sizeof why), 0);
    assert_int_equal(truncate(path, SECRET_BYTES - 1), 0);
    assert_refused(EBADMSG, "remove it");
    tmpdir_delete(&dir, "dodo/secret");
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_refused(ELOOP, "readable");
}

CASE(secret__needs_a_directory_of_its_user)
{
    char path[256];
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    assert_int_equal(mkdir(tmpdir_path(&dir, "dodo", path), 0700), 0);
    assert_int_equal(chmod(path, 0770), 0);
    assert_refused(EPERM, "mode 700");
    (void)unsetenv("XDG_STATE_HOME");
    (void)unsetenv("HOME");
    assert_refused(ENOENT, "XDG_STATE_HOME");
    (void)setenv("HOME", home, 1);
    free(home);
}

/* A process that changes its user neither keeps the former one's nor takes it from its file. */
CASE(secret__belongs_to_the_effective_user)
{
    char path[256];
    if (geteuid() != 0) {
        print_message("no root, so no other user\n");
        skip();
    }
    assert_int_equal(chmod(dir.path, 0777), 0);
    assert_int_equal(secret_get(secret, why, sizeof why), 0);
    assert_int_equal(seteuid(1001), 0);
    int result = secret_get(secret, why, sizeof why);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(result, -EACCES); /* the directory is root's alone */
    assert_int_equal(chmod(tmpdir_path(&dir, "dodo", path), 0755), 0);
    assert_int_equal(chmod(tmpdir_path(&dir, "dodo/secret", path), 0644), 0);
    assert_int_equal(seteuid(1001), 0);
    result = secret_get(secret, why, sizeof why);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(result, -EPERM);
    assert_int_equal(chown(path, 1001, 1001), 0); /* root's no more, whatever its mode */
    assert_int_equal(chmod(path, 0600), 0);
    assert_refused(EPERM, "remove it");
}

/* A program that may not make files is not killed for it. */
CASE(secret__needs_a_file)
{
    struct rlimit all, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    none = all;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int result = secret_get(secret, why, sizeof why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(result, -EFBIG);
    assert_int_equal(files(), 0);
    assert_int_equal(secret_get(secret, why, sizeof why), 0);
}

static int get_without_links(void)
{
    if (!seccomp_refuse(SYS_linkat, EPERM))
        return EPERM;
    return -secret_get(secret, why, sizeof why);
}

/* As that of many a USB stick, or one that a virtual machine's host shares. */
CASE(secret__needs_no_file_system_with_hard_links)
{
    assert_int_equal(in_a_child(get_without_links), 0);
    assert_int_equal(files(), 1);
    assert_int_equal(in_a_child(get_without_links), 0);
    assert_int_equal(secret_get(secret, why, sizeof why), 0);
}
