/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text_file.h"
#include "proto/conf/cluster_key.h"

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
        return text_file_fail(path, -errno, error, error_cap);
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

int cluster_key_read(const char *path, ClusterKey ret_keys[CLUSTER_KEYS_MAX], unsigned *ret_count,
                     char *error, size_t error_cap)
{
    CLEANUP(text_file_wipe) TextFile text = {0};

    int r = text_file_read(path, check_private, &text, error, error_cap);
    if (r != 0)
        return r;
    return cluster_key_parse(path, text.bytes, text.len, ret_keys, ret_count, error, error_cap);
}
