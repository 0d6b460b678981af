/* SPDX-License-Identifier: MIT */
/*
 * Processes of our own that ask for files through the mount.
 *
 * The kernel learns a changed size only when somebody asks for it, and nobody but us knows when to.
 * If we asked ourselves, and were killed meanwhile, we would wait for our own answer: neither we
 * nor anybody who uses the mount would ever end. So others ask. They end with us.
 * One is started for the first question, or before the region cache, or when descriptors run short;
 * it starts the others, when they are needed.
 *
 * Thread-safe.
 */
#ifndef DODO_ADAPTERS_MOUNT_MIRROR_H
#define DODO_ADAPTERS_MOUNT_MIRROR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Mirror Mirror;

/* For a mount at @mountpoint, an absolute path, which stays the caller's. */
Mirror *mirror_new(const char *mountpoint);
void mirror_end(Mirror *mirror); /* NULL is nothing */
/* Starts the first of them, if it has not been. They end with the calling thread, if not before;
 * so it is one that does nothing but jobs. */
void mirror_begin(Mirror *mirror);
bool mirror_has_begun(Mirror *mirror);
void mirror_await(Mirror *mirror); /* until it has */

/* The mount is there. Nothing of it is kept open: somebody may unmount it. 0, -errno. */
int mirror_set_mount(Mirror *mirror);
/* Whether it is still what is mounted there. */
bool mirror_sees_mount(const Mirror *mirror);

/* Has the kernel ask for the attributes of its inode number @node, whatever names that has. 0;
 * -EOPNOTSUPP: not for this user, or not with this kernel; -EPIPE: all processes have ended, or
 * none could be started. */
int mirror_ask_number(Mirror *mirror, uint64_t node);
/* Where that is not possible: looks up the file @path below the mount point, "" for that itself,
 * and has the kernel ask for its attributes. Its descriptor (O_PATH); -ENOENT: it is not there, or
 * is another one than @ino, if that is not 0; -EPIPE. */
int mirror_open(Mirror *mirror, const char *path, ino_t ino);
/* Has the kernel ask for the attributes of what mirror_open() gave. 0, -EPIPE. */
int mirror_ask(Mirror *mirror, int fd);
/* Has the kernel send some request, even if all processes have ended: a thread that waits for one
 * returns. */
void mirror_touch(Mirror *mirror);

/* Whether the kernel's word for who sends a request, @id, means one of them. 0 does not: it stands
 * for all whose PID namespace is not below ours. */
bool mirror_is(const Mirror *mirror, pid_t id);

#endif
