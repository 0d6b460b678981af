/* SPDX-License-Identifier: MIT */
/* What all parts of a mount share: the directory, the session with the kernel, and the files that
 * the kernel knows. */
#ifndef DODO_ADAPTERS_MOUNT_MOUNT_H
#define DODO_ADAPTERS_MOUNT_MOUNT_H

#include <fuse_lowlevel.h>
#include <glib.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "adapters/mount/jobs.h"
#include "adapters/mount/mirror.h"
#include "adapters/mount/openings.h"
#include "adapters/mount/program.h"
#include "adapters/mount/report.h"
#include "adapters/mount/trust.h"
#include "base/hmap.h"
#include "base/list.h"

/* A part of a file that the region cache serves: all of it. */
typedef struct CachedRegion {
    int rd;
    unsigned users; /* reads under way */
    bool over;      /* nobody begins another read; the last one closes it */
} CachedRegion;

/* A file, directory or other inode that the kernel knows. Its number for the kernel is its address.
 */
struct Inode {
    HmapNode node;
    dev_t dev;
    ino_t ino;
    mode_t type;      /* S_IFMT */
    int fd;           /* O_PATH */
    uint64_t lookups; /* of the kernel, that it has not forgotten; under the table's lock */
    unsigned refs;    /* the kernel's, while lookups > 0; a job's; under the table's lock */

    /* Pages are dropped under it, one after the other, and the attributes are asked for again. */
    pthread_mutex_t gate;
    int mirror_fd; /* O_PATH, of the same file below the mount point; -1: none; under the gate */

    pthread_mutex_t lock; /* for what follows; held for no longer than a system call */
    ListNode handles;
    pthread_cond_t released; /* an opening was */
    Openings openings;
    int32_t
        backing_id; /* the kernel's number for what it serves itself; 0: not asked for; -1: none */
    Trust trust;
    int lease_fd;    /* a description of our own, for reading; -1: none yet */
    bool unleasable; /* the kernel refuses a lease for good: not our file, or no such file system */
    int lease_error; /* of the last time that it was asked for */
    bool uncached;   /* the region cache is not for this file */
    bool opening;    /* a region is being opened */
    CachedRegion *region; /* NULL: none */

    ListNode lock_owners; /* under the lock of all locks */
    FileReads read;       /* since the kernel knows it */
};

/* What the kernel opened. */
typedef struct Handle {
    ListNode node; /* of the inode's */
    Inode *inode;
    int fd;
    Opening opening;
    bool flushed; /* a descriptor was closed a moment ago, perhaps the last one; under the lock */
} Handle;

struct Mount {
    struct fuse_session *session;
    const MountOptions *options;
    char *path; /* of the directory */
    char *mountpoint;
    atomic_bool stopping; /* nothing is cached any more */
    atomic_bool over;     /* the session is at its end: nobody may wait for an answer */
    Inode root;
    bool change_owner;       /* we are root: what others make shall be theirs */
    atomic_bool passthrough; /* the kernel may take further files, to serve them itself */

    pthread_mutex_t lock; /* of the table, and of the list */
    Hmap inodes;
    ListNode directories;                   /* open ones */
    void (*forget)(Mount *m, Inode *inode); /* before an inode goes that nobody knows any more */
    Mirror *mirror;
    Jobs *jobs;
    Jobs *lookups; /* jobs that those wait for, through the kernel; they wait for none of them */
    struct Leases *leases;
    struct Locks *locks;
    struct Stop *stop;
    struct Room *room;
    atomic_int newest_fd; /* the number that was the lowest one to be free, a moment ago */
    Report *report;       /* NULL: nobody wants one */
};

/* The kernel's number <-> the inode. */
static inline Inode *mount_inode(Mount *m, fuse_ino_t number)
{
    return number == FUSE_ROOT_ID ? &m->root : (Inode *)(uintptr_t)number; // NOLINT
}
static inline fuse_ino_t mount_number(const Mount *m, const Inode *inode)
{
    return inode == &m->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)inode;
}
static inline Mount *mount_of(fuse_req_t req)
{
    return fuse_req_userdata(req);
}
static inline Inode *mount_inode_of(fuse_req_t req, fuse_ino_t number)
{
    return mount_inode(mount_of(req), number);
}

/* "/proc/self/fd/N": what stands for an O_PATH descriptor where a path is wanted. */
typedef struct FdPath {
    char text[32];
} FdPath;
static inline FdPath fd_path(int fd)
{
    FdPath path;
    (void)snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

/* An open gave the number @fd; < 0: there was none. */
static inline void mount_number_given(Mount *m, int fd)
{
    m->newest_fd = fd < 0 ? INT_MAX : fd;
}

/* Whether a signal that a thread has waited for is from another thread of this process: any user's
 * kill(1) may send the same. */
static inline bool is_own_signal(const siginfo_t *info)
{
    return info->si_pid == getpid();
}

/* ---- inodes.c: the table ------------------------------------------------------------------- */

int inodes_init(Mount *m, int root_fd);
void inodes_end(Mount *m);
/* The inode of name @name in @dir, looked up by the kernel once more; its attributes. 0, -errno. */
int inodes_look_up(Mount *m, const Inode *dir, const char *name, Inode **ret, struct stat *st);
/* The same of an O_PATH descriptor, which is taken. */
int inodes_adopt(Mount *m, int fd, Inode **ret, struct stat *st);
/* The name in the mount's root by which our own processes find @inode, whatever names it has, or if
 * it has lost them all. */
enum { INODE_NAME_MAX = 64 };
void inodes_name(const Inode *inode, char name[INODE_NAME_MAX]);
/* As inodes_look_up(), by such a name. -ENOENT: it is no such name, or that of no inode. */
int inodes_look_up_own(Mount *m, const char *name, Inode **ret, struct stat *st);
void inodes_forget(Mount *m, Inode *inode, uint64_t lookups);
void inodes_ref(Mount *m, Inode *inode);
void inodes_unref(Mount *m, Inode *inode);
/* A reference to an inode that is in memory for sure, but perhaps about to go: then false. */
bool inodes_ref_living(Mount *m, Inode *inode);
/* The path of @inode below the directory, without a leading "/", in @path of PATH_MAX bytes. NULL:
 * it is not there any more. */
const char *inodes_path(const Mount *m, const Inode *inode, char *path);

/* ---- caller.c ------------------------------------------------------------------------------ */

/* What this thread makes from here on is owned by who sent the request; what to tell caller_end().
 */
bool caller_begin(fuse_req_t req);
/* With which mode it makes something in @dir, where it asks for @mode. */
mode_t caller_mode(fuse_req_t req, const Inode *dir, mode_t mode);
void caller_end(bool begun);

/* ---- freshness.c: leases, the kernel's pages, and what is cached --------------------------- */

/* How long the kernel may keep the attributes of a file that is held, [s]. */
#define ATTR_HELD_S 1.0

int fresh_init(Mount *m); /* 0, -errno */
/* Gives all leases back, and waits until all pages that have to go are dropped: while the session
 * is there. Afterwards nothing waits for the kernel any more. */
void fresh_stop(Mount *m);
/* Nobody knows @inode any more. */
void fresh_forget(Mount *m, Inode *inode);
/* The session is at its end. */
void fresh_end(Mount *m);

/* Asks for a lease where that may succeed. */
void fresh_try(Mount *m, Inode *inode);
void fresh_try_locked(Mount *m, Inode *inode); /* under the lock */
/* A writer through the mount, and its end. */
void fresh_writer_begin(Mount *m, Inode *inode);
void fresh_writer_end(Inode *inode);
/* A read: the region that it may be served from, or NULL: then from the file. It ends before it is
 * answered: the inode may go with the answer. */
CachedRegion *fresh_read_begin(Mount *m, Inode *inode);
void fresh_read_end(Inode *inode, CachedRegion *region);
/* If @inode has no handle any more, the kernel shall be free to forget it. */
void fresh_all_closed(Inode *inode);
/* How long attributes of @inode are good, [s]. */
double fresh_attr_timeout(Inode *inode);

/* Answers a request: now, or from another thread. @fi is what fresh_reply() got. */
typedef void Reply(Mount *m, Inode *inode, fuse_req_t req, const struct fuse_file_info *fi);
/* Has a request for attributes answered, when no page is left that a read must not find, or with
 * @fi an opening, when the kernel knows the size. */
void fresh_reply(Mount *m, Inode *inode, fuse_req_t req, const struct fuse_file_info *fi,
                 Reply *reply);

/* Has a write of @len bytes answered when no mapping below the mount point shows what they were
 * before. */
void fresh_reply_write(Mount *m, const Handle *handle, fuse_req_t req, size_t len);

/* ---- leases.c: the kernel's leases, and who breaks them ------------------------------------ */

/* Somebody wants to write @inode, and waits until leases_release(). */
typedef void LeaseBroken(Mount *m, Inode *inode);
void leases_init(Mount *m, LeaseBroken *broken);
/* No break is heard of any more; all leases are as if broken. */
void leases_stop(Mount *m);
void leases_end(Mount *m);
/* A lease for @inode's lease_fd, under its lock. 0, -errno. */
int leases_take(Mount *m, Inode *inode);
/* Given back, under its lock. */
void leases_release(Mount *m, Inode *inode);

/* ---- regions.c: files in the region cache -------------------------------------------------- */

/* Begins a read of a held file from its region; NULL: there is none, now or ever. Under @inode's
 * lock, which is given back while a region is opened. */
CachedRegion *regions_use(Mount *m, Inode *inode);
/* The read is over; under @inode's lock. The region to be closed now, if any. */
CachedRegion *regions_done(CachedRegion *region);
/* No read begins any more; under @inode's lock. The region to be closed now, if any. */
CachedRegion *regions_end(Inode *inode);
void regions_close(CachedRegion *region); /* NULL is nothing */
/* Whether the options leave the file to the region cache. */
bool regions_chosen(const Mount *m, const Inode *inode);
/* ... and it is large enough by now; @fd is open for it, or O_PATH. */
bool regions_may_have(const Mount *m, const Inode *inode, int fd);

/* ---- handles.c ----------------------------------------------------------------------------- */

/* Whether a file that is opened with the flags of open(2) may be changed through it. */
bool handle_is_for_writing(int flags);
/* What open(2) returned for @flags. With O_DIRECT it fails where the file system knows of no such
 * thing; otherwise the kernel does what that means for the caller's buffer, and @fd has it no more.
 */
int handle_direct_done(int fd, int flags);
/* Opens @inode with the flags of open(2), and puts the handle into @fi. 0, -errno. */
int handle_open(Mount *m, Inode *inode, int flags, struct fuse_file_info *fi);
/* The same of a descriptor for writing that is open already, and is taken. */
int handle_adopt(Mount *m, Inode *inode, int fd, struct fuse_file_info *fi);
/* One of its descriptors was closed. */
void handle_flushed(Handle *handle);
void handle_close(const struct fuse_file_info *fi);
/* The session has ended: nobody will close those that are left. */
void handles_forget(Inode *inode);
static inline Handle *handle_of(const struct fuse_file_info *fi)
{
    return (Handle *)(uintptr_t)fi->fh; // NOLINT
}

/* ---- passthrough.c: openings that the kernel serves itself ------------------------------------
 */

int passthrough_init(Mount *m); /* mounted, before the first request; 0, -errno */
/* This thread's next answer is that to the kernel's first request. */
void passthrough_offer(const Mount *m);
/* Whether the kernel may serve openings of @inode; under its lock. */
bool passthrough_is_possible(const Mount *m, const Inode *inode);
/* The kernel has taken the file, and can serve it; under the lock. */
bool passthrough_ready(Mount *m, Inode *inode);
/* Nobody knows @inode any more. */
void passthrough_forget(const Mount *m, const Inode *inode);
/* This thread's next answer says that @handle was opened. */
void passthrough_reply_next(const Handle *handle);

/* ---- locks.c: locks of programs, for all who use the directory ----------------------------- */

int locks_init(Mount *m);
void locks_end(Mount *m);
void locks_forget(Inode *inode); /* nobody knows it any more */
/* A process closed a descriptor of @inode: its POSIX locks go. */
void locks_owner_closed(Mount *m, Inode *inode, uint64_t owner);
/* Nobody has @handle any more: its OFD locks go. */
void locks_handle_closed(Mount *m, Handle *handle);

/* ---- room.c: descriptors ------------------------------------------------------------------- */

void room_init(Mount *m);
void room_end(Mount *m);
/* Answers a request for @name in @dir. */
typedef void RoomReply(fuse_req_t req, const Inode *dir, const char *name);
/* Whether there is no room for the descriptor of another inode: then another thread answers, when
 * there is, or can be none. */
bool room_wait(Mount *m, fuse_req_t req, Inode *dir, const char *name, RoomReply *reply);
/* Something was opened, or could not be. */
void room_note(Mount *m);

/* ---- unwind.c ------------------------------------------------------------------------------ */

/* Loads the library that pthread_cancel(3) needs, by which libfuse ends its threads. A session that
 * will end in order calls it before: at its end the library might have to be read through the mount
 * itself, which does not answer any more. Any thread. */
void unwind_load(void);

/* ---- stop.c -------------------------------------------------------------------------------- */

/* Signals end the session from here on. 0, -errno. */
int stop_init(Mount *m);
/* The loop of the session has ended, and the caller ends the rest. Does not return, if the process
 * is ending already. */
void stop_in_order(Mount *m);
void stop_end(Mount *m); /* the session has ended */

/* ---- the requests -------------------------------------------------------------------------- */

void ops_names(struct fuse_lowlevel_ops *ops);
void ops_attributes(struct fuse_lowlevel_ops *ops);
void ops_data(struct fuse_lowlevel_ops *ops);
void ops_directories(struct fuse_lowlevel_ops *ops);
/* Closes those that the kernel has not released, once the session is over. */
void directories_end(Mount *m);
void ops_locks(struct fuse_lowlevel_ops *ops);

#endif
