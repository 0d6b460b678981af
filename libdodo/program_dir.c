/* SPDX-License-Identifier: MIT */
#include "libdodo/program_dir.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names_in.h"
#include "base/os.h"

static struct flock first_byte(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
}

bool program_lives(int fd)
{
    struct flock range = first_byte();
    return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

bool program_lock(int fd)
{
    struct flock range = first_byte();
    struct stat st;
    return fcntl(fd, F_OFD_SETLK, &range) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

bool program_name_fits(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len < 64 && strspn(name, "0123456789-") == len;
}

/* Who has its lock is alone with it. */
static void remove_dead(void *ctx, int dir, const char *name)
{
    (void)ctx;
    if (!program_name_fits(name))
        return;
    CLEANUP_CLOSE int fd = os_above_standard(
        openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd >= 0 && program_lock(fd))
        (void)unlinkat(dir, name, 0);
}

void program_dir_sweep(int dir)
{
    names_in(dir, PROGRAM_FILES_MAX, remove_dead, NULL);
}
