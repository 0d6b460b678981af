/* SPDX-License-Identifier: MIT */
/* Descriptions of files that a library no longer needs, kept open. Closing any descriptor of a file
 * drops all POSIX record locks (F_SETLK) that the process has on it, the program's too, and no
 * other call takes a descriptor away. So a description is parked instead, and taken again when the
 * file is opened next. Only descriptions of files without such a lock are closed: immediately if
 * the file has no name any more, and otherwise the oldest when many are parked. All calls from any
 * thread. */
#ifndef DODO_BASE_PARKED_H
#define DODO_BASE_PARKED_H

#include <stdbool.h>
#include <sys/stat.h>

/* So many stay parked although they could be closed, and no more than one in PARKED_SHARE of the
 * descriptors that the process may have (RLIMIT_NOFILE). Those of locked files come on top: the
 * program has a descriptor of its own of each such file. */
enum { PARKED_MAX = 256, PARKED_SHARE = 8 };

/* Gives up @fd. @shared: it is of the program's description; nobody takes it again, and it is
 * closed as soon as no lock is in the way. */
void parked_give(int fd, bool shared);

/* A parked descriptor of the file, opened with just these @flags (mode, O_SYNC, O_DSYNC), as good
 * as a new one: it reports no error of writing back that came before. -1: there is none. */
int parked_take(const struct stat *st, int flags);

/* Closes all whose files have no POSIX lock of this process. How many. */
unsigned parked_close_unlocked(void);

/* For fork: nothing changes meanwhile. In the child, locked: all are closed, for the parent's
 * descriptions are of no use to the child, and it has no locks. */
void parked_lock_all(void);
void parked_unlock_all(void);
void parked_abandon_all(void);

#endif
