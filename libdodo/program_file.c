/* SPDX-License-Identifier: MIT */
#include "libdodo/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "libdodo/program_dir.h"
#include "libdodo/share_dir.h"

enum {
    TRIES = 10, /* while others take it for a file that was left */
    TRY_US = 200,
    STAT_MAX = 1024,  /* of /proc/self/stat */
    START_FIELD = 22, /* of it: in clock ticks since the host's start */
    AFTER_NAME = 2    /* what stands before the field behind the name, which may have blanks */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ProgramPage *page; /* NULL: none was made */
static bool tried;
static pid_t owner;
static char path[PATH_MAX];

/* ---- what it says of the process ------------------------------------------------------------ */

static uint64_t ticks_of(const char *text)
{
    const char *at = strrchr(text, ')');
    for (unsigned i = AFTER_NAME; at && i < START_FIELD; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* As far as it can be known. */
static uint64_t started_ns(void)
{
    char text[STAT_MAX];
    const long hz = sysconf(_SC_CLK_TCK);
    if (hz > 0 && os_text_read(AT_FDCWD, "/proc/self/stat", text, sizeof text) > 0)
        return ticks_of(text) * (NS_PER_S / (uint64_t)hz);
    return os_clock_ns(CLOCK_BOOTTIME);
}

static void name_of(char out[PROGRAM_NAME_MAX + 1])
{
    if (os_text_read(AT_FDCWD, "/proc/self/comm", out, PROGRAM_NAME_MAX + 1) > 0)
        out[strcspn(out, "\n")] = '\0';
}

/* ---- the file ------------------------------------------------------------------------------- */

/* With our lock in it, and with memory for all of it: no store finds none. -1: it cannot be. */
static int file_make(int dir, const char *name)
{
    for (unsigned i = 0; i < TRIES; i++) {
        CLEANUP_CLOSE int fd = os_above_standard(
            openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd < 0 || !program_lock(fd)) { /* somebody removes it */
            (void)usleep(TRY_US);
            continue;
        }
        if (posix_fallocate(fd, 0, sizeof(ProgramPage)) == 0)
            return STEAL_FD(fd);
        (void)unlinkat(dir, name, 0);
        return -1;
    }
    return -1;
}

/* The lock belongs to the open file description, which lasts as long as the mapping. */
static ProgramPage *file_map(int dir, const char *name)
{
    CLEANUP_CLOSE int fd = file_make(dir, name);
    if (fd < 0)
        return NULL;
    ProgramPage *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (made != MAP_FAILED)
        return made;
    (void)unlinkat(dir, name, 0);
    return NULL;
}

/* Under the lock. */
static void page_make(void)
{
    char base[PATH_MAX - 64], name[64], comm[PROGRAM_NAME_MAX + 1] = "";
    OS_DESCRIPTORS_BUSY;
    tried = true;
    owner = getpid();
    CLEANUP_CLOSE int dir = share_dir_programs(base, sizeof base);
    if (dir < 0 || !os_file_may_have(sizeof(ProgramPage)))
        return;
    program_dir_sweep(dir);
    const uint64_t since_ns = started_ns();
    (void)snprintf(name, sizeof name, "%d-%llu", (int)owner, (unsigned long long)since_ns);
    (void)snprintf(path, sizeof path, "%s/%s", base, name);
    page = file_map(dir, name);
    if (!page)
        return;
    name_of(comm);
    program_page_begin(page, (uint64_t)owner, since_ns, comm);
}

ProgramPart *program_part(enum ProgramPartOf which)
{
    (void)pthread_mutex_lock(&lock);
    if (!tried)
        page_make();
    ProgramPart *part = page ? &page->parts[which] : NULL;
    (void)pthread_mutex_unlock(&lock);
    return part;
}

/* The file goes; the page stays for threads that go on, and for libmanage, which ends first but may
 * still write. A thread that has the lock was interrupted by this exit. */
__attribute__((destructor)) static void at_unload(void)
{
    const struct timespec at_once = {0};
    if (pthread_mutex_timedlock(&lock, &at_once) != 0)
        return;
    if (page && owner == getpid())
        (void)unlink(path);
    (void)pthread_mutex_unlock(&lock);
}

/* ---- fork ----------------------------------------------------------------------------------- */

void program_lock_all(void)
{
    (void)pthread_mutex_lock(&lock);
}

void program_unlock_all(void)
{
    (void)pthread_mutex_unlock(&lock);
}

void program_abandon(void)
{
    if (page)
        (void)munmap(page, sizeof *page); /* or the parent's file would seem to be in use */
    page = NULL;
    tried = false;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
