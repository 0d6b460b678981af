/* SPDX-License-Identifier: MIT */
/* Room for descriptors. Each inode that the kernel knows takes one, and the kernel forgets none
 * before it lacks memory itself. So when most numbers are used, it is asked to forget those that
 * nobody uses, and lookups wait for that. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "adapters/mount/mount.h"
#include "base/os.h"
#include "base/time.h"

/* The rest is for what is opened, for leases, and for processes that ask. */
#define MARK_OF(limit) ((limit) / 8 * 7)
/* How long a lookup waits for what the kernel forgets, and how long it is not asked again when
 * everything is in use. */
#define WAIT_NS (100 * NS_PER_MS)
#define AGAIN_NS NS_PER_S

typedef struct Room {
    int mark;
    pthread_mutex_t lock;    /* of who makes room */
    uint64_t hopeless_at_ns; /* 0: not so */
} Room;

/* An answer that waits for room. */
typedef struct RoomJob {
    Job job;
    Mount *mount;
    Inode *dir; /* with a reference; NULL: nobody waits */
    fuse_req_t req;
    RoomReply *reply;
    char name[];
} RoomJob;

void room_init(Mount *m)
{
    struct rlimit limit = {.rlim_cur = 1024};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    m->room = g_new0(Room, 1);
    m->room->mark = limit.rlim_cur > G_MAXINT ? G_MAXINT : (int)MARK_OF(limit.rlim_cur);
    pthread_mutex_init(&m->room->lock, NULL);
}

void room_end(Mount *m)
{
    pthread_mutex_destroy(&m->room->lock);
    g_free(m->room);
    m->room = NULL;
}

/* Numbers are given from the lowest on. A new file takes two, and gives back the lower one. */
static bool is_short(Mount *m)
{
    int lower = fcntl(m->root.fd, F_DUPFD_CLOEXEC, 0);
    int fd = lower < 0 ? -1 : fcntl(m->root.fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        (void)close(fd);
    if (lower >= 0)
        (void)close(lower);
    mount_number_given(m, fd);
    return m->newest_fd >= m->room->mark;
}

/* Has the kernel drop all names of the mount that nobody uses, as it does for each change of a
 * mount's settings: this one changes none. It takes no directory's lock, so it does not wait for a
 * lookup. False: it may not. */
static bool forget_unused(const Mount *m)
{
    if (!mirror_sees_mount(m->mirror))
        return false;
    int fs = (int)syscall(SYS_fspick, AT_FDCWD, m->mountpoint, FSPICK_CLOEXEC);
    int res = fs < 0 ? -1 : (int)syscall(SYS_fsconfig, fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
    if (fs >= 0)
        (void)close(fs);
    return res == 0;
}

/* Under the lock. What the kernel forgets it reports a little later. */
static void make_room(Mount *m)
{
    const struct timespec moment = {.tv_nsec = NS_PER_MS};
    Room *r = m->room;
    uint64_t began_ns = os_now_ns();
    if (r->hopeless_at_ns && began_ns - r->hopeless_at_ns < AGAIN_NS)
        return;
    bool asked = forget_unused(m);
    while (asked && is_short(m) && os_now_ns() - began_ns < WAIT_NS)
        (void)nanosleep(&moment, NULL);
    r->hopeless_at_ns = is_short(m) ? os_now_ns() : 0;
}

static void room_run(Job *job)
{
    RoomJob *j = (RoomJob *)job; /* the first member */
    Mount *m = j->mount;
    mirror_begin(m->mirror); /* while there are numbers for it */
    unwind_load();
    pthread_mutex_lock(&m->room->lock);
    if (!m->stopping && is_short(m))
        make_room(m);
    pthread_mutex_unlock(&m->room->lock);
    if (j->dir) {
        j->reply(j->req, j->dir, j->name);
        inodes_unref(m, j->dir);
    }
    g_free(j);
}

static void push(Mount *m, Inode *dir, const char *name, fuse_req_t req, RoomReply *reply)
{
    size_t len = strlen(name) + 1;
    RoomJob *j = g_malloc0(sizeof *j + len);
    j->job.run = room_run;
    j->mount = m;
    j->dir = dir;
    j->req = req;
    j->reply = reply;
    memcpy(j->name, name, len);
    if (dir)
        inodes_ref(m, dir);
    jobs_push(m->lookups, &j->job);
}

bool room_wait(Mount *m, fuse_req_t req, Inode *dir, const char *name, RoomReply *reply)
{
    if (m->newest_fd < m->room->mark || m->stopping)
        return false;
    push(m, dir, name, req, reply);
    return true;
}

void room_note(Mount *m)
{
    if (m->newest_fd >= m->room->mark && !m->stopping && !mirror_has_begun(m->mirror))
        push(m, NULL, "", NULL, NULL);
}
