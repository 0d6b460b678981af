/* SPDX-License-Identifier: MIT */
/* A program that nobody changed: libdodo-preload.so is loaded into it, and has the reads of its
 * large file from the first one on (DODO_PRELOAD_EAGER). A test file includes this once. */
#ifndef DODO_TESTS_PRELOAD_FIXTURE_H
#define DODO_TESTS_PRELOAD_FIXTURE_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "tests/lib/case.h"

enum { WORD = sizeof(uint64_t), BYTES = 4 << 20, WORDS = BYTES / WORD, TURNS = 5000 };

static bool (*holds)(int fd);
static char path[256];

/* Word number @i of a file of generation @generation. */
static inline uint64_t word(uint64_t generation, uint64_t i)
{
    return (generation << 32 | i) * 0x9e3779b97f4a7c15u;
}

static inline void write_file(uint64_t generation)
{
    static uint64_t words[WORDS];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = word(generation, i);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, words, BYTES), BYTES);
    assert_int_equal(close(fd), 0);
}

static inline void nap(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    (void)nanosleep(&ms, NULL);
}

static inline void read_at(int fd, uint64_t generation, uint64_t i)
{
    uint64_t w[2];
    assert_int_equal(pread(fd, w, sizeof w, (off_t)(i * WORD)), sizeof w);
    assert_int_equal(w[0], word(generation, i));
    assert_int_equal(w[1], word(generation, i + 1));
}

/* Whether somebody has a lease on the file; looking breaks none. */
static inline bool has_lease(void)
{
    char line[256], inode[32];
    struct stat st;
    bool found = false;
    FILE *f = fopen("/proc/locks", "r");
    assert_true(f && stat(path, &st) == 0);
    (void)snprintf(inode, sizeof inode, ":%llu ", (unsigned long long)st.st_ino);
    while (fgets(line, sizeof line, f))
        found |= strstr(line, "LEASE") && strstr(line, inode);
    (void)fclose(f);
    return found;
}

/* Reads until the file is served from the region cache. */
static inline void await_held(int fd, uint64_t generation)
{
    for (int i = 0; i < TURNS && !(holds(fd) && has_lease()); i++) {
        for (uint64_t k = 0; k < 16; k++)
            read_at(fd, generation, k * 999);
        nap();
    }
    assert_true(holds(fd) && has_lease());
}

static inline int open_held(uint64_t generation)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    await_held(fd, generation);
    return fd;
}

static int set_up(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)state;
    (void)snprintf(path, sizeof path, "%s/dodo-preload-%d", tmp ? tmp : "/tmp", (int)getpid());
    *(void **)&holds = dlsym(RTLD_DEFAULT, "dodo_preload_holds");
    assert_non_null(holds);
    write_file(1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

#endif
