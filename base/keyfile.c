/* SPDX-License-Identifier: MIT */
/* Reads config and cluster key files from the disk; parse.c knows what is in them. */
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A file's text; it may be a key, so it is wiped. */
typedef struct Text {
    char *bytes;
    size_t len;
} Text;

static void text_wipe(Text *t)
{
    if (t->bytes)
        explicit_bzero(t->bytes, KEY_FILE_MAX);
    free(t->bytes);
}

static int file_fail(const char *path, int r, char *error, size_t error_cap)
{
    char buf[128];
    (void)snprintf(error, error_cap, "%s: %s", path, strerror_r(-r, buf, sizeof buf));
    return r;
}

static int file_open(const char *path, int flags, char *error, size_t error_cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
    return fd >= 0 ? fd : file_fail(path, -errno, error, error_cap);
}

/* The whole file, at most KEY_FILE_MAX bytes of it. */
static int file_read(const char *path, int fd, Text *ret, char *error, size_t error_cap)
{
    char extra; /* the byte that would be one too many */

    ret->bytes = malloc(KEY_FILE_MAX);
    if (!ret->bytes)
        return file_fail(path, -ENOMEM, error, error_cap);
    for (;;) {
        size_t room = KEY_FILE_MAX - ret->len;
        ssize_t n = read(fd, room ? ret->bytes + ret->len : &extra, room ? room : 1);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return file_fail(path, -errno, error, error_cap);
        if (n > 0 && room == 0)
            break;
        if (n > 0)
            ret->len += (size_t)n;
    }
    (void)snprintf(error, error_cap, "%s: larger than %d bytes; is this the right file?", path,
                   KEY_FILE_MAX);
    return -EFBIG;
}

int key_file_read(const char *path, KeyFileFn fn, void *ctx, char *error, size_t error_cap)
{
    CLEANUP(text_wipe) Text text = {0};
    CLEANUP_CLOSE int fd = file_open(path, 0, error, error_cap);

    if (fd < 0)
        return fd;
    int r = file_read(path, fd, &text, error, error_cap);
    if (r != 0)
        return r;
    return key_text_parse(path, text.bytes, text.len, fn, ctx, error, error_cap);
}

static int refuse(const char *path, int r, char *error, size_t error_cap, const char *why)
{
    (void)snprintf(error, error_cap, "%s: %s %s", path, why, path);
    return r;
}

/* Checks the open file, so that what is checked is what is read. Only its owner, who must be root
 * or this user, may have put a key there, and only the group may know it. */
static int check_private(const char *path, int fd, char *error, size_t error_cap)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return file_fail(path, -errno, error, error_cap);
    if (!S_ISREG(st.st_mode))
        return refuse(path, -EINVAL, error, error_cap,
                      "not a regular file; make one with dodo keygen");
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

int cluster_key_read(const char *path, uint8_t ret_keys[KEYS_MAX][KEY_BYTES], unsigned *ret_count,
                     char *error, size_t error_cap)
{
    CLEANUP(text_wipe) Text text = {0};
    CLEANUP_CLOSE int fd = file_open(path, O_NONBLOCK, error, error_cap);

    if (fd < 0)
        return fd;
    int r = check_private(path, fd, error, error_cap);
    if (r == 0)
        r = file_read(path, fd, &text, error, error_cap);
    if (r != 0)
        return r;
    return cluster_key_parse(path, text.bytes, text.len, ret_keys, ret_count, error, error_cap);
}
