/* SPDX-License-Identifier: MIT */
/* The files of the programs that run (program_page.h): $XDG_RUNTIME_DIR/dodo/programs, or that of
 * /run/user/UID, or /dev/shm/dodo-UID/programs. A program holds a lock on its file as long as it
 * has it mapped; the kernel drops it when the program ends, however it does. So a file that is not
 * locked is of none that runs, whatever its name says, also of another namespace of processes. */
#ifndef DODO_LIBDODO_PROGRAM_DIR_H
#define DODO_LIBDODO_PROGRAM_DIR_H

#include <stdbool.h>

enum { PROGRAM_FILES_MAX = 1024 }; /* that are looked at, of one user */

/* The file's program runs. */
bool program_lives(int fd);
/* It is this program's, from now on. False: it is somebody's, or being removed. */
bool program_lock(int fd);
/* Names that files of programs may have; others are left alone. */
bool program_name_fits(const char *name);
/* Removes the files of programs that have ended. The directory is this user's. */
void program_dir_sweep(int dir);

#endif
