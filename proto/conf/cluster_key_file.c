/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/printable.h"
#include "base/text_file.h"
#include "proto/conf/cluster_key.h"

/* Checks the open file, so that what is checked is what is read. Only its owner, who must be root
 * or this user, may have put a key there, and only the group may know it. */
static int check_private(const char *path, int fd, char *error, size_t error_cap)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        (void)snprintf(error, error_cap, "%s: not a regular file; make one with dodo keygen %s",
                       path, path);
        return -EINVAL;
    }
    return text_file_private(path, fd, error, error_cap);
}

/* A check has said why it refused an open file. Where the kernel refused to open one that its group
 * may read, there is something to do. */
static void say_who_may(const char *path, char *error, size_t error_cap)
{
    char name[LINES_NAME_MAX];
    struct stat st;
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 || errno != EACCES ||
        stat(path, &st) != 0 || !(st.st_mode & S_IRGRP))
        return;
    (void)snprintf(error, error_cap,
                   "%s: Permission denied; its group may read it, dodo as a rule: as root, adduser "
                   "NAME dodo, then log in again",
                   printable_path(path, name, sizeof name));
}

int cluster_key_read(const char *path, ClusterKey ret_keys[CLUSTER_KEYS_MAX], unsigned *ret_count,
                     char *error, size_t error_cap)
{
    CLEANUP(text_file_wipe) TextFile text = {0};

    int r = text_file_read(path, check_private, &text, error, error_cap);
    if (r == -EACCES)
        say_who_may(path, error, error_cap);
    if (r != 0)
        return r;
    return cluster_key_parse(path, text.bytes, text.len, ret_keys, ret_count, error, error_cap);
}
