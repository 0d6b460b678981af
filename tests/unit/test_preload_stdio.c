/* SPDX-License-Identifier: MIT */
/* A number that the C library has closed by itself, in a process that has cached nothing yet: the
 * library's own threads, once they run, use low numbers now and then, too. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/case.h"
#include "tests/lib/tmpdir_case.h"

enum { BYTES = 2 << 20, TURNS = 5000, STEP = 4096 };

static void make_file(const char *name, char path[256])
{
    int fd = open(tmpdir_path(&dir, name, path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, BYTES), 0);
    assert_int_equal(close(fd), 0);
}

static void read_some(int fd)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    char bytes[64];
    for (off_t at = 0; at < 64 * STEP; at += STEP)
        assert_int_equal(pread(fd, bytes, sizeof bytes, at), sizeof bytes);
    (void)nanosleep(&ms, NULL);
}

/* DODO_PRELOAD_NEVER leaves the first file out. The second one has the same number. */
TEST_WITH(number__that_stdio_has_closed_is_the_next_files, dir_set_up, dir_tear_down)
{
    char path[256], next_path[256];
    bool (*holds)(int fd);
    *(void **)&holds = dlsym(RTLD_DEFAULT, "dodo_preload_holds");
    make_file("first.never", path);
    make_file("next", next_path);
    FILE *file = fopen(path, "re");
    assert_true(file && holds);
    int fd = fileno(file);
    read_some(fd);
    assert_false(holds(fd));
    assert_int_equal(fclose(file), 0);
    FILE *next = fopen(next_path, "re");
    assert_non_null(next);
    assert_int_equal(fileno(next), fd);
    for (int i = 0; i < TURNS && !holds(fd); i++)
        read_some(fd);
    assert_true(holds(fd));
    assert_int_equal(fclose(next), 0);
}
