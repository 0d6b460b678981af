/* SPDX-License-Identifier: MIT */
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hidden.h"
#include "base/lines.h"
#include "base/os.h"
#include "base/printable.h"

void text_file_wipe(TextFile *t)
{
    if (t->bytes)
        explicit_bzero(t->bytes, LINES_FILE_MAX);
    free(t->bytes);
}

static int say(const char *path, int r, char *error, size_t error_cap, const char *what)
{
    char name[LINES_NAME_MAX];
    (void)snprintf(error, error_cap, "%s: %s", printable_path(path, name, sizeof name), what);
    return r;
}

int text_file_fail(const char *path, int r, char *error, size_t error_cap)
{
    char buf[128];
    return say(path, r, error, error_cap, strerror_r(-r, buf, sizeof buf));
}

static int refuse(const char *path, int r, char *error, size_t error_cap, const char *why)
{
    (void)snprintf(error, error_cap, "%s: %s %s", path, why, path);
    return r;
}

static int stat_regular(const char *path, int fd, struct stat *ret, char *error, size_t error_cap)
{
    if (fstat(fd, ret) != 0)
        return text_file_fail(path, -errno, error, error_cap);
    return S_ISREG(ret->st_mode) ? 0 : say(path, -EINVAL, error, error_cap, "not a regular file");
}

int text_file_regular(const char *path, int fd, char *error, size_t error_cap)
{
    struct stat st;
    return stat_regular(path, fd, &st, error, error_cap);
}

int text_file_private(const char *path, int fd, char *error, size_t error_cap)
{
    struct stat st;
    int r = stat_regular(path, fd, &st, error, error_cap);

    if (r < 0)
        return r;
    if (st.st_mode & S_IRWXO)
        return refuse(path, -EACCES, error, error_cap,
                      st.st_mode & S_IROTH ? "readable by others; run chmod o-rwx"
                                           : "usable by others; run chmod o-rwx");
    if (st.st_mode & S_IWGRP)
        return refuse(path, -EACCES, error, error_cap, "its group can change it; run chmod g-w");
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return refuse(path, -EACCES, error, error_cap,
                      "belongs to another user; run, as root: chown root");
    return 0;
}

/* Most programs read their files more than once; and nobody may ever write to it. */
static int refuse_pipe(const char *path, int fd, char *error, size_t error_cap)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))
        return 0;
    return say(path, -EINVAL, error, error_cap, "a pipe, which can be read only once; give a file");
}

static int read_all(const char *path, int fd, TextFile *ret, char *error, size_t error_cap)
{
    char extra; /* the byte that would be one too many */

    ret->bytes = malloc(LINES_FILE_MAX);
    if (!ret->bytes)
        return text_file_fail(path, -ENOMEM, error, error_cap);
    for (;;) {
        size_t room = LINES_FILE_MAX - ret->len;
        ssize_t n = read(fd, room ? ret->bytes + ret->len : &extra, room ? room : 1);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return text_file_fail(path, -errno, error, error_cap);
        if (n > 0 && room == 0)
            break;
        if (n > 0)
            ret->len += (size_t)n;
    }
    char what[64];
    (void)snprintf(what, sizeof what, "larger than %d bytes; is this the right file?",
                   LINES_FILE_MAX);
    return say(path, -EFBIG, error, error_cap, what);
}

/* Slow file systems let signals in. */
static int open_for_reading(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int text_file_read(const char *path, TextFileCheck check, TextFile *ret, char *error,
                   size_t error_cap)
{
    OS_DESCRIPTORS_BUSY;
    if (hidden_is(path)) {
        (void)snprintf(error, error_cap,
                       "a secret stands where the name of its file belongs; write it to a file "
                       "that others cannot read, and name that");
        return -EINVAL;
    }
    CLEANUP_CLOSE int fd = open_for_reading(path);

    if (fd < 0)
        return text_file_fail(path, -errno, error, error_cap);
    int r = (check ? check : refuse_pipe)(path, fd, error, error_cap);
    return r == 0 ? read_all(path, fd, ret, error, error_cap) : r;
}
