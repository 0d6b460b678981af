/* SPDX-License-Identifier: MIT */
/* What all parts of a mount share: the directory, the session with the kernel, and the files that
 * the kernel knows. */
#ifndef DODO_ADAPTERS_MOUNT_MOUNT_H
#define DODO_ADAPTERS_MOUNT_MOUNT_H

#include <fuse_lowlevel.h>
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "adapters/mount/trust.h"
#include "base/hmap.h"

/* A part of a file that the region cache serves: all of it. */
typedef struct CachedRegion {
    int rd;
    unsigned users; /* reads under way */
    bool over;      /* nobody begins another read; the last one closes it */
} CachedRegion;

/* A file, directory or other inode that the kernel knows. Its address is its number for the kernel.
 */
typedef struct Inode {
    HmapNode node;
    dev_t dev;
    ino_t ino;
    mode_t type;      /* S_IFMT */
    int fd;           /* O_PATH */
    uint64_t lookups; /* of the kernel, that it has not forgotten; under the table's lock */
    unsigned refs;    /* the kernel's, while lookups > 0; a job's; under the table's lock */

    /* Pages are dropped under it, one after the other, and with the attributes asked for again. */
    pthread_mutex_t gate;
    _Atomic(pid_t) asks; /* the thread that asks for them, through the kernel; 0: none */
    int mirror_fd; /* O_PATH, of the same file below the mount point; -1: none; under the gate */

    pthread_mutex_t lock; /* for what follows; held for no longer than a system call */
    unsigned handles;
    Trust trust;
    int lease_fd;    /* a description of our own, for reading; -1: none yet */
    bool unleasable; /* the kernel refuses a lease for good: not our file, or no such file system */
    bool uncached;   /* the region cache is not for this file */
    bool opening;    /* a region is being opened */
    CachedRegion *region; /* NULL: none */
} Inode;

/* What the kernel opened. */
typedef struct Handle {
    Inode *inode;
    int fd;
    bool writes;
} Handle;

typedef struct MountOptions {
    uint64_t min_bytes;   /* files below are not for the region cache */
    char **only, **never; /* patterns of paths below the directory; NULL: none */
    bool local;           /* no other host writes the files, whatever their file system */
} MountOptions;

typedef struct Mount {
    struct fuse_session *session;
    const MountOptions *options;
    char *path;       /* of the directory */
    int own_root;     /* O_PATH, of the mount point once the mount is there; -1: not yet */
    atomic_bool over; /* the session is at its end: nobody answers any more */
    Inode root;
    bool change_owner; /* we are root: what others make shall be theirs */

    pthread_mutex_t lock; /* of the table */
    Hmap inodes;
    struct Jobs *jobs;
    struct Leases *leases;
    struct Locks *locks;
} Mount;

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
FdPath fd_path(int fd);

/* ---- inodes.c: the table ----------------------------------------------------------------------
 */

int inodes_init(Mount *m, int root_fd);
void inodes_end(Mount *m);
/* The inode of name @name in @dir, looked up by the kernel once more; its attributes. 0, -errno. */
int inodes_look_up(Mount *m, const Inode *dir, const char *name, Inode **ret, struct stat *st);
/* The same of an O_PATH descriptor, which is taken. */
int inodes_adopt(Mount *m, int fd, Inode **ret, struct stat *st);
void inodes_forget(Mount *m, Inode *inode, uint64_t lookups);
void inodes_ref(Mount *m, Inode *inode);
void inodes_unref(Mount *m, Inode *inode);
/* A reference to an inode that is in memory for sure, but perhaps about to go: then false. */
bool inodes_ref_living(Mount *m, Inode *inode);

/* ---- caller.c ---------------------------------------------------------------------------------
 */

/* What this thread makes from here on is owned by who sent the request; what to tell caller_end().
 */
bool caller_begin(fuse_req_t req);
void caller_end(bool begun);

/* ---- jobs.c -----------------------------------------------------------------------------------
 */

/* What waits for the kernel: it does so for requests that other threads answer, and sends us
 * requests itself. No thread that answers requests does such a job. */
typedef struct Job {
    Inode *inode;         /* with a reference */
    bool drop;            /* the kernel's pages go */
    uint64_t take;        /* then the file is settled for this lease; 0: for none */
    CachedRegion *region; /* to be closed; NULL: none */
    fuse_req_t req;       /* answered at the end; NULL: none */
    bool opens;           /* with @fi; or else with the attributes */
    struct fuse_file_info fi;
} Job;

int jobs_init(Mount *m);
/* Does what is left first. */
void jobs_end(Mount *m);
void jobs_push(Mount *m, const Job *job);

/* ---- freshness.c: leases, the kernel's pages, and what is cached ------------------------------
 */

/* How long the kernel may keep the attributes of a file that is held, [s]. */
#define ATTR_HELD_S 1.0

/* Asks for a lease where that may succeed. */
void fresh_try(Mount *m, Inode *inode);
/* Gives the lease up, and all that is cached with it. @broken: somebody waits for that. */
void fresh_give_up(Mount *m, Inode *inode, bool broken);
/* A writer through the mount, and its end. */
void fresh_writer_begin(Mount *m, Inode *inode);
void fresh_writer_end(Mount *m, Inode *inode);
/* Answers a request for attributes, when no page is left that a read must not find. */
void fresh_reply_attr(Mount *m, Inode *inode, fuse_req_t req);
/* Answers the opening of @inode, when the kernel knows its size. */
void fresh_reply_open(Mount *m, Inode *inode, fuse_req_t req, const struct fuse_file_info *fi);
/* A handle of @inode comes, or goes. */
void fresh_handle_begin(Inode *inode);
void fresh_handle_end(Inode *inode);
/* How long attributes of @inode are good, [s]. */
double fresh_attr_timeout(Inode *inode);
/* A job, in one of their threads. */
void fresh_job(Mount *m, const Job *job);

/* ---- leases.c: the kernel's leases, and who breaks them ---------------------------------------
 */

int leases_init(Mount *m);
void leases_end(Mount *m);
/* A lease for @inode's lease_fd, under its lock. 0, -errno. */
int leases_take(Mount *m, Inode *inode);
/* Given back, under its lock. */
void leases_release(Mount *m, Inode *inode);

/* ---- regions.c: files in the region cache -----------------------------------------------------
 */

/* Begins a read of a held file from its region; NULL: there is none, now or ever. */
CachedRegion *regions_use(Mount *m, Inode *inode);
void regions_done(Inode *inode, CachedRegion *region);
/* No read begins any more; under @inode's lock. The region to be closed now, if any. */
CachedRegion *regions_end(Inode *inode);
void regions_close(CachedRegion *region);

/* ---- handles, in ops_data.c -------------------------------------------------------------------
 */

/* Opens @inode with the flags of open(2), and puts the handle into @fi. 0, -errno. */
int handle_open(Mount *m, Inode *inode, int flags, struct fuse_file_info *fi);
/* The same of a descriptor for writing that is open already, and is taken. */
int handle_adopt(Mount *m, Inode *inode, int fd, struct fuse_file_info *fi);
void handle_close(Mount *m, struct fuse_file_info *fi);
static inline Handle *handle_of(const struct fuse_file_info *fi)
{
    return (Handle *)(uintptr_t)fi->fh; // NOLINT
}

/* ---- locks.c: locks of programs, for all who use the directory --------------------------------
 */

int locks_init(Mount *m);
void locks_end(Mount *m);
/* A process closed a descriptor of @inode: its POSIX locks go. */
void locks_owner_closed(Mount *m, Inode *inode, uint64_t owner);

/* ---- the requests -----------------------------------------------------------------------------
 */

void ops_names(struct fuse_lowlevel_ops *ops);
void ops_attributes(struct fuse_lowlevel_ops *ops);
void ops_data(struct fuse_lowlevel_ops *ops);
void ops_directories(struct fuse_lowlevel_ops *ops);
void ops_locks(struct fuse_lowlevel_ops *ops);

#endif
