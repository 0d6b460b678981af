/* SPDX-License-Identifier: MIT */
/* A secret that somebody wrote where the name of its file belongs: what is said of a file names it,
 * and goes to terminals and logs. Pure. */
#ifndef DODO_BASE_HIDDEN_H
#define DODO_BASE_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it looks like a key or a token, and not like a path: so many hexadecimal digits in a row,
 * even if some of the 64 are missing, and no '/'. */
enum { HIDDEN_DIGITS = 48 };
bool hidden_is(const char *text);
/* As much of @text as there is room for, with "(hidden)" in the place of each such row. Returns
 * @buf. */
char *hidden_copy(const char *text, char *buf, size_t cap);

#endif
