/* SPDX-License-Identifier: MIT */
/* The directory in which the library keeps files of this user from one program to the next:
 * $XDG_STATE_HOME/dodo, or ~/.local/state/dodo. The library trusts what is there, so the directory
 * belongs to the effective user, and nobody else may write to it. A set-user-ID program does not
 * follow its caller's environment. Any thread. */
#ifndef DODO_LIBDODO_STATE_DIR_H
#define DODO_LIBDODO_STATE_DIR_H

/* A descriptor of the directory, or of its @part (NULL: itself), which is made with mode 0700 where
 * it is missing; the caller closes it. -errno: no home is known (ENOENT), or the directory is not
 * this user's alone (EPERM), or the system call's; EACCES also where nobody can make it. */
int state_dir_open(const char *part);

/* The same for the directory @name in @parent. */
int state_dir_own(int parent, const char *name);
/* 0: @dir is this user's alone; -EPERM, or why that is not known. */
int state_dir_judge(int dir);

#endif
