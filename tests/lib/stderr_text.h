/* SPDX-License-Identifier: MIT */
/* What the code under test writes to standard error, from stderr_catch() to stderr_lines(). */
#ifndef DODO_TESTS_LIB_STDERR_TEXT_H
#define DODO_TESTS_LIB_STDERR_TEXT_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/case.h"

typedef struct StderrText {
    FILE *to;
    int was;
} StderrText;

static inline StderrText stderr_catch(void)
{
    StderrText s = {.to = tmpfile(), .was = dup(STDERR_FILENO)};
    assert_true(s.to && s.was >= 0 && dup2(fileno(s.to), STDERR_FILENO) >= 0);
    return s;
}

/* Ends it: the lines with @word, "" for all. *ret_all: how many there are. */
static inline unsigned stderr_lines_of(StderrText *s, const char *word, unsigned *ret_all)
{
    char line[4096];
    unsigned count = 0;
    (void)fflush(stderr);
    assert_true(dup2(s->was, STDERR_FILENO) >= 0);
    (void)close(s->was);
    rewind(s->to);
    for (*ret_all = 0; fgets(line, sizeof line, s->to); ++*ret_all)
        count += strstr(line, word) != NULL;
    (void)fclose(s->to);
    return count;
}

static inline unsigned stderr_lines(StderrText *s, const char *word)
{
    unsigned all;
    return stderr_lines_of(s, word, &all);
}

#endif
