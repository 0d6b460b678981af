/* SPDX-License-Identifier: MIT */
/* Attributes, plain and extended, and the file system's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "adapters/mount/mount.h"

static void reply_attributes(Mount *m, Inode *inode, fuse_req_t req,
                             const struct fuse_file_info *fi)
{
    struct stat st;
    if (fstat(inode->fd, &st) < 0)
        (void)fuse_reply_err(req, errno);
    else
        (void)fuse_reply_attr(req, &st, fresh_attr_timeout(inode));
}

static void attributes_get(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
    Mount *m = mount_of(req);
    fresh_reply(m, mount_inode(m, number), req, NULL, reply_attributes);
}

/* ---- setting ------------------------------------------------------------------------------- */

static int set_mode(const Inode *inode, mode_t mode)
{
    return chmod(fd_path(inode->fd).text, mode);
}

static int set_owner(const Inode *inode, const struct stat *st, int which)
{
    uid_t uid = which & FUSE_SET_ATTR_UID ? st->st_uid : (uid_t)-1;
    gid_t gid = which & FUSE_SET_ATTR_GID ? st->st_gid : (gid_t)-1;
    return fchownat(inode->fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

static int set_size(Mount *m, Inode *inode, off_t size, const struct fuse_file_info *fi)
{
    fresh_writer_begin(m, inode);
    int res = fi ? ftruncate(handle_of(fi)->fd, size) : truncate(fd_path(inode->fd).text, size);
    int error = errno;
    fresh_writer_end(inode);
    errno = error;
    return res;
}

static struct timespec time_to_set(int which, int set, int now, struct timespec time)
{
    if (which & now)
        time.tv_nsec = UTIME_NOW;
    else if (!(which & set))
        time.tv_nsec = UTIME_OMIT;
    return time;
}

static int set_times(const Inode *inode, const struct stat *st, int which)
{
    struct timespec times[] = {
        time_to_set(which, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, st->st_atim),
        time_to_set(which, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, st->st_mtim),
    };
    if (inode->type == S_IFLNK)
        return utimensat(inode->fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    return utimensat(AT_FDCWD, fd_path(inode->fd).text, times, 0);
}

static void attributes_set(fuse_req_t req, fuse_ino_t number, struct stat *st, int which,
                           struct fuse_file_info *fi)
{
    enum {
        OWNER = FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID,
        TIMES = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME |
                FUSE_SET_ATTR_MTIME_NOW,
    };
    Mount *m = mount_of(req);
    Inode *inode = mount_inode(m, number);
    int res = 0;
    if (which & FUSE_SET_ATTR_MODE)
        res = set_mode(inode, st->st_mode);
    /* chown(2) that changes neither owner nor group: that is the time of the last change's. */
    if (res == 0 && (which & OWNER || which == 0))
        res = set_owner(inode, st, which);
    if (res == 0 && which & FUSE_SET_ATTR_SIZE)
        res = set_size(m, inode, st->st_size, fi);
    if (res == 0 && which & TIMES)
        res = set_times(inode, st, which);
    if (res == 0)
        res = fstat(inode->fd, st);
    if (res < 0)
        (void)fuse_reply_err(req, errno);
    else
        (void)fuse_reply_attr(req, st, 0);
}

static void attributes_statfs(fuse_req_t req, fuse_ino_t number)
{
    struct statvfs st;
    if (fstatvfs(mount_inode_of(req, number)->fd, &st) < 0)
        (void)fuse_reply_err(req, errno);
    else
        (void)fuse_reply_statfs(req, &st);
}

/* ---- extended ------------------------------------------------------------------------------ */

/* A symbolic link's own are not within reach of its descriptor; it has none but its file system's.
 * All others may have access control lists. */
static bool has_extended(const Inode *inode)
{
    return inode->type != S_IFLNK;
}

/* @n bytes in @value, or how many there are where the caller asks for that alone (@size 0). */
static void reply_value(fuse_req_t req, const char *value, ssize_t n, size_t size)
{
    if (n < 0)
        (void)fuse_reply_err(req, errno);
    else if (size == 0)
        (void)fuse_reply_xattr(req, (size_t)n);
    else
        (void)fuse_reply_buf(req, value, (size_t)n);
}

static void attributes_getxattr(fuse_req_t req, fuse_ino_t number, const char *name, size_t size)
{
    const Inode *inode = mount_inode_of(req, number);
    char value[XATTR_SIZE_MAX];
    errno = ENODATA;
    ssize_t n = has_extended(inode) ? getxattr(fd_path(inode->fd).text, name, value,
                                               size < sizeof value ? size : sizeof value)
                                    : -1;
    reply_value(req, value, n, size);
}

static void attributes_listxattr(fuse_req_t req, fuse_ino_t number, size_t size)
{
    const Inode *inode = mount_inode_of(req, number);
    char names[XATTR_LIST_MAX];
    ssize_t n = has_extended(inode) ? listxattr(fd_path(inode->fd).text, names,
                                                size < sizeof names ? size : sizeof names)
                                    : 0;
    reply_value(req, names, n, size);
}

static void attributes_setxattr(fuse_req_t req, fuse_ino_t number, const char *name,
                                const char *value, size_t size, int flags)
{
    const Inode *inode = mount_inode_of(req, number);
    errno = EPERM;
    int res =
        has_extended(inode) ? setxattr(fd_path(inode->fd).text, name, value, size, flags) : -1;
    (void)fuse_reply_err(req, res < 0 ? errno : 0);
}

static void attributes_removexattr(fuse_req_t req, fuse_ino_t number, const char *name)
{
    const Inode *inode = mount_inode_of(req, number);
    errno = EPERM;
    int res = has_extended(inode) ? removexattr(fd_path(inode->fd).text, name) : -1;
    (void)fuse_reply_err(req, res < 0 ? errno : 0);
}

void ops_attributes(struct fuse_lowlevel_ops *ops)
{
    ops->getattr = attributes_get;
    ops->setattr = attributes_set;
    ops->statfs = attributes_statfs;
    ops->getxattr = attributes_getxattr;
    ops->listxattr = attributes_listxattr;
    ops->setxattr = attributes_setxattr;
    ops->removexattr = attributes_removexattr;
}
