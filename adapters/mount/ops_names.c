/* SPDX-License-Identifier: MIT */
/* Names: what makes, finds and removes them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "adapters/mount/mount.h"

/* A name is asked for again each time: somebody may have put another file in its place. */
static void entry_fill(Mount *m, Inode *inode, const struct stat *st, struct fuse_entry_param *ret)
{
    *ret = (struct fuse_entry_param){
        .ino = mount_number(m, inode), .attr = *st, .attr_timeout = fresh_attr_timeout(inode)};
}

static void reply_entry(fuse_req_t req, Mount *m, Inode *inode, const struct stat *st)
{
    struct fuse_entry_param entry;
    entry_fill(m, inode, st, &entry);
    if (fuse_reply_entry(req, &entry) < 0)
        inodes_forget(m, inode, 1);
}

static void reply_done(fuse_req_t req, int res)
{
    (void)fuse_reply_err(req, res < 0 ? errno : 0);
}

static void reply_looked_up(fuse_req_t req, const Inode *dir, const char *name)
{
    Mount *m = mount_of(req);
    Inode *inode;
    struct stat st;
    int res = inodes_look_up(m, dir, name, &inode, &st);
    if (res < 0)
        (void)fuse_reply_err(req, -res);
    else
        reply_entry(req, m, inode, &st);
}

/* Whether one of our own processes looks for a file by the name that it has for them; then it is
 * answered. */
static bool reply_own(Mount *m, fuse_req_t req, const char *name)
{
    Inode *inode;
    struct stat st;
    if (!mirror_is(m->mirror, fuse_req_ctx(req)->pid) ||
        inodes_look_up_own(m, name, &inode, &st) < 0)
        return false;
    reply_entry(req, m, inode, &st);
    return true;
}

/* Looks @name up, and answers with it. */
static void reply_name(fuse_req_t req, fuse_ino_t number, const char *name)
{
    Mount *m = mount_of(req);
    Inode *dir = mount_inode(m, number);
    if (dir == &m->root && reply_own(m, req, name))
        return;
    if (!room_wait(m, req, dir, name, reply_looked_up))
        reply_looked_up(req, dir, name);
}

static void names_forget(fuse_req_t req, fuse_ino_t number, uint64_t lookups)
{
    Mount *m = mount_of(req);
    inodes_forget(m, mount_inode(m, number), lookups);
    fuse_reply_none(req);
}

static void names_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    Mount *m = mount_of(req);
    for (size_t i = 0; i < count; i++)
        inodes_forget(m, mount_inode(m, forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(req);
}

/* ---- making -------------------------------------------------------------------------------- */

/* Answers for something that was to be made, with errno, or with its name. */
static void reply_made(fuse_req_t req, fuse_ino_t dir, const char *name, int res)
{
    if (res < 0)
        (void)fuse_reply_err(req, errno);
    else
        reply_name(req, dir, name);
}

static void names_mknod(fuse_req_t req, fuse_ino_t number, const char *name, mode_t mode,
                        dev_t rdev)
{
    const Inode *dir = mount_inode_of(req, number);
    bool caller = caller_begin(req);
    int res = mknodat(dir->fd, name, caller_mode(req, dir, mode), rdev);
    caller_end(caller);
    reply_made(req, number, name, res);
}

static void names_mkdir(fuse_req_t req, fuse_ino_t number, const char *name, mode_t mode)
{
    const Inode *dir = mount_inode_of(req, number);
    bool caller = caller_begin(req);
    int res = mkdirat(dir->fd, name, caller_mode(req, dir, mode));
    caller_end(caller);
    reply_made(req, number, name, res);
}

static void names_symlink(fuse_req_t req, const char *target, fuse_ino_t dir, const char *name)
{
    bool caller = caller_begin(req);
    int res = symlinkat(target, mount_inode_of(req, dir)->fd, name);
    caller_end(caller);
    reply_made(req, dir, name, res);
}

static void names_link(fuse_req_t req, fuse_ino_t number, fuse_ino_t dir, const char *name)
{
    FdPath path = fd_path(mount_inode_of(req, number)->fd);
    if (linkat(AT_FDCWD, path.text, mount_inode_of(req, dir)->fd, name, AT_SYMLINK_FOLLOW) < 0)
        (void)fuse_reply_err(req, errno);
    else
        reply_name(req, dir, name);
}

/* The inode of a file that is open for writing. 0, -errno. */
static int inode_of_open(Mount *m, int fd, Inode **ret, struct stat *st)
{
    int path = open(fd_path(fd).text, O_PATH | O_CLOEXEC);
    mount_number_given(m, path); /* the next lookup waits for room */
    return path < 0 ? -errno : inodes_adopt(m, path, ret, st);
}

/* A new file: its descriptor, or -errno. The kernel found no such name; where there is one by now,
 * it looks again (ESTALE), for it has not judged yet who may open that file. */
static int create(fuse_req_t req, const Inode *dir, const char *name, mode_t mode, int flags)
{
    bool caller = caller_begin(req);
    mode = caller_mode(req, dir, mode);
    int fd = handle_direct_done(
        openat(dir->fd, name, (flags & ~O_APPEND) | O_CREAT | O_EXCL | O_CLOEXEC, mode), flags);
    int res = fd < 0 ? -errno : fd;
    caller_end(caller);
    return res == -EEXIST && !(flags & O_EXCL) ? -ESTALE : res;
}

static void names_create(fuse_req_t req, fuse_ino_t number, const char *name, mode_t mode,
                         struct fuse_file_info *fi)
{
    Mount *m = mount_of(req);
    Inode *inode;
    struct stat st;
    struct fuse_entry_param entry;
    int fd = create(req, mount_inode(m, number), name, mode, fi->flags);
    int res = fd < 0 ? fd : inode_of_open(m, fd, &inode, &st);
    if (res < 0) {
        if (fd >= 0)
            (void)close(fd);
        (void)fuse_reply_err(req, -res);
        return;
    }
    res = handle_adopt(m, inode, fd, fi);
    entry_fill(m, inode, &st, &entry);
    if (res == 0) {
        passthrough_reply_next(handle_of(fi));
        if (fuse_reply_create(req, &entry, fi) == 0)
            return;
        handle_close(fi); /* interrupted: nobody will release it */
    } else {
        (void)fuse_reply_err(req, -res);
    }
    inodes_forget(m, inode, 1);
}

/* ---- the others ---------------------------------------------------------------------------- */

static void names_unlink(fuse_req_t req, fuse_ino_t dir, const char *name)
{
    reply_done(req, unlinkat(mount_inode_of(req, dir)->fd, name, 0));
}

static void names_rmdir(fuse_req_t req, fuse_ino_t dir, const char *name)
{
    reply_done(req, unlinkat(mount_inode_of(req, dir)->fd, name, AT_REMOVEDIR));
}

static void names_rename(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to,
                         const char *new_name, unsigned flags)
{
    reply_done(req, renameat2(mount_inode_of(req, from)->fd, name, mount_inode_of(req, to)->fd,
                              new_name, flags));
}

static void names_readlink(fuse_req_t req, fuse_ino_t number)
{
    char target[PATH_MAX + 1];
    ssize_t n = readlinkat(mount_inode_of(req, number)->fd, "", target, sizeof target - 1);
    if (n < 0) {
        (void)fuse_reply_err(req, errno);
        return;
    }
    target[n] = 0;
    (void)fuse_reply_readlink(req, target);
}

void ops_names(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = reply_name;
    ops->forget = names_forget;
    ops->forget_multi = names_forget_multi;
    ops->mknod = names_mknod;
    ops->mkdir = names_mkdir;
    ops->symlink = names_symlink;
    ops->link = names_link;
    ops->create = names_create;
    ops->unlink = names_unlink;
    ops->rmdir = names_rmdir;
    ops->rename = names_rename;
    ops->readlink = names_readlink;
}
