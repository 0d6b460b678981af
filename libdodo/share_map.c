/* SPDX-License-Identifier: MIT */
#include "libdodo/share_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "libdodo/shared_map.h"
#include "libdodo/state_dir.h"

static const char directory[] = "shared";

enum {
    OPENER_BYTE,
    PRESENT_BYTE,
    DIGEST_BYTES = 32,
    FILE_NAME_MAX = 2 * DIGEST_BYTES + 1,
    TRIES = 50, /* while the opener makes the map, or the last one removes it */
    TRY_US = 200,
    SWEEP_MAX = 1024, /* files that are looked at */
};

typedef struct Joined {
    Share share;
    ListNode link; /* in all */
    int fd;
    bool opener;
    size_t bytes;
    char file[FILE_NAME_MAX];
} Joined;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ListNode all = {&all, &all};
static uint8_t cluster[DIGEST_BYTES];

/* ---- names ---------------------------------------------------------------------------------- */

static void digest(const void *a, size_t a_len, const void *b, size_t b_len,
                   uint8_t ret[DIGEST_BYTES])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    memset(ret, 0, DIGEST_BYTES);
    if (!ctx || !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) || !EVP_DigestUpdate(ctx, a, a_len) ||
        !EVP_DigestUpdate(ctx, b, b_len) || !EVP_DigestFinal_ex(ctx, ret, NULL))
        abort();
    EVP_MD_CTX_free(ctx);
}

void share_map_cluster(const Settings *s)
{
    (void)pthread_mutex_lock(&lock);
    digest(&s->managers, sizeof s->managers, s->keys, s->keys_count * sizeof s->keys[0], cluster);
    (void)pthread_mutex_unlock(&lock);
}

static void file_name(const ShareName *name, char out[FILE_NAME_MAX])
{
    uint8_t sum[DIGEST_BYTES];
    digest(cluster, sizeof cluster, name, sizeof *name, sum);
    for (unsigned i = 0; i < DIGEST_BYTES; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

/* ---- locks ---------------------------------------------------------------------------------- */

static bool lock_byte(int fd, int byte, short type)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

/* Nobody else is there. */
static bool is_alone(int fd)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = PRESENT_BYTE, .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type == F_UNLCK;
}

/* ---- the directory -------------------------------------------------------------------------- */

/* Of a kind on which all processes of this host see the same, at once. */
static bool is_local(int dir)
{
    static const int64_t known[] = {0xEF53 /* ext4 */, 0x58465342 /* XFS */, 0x9123683E /* Btrfs */,
                                    0x01021994 /* tmpfs */, 0x794C7630 /* overlay */};
    struct statfs fs;
    if (fstatfs(dir, &fs) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if ((int64_t)fs.f_type == known[i])
            return true;
    return false;
}

/* Processes that were killed left theirs. */
static void sweep(int dir)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (!d) {
        if (again >= 0)
            (void)close(again);
        return;
    }
    const struct dirent *e;
    for (unsigned i = 0; i < SWEEP_MAX && (e = readdir(d)); i++) {
        if (e->d_name[0] == '.')
            continue;
        CLEANUP_CLOSE int fd = openat(dir, e->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && lock_byte(fd, PRESENT_BYTE, F_WRLCK) && lock_byte(fd, OPENER_BYTE, F_WRLCK))
            (void)unlinkat(dir, e->d_name, 0);
    }
    (void)closedir(d);
}

static int directory_open(void)
{
    static atomic_flag swept = ATOMIC_FLAG_INIT;
    CLEANUP_CLOSE int dir = state_dir_open(directory);
    if (dir < 0 || !is_local(dir))
        return -1;
    if (!atomic_flag_test_and_set(&swept)) /* once a process */
        sweep(dir);
    return STEAL_FD(dir);
}

/* ---- one map -------------------------------------------------------------------------------- */

/* The file, with our presence locked in it; -EAGAIN: it is being removed. */
static int file_open_present(int dir, const char *name)
{
    struct stat st;
    CLEANUP_CLOSE int fd =
        os_above_standard(openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0)
        return -errno;
    if (!lock_byte(fd, PRESENT_BYTE, F_RDLCK))
        return errno == EAGAIN || errno == EACCES ? -EAGAIN : -errno;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return -EPERM;
    return st.st_nlink > 0 ? STEAL_FD(fd) : -EAGAIN;
}

/* As long as it must be, with blocks on disk for all of it: a store to it never fails. Owner only.
 */
static bool make_long(int fd, size_t bytes)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return false;
    if ((size_t)st.st_size == bytes)
        return true;
    return ftruncate(fd, 0) == 0 && posix_fallocate(fd, 0, (off_t)bytes) == 0;
}

static bool is_long(int fd, size_t bytes)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (size_t)st.st_size == bytes;
}

/* NULL: nobody can share. *ret_again: yet; the opener is about to make it. */
static Joined *map_open(int fd, const ShareAsk *ask, bool *ret_made, bool *ret_again)
{
    const size_t bytes = share_map_bytes(ask->name.name.len);
    Joined *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->opener = lock_byte(fd, OPENER_BYTE, F_WRLCK);
    *ret_again = !j->opener && !is_long(fd, bytes);
    bool good = j->opener ? make_long(fd, bytes) : !*ret_again;
    void *at = good ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(j);
        return NULL;
    }
    ShareMap *map = at;
    *ret_made = false;
    if (!share_map_good(map, &ask->name)) {
        *ret_made = j->opener;
        *ret_again = !j->opener;
        if (j->opener) {
            memset(map, 0, bytes);
            share_map_begin(map, &ask->name);
        }
    }
    if (*ret_again) {
        (void)munmap(at, bytes);
        free(j);
        return NULL;
    }
    j->share.map = map;
    j->bytes = bytes;
    j->fd = fd;
    atomic_fetch_add(&map->present, 1);
    if (j->opener && is_alone(fd))
        atomic_store(&map->present, 1);
    list_init(&j->link);
    return j;
}

static void joined_add(Joined *j)
{
    (void)pthread_mutex_lock(&lock);
    list_push_back(&all, &j->link);
    (void)pthread_mutex_unlock(&lock);
}

static void join(ShareAsk *ask)
{
    char name[FILE_NAME_MAX];
    CLEANUP_CLOSE int dir = directory_open();
    if (dir < 0)
        return;
    file_name(&ask->name, name);
    for (unsigned i = 0; i < TRIES; i++) {
        bool again = false;
        CLEANUP_CLOSE int fd = file_open_present(dir, name);
        if (fd < 0 && fd != -EAGAIN)
            return;
        Joined *j = fd >= 0 ? map_open(fd, ask, &ask->made, &again) : NULL;
        if (j) {
            fd = -1; /* it is j's now */
            memcpy(j->file, name, sizeof name);
            ask->share = &j->share;
            ask->opener = j->opener;
            joined_add(j);
            return;
        }
        if (fd >= 0 && !again)
            return;
        (void)usleep(TRY_US);
    }
}

void share_map_join(ShareAsk *ask)
{
    ask->made = ask->opener = false;
    if (!ask->share) {
        join(ask);
        return;
    }
    Joined *j = CONTAINER_OF(ask->share, Joined, share);
    j->opener = j->opener || lock_byte(j->fd, OPENER_BYTE, F_WRLCK);
    ask->opener = j->opener;
}

/* Who holds both locks is the last one. */
static void remove_last(const Joined *j)
{
    if (!lock_byte(j->fd, PRESENT_BYTE, F_WRLCK) || !lock_byte(j->fd, OPENER_BYTE, F_WRLCK))
        return;
    CLEANUP_CLOSE int dir = state_dir_open(directory);
    if (dir >= 0)
        (void)unlinkat(dir, j->file, 0);
}

void share_map_end(Share *share)
{
    Joined *j = CONTAINER_OF(share, Joined, share);
    (void)pthread_mutex_lock(&lock);
    list_remove(&j->link);
    atomic_fetch_sub(&share->map->present, 1);
    remove_last(j);
    (void)munmap(share->map, j->bytes);
    (void)close(j->fd);
    (void)pthread_mutex_unlock(&lock);
    free(j);
}

/* ---- fork ----------------------------------------------------------------------------------- */

void share_map_lock_all(void)
{
    (void)pthread_mutex_lock(&lock);
}

void share_map_unlock_all(void)
{
    (void)pthread_mutex_unlock(&lock);
}

void share_map_abandon_all(void)
{
    LIST_FOREACH(node, &all) {
        Joined *j = CONTAINER_OF(node, Joined, link);
        (void)munmap(j->share.map, j->bytes);
        (void)close(j->fd);
        free(j);
    }
    list_init(&all);
}
