/* SPDX-License-Identifier: MIT */
/* diskfs: a directory's files, as slow as a disk with one head (a FUSE file system). The
 * demonstration's disk: the machine's own is no measure, being fast or slow as it happens to be.
 * Page cache, read-ahead and O_DIRECT behave above it as above any disk. One thread: one head.
 * Only what the demonstration needs: regular files in one directory. Not installed. */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/diskfs/model.h"

typedef struct Disk {
    int dir; /* of the files behind */
    bool no_cache;
    DiskModel model;
} Disk;

static Disk *disk(void)
{
    return fuse_get_context()->private_data;
}

/* "/name" -> "name"; the directory itself is ".". */
static const char *name_of(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int disk_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
    int r =
        fi ? fstat((int)fi->fh, st) : fstatat(disk()->dir, name_of(path), st, AT_SYMLINK_NOFOLLOW);
    return r < 0 ? -errno : 0;
}

static int disk_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
                        struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
    (void)path, (void)offset, (void)fi, (void)flags;
    int fd = openat(disk()->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int r = -errno;
        if (fd >= 0)
            (void)close(fd);
        return r;
    }
    for (struct dirent *e; (e = readdir(d));)
        if (fill(buf, e->d_name, NULL, 0, 0) != 0)
            break;
    (void)closedir(d);
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *fi, int flags, mode_t mode)
{
    /* The model keeps the time, so the files behind may sit in the page cache. */
    int fd = openat(disk()->dir, name_of(path),
                    (flags & ~(O_DIRECT | O_APPEND)) | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return -errno;
    fi->fh = (uint64_t)fd;
    fi->direct_io = disk()->no_cache;
    return 0;
}

static int disk_open(const char *path, struct fuse_file_info *fi)
{
    return open_file(path, fi, fi->flags & ~O_CREAT, 0);
}

static int disk_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
    return open_file(path, fi, fi->flags | O_CREAT, mode);
}

/* Keeps the head busy for an access that moved @n bytes; passes @n or the errno on. */
static int serve(struct fuse_file_info *fi, off_t offset, ssize_t n)
{
    struct stat st;
    if (n < 0 || fstat((int)fi->fh, &st) < 0)
        return -errno;
    disk_model_wait(&disk()->model, st.st_ino, (uint64_t)offset, (size_t)n);
    return (int)n;
}

static int disk_read(const char *path, char *buf, size_t len, off_t offset,
                     struct fuse_file_info *fi)
{
    (void)path;
    return serve(fi, offset, pread((int)fi->fh, buf, len, offset));
}

static int disk_write(const char *path, const char *buf, size_t len, off_t offset,
                      struct fuse_file_info *fi)
{
    (void)path;
    return serve(fi, offset, pwrite((int)fi->fh, buf, len, offset));
}

static int disk_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
    if (fi)
        return ftruncate((int)fi->fh, size) < 0 ? -errno : 0;
    int fd = openat(disk()->dir, name_of(path), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int r = ftruncate(fd, size) < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

static int disk_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
    (void)path, (void)data_only, (void)fi; /* a write that was served is on the modelled disk */
    return 0;
}

static int disk_unlink(const char *path)
{
    return unlinkat(disk()->dir, name_of(path), 0) < 0 ? -errno : 0;
}

static int disk_release(const char *path, struct fuse_file_info *fi)
{
    (void)path;
    return close((int)fi->fh) < 0 ? -errno : 0;
}

static const struct fuse_operations operations = {
    .getattr = disk_getattr,
    .readdir = disk_readdir,
    .open = disk_open,
    .create = disk_create,
    .read = disk_read,
    .write = disk_write,
    .truncate = disk_truncate,
    .fsync = disk_fsync,
    .unlink = disk_unlink,
    .release = disk_release,
};

static const char help_text[] =
    "Usage: diskfs [OPTION...] DIRECTORY MOUNTPOINT\n"
    "Shows DIRECTORY's files at MOUNTPOINT, as slow as a disk, until SIGINT or SIGTERM.\n"
    "\n"
    "  --position TIME   to move the head (default: 8200us, a 7200-rpm drive)\n"
    "  --bandwidth SIZE  bytes a second (default: 200M)\n"
    "  --no-cache        keep the page cache from holding the files\n"
    "  --help\n";

/* Serves until a signal: 0, or 1 with the reason told. */
static int run(Disk *d, const char *mountpoint)
{
    static char program[] = "diskfs", settings[] = "-ofsname=dodo-diskfs,default_permissions";
    char *argv[] = {program, settings, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(2, argv);
    struct fuse *fuse = fuse_new(&args, &operations, sizeof operations, d);
    int r = 1;
    if (!fuse)
        return 1;
    if (fuse_mount(fuse, mountpoint) == 0) {
        if (fuse_set_signal_handlers(fuse_get_session(fuse)) == 0) {
            fprintf(stderr, "diskfs: ready at %s\n", mountpoint);
            r = fuse_loop(fuse) < 0;
            fuse_remove_signal_handlers(fuse_get_session(fuse));
        }
        fuse_unmount(fuse);
    }
    fuse_destroy(fuse);
    return r;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"position", required_argument, NULL, 'p'},
                                            {"bandwidth", required_argument, NULL, 'b'},
                                            {"no-cache", no_argument, NULL, 'n'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *position = "8200us", *bandwidth = "200M";
    Disk d = {.dir = -1};
    for (int opt; (opt = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (opt == 'p')
            position = optarg;
        else if (opt == 'b')
            bandwidth = optarg;
        else if (opt == 'n')
            d.no_cache = true;
        else
            return fputs(help_text, opt == 'h' ? stdout : stderr), opt == 'h' ? 0 : 2;
    }
    if (argc - optind != 2 || disk_model_init(&d.model, position, bandwidth) < 0)
        return fputs(help_text, stderr), 2;
    d.dir = open(argv[optind], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d.dir < 0) {
        fprintf(stderr, "diskfs: %s: %s\n", argv[optind], strerror(errno));
        return 1;
    }
    (void)prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0); /* sleeps end when the model says */
    return run(&d, argv[optind + 1]);
}
