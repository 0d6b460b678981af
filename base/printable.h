/* SPDX-License-Identifier: MIT */
/* Texts of others, for people's terminals: names of files, lines of them, words of a command line.
 * Pure. */
#ifndef DODO_BASE_PRINTABLE_H
#define DODO_BASE_PRINTABLE_H

#include <stddef.h>

/* How many bytes the character of UTF-8 at @text has; 0: there is none, or one that steers a
 * terminal, or changes the order in which the text is shown. */
size_t printable_character(const char *text);
/* What steers a terminal (control characters, a newline too), what changes the direction of the
 * text, and what is not UTF-8, becomes '?', byte by byte. Returns @text. */
char *printable(char *text);
/* As much of @text as there is room for, printable; "..." at its end says that there is more.
 * @cap: at least 4. Returns @buf. */
char *printable_short(const char *text, char *buf, size_t cap);
/* The same for the name of a file, of which the end says most: "..." stands in front of it. */
char *printable_path(const char *path, char *buf, size_t cap);

#endif
