/* SPDX-License-Identifier: MIT */
/* Files in a part of the state directory (state_dir.h). Each is replaced as a whole: who reads it
 * finds all of one writing, or nothing. They are hints from one program to the next: nothing is
 * synced to disk, and no error is reported. Any thread. */
#ifndef DODO_LIBDODO_STATE_FILE_H
#define DODO_LIBDODO_STATE_FILE_H

#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* 0; -1: there is none of that content now. An earlier one stays. */
int state_file_save(int dir, const char *name, const void *bytes, size_t len);
/* Into @bytes. How many those are; 0: there is no such file, or it has more than @cap. */
ssize_t state_file_load(int dir, const char *name, void *bytes, size_t cap);
/* Removes the files of @part that were written before @before. How many are left. */
unsigned state_files_sweep(const char *part, time_t before);

#endif
