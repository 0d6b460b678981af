/* SPDX-License-Identifier: MIT */
/* A directory of files for one test, with all that is in it gone afterwards. */
#ifndef DODO_TESTS_LIB_TMPDIR_H
#define DODO_TESTS_LIB_TMPDIR_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"

typedef struct TmpDir {
    char path[64];
} TmpDir;

static inline void tmpdir_check(int good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "tmpdir: %s: %s\n", what, strerror(errno));
    abort();
}

static inline void tmpdir_make(TmpDir *d)
{
    (void)snprintf(d->path, sizeof d->path, "/tmp/dodo-test-XXXXXX");
    tmpdir_check(mkdtemp(d->path) != NULL, d->path);
}

static inline int tmpdir_remove_one(const char *path, const struct stat *st, int type,
                                    struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void tmpdir_remove(TmpDir *d)
{
    tmpdir_check(nftw(d->path, tmpdir_remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0, d->path);
}

/* The path of @name in it; the directories above it are there then. In @buf of 256; returned. */
static inline char *tmpdir_path(const TmpDir *d, const char *name, char buf[256])
{
    (void)snprintf(buf, 256, "%s/%s", d->path, name);
    for (char *p = buf + strlen(d->path) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        tmpdir_check(mkdir(buf, 0700) == 0 || errno == EEXIST, buf);
        *p = '/';
    }
    return buf;
}

/* Replaces what the file holds, in place. */
static inline void tmpdir_write(const TmpDir *d, const char *name, const void *bytes, size_t len)
{
    char path[256];
    int fd = open(tmpdir_path(d, name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    tmpdir_check(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && close(fd) == 0, path);
}
static inline void tmpdir_text(const TmpDir *d, const char *name, const char *text)
{
    tmpdir_write(d, name, text, strlen(text));
}

static inline void tmpdir_delete(const TmpDir *d, const char *name)
{
    char path[256];
    tmpdir_check(remove(tmpdir_path(d, name, path)) == 0, path);
}

/* Sets when it was last read and last written. */
static inline void tmpdir_touch(const TmpDir *d, const char *name, uint64_t read_ns,
                                uint64_t written_ns)
{
    char path[256];
    struct timespec times[2] = {time_to_timespec(read_ns), time_to_timespec(written_ns)};
    tmpdir_check(utimensat(AT_FDCWD, tmpdir_path(d, name, path), times, 0) == 0, path);
}

#endif
