/* SPDX-License-Identifier: MIT */
/* Texts that people write, line by line: without the spaces around a line, empty ones and comments,
 * and without the mark that some editors put in front of UTF-8. Pure. */
#ifndef DODO_BASE_LINES_H
#define DODO_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* So much of the end of a long name stands in an error, with what to do behind it. */
enum { LINES_FILE_MAX = 65536, LINES_LINE_MAX = 5120, LINES_NAME_MAX = 200 };

/* @line is the line now, trimmed, terminated. */
typedef struct Lines {
    const char *name; /* of the text; borrowed, as the text is */
    const char *at, *end;
    unsigned number; /* of the line, from 1 */
    char line[LINES_LINE_MAX];
} Lines;

void lines_begin(Lines *l, const char *name, const char *text, size_t len);
/* The next line that says something, neither empty nor a comment ("#"): 1; 0 at the end; -EINVAL
 * with @error. */
int lines_next(Lines *l, char *error, size_t error_cap);
/* @error gets "NAME:LINE: MESSAGE". Returns @r. */
int lines_fail(const Lines *l, int r, const char *message, char *error, size_t error_cap);

bool lines_is_space(char c);
/* Trims [*start, *end) at both ends. */
void lines_trim(const char **start, const char **end);

#endif
