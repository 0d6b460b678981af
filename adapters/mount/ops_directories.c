/* SPDX-License-Identifier: MIT */
/* Directories. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "adapters/mount/mount.h"

typedef struct OpenDirectory {
    ListNode node; /* of the mount's */
    pthread_mutex_t lock;
    DIR *dir;
    off_t at;           /* where @dir stands */
    struct dirent *one; /* read, and found no room yet; NULL: none */
} OpenDirectory;

static OpenDirectory *directory_of(const struct fuse_file_info *fi)
{
    return (OpenDirectory *)(uintptr_t)fi->fh; // NOLINT
}

static void directory_enter(Mount *m, OpenDirectory *d)
{
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_lock(&m->lock);
    list_push_back(&m->directories, &d->node);
    pthread_mutex_unlock(&m->lock);
}

static void directory_close(OpenDirectory *d)
{
    (void)closedir(d->dir);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void directory_leave(Mount *m, OpenDirectory *d)
{
    pthread_mutex_lock(&m->lock);
    list_remove(&d->node);
    pthread_mutex_unlock(&m->lock);
    directory_close(d);
}

void directories_end(Mount *m)
{
    LIST_FOREACH(node, &m->directories)
        directory_close(CONTAINER_OF(node, OpenDirectory, node));
    list_init(&m->directories);
}

static void directories_open(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
    OpenDirectory *d = calloc(1, sizeof *d);
    int fd = openat(mount_inode_of(req, number)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d && fd >= 0)
        d->dir = fdopendir(fd);
    if (!d || !d->dir) {
        int error = d ? errno : ENOMEM;
        if (fd >= 0)
            (void)close(fd);
        free(d);
        (void)fuse_reply_err(req, error);
        return;
    }
    Mount *m = mount_of(req);
    fi->fh = (uint64_t)(uintptr_t)d;
    directory_enter(m, d);
    if (fuse_reply_open(req, fi) != 0)
        directory_leave(m, d); /* interrupted: nobody will release it */
}

/* The next entry that found no room yet; NULL with errno 0: the end. */
static struct dirent *next(OpenDirectory *d)
{
    if (!d->one) {
        errno = 0;
        d->one = readdir(d->dir);
    }
    return d->one;
}

/* As many entries as fit: their bytes, or -errno if there is none for another reason. */
static ssize_t fill(fuse_req_t req, OpenDirectory *d, off_t offset, char *buf, size_t size)
{
    size_t done = 0;
    struct dirent *e;
    if (offset != d->at) {
        seekdir(d->dir, offset);
        d->one = NULL;
        d->at = offset;
    }
    while ((e = next(d))) {
        struct stat st = {.st_ino = e->d_ino, .st_mode = (mode_t)e->d_type << 12};
        size_t n = fuse_add_direntry(req, buf + done, size - done, e->d_name, &st, e->d_off);
        if (n > size - done)
            break;
        done += n;
        d->at = e->d_off;
        d->one = NULL;
    }
    return done > 0 || e ? (ssize_t)done : -errno;
}

static void directories_read(fuse_req_t req, fuse_ino_t number, size_t size, off_t offset,
                             struct fuse_file_info *fi)
{
    OpenDirectory *d = directory_of(fi);
    char *buf = malloc(size);
    if (!buf) {
        (void)fuse_reply_err(req, ENOMEM);
        return;
    }
    pthread_mutex_lock(&d->lock);
    ssize_t n = fill(req, d, offset, buf, size);
    pthread_mutex_unlock(&d->lock);
    if (n < 0)
        (void)fuse_reply_err(req, (int)-n);
    else
        (void)fuse_reply_buf(req, buf, (size_t)n);
    free(buf);
}

static void directories_release(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
    directory_leave(mount_of(req), directory_of(fi));
    (void)fuse_reply_err(req, 0);
}

static void directories_fsync(fuse_req_t req, fuse_ino_t number, int datasync,
                              struct fuse_file_info *fi)
{
    int fd = dirfd(directory_of(fi)->dir);
    int res = datasync ? fdatasync(fd) : fsync(fd);
    (void)fuse_reply_err(req, res < 0 ? errno : 0);
}

void ops_directories(struct fuse_lowlevel_ops *ops)
{
    ops->opendir = directories_open;
    ops->readdir = directories_read;
    ops->releasedir = directories_release;
    ops->fsyncdir = directories_fsync;
}
