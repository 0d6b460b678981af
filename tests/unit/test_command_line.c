/* SPDX-License-Identifier: MIT */
/* The examples' command lines: which end the program, with what status, and what they say. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examples/command_line.h"
#include "tests/lib/case.h"

enum { OPT_SIZE = COMMAND_LINE_OWN, OPT_FLAG, ENDS = 1, GOES_ON = 0 };

typedef struct Taken {
    char size[32];
    int flags;
} Taken;

static int take(void *ctx, int option, const char *arg)
{
    Taken *t = ctx;
    if (option == OPT_FLAG)
        return t->flags++, 0;
    assert_int_equal(option, OPT_SIZE);
    (void)snprintf(t->size, sizeof t->size, "%s", arg);
    return strcmp(arg, "bad") == 0 ? -1 : 0;
}

static const char *find_fault(void *ctx, char *text)
{
    const Taken *t = ctx;
    if (t->flags < 2)
        return NULL;
    (void)snprintf(text, COMMAND_LINE_FAULT_MAX, "--flag stands here %d times", t->flags);
    return text;
}

static const struct option options[] = {
    {"size", required_argument, NULL, OPT_SIZE},
    {"flag", no_argument, NULL, OPT_FLAG},
    COMMAND_LINE_COMMON,
};
static const CommandLine line = {.program = "program",
                                 .version = "program 7",
                                 .help = "Usage: program\n",
                                 .options = options,
                                 .take = take,
                                 .find_fault = find_fault};

static Taken taken;
static char said[512]; /* on standard output, then on standard error */

/* Parses "program @a @b" (NULL: none). The status, or -1 when the program goes on. */
static int parse(const char *a, const char *b)
{
    char *argv[] = {(char *)(uintptr_t) "program", (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                    NULL};
    int argc = a ? b ? 3 : 2 : 1, status = -1, ends[2], saved[2] = {dup(1), dup(2)};
    taken = (Taken){.flags = 0};
    optind = 0; /* from the start again */
    assert_int_equal(pipe(ends), 0);
    (void)fflush(stdout);
    (void)dup2(ends[1], 1);
    (void)dup2(ends[1], 2);
    int result = command_line_parse(&line, &taken, argc, argv, &status);
    (void)fflush(stdout);
    for (int i = 0; i < 2; i++) {
        (void)dup2(saved[i], i + 1);
        (void)close(saved[i]);
    }
    (void)close(ends[1]);
    ssize_t n = read(ends[0], said, sizeof said - 1);
    (void)close(ends[0]);
    said[n > 0 ? n : 0] = '\0';
    assert_int_equal(result, status < 0 ? GOES_ON : ENDS);
    return status;
}

TEST(line__options_are_taken)
{
    assert_int_equal(parse("--size=5M", "--flag"), -1);
    assert_string_equal(taken.size, "5M");
    assert_int_equal(taken.flags, 1);
    assert_string_equal(said, "");
    assert_int_equal(parse(NULL, NULL), -1);
}

TEST(line__help_and_version_end_well)
{
    assert_int_equal(parse("--help", NULL), 0);
    assert_string_equal(said, "Usage: program\n");
    assert_int_equal(parse("--version", "--size=bad"), 0);
    assert_string_equal(said, "program 7\n");
}

TEST(line__what_is_bad_is_reported)
{
    assert_int_equal(parse("--flag", "--size=bad"), 2);
    assert_string_equal(said, "program: --size does not take 'bad'; program --help says more\n");
    assert_int_equal(parse("--flag", "word"), 2);
    assert_string_equal(said, "program: only options are taken; program --help says more\n");
    assert_int_equal(parse("--flag", "--flag"), 2);
    assert_string_equal(said, "program: --flag stands here 2 times; program --help says more\n");
    assert_int_equal(parse("--bogus", NULL), 2);
    assert_non_null(strstr(said, "bogus")); /* getopt's own words */
}
