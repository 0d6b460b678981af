/* SPDX-License-Identifier: MIT */
/* The inodes that the kernel knows. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "adapters/mount/mount.h"
#include "adapters/paths.h"

static uint64_t hash_of(dev_t dev, ino_t ino)
{
    return (ino ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15ull;
}

static void inode_init(Inode *inode, int fd, const struct stat *st)
{
    *inode = (Inode){.dev = st->st_dev,
                     .ino = st->st_ino,
                     .type = st->st_mode & S_IFMT,
                     .fd = fd,
                     .lease_fd = -1,
                     .mirror_fd = -1,
                     .refs = 1};
    list_init(&inode->handles);
    list_init(&inode->lock_owners);
    pthread_mutex_init(&inode->lock, NULL);
    pthread_cond_init(&inode->released, NULL);
    pthread_mutex_init(&inode->gate, NULL);
}

static void inode_deinit(Mount *m, Inode *inode)
{
    m->forget(m, inode);
    (void)close(inode->fd);
    pthread_cond_destroy(&inode->released);
    pthread_mutex_destroy(&inode->lock);
    pthread_mutex_destroy(&inode->gate);
}

int inodes_init(Mount *m, int root_fd)
{
    struct stat st;
    if (fstat(root_fd, &st) < 0)
        return -errno;
    inode_init(&m->root, root_fd, &st);
    pthread_mutex_init(&m->lock, NULL);
    return hmap_init(&m->inodes, 0);
}

void inodes_end(Mount *m)
{
    for (HmapNode *node = hmap_walk(&m->inodes, NULL), *next; node; node = next) {
        Inode *inode = (Inode *)node; /* the first member */
        next = hmap_walk(&m->inodes, node);
        inode_deinit(m, inode);
        free(inode);
    }
    hmap_deinit(&m->inodes);
    inode_deinit(m, &m->root);
    pthread_mutex_destroy(&m->lock);
}

static Inode *find(Mount *m, const struct stat *st)
{
    HmapNode *node = hmap_first(&m->inodes, hash_of(st->st_dev, st->st_ino));
    for (; node; node = hmap_next(&m->inodes, node)) {
        Inode *inode = (Inode *)node;
        if (inode->dev == st->st_dev && inode->ino == st->st_ino)
            return inode;
    }
    return NULL;
}

/* The inode of @st, new with @fd or known; @fd is taken. NULL: no memory. */
static Inode *find_or_add(Mount *m, int fd, const struct stat *st)
{
    Inode *inode = find(m, st);
    if (inode) {
        (void)close(fd);
        return inode;
    }
    inode = malloc(sizeof *inode);
    if (!inode) {
        (void)close(fd);
        return NULL;
    }
    inode_init(inode, fd, st);
    inode->refs = 0;
    hmap_insert(&m->inodes, &inode->node, hash_of(st->st_dev, st->st_ino));
    return inode;
}

int inodes_adopt(Mount *m, int fd, Inode **ret, struct stat *st)
{
    if (fstat(fd, st) < 0) {
        int error = errno;
        (void)close(fd);
        return -error;
    }
    if (st->st_dev == m->root.dev && st->st_ino == m->root.ino) {
        (void)close(fd); /* "..": the kernel's own business */
        return -EINVAL;
    }
    pthread_mutex_lock(&m->lock);
    Inode *inode = find_or_add(m, fd, st);
    if (inode && inode->lookups++ == 0)
        inode->refs++;
    pthread_mutex_unlock(&m->lock);
    *ret = inode;
    return inode ? 0 : -ENOMEM;
}

int inodes_look_up(Mount *m, const Inode *dir, const char *name, Inode **ret, struct stat *st)
{
    int fd = openat(dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 || errno == EMFILE)
        mount_number_given(m, fd);
    return fd < 0 ? -errno : inodes_adopt(m, fd, ret, st);
}

/* ---- names for our own processes ------------------------------------------------------------ */

void inodes_name(const Inode *inode, char name[INODE_NAME_MAX])
{
    (void)snprintf(name, INODE_NAME_MAX, ".dodo-mirror.%" PRIx64 ".%" PRIx64, (uint64_t)inode->dev,
                   (uint64_t)inode->ino);
}

/* With a reference for the kernel; NULL: there is none. */
static Inode *find_own(Mount *m, const char *name)
{
    char end;
    uint64_t dev, ino;
    if (sscanf(name, ".dodo-mirror.%" SCNx64 ".%" SCNx64 "%c", &dev, &ino, &end) != 2)
        return NULL;
    pthread_mutex_lock(&m->lock);
    Inode *inode = find(m, &(struct stat){.st_dev = (dev_t)dev, .st_ino = (ino_t)ino});
    if (inode && inode->lookups++ == 0)
        inode->refs++;
    pthread_mutex_unlock(&m->lock);
    return inode;
}

int inodes_look_up_own(Mount *m, const char *name, Inode **ret, struct stat *st)
{
    Inode *inode = find_own(m, name);
    if (!inode)
        return -ENOENT;
    if (fstat(inode->fd, st) < 0) {
        int error = errno;
        inodes_forget(m, inode, 1);
        return -error;
    }
    *ret = inode;
    return 0;
}

/* ---- references ----------------------------------------------------------------------------- */

/* One reference less; the inode goes with the last. Takes the table's lock and gives it back. */
static void unref_locked(Mount *m, Inode *inode)
{
    bool last = --inode->refs == 0;
    if (last)
        (void)hmap_remove(&m->inodes, &inode->node);
    pthread_mutex_unlock(&m->lock);
    if (!last)
        return;
    inode_deinit(m, inode);
    free(inode);
}

void inodes_forget(Mount *m, Inode *inode, uint64_t lookups)
{
    if (inode == &m->root)
        return;
    pthread_mutex_lock(&m->lock);
    inode->lookups -= lookups;
    if (inode->lookups == 0)
        unref_locked(m, inode);
    else
        pthread_mutex_unlock(&m->lock);
}

void inodes_ref(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&m->lock);
    inode->refs++;
    pthread_mutex_unlock(&m->lock);
}

bool inodes_ref_living(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&m->lock);
    bool lives = inode->refs > 0;
    inode->refs += lives;
    pthread_mutex_unlock(&m->lock);
    return lives;
}

void inodes_unref(Mount *m, Inode *inode)
{
    pthread_mutex_lock(&m->lock);
    unref_locked(m, inode);
}

const char *inodes_path(const Mount *m, const Inode *inode, char *path)
{
    ssize_t len = readlink(fd_path(inode->fd).text, path, PATH_MAX - 1);
    if (len < 0)
        return NULL;
    path[len] = 0;
    return path_below(m->path, path);
}
