/* SPDX-License-Identifier: MIT */
#include "libdodo/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "libdodo/random.h"
#include "libdodo/state_dir.h"

static const char secret_name[] = "secret";

/* Synced before it gets its name: after a power failure it is whole, or not there. */
static bool draft_write(int fd)
{
    uint8_t bytes[SECRET_BYTES];
    random_bytes(NULL, bytes, sizeof bytes);
    bool whole =
        fchmod(fd, 0600) == 0 && write(fd, bytes, sizeof bytes) == sizeof bytes && fsync(fd) == 0;
    explicit_bzero(bytes, sizeof bytes);
    return whole;
}

/* The draft gets its name, never in the place of another file. Some file systems have no links. */
static bool draft_name(int dir, const char *draft)
{
    if (linkat(dir, draft, dir, secret_name, 0) == 0)
        return true;
    return (errno == EPERM || errno == EOPNOTSUPP) &&
           renameat2(dir, draft, dir, secret_name, RENAME_NOREPLACE) == 0;
}

/* Of several processes at once one is first, and the others take what that one made. */
static int secret_make(int dir)
{
    char draft[48];
    uint64_t number;
    if (!os_file_may_have(SECRET_BYTES))
        return -EFBIG;
    random_bytes(NULL, &number, sizeof number);
    (void)snprintf(draft, sizeof draft, ".secret.%016" PRIx64, number);
    CLEANUP_CLOSE int fd =
        openat(dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    errno = EIO; /* of a short write */
    int result = draft_write(fd) && draft_name(dir, draft) ? 0 : -errno;
    (void)unlinkat(dir, draft, 0);
    return result == -EEXIST ? 0 : result;
}

/* -EPERM: others may have read or made it; -EBADMSG: it is no secret. */
static int secret_read(int dir, uint8_t ret[SECRET_BYTES])
{
    struct stat st;
    CLEANUP_CLOSE int fd =
        openat(dir, secret_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO)))
        return -EPERM;
    if (!S_ISREG(st.st_mode) || st.st_size != SECRET_BYTES)
        return -EBADMSG;
    ssize_t n = pread(fd, ret, SECRET_BYTES, 0);
    return n == SECRET_BYTES ? 0 : n < 0 ? -errno : -EBADMSG;
}

static const char *what_to_do(bool dir, int error)
{
    if (!dir && error == ENOENT)
        return "no home directory is known: set HOME or XDG_STATE_HOME";
    if (!dir && error == EPERM)
        return "the directory dodo in $XDG_STATE_HOME or ~/.local/state is another user's, or "
               "others may write to it: give it to this user, with mode 700";
    if (error == EPERM)
        return "the file secret in $XDG_STATE_HOME/dodo or ~/.local/state/dodo is another user's, "
               "or others may read it: remove it, and a new one is made";
    if (error == EBADMSG)
        return "the file secret in $XDG_STATE_HOME/dodo or ~/.local/state/dodo is damaged: remove "
               "it, and a new one is made";
    return NULL;
}

int secret_get(uint8_t ret[SECRET_BYTES], char *why, size_t cap)
{
    OS_DESCRIPTORS_BUSY;
    CLEANUP_CLOSE int dir = state_dir_open(NULL);
    int result = dir < 0 ? dir : secret_read(dir, ret);
    if (dir >= 0 && result == -ENOENT) {
        result = secret_make(dir);
        if (result == 0)
            result = secret_read(dir, ret);
    }
    if (result == 0)
        return 0;
    const char *text = what_to_do(dir >= 0, -result);
    (void)snprintf(why, cap,
                   "nothing is retained (DODO_RETAIN), as this user's secret cannot be "
                   "used: %s%s",
                   text ? text
                        : "make $XDG_STATE_HOME/dodo or ~/.local/state/dodo "
                          "readable and writable: ",
                   text ? "" : strerrordesc_np(-result));
    return result;
}
