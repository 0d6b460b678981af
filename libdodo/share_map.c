/* SPDX-License-Identifier: MIT */
#include "libdodo/share_map.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names_in.h"
#include "base/num.h"
#include "base/os.h"
#include "base/time.h"
#include "libdodo/share_dir.h"
#include "libdodo/shared_map.h"

enum {
    OPENER_BYTE,
    PRESENT_BYTE,
    DIGEST_BYTES = 32,
    FILE_NAME_MAX = 2 * DIGEST_BYTES + 1,
    TRIES = 50, /* while the opener makes the map, or the last one removes it */
    TRY_US = 200,
    SWEEP_MAX = 1024, /* files that are looked at */
    /* A process may have 65,530 mappings (vm.max_map_count); most of them are left to the program.
     */
    JOINED_MAX = 1 << 14,
    HELD_BYTES = 1,
    MAP_BYTES_MAX = 64 << 20, /* of a region of 32 GiB: the memory for it is taken at once */
    ROOM_PARTS = 4,           /* of what is free there, a map may take one */
};

/* No descriptor stays open: a program may have few (RLIMIT_NOFILE). Locks belong to an open file
 * description, which lasts as long as a mapping of it. The child of a fork has no such mapping. */
typedef struct Joined {
    Share share;
    ListNode link; /* in all */
    void *held;    /* a mapping that holds the opener's lock; NULL: the map does, or nothing */
    bool opener;
    dev_t device;
    ino_t inode;
    size_t bytes;
    char file[FILE_NAME_MAX];
} Joined;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ListNode all = {&all, &all};
static unsigned joined_count;
static uint64_t joined_bytes, limit_bytes = UINT64_MAX;
static uint8_t cluster[DIGEST_BYTES];
static bool cluster_known;
static bool ended; /* the process is in exit() */

/* ---- names ---------------------------------------------------------------------------------- */

/* False: there is no memory for it. */
static bool digest(const void *a, size_t a_len, const void *b, size_t b_len,
                   uint8_t ret[DIGEST_BYTES])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) &&
                EVP_DigestUpdate(ctx, a, a_len) && EVP_DigestUpdate(ctx, b, b_len) &&
                EVP_DigestFinal_ex(ctx, ret, NULL);
    EVP_MD_CTX_free(ctx);
    return good;
}

/* The same address is another host in another network, as of a container that has the same home;
 * and what another build of the library has mapped is not touched. */
void share_map_cluster(const Settings *s)
{
    struct stat st;
    uint8_t managers[DIGEST_BYTES];
    uint64_t of[4] = {SHARE_MAP_VERSION, sizeof(ShareMap)};
    if (stat("/proc/self/ns/net", &st) == 0) {
        of[2] = st.st_dev;
        of[3] = st.st_ino;
    }
    (void)pthread_mutex_lock(&lock);
    cluster_known = digest(&s->managers, sizeof s->managers, s->keys,
                           s->keys_count * sizeof s->keys[0], managers) &&
                    digest(managers, sizeof managers, of, sizeof of, cluster);
    (void)pthread_mutex_unlock(&lock);
}

static bool file_name(const ShareName *name, char out[FILE_NAME_MAX])
{
    uint8_t sum[DIGEST_BYTES];
    if (!cluster_known || !digest(cluster, sizeof cluster, name, sizeof *name, sum))
        return false;
    for (unsigned i = 0; i < DIGEST_BYTES; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", sum[i]);
    return true;
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

static int map_file_open(int dir, const char *name)
{
    return os_above_standard(openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
}

/* Who can have both locks is alone with it. */
static void remove_unused(void *ctx, int dir, const char *name)
{
    (void)ctx;
    struct stat st;
    CLEANUP_CLOSE int fd = map_file_open(dir, name);
    if (fd >= 0 && lock_byte(fd, PRESENT_BYTE, F_WRLCK) && lock_byte(fd, OPENER_BYTE, F_WRLCK) &&
        fstat(fd, &st) == 0 && st.st_nlink > 0) /* else the name is another file's by now */
        (void)unlinkat(dir, name, 0);
}

/* Under the lock. */
static int directory_open(void)
{
    static bool swept; /* once a process */
    int dir = share_dir_open();
    if (dir >= 0 && !swept) {
        swept = true;
        names_in(dir, SWEEP_MAX, remove_unused, NULL); /* processes that were killed left theirs */
    }
    return dir;
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

void share_map_limit(uint64_t bytes)
{
    (void)pthread_mutex_lock(&lock);
    limit_bytes = bytes;
    (void)pthread_mutex_unlock(&lock);
}

/* Under the lock. The directory is also others': in $XDG_RUNTIME_DIR the user's session keeps its
 * files. */
static bool has_room(int fd, size_t bytes)
{
    struct statvfs fs;
    return bytes <= MAP_BYTES_MAX && bytes <= sub_u64(limit_bytes, joined_bytes) &&
           os_file_may_have(bytes) && fstatvfs(fd, &fs) == 0 &&
           bytes / fs.f_frsize < fs.f_bavail / ROOM_PARTS;
}

/* As long as it must be, with blocks on disk for all of it. The opener only. *ret_zero: nothing is
 * in it. What others may have mapped is never cut: they would die of it. */
static bool make_long(int fd, size_t bytes, bool *ret_zero)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return false;
    *ret_zero = (size_t)st.st_size != bytes;
    if (!*ret_zero)
        return true;
    if (!has_room(fd, bytes))
        return false;
    if (st.st_size > 0 && (!is_alone(fd) || ftruncate(fd, 0) < 0))
        return false;
    bool good = posix_fallocate(fd, 0, (off_t)bytes) == 0;
    if (!good && ftruncate(fd, 0) < 0)
        return false;
    return good;
}

static bool is_long(int fd, size_t bytes)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (size_t)st.st_size == bytes;
}

static void present_add(ShareMap *map, int fd, bool opener)
{
    uint32_t dead = atomic_load(&map->present);
    if (opener && is_alone(fd)) /* and nobody has come since */
        (void)atomic_compare_exchange_strong(&map->present, &dead, 0);
    atomic_fetch_add(&map->present, 1);
}

/* Of an open map, as much of it. MAP_FAILED: there is no memory. */
static void *map_memory(int fd, size_t bytes, int protection)
{
    void *at = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        (void)madvise(at, bytes, MADV_DONTFORK);
    return at;
}

/* *ret_made: it was empty. NULL: nobody can share; *ret_again: not yet, as the opener is about to
 * make it. */
static ShareMap *map_open(int fd, const ShareAsk *ask, size_t bytes, bool opener, bool *ret_made,
                          bool *ret_again)
{
    bool zero = false;
    *ret_made = false;
    *ret_again = !opener && !is_long(fd, bytes);
    bool good = opener ? make_long(fd, bytes, &zero) : !*ret_again;
    ShareMap *map = good ? map_memory(fd, bytes, PROT_READ | PROT_WRITE) : MAP_FAILED;
    if (map == MAP_FAILED)
        return NULL;
    if (share_map_good(map, &ask->name))
        return map;
    if (!opener) {
        *ret_again = true;
        (void)munmap(map, bytes);
        return NULL;
    }
    if (!zero)
        memset(map, 0, bytes);
    share_map_begin(map, &ask->name);
    *ret_made = true;
    return map;
}

static Joined *joined_new(int fd, ShareAsk *ask, bool *ret_again)
{
    struct stat st;
    Joined *j = calloc(1, sizeof *j);
    if (!j || fstat(fd, &st) < 0) {
        free(j);
        return NULL;
    }
    j->device = st.st_dev;
    j->inode = st.st_ino;
    j->bytes = share_map_bytes(ask->name.name.len);
    j->opener = lock_byte(fd, OPENER_BYTE, F_WRLCK);
    j->share.map = map_open(fd, ask, j->bytes, j->opener, &ask->made, ret_again);
    if (!j->share.map) {
        free(j);
        return NULL;
    }
    present_add(j->share.map, fd, j->opener);
    list_push_back(&all, &j->link);
    joined_count++;
    joined_bytes += j->bytes;
    return j;
}

/* Under the lock. True: it is over, whether it is joined or not. */
static bool join_try(int dir, const char *name, ShareAsk *ask)
{
    bool again = false;
    if (joined_count >= JOINED_MAX)
        return true;
    int fd = file_open_present(dir, name);
    if (fd < 0)
        return fd != -EAGAIN;
    Joined *j = joined_new(fd, ask, &again);
    (void)close(fd); /* the mapping has the locks */
    if (j) {
        memcpy(j->file, name, sizeof j->file);
        ask->share = &j->share;
        ask->opener = j->opener;
    } else if (!again) {
        remove_unused(NULL, dir, name);
    }
    return !again;
}

static void join(ShareAsk *ask)
{
    char name[FILE_NAME_MAX];
    (void)pthread_mutex_lock(&lock);
    CLEANUP_CLOSE int dir = directory_open();
    bool over = dir < 0 || !file_name(&ask->name, name);
    for (unsigned i = 0; i < TRIES && !over; i++) {
        if (i > 0) {
            (void)pthread_mutex_unlock(&lock);
            (void)usleep(TRY_US);
            (void)pthread_mutex_lock(&lock);
        }
        over = ended || join_try(dir, name, ask);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Under the lock. Where the file is gone, nobody can be the opener any more: all go on alone. */
static void opener_try(Joined *j)
{
    struct stat st;
    CLEANUP_CLOSE int dir = share_dir_open();
    if (dir < 0)
        return;
    CLEANUP_CLOSE int fd = map_file_open(dir, j->file);
    bool gone = fd < 0 && errno == ENOENT;
    if (fd >= 0)
        gone = fstat(fd, &st) == 0 && (st.st_dev != j->device || st.st_ino != j->inode);
    if (gone)
        atomic_store(&j->share.map->changed, 1);
    if (fd < 0 || gone || !lock_byte(fd, OPENER_BYTE, F_WRLCK))
        return;
    void *held = map_memory(fd, HELD_BYTES, PROT_NONE);
    j->opener = held != MAP_FAILED;
    j->held = j->opener ? held : NULL;
}

void share_map_join(ShareAsk *ask)
{
    OS_DESCRIPTORS_BUSY;
    ask->made = ask->opener = false;
    if (!ask->share) {
        join(ask);
        return;
    }
    Joined *j = CONTAINER_OF(ask->share, Joined, share);
    (void)pthread_mutex_lock(&lock);
    if (!j->opener)
        opener_try(j);
    ask->opener = j->opener;
    (void)pthread_mutex_unlock(&lock);
}

void share_map_end(Share *share)
{
    Joined *j = CONTAINER_OF(share, Joined, share);
    (void)pthread_mutex_lock(&lock);
    list_remove(&j->link);
    joined_count--;
    joined_bytes -= j->bytes;
    if (!ended)
        atomic_fetch_sub(&share->map->present, 1);
    (void)munmap(share->map, j->bytes); /* with the last mapping the kernel drops the locks */
    if (j->held)
        (void)munmap(j->held, HELD_BYTES);
    OS_DESCRIPTORS_BUSY;
    CLEANUP_CLOSE int dir = share_dir_open();
    if (dir >= 0)
        remove_unused(NULL, dir, j->file);
    (void)pthread_mutex_unlock(&lock);
    free(j);
}

/* ---- exit ----------------------------------------------------------------------------------- */

/* Under the lock. Its name may be another file's by now. */
static void remove_own(int dir, const Joined *j)
{
    struct stat st;
    if (fstatat(dir, j->file, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == j->device &&
        st.st_ino == j->inode)
        (void)unlinkat(dir, j->file, 0);
}

/* Other threads may still use the maps: those stay mapped, and the locks stay with them. Who joins
 * just before the file goes has a map of its own, which is right, too. */
void share_map_exit(const struct timespec *until)
{
    if (pthread_mutex_timedlock(&lock, until) != 0)
        return; /* the next process of this user removes what is left */
    OS_DESCRIPTORS_BUSY;
    CLEANUP_CLOSE int dir = list_empty(&all) ? -1 : share_dir_open();
    LIST_FOREACH(node, &all) {
        const Joined *j = CONTAINER_OF(node, Joined, link);
        if (!ended && atomic_fetch_sub(&j->share.map->present, 1) == 1 && dir >= 0)
            remove_own(dir, j);
    }
    ended = true;
    (void)pthread_mutex_unlock(&lock);
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
    LIST_FOREACH(node, &all)
        free(CONTAINER_OF(node, Joined, link));
    list_init(&all);
    joined_count = 0;
    joined_bytes = 0;
    ended = false;
}
