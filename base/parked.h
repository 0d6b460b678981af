/* SPDX-License-Identifier: MIT */
/* Descriptions of files that a library has done with, kept open. Closing any descriptor of a file
 * drops all POSIX record locks (F_SETLK) that the process has on it, the program's too, and nothing
 * else takes a descriptor away. So a description is parked instead, and taken again when the file
 * is opened next. Closed are those of files without such a lock: of files that have no name any
 * more at once, of the others the first when many are parked. All calls from any thread. */
#ifndef DODO_BASE_PARKED_H
#define DODO_BASE_PARKED_H

#include <stdbool.h>
#include <sys/stat.h>

/* As many stay parked although they could be closed, and no more than one in PARKED_SHARE of the
 * descriptors that the process may have (RLIMIT_NOFILE). Those that are locked come on top: the
 * program has a descriptor of its own of each such file. */
enum { PARKED_MAX = 256, PARKED_SHARE = 8 };

/* Gives up @fd. @shared: it is of the program's description; nobody takes it again, and it is
 * closed at once if no lock is in the way. */
void parked_give(int fd, bool shared);

/* A parked descriptor of the file, opened with just these @flags (mode, O_SYNC, O_DSYNC), as good
 * as a new one: it reports no error of writing back that came before. -1: there is none. */
int parked_take(const struct stat *st, int flags);

/* Closes all whose files have no POSIX lock of this process. How many. */
unsigned parked_close_unlocked(void);

/* For fork: nothing changes meanwhile; in the child, locked: all are closed, for its parent's
 * descriptions are of no use to it, and it has no locks. */
void parked_lock_all(void);
void parked_unlock_all(void);
void parked_abandon_all(void);

#endif
