/* SPDX-License-Identifier: MIT */
#include "base/parked.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/description.h"
#include "base/list.h"
#include "base/os.h"

enum {
    LOCKS_LINE_MAX = 256,
    LOCKS_READINGS = 2, /* the kernel may leave a line out when another goes meanwhile */
    WRITE_ERROR_AT_BIT = 43,
};

typedef struct Parked {
    ListNode link;
    int fd;
    int flags; /* that it was opened with; of the shared ones PARKED_SHARED */
    bool locked;
    pid_t process; /* a child may have its parent's, where it was forked past the handlers */
    dev_t device;
    ino_t inode;
} Parked;

enum { PARKED_SHARED = -1 };

static pthread_mutex_t parked_lock = PTHREAD_MUTEX_INITIALIZER;
static ListNode parked = {&parked, &parked}; /* the next to be looked at first */
static unsigned parked_count;
static unsigned trim_at; /* when so many are parked; 0: as many as may */

static unsigned parked_max(void)
{
    return os_descriptors_part(PARKED_SHARE, PARKED_MAX);
}

/* ---- locks of the process ------------------------------------------------------------------- */

static void mark_locked(ino_t inode)
{
    LIST_FOREACH(node, &parked) {
        Parked *p = CONTAINER_OF(node, Parked, link);
        p->locked |= p->inode == inode;
    }
}

/* "1: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF". By the inode's number alone: the device is not
 * always that of fstat(2), and one lock too many does no harm. */
static void mark_line(const char *line, long self)
{
    long pid;
    uintmax_t inode;
    if (sscanf(line, "%*d: POSIX %*s %*s %ld %*x:%*x:%" SCNuMAX, &pid, &inode) == 2 && pid == self)
        mark_locked((ino_t)inode);
}

/* By the kernel's list of all locks of the host. Reading it stops everybody who locks, for a while,
 * and it may be long. The process's number is the one that this /proc knows it by. */
static void mark_listed(void)
{
    OS_DESCRIPTORS_BUSY;
    char line[LOCKS_LINE_MAX], self[32];
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);
    if (n <= 0)
        return;
    self[n] = '\0';
    for (int i = 0; i < LOCKS_READINGS; i++) {
        FILE *f = fopen("/proc/locks", "re");
        if (!f)
            return;
        while (fgets(line, sizeof line, f))
            mark_line(line, strtol(self, NULL, 10));
        (void)fclose(f);
    }
}

/* Asks by the description: for it, the locks of this process are in the way as any other's. The
 * regions' own locks lie behind the range. False: one of another is in the way, and may hide one of
 * this process. */
static bool mark_asked(Parked *p)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = DESCRIPTION_LOCK_SHIFT};
    bool known = fcntl(p->fd, F_OFD_GETLK, &lock) == 0;
    p->locked = known && lock.l_type != F_UNLCK && lock.l_pid == getpid();
    return known && (lock.l_type == F_UNLCK || p->locked);
}

static void mark_all(void)
{
    bool known = true;
    LIST_FOREACH(node, &parked) {
        known &= mark_asked(CONTAINER_OF(node, Parked, link));
    }
    if (!known)
        mark_listed();
}

/* ---- parking -------------------------------------------------------------------------------- */

static bool is_unlinked(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

static unsigned close_one(Parked *p)
{
    list_remove(&p->link);
    parked_count--;
    (void)close(p->fd);
    free(p);
    return 1;
}

/* Closes, of those that may be closed, the unlinked and shared ones, and the first until @keep
 * are left. */
static unsigned trim(unsigned keep)
{
    unsigned closed = 0;
    mark_all();
    for (ListNode *node = parked.next, *next; node != &parked; node = next) {
        Parked *p = CONTAINER_OF(node, Parked, link);
        next = node->next;
        if (!p->locked && (p->flags == PARKED_SHARED || is_unlinked(p->fd)))
            closed += close_one(p);
    }
    for (ListNode *node = parked.next, *next; node != &parked && parked_count > keep; node = next) {
        Parked *p = CONTAINER_OF(node, Parked, link);
        next = node->next;
        if (!p->locked)
            closed += close_one(p);
    }
    return closed;
}

/* One of those that are there: its turn comes again after all others'. */
static bool one_is_unlinked(void)
{
    Parked *p = CONTAINER_OF(parked.next, Parked, link);
    list_remove(&p->link);
    list_push_back(&parked, &p->link);
    return is_unlinked(p->fd);
}

/* The next time only when many have come since: what is locked is not looked at again and again. */
static void trim_if_many(void)
{
    unsigned max = parked_max();
    if (parked_count <= (trim_at > max ? trim_at : max))
        return;
    (void)trim(max / 2);
    trim_at = parked_count + max / 2;
}

void parked_give(int fd, bool shared)
{
    struct stat st;
    Parked *p = malloc(sizeof *p);
    if (!p || fstat(fd, &st) < 0) { /* no memory: the program has other troubles than its locks */
        (void)close(fd);
        free(p);
        return;
    }
    *p = (Parked){.fd = fd, .process = getpid(), .device = st.st_dev, .inode = st.st_ino};
    p->flags = shared ? PARKED_SHARED : fcntl(fd, F_GETFL) & (O_ACCMODE | O_SYNC | O_DSYNC);
    parked_lock_all();
    list_push_back(&parked, &p->link);
    parked_count++;
    if (shared || st.st_nlink == 0 || one_is_unlinked())
        (void)trim(parked_count);
    trim_if_many();
    parked_unlock_all();
}

/* ---- taking --------------------------------------------------------------------------------- */

static bool is_of(const Parked *p, const struct stat *st)
{
    return p->device == st->st_dev && p->inode == st->st_ino && os_is_same_file(p->fd, st);
}

/* The kernel reports an error of writing back once to each description. Waiting for the writes of
 * a range takes that report, too; beyond the end of any file there is nothing to wait for. */
static void forget_write_error(int fd)
{
    (void)sync_file_range(fd, (off_t)1 << WRITE_ERROR_AT_BIT, 1, SYNC_FILE_RANGE_WAIT_BEFORE);
}

int parked_take(const struct stat *st, int flags)
{
    int fd = -1;
    pid_t self = getpid();
    parked_lock_all();
    LIST_FOREACH(node, &parked) {
        Parked *p = CONTAINER_OF(node, Parked, link);
        if (p->flags != flags || p->process != self || !is_of(p, st))
            continue;
        fd = p->fd;
        list_remove(&p->link);
        parked_count--;
        free(p);
        break;
    }
    parked_unlock_all();
    if (fd >= 0)
        forget_write_error(fd);
    return fd;
}

unsigned parked_close_unlocked(void)
{
    parked_lock_all();
    unsigned closed = trim(0);
    trim_at = 0;
    parked_unlock_all();
    return closed;
}

/* ---- fork ------------------------------------------------------------------------------------ */

void parked_lock_all(void)
{
    (void)pthread_mutex_lock(&parked_lock);
}

void parked_unlock_all(void)
{
    (void)pthread_mutex_unlock(&parked_lock);
}

void parked_abandon_all(void)
{
    while (!list_empty(&parked))
        (void)close_one(CONTAINER_OF(parked.next, Parked, link));
    trim_at = 0;
}
