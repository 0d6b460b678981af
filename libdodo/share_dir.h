/* SPDX-License-Identifier: MIT */
/* The directory of the files by which processes of this user on this host share regions, while they
 * run. The files are made and removed with each opening, and a disk that is busy makes that slow.
 * So it is in memory where there is such a place: $XDG_RUNTIME_DIR/dodo/shared, or that of
 * /run/user/UID, or /dev/shm/dodo-UID/shared; else it is in the directory of state_dir.h. The first
 * that can be made and is this user's alone. A set-user-ID program does not follow its caller's
 * environment. One thread at a time. */
#ifndef DODO_LIBDODO_SHARE_DIR_H
#define DODO_LIBDODO_SHARE_DIR_H

#include <stddef.h>

/* A descriptor of it, which is made where it is missing; the caller closes it. -errno: there is
 * none. */
int share_dir_open(void);
/* The one beside it, of the pages of programs (program_page.h), and its path; never that of
 * state_dir.h: a disk has no use for them. */
int share_dir_programs(char *ret_path, size_t cap);

#endif
