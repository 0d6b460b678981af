/* SPDX-License-Identifier: MIT */
#include "libdodo/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/description.h"
#include "base/lease.h"
#include "base/list.h"
#include "base/os.h"
#include "base/parked.h"
#include "base/time.h"
#include "libdodo/random.h"
#include "libdodo/secret.h"
#include "proto/rules.h"

enum {
    /* Older than this, a time stamp differs from that of any later change: the kernel stamps
     * inodes by its tick, 10 ms at the longest. */
    STAMP_GRANULE_MS = 50,
};

struct File {
    ListNode link;
    int fd;
    bool read_only;
    bool held;   /* by the caller: the lock is not ours */
    bool shared; /* the program's own description */
    uint64_t offset, len;
};

/* All open files of the process: for fork. */
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static ListNode files = {&files, &files};

/* ---- opening -------------------------------------------------------------------------------- */

static int range_lock(int fd, uint64_t offset, uint64_t len, short type)
{
    return RULE(LOCK) ? description_lock(fd, offset, len, type) : 0;
}

static int file_enter(File *f, bool read_only)
{
    (void)pthread_mutex_lock(&files_lock);
    int result = f->held ? 0 : range_lock(f->fd, f->offset, f->len, read_only ? F_RDLCK : F_WRLCK);
    if (result == 0)
        list_push_back(&files, &f->link);
    (void)pthread_mutex_unlock(&files_lock);
    return result;
}

/* The lock of a shared description may belong to others, too: to other regions, to the parent or a
 * child. It goes with the description. */
void file_close(File *f)
{
    (void)pthread_mutex_lock(&files_lock);
    list_remove(&f->link);
    if (!f->held && !f->shared)
        (void)range_lock(f->fd, f->offset, f->len, F_UNLCK);
    description_close(f->fd, f->shared);
    (void)pthread_mutex_unlock(&files_lock);
    free(f);
}

void file_lock_all(void)
{
    (void)pthread_mutex_lock(&files_lock);
    parked_lock_all();
}

void file_unlock_all(void)
{
    parked_unlock_all();
    (void)pthread_mutex_unlock(&files_lock);
}

void file_abandon_all(void)
{
    LIST_FOREACH(node, &files) {
        File *f = CONTAINER_OF(node, File, link);
        (void)close(f->fd);
        free(f);
    }
    list_init(&files);
    parked_abandon_all();
}

/* ---- identity and stamp --------------------------------------------------------------------- */

/* Random if the kernel does not say: then nothing is ever found again. */
static void boot_id(uint8_t out[16])
{
    char text[64];
    ssize_t n = os_text_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof text);
    unsigned at = 0;
    for (ssize_t i = 0; i + 1 < n && at < 16; i++) {
        unsigned byte;
        if (text[i] == '-')
            continue;
        if (sscanf(&text[i], "%2x", &byte) != 1)
            break;
        out[at++] = (uint8_t)byte;
        i++;
    }
    if (at < 16)
        random_bytes(NULL, out, 16);
}

/* Without @secret nobody can compute the key of a file, and so find or leave a region of it. */
static void file_key(const File *f, const uint8_t secret[SECRET_BYTES], const struct stat *st,
                     const struct statfs *fs, FileKey *ret)
{
    struct {
        uint8_t boot[16];
        uint64_t uid, fsid, device, inode, generation;
    } id = {.uid = geteuid(), .device = st->st_dev, .inode = st->st_ino};
    int generation = 0;
    unsigned int n = sizeof ret->bytes;
    boot_id(id.boot);
    memcpy(&id.fsid, &fs->f_fsid, sizeof fs->f_fsid < 8 ? sizeof fs->f_fsid : 8);
    if (ioctl(f->fd, FS_IOC_GETVERSION, &generation) == 0)
        id.generation = (uint64_t)generation;
    if (!HMAC(EVP_sha256(), secret, SECRET_BYTES, (const uint8_t *)&id, sizeof id, ret->bytes, &n))
        random_bytes(NULL, ret->bytes, sizeof ret->bytes);
}

static bool honest(const struct statfs *fs, const int64_t *more, unsigned more_count)
{
    static const int64_t known[] = {0xEF53 /* ext4 */, 0x58465342 /* XFS */,
                                    0x9123683E /* Btrfs */};
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if ((int64_t)fs->f_type == known[i])
            return true;
    for (unsigned i = 0; i < more_count; i++)
        if ((int64_t)fs->f_type == more[i])
            return true;
    return false;
}

static Stamp stamp_of(const struct stat *st)
{
    return (Stamp){.size = (uint64_t)st->st_size,
                   .mtime_ns = time_from_timespec(st->st_mtim),
                   .ctime_ns = time_from_timespec(st->st_ctim)};
}

/* Of a description that is the library's alone, as a lease and its owner belong to one. */
static enum FileLease lease_of(const File *f)
{
    if (!f->read_only || f->shared)
        return LEASE_NOT_ASKED;
    int res = lease_ask(f->fd);
    return res == 0 ? LEASE_GRANTED : res == -EAGAIN ? LEASE_WRITER : LEASE_REFUSED;
}

/* A writer that comes after the lease was granted, and before the stamp is taken, could give a
 * stamp that a mapping's later stores do not move. So the stamp is taken before, too; and the time,
 * for what is so old. */
void file_stamp(File *f, FileResult *ret)
{
    struct stat before, st;
    *ret = (FileResult){.granule_ns = STAMP_GRANULE_MS * NS_PER_MS};
    const uint64_t now_ns = os_clock_ns(CLOCK_REALTIME);
    bool good = fstat(f->fd, &before) == 0;
    ret->lease = lease_of(f);
    if (!good || fstat(f->fd, &st) < 0) {
        *ret = (FileResult){.count = -1, .error = errno};
        return;
    }
    ret->stamp = stamp_of(&st);
    ret->taken_ns = now_ns;
    const Stamp was = stamp_of(&before);
    if (ret->lease == LEASE_GRANTED && !stamp_equal(&was, &ret->stamp))
        ret->lease = LEASE_WRITER;
}

int file_open(int fd, uint64_t offset, uint64_t len, bool read_only, bool held,
              const int64_t *more_honest, unsigned honest_count, FileGiven *ret_given)
{
    struct stat st = {0};
    struct statfs fs;
    if (!description_holds(offset, len))
        return -EINVAL;
    File *f = calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    *f = (File){.read_only = read_only, .held = held, .offset = offset, .len = len};
    f->fd = description_open(fd, read_only, &st, &f->shared);
    int result = f->fd < 0 ? f->fd : file_enter(f, read_only);
    if (result < 0) {
        if (f->fd >= 0)
            description_close(f->fd, f->shared);
        free(f);
        return result;
    }
    *ret_given = (FileGiven){.file = f, .inode = st.st_ino};
    random_bytes(NULL, ret_given->key.bytes, sizeof ret_given->key.bytes);
    if (fstatfs(f->fd, &fs) == 0 && fstat(f->fd, &st) == 0) { /* the stamp, locked now */
        ret_given->retainable = honest(&fs, more_honest, honest_count);
        ret_given->stamp = stamp_of(&st);
    }
    return 0;
}

void file_identify(FileGiven *given, char *why, size_t cap)
{
    File *f = given->file;
    uint8_t secret[SECRET_BYTES];
    FileResult proof;
    struct stat st;
    struct statfs fs;
    why[0] = '\0';
    bool known = given->retainable && secret_get(secret, why, cap) == 0;
    if (known) {
        file_stamp(f, &proof);
        known = proof.count == 0 && fstatfs(f->fd, &fs) == 0 && fstat(f->fd, &st) == 0;
    }
    if (known) {
        file_key(f, secret, &st, &fs, &given->key);
        given->lease = proof.lease;
        given->stamp = proof.stamp;
        given->taken_ns = proof.taken_ns;
        given->granule_ns = proof.granule_ns;
    }
    given->retainable = known;
    explicit_bzero(secret, sizeof secret);
}

/* ---- reading and writing -------------------------------------------------------------------- */

void file_read(File *f, void *buf, size_t len, uint64_t offset, FileResult *ret)
{
    size_t at = 0;
    *ret = (FileResult){0};
    while (at < len) {
        ssize_t n = pread(f->fd, (char *)buf + at, len - at, (off_t)(offset + at));
        if (n == 0)
            break;
        if (n > 0)
            at += (size_t)n;
        else if (errno != EINTR) {
            *ret = (FileResult){.count = -1, .error = errno};
            return;
        }
    }
    ret->count = (ssize_t)at;
}

/* If pwrite(2) writes less than all, the rest is tried once more: that call returns the error. */
void file_write(File *f, const void *buf, size_t len, uint64_t offset, FileResult *ret)
{
    const char *next = buf;
    size_t at = 0;
    *ret = (FileResult){0};
    while (at < len) {
        ssize_t n = pwrite(f->fd, next, len - at, (off_t)(offset + at));
        if (n > 0) {
            at += (size_t)n;
            next += n;
        } else if (n == 0 || errno != EINTR) {
            if (at == 0 && n < 0)
                *ret = (FileResult){.count = -1, .error = errno};
            break;
        }
    }
    if (ret->count == 0)
        ret->count = (ssize_t)at;
}

void file_sync(File *f, FileResult *ret)
{
    int result;
    do
        result = fdatasync(f->fd);
    while (result < 0 && errno == EINTR);
    *ret = (FileResult){.count = result, .error = result < 0 ? errno : 0};
}
