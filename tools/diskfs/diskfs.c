/* SPDX-License-Identifier: MIT */
/* diskfs: a directory's files, as slow as a modelled disk (a FUSE file system). The machine's own
 * disk is no measure, since it is sometimes fast and sometimes slow. Page cache, read-ahead and
 * O_DIRECT behave above it as above any disk. Only what the demonstration and the testbed need:
 * regular files in one directory. Not installed. */
#include <fuse.h> /* meson says which FUSE_USE_VERSION */
#include <fuse_lowlevel.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "tools/diskfs/model.h"
#include "tools/diskfs/wait.h"

/* A file as it was seen last. */
typedef struct Seen {
    ino_t file;
    off_t size;
    struct timespec changed;
} Seen;
enum { SEEN_FILES = 1024 }; /* by inode number; of two with one place the later is remembered */
#define LATE_MAX_NS (10 * NS_PER_MS)
enum { BESIDE_MAX = 64, KERNEL_BACKGROUND = 12 };

typedef struct Disk {
    int dir; /* of the files behind */
    bool no_cache;
    pthread_mutex_t lock; /* of all below */
    DiskModel model;
    Seen seen[SEEN_FILES];
    uint64_t late_ns; /* by how much the last access was over too late */
    bool waited;      /* the request was there when the one before, an access, was over */
    bool served;      /* the last request was an access */
    /* One access at a time: requests that came during one, and wait for its end. */
    struct fuse_session *session; /* NULL: many at a time, each on a thread of its own */
    struct fuse_buf beside[BESIDE_MAX];
    unsigned beside_first, beside_count;
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

static bool seen_equal(const Seen *a, const Seen *b)
{
    return a->file == b->file && a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Remembers the file as it is now. What the kernel has of it in its page cache belongs to that
 * state. True if it is as it was remembered. */
static bool see(int fd)
{
    Disk *d = disk();
    struct stat st;
    bool same = false;
    pthread_mutex_lock(&d->lock);
    if (fstat(fd, &st) == 0) {
        Seen now = {.file = st.st_ino, .size = st.st_size, .changed = st.st_ctim};
        Seen *s = &d->seen[st.st_ino % SEEN_FILES];
        same = seen_equal(s, &now);
        *s = now;
    }
    pthread_mutex_unlock(&d->lock);
    return same;
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
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st = {.st_ino = e->d_ino, .st_mode = DTTOIF(e->d_type)};
        if (fill(buf, e->d_name, &st, 0, 0) != 0)
            break;
    }
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
    /* As on a disk, the page cache outlives the last close, unless somebody changed the file behind
     * our back. */
    fi->keep_cache = see(fd);
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

/* When the request came, on the modelled disk's clock. If this process woke up late, so did the one
 * who asks now; and a request that has waited for us came before the last access was over. So the
 * machine's delays do not add up over accesses. But what the machine cannot do at all is not caught
 * up. */
static uint64_t came_ns(Disk *d)
{
    uint64_t now_ns = os_now_ns(), free_ns = d->model.free_ns[0], came_ns = now_ns - d->late_ns;
    d->late_ns = 0;
    if (d->waited && free_ns < came_ns)
        came_ns = free_ns;
    return came_ns + LATE_MAX_NS < now_ns ? now_ns - LATE_MAX_NS : came_ns;
}

/* What needs no access: a real disk's file system has it in memory, and nobody waits for the head.
 */
static bool without_access(const struct fuse_buf *request)
{
    const struct fuse_in_header *header = request->mem;
    switch (header->opcode) {
    case FUSE_LOOKUP:
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_GETATTR:
    case FUSE_OPEN:
    case FUSE_FLUSH:
    case FUSE_RELEASE:
        return true;
    default:
        return false;
    }
}

/* A request came during an access: it is answered, or waits for its turn. False: there is none. */
static bool take_beside(Disk *d)
{
    struct fuse_buf *buf = &d->beside[(d->beside_first + d->beside_count) % BESIDE_MAX];
    int r = fuse_session_receive_buf(d->session, buf);
    if (r <= 0)
        return r == -EINTR;
    if (without_access(buf))
        fuse_session_process_buf(d->session, buf);
    else
        d->beside_count++;
    return true;
}

static void wait_until(Disk *d, uint64_t end_ns)
{
    struct pollfd request = {.fd = d->session ? fuse_session_fd(d->session) : -1, .events = POLLIN};
    for (uint64_t now_ns; d->session && (now_ns = os_now_ns()) < end_ns;) {
        struct timespec left = time_to_timespec(end_ns - now_ns);
        if (d->beside_count == BESIDE_MAX - 1 || ppoll(&request, 1, &left, NULL) < 0 ||
            (request.revents && !take_beside(d)))
            break;
    }
    disk_wait_until(end_ns);
}

/* Keeps the disk busy for an access that moved @n bytes; passes @n or the errno on. */
static int serve(struct fuse_file_info *fi, off_t offset, ssize_t n)
{
    Disk *d = disk();
    struct stat st;
    if (n < 0 || fstat((int)fi->fh, &st) < 0)
        return -errno;
    pthread_mutex_lock(&d->lock);
    uint64_t end_ns =
        disk_model_serve(&d->model, st.st_ino, (uint64_t)offset, (size_t)n, came_ns(d));
    pthread_mutex_unlock(&d->lock);
    wait_until(d, end_ns);
    uint64_t now_ns = os_now_ns();
    pthread_mutex_lock(&d->lock);
    d->late_ns = now_ns > end_ns ? now_ns - end_ns : 0;
    d->served = true;
    pthread_mutex_unlock(&d->lock);
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
    ssize_t n = pwrite((int)fi->fh, buf, len, offset);
    if (n > 0)
        (void)see((int)fi->fh);
    return serve(fi, offset, n);
}

static int disk_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
    if (fi) {
        int r = ftruncate((int)fi->fh, size) < 0 ? -errno : 0;
        (void)see((int)fi->fh);
        return r;
    }
    int fd = openat(disk()->dir, name_of(path), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int r = ftruncate(fd, size) < 0 ? -errno : 0;
    (void)see(fd);
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

static int disk_rename(const char *from, const char *to, unsigned flags)
{
    Disk *d = disk();
    return renameat2(d->dir, name_of(from), d->dir, name_of(to), flags) < 0 ? -errno : 0;
}

static int disk_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *fi)
{
    (void)fi;
    return utimensat(disk()->dir, name_of(path), times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int disk_statfs(const char *path, struct statvfs *st)
{
    (void)path;
    return fstatvfs(disk()->dir, st) < 0 ? -errno : 0;
}

static int disk_release(const char *path, struct fuse_file_info *fi)
{
    (void)path;
    return close((int)fi->fh) < 0 ? -errno : 0;
}

static void *disk_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    Disk *d = disk();
    unsigned asked = (unsigned)d->model.parallel * 2;
    /* A file keeps its number, as on a drive, also when the kernel has forgotten it meanwhile:
     * what is retained of it is found by that. */
    config->use_ino = 1;
    /* The kernel would drop a file's pages after each write to it, for its time stamp's sake. */
    connection->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
    connection->want &= ~(unsigned)FUSE_CAP_SPLICE_READ; /* requests wait in memory */
    if (asked > KERNEL_BACKGROUND) {                     /* what it is where we say nothing */
        connection->max_background = asked;
        connection->congestion_threshold = asked;
    }
    return d;
}

static const struct fuse_operations operations = {
    .init = disk_init,
    .getattr = disk_getattr,
    .readdir = disk_readdir,
    .open = disk_open,
    .create = disk_create,
    .read = disk_read,
    .write = disk_write,
    .truncate = disk_truncate,
    .fsync = disk_fsync,
    .unlink = disk_unlink,
    .rename = disk_rename,
    .utimens = disk_utimens,
    .statfs = disk_statfs,
    .release = disk_release,
};

static const char help_text[] =
    "Usage: diskfs [OPTION...] DIRECTORY MOUNTPOINT\n"
    "Shows DIRECTORY's files at MOUNTPOINT, as slow as a disk, until SIGINT or SIGTERM.\n"
    "\n"
    "  --position TIME          to move the head (default: 8200us, a 7200-rpm drive)\n"
    "  --latency TIME           of every access (default: 0)\n"
    "  --bandwidth SIZE         bytes a second (default: 200M)\n"
    "  --random-bandwidth SIZE  of an access that moved the head (default: the same)\n"
    "  --iops N                 operations a second at most, one for each 256K of an access\n"
    "  --burst TIME             how much of these rates may be used ahead (default: 0)\n"
    "  --parallel N             accesses that are served at once (default: 1; up to 64)\n"
    "  --no-cache               keep the page cache from holding the files\n"
    "  --help\n";

/* The next request that waits, else the next that comes; it keeps its place until the next call. */
static int next_request(Disk *d, struct fuse_buf **ret)
{
    struct pollfd request = {.fd = fuse_session_fd(d->session), .events = POLLIN};
    d->waited = d->served && (d->beside_count > 0 || poll(&request, 1, 0) == 1);
    d->served = false;
    *ret = &d->beside[d->beside_first];
    d->beside_first = (d->beside_first + 1) % BESIDE_MAX;
    if (d->beside_count == 0)
        return fuse_session_receive_buf(d->session, *ret);
    d->beside_count--;
    return 1;
}

/* One thread; accesses in the order in which the kernel asks. */
static int loop_in_order(Disk *d, struct fuse_session *session)
{
    struct fuse_buf *buf;
    int r = 0;
    d->session = session;
    while (!fuse_session_exited(session)) {
        r = next_request(d, &buf);
        if (r == -EINTR)
            continue;
        if (r <= 0)
            break;
        fuse_session_process_buf(session, buf);
    }
    for (unsigned i = 0; i < BESIDE_MAX; i++)
        free(d->beside[i].mem);
    return r;
}

static int loop(Disk *d, struct fuse *fuse)
{
    if (d->model.parallel == 1)
        return loop_in_order(d, fuse_get_session(fuse));
#if FUSE_USE_VERSION >= 312
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config)
        return -ENOMEM;
    fuse_loop_cfg_set_max_threads(config, (unsigned)d->model.parallel + 1);
    fuse_loop_cfg_set_idle_threads(config, (unsigned)d->model.parallel + 1);
    int r = fuse_loop_mt(fuse, config);
    fuse_loop_cfg_destroy(config);
    return r;
#else
    struct fuse_loop_config config = {.max_idle_threads = (unsigned)d->model.parallel + 1};
    return fuse_loop_mt(fuse, &config);
#endif
}

/* Serves until a signal: 0, or 1 with the reason told. */
static int run(Disk *d, const char *mountpoint)
{
    static char program[] = "diskfs", settings[] = "-ofsname=dodo-diskfs,default_permissions";
    char *argv[] = {program, settings, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(2, argv);
    struct fuse *fuse = fuse_new(&args, &operations, sizeof operations, d);
    int r = 1;
    fuse_opt_free_args(&args); /* fuse_new() has made a copy of them */
    if (!fuse)
        return 1;
    if (fuse_mount(fuse, mountpoint) == 0) {
        if (fuse_set_signal_handlers(fuse_get_session(fuse)) == 0) {
            fprintf(stderr, "diskfs: ready at %s\n", mountpoint);
            r = loop(d, fuse) < 0;
            fuse_remove_signal_handlers(fuse_get_session(fuse));
        }
        fuse_unmount(fuse);
    }
    fuse_destroy(fuse);
    return r;
}

/* 0, 2 for a bad command line, or -1 where only help is asked for. */
static int options_read(Disk *d, int argc, char **argv)
{
    /* What has a model key of its name, then the others. */
    static const struct option options[] = {{"position", required_argument, NULL, 'm'},
                                            {"latency", required_argument, NULL, 'm'},
                                            {"bandwidth", required_argument, NULL, 'm'},
                                            {"random-bandwidth", required_argument, NULL, 'm'},
                                            {"iops", required_argument, NULL, 'm'},
                                            {"burst", required_argument, NULL, 'm'},
                                            {"parallel", required_argument, NULL, 'm'},
                                            {"no-cache", no_argument, NULL, 'n'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    for (int opt, which; (opt = getopt_long(argc, argv, "", options, &which)) != -1;) {
        if (opt == 'h')
            return fputs(help_text, stdout), -1;
        if (opt == 'n')
            d->no_cache = true;
        else if (opt != 'm')
            return fputs(help_text, stderr), 2;
        else if (disk_model_set(&d->model, options[which].name, optarg) < 0)
            return fprintf(stderr, "diskfs: --%s %s is no good\n", options[which].name, optarg), 2;
    }
    return argc - optind == 2 ? 0 : (fputs(help_text, stderr), 2);
}

int main(int argc, char **argv)
{
    static Disk d = {.dir = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
    disk_model_init(&d.model);
    int r = options_read(&d, argc, argv);
    if (r != 0)
        return r < 0 ? 0 : r;
    d.dir = open(argv[optind], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d.dir < 0) {
        fprintf(stderr, "diskfs: %s: %s\n", argv[optind], strerror(errno));
        return 1;
    }
    (void)prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0); /* sleeps end when the model says */
    return run(&d, argv[optind + 1]);
}
