/* SPDX-License-Identifier: MIT */
#include "libdodo/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "libdodo/core.h"
#include "libdodo/state_dir.h"

static const char directory[] = "checks";

enum { NAME_MAX_BYTES = 2 * 16 + 1 + 16 + 1 + 16 + 1 };

/* Half of the key names the file: all of it stands inside, and is compared. */
static void file_name(const CheckName *name, char out[NAME_MAX_BYTES])
{
    for (unsigned i = 0; i < 16; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", name->key.bytes[i]);
    (void)snprintf(out + 32, NAME_MAX_BYTES - 32, "-%" PRIx64 "-%" PRIx64, name->offset, name->len);
}

/* Names of before the last start of the host are never asked for again: a file's key changes. */
void kept_sweep(void)
{
    struct timespec now, up;
    struct stat st;
    int dir = state_dir_open(directory);
    DIR *d = dir >= 0 ? fdopendir(dir) : NULL;
    if (!d) {
        if (dir >= 0)
            (void)close(dir);
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)clock_gettime(CLOCK_BOOTTIME, &up);
    for (const struct dirent *e; (e = readdir(d));)
        if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            st.st_mtim.tv_sec < now.tv_sec - up.tv_sec)
            (void)unlinkat(dir, e->d_name, 0);
    (void)closedir(d);
}

static bool write_all(int fd, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, bytes + at, len - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

ssize_t kept_save(const void *record, size_t len)
{
    OS_DESCRIPTORS_BUSY;
    static atomic_flag swept = ATOMIC_FLAG_INIT;
    char name[NAME_MAX_BYTES], draft[NAME_MAX_BYTES + 32];
    CLEANUP_CLOSE int dir = state_dir_open(directory);
    if (dir < 0 || !os_file_may_have(len))
        return -1;
    if (!atomic_flag_test_and_set(&swept)) /* once a process */
        kept_sweep();
    file_name(record, name);
    (void)snprintf(draft, sizeof draft, ".%s.%d.%d", name, (int)getpid(), (int)gettid());
    CLEANUP_CLOSE int fd = os_above_standard(
        openat(dir, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0)
        return -1;
    if (write_all(fd, record, len) && renameat(dir, draft, dir, name) == 0)
        return 0;
    (void)unlinkat(dir, draft, 0);
    return -1;
}

ssize_t kept_load(void *record, size_t cap)
{
    char name[NAME_MAX_BYTES];
    struct stat st;
    OS_DESCRIPTORS_BUSY;
    CLEANUP_CLOSE int dir = state_dir_open(directory);
    if (dir < 0)
        return 0;
    file_name(record, name);
    CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size > cap)
        return 0;
    size_t at = 0;
    for (ssize_t n; at < cap && (n = read(fd, (uint8_t *)record + at, cap - at)) != 0;) {
        if (n < 0 && errno != EINTR)
            return 0;
        at += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)at;
}
