/* SPDX-License-Identifier: MIT */
/* Where another of our programs is: built or installed with this one, which may have been moved as
 * a whole, or at the path that it is installed at. */
#ifndef DODO_DAEMON_PROGRAM_H
#define DODO_DAEMON_PROGRAM_H

/* The directory of this program. On the heap. */
char *program_directory(void);
/* The first of @places that is a program; the last where none is: it says what to install. They
 * are absolute, or relative to the directory of this program; NULL at the end. On the heap. */
char *program_find(const char *const *places);
/* The same, relative to @dir, which is absolute. */
char *program_find_from(const char *dir, const char *const *places);

#endif
