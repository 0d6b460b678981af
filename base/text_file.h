/* SPDX-License-Identifier: MIT */
/* Small text files, whole in memory. What is in them may be secret: it is wiped. */
#ifndef DODO_BASE_TEXT_FILE_H
#define DODO_BASE_TEXT_FILE_H

#include <stddef.h>

typedef struct TextFile {
    char *bytes;
    size_t len;
} TextFile;

/* Whether the open file is to be read: 0, or -errno with @error. */
typedef int (*TextFileCheck)(const char *path, int fd, char *error, size_t error_cap);

/* All of it, at most LINES_FILE_MAX bytes. @check may be NULL. Nothing is waited for: a pipe is
 * refused. So is a @path that is no name, but a secret: no error repeats it. 0; -errno; -EFBIG;
 * @error says what to do. Zero @ret first, and wipe it in any case. */
int text_file_read(const char *path, TextFileCheck check, TextFile *ret, char *error,
                   size_t error_cap);
void text_file_wipe(TextFile *t);

/* A check: a regular file. */
int text_file_regular(const char *path, int fd, char *error, size_t error_cap);
/* A check of a secret: a regular file of root's or this user's, which no others can use and its
 * group cannot change. */
int text_file_private(const char *path, int fd, char *error, size_t error_cap);

/* @error gets the text of -@r. Returns @r. */
int text_file_fail(const char *path, int r, char *error, size_t error_cap);

#endif
