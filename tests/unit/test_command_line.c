/* SPDX-License-Identifier: MIT */
/* The examples' command lines: which end the program, with what status, and what they say. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examples/command_line.h"
#include "tests/lib/case.h"

enum { ENDS = 1, GOES_ON = 0 };

typedef struct Taken {
    const char *text;
    uint64_t size, time_ns, count;
    uint32_t count32, beside; /* @beside: nothing is written behind @count32 */
    bool flag;
    char other[32];
} Taken;

static int parse_other(void *options, const char *arg)
{
    Taken *t = options;
    (void)snprintf(t->other, sizeof t->other, "%s", arg);
    return strcmp(arg, "bad") == 0 ? -1 : 0;
}

static const char *find_fault(const void *options, char *text)
{
    const Taken *t = options;
    if (!t->flag || t->size == 0)
        return NULL;
    (void)snprintf(text, COMMAND_LINE_FAULT_MAX, "--flag goes with no size of %d", (int)t->size);
    return text;
}

static const CommandOption options[] = {
    {"text", OPTION_TEXT, offsetof(Taken, text)},
    {"size", OPTION_SIZE, offsetof(Taken, size)},
    {"time", OPTION_TIME, offsetof(Taken, time_ns)},
    {"count", OPTION_COUNT, offsetof(Taken, count), 2, 9},
    {"count32", OPTION_COUNT32, offsetof(Taken, count32), 2, UINT32_MAX},
    {"flag", OPTION_FLAG, offsetof(Taken, flag)},
    {"other", OPTION_OTHER, .parse = parse_other},
    {NULL},
};
static const CommandLine line = {.program = "program",
                                 .version = "program 7",
                                 .help = "Usage: program\n",
                                 .options = options,
                                 .find_fault = find_fault};

static Taken taken;
static char said[512]; /* on standard output, then on standard error */

/* Parses "program @a @b" (NULL: none). The status, or -1 when the program goes on. */
static int parse(const char *a, const char *b)
{
    char *argv[] = {(char *)(uintptr_t) "program", (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                    NULL};
    int argc = a ? b ? 3 : 2 : 1, status = -1, ends[2], saved[2] = {dup(1), dup(2)};
    taken = (Taken){.beside = 0};
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
    assert_int_equal(parse("--size=5M", "--other=word"), -1);
    assert_int_equal(taken.size, 5 << 20);
    assert_string_equal(taken.other, "word");
    assert_false(taken.flag);
    assert_int_equal(parse("--flag", "--text=words of mine"), -1);
    assert_true(taken.flag);
    assert_string_equal(taken.text, "words of mine");
    assert_int_equal(parse("--time=5ms", "--count=9"), -1);
    assert_int_equal(taken.time_ns, 5000000);
    assert_int_equal(taken.count, 9);
    assert_int_equal(parse("--count32=4294967295", NULL), -1);
    assert_int_equal(taken.count32, UINT32_MAX);
    assert_int_equal(taken.beside, 0);
    assert_string_equal(said, "");
    assert_int_equal(parse(NULL, NULL), -1);
}

TEST(line__a_value_is_in_its_range)
{
    static char bad[][32] = {"--size=-1",  "--time=soon",          "--count=1",
                             "--count=10", "--count32=4294967296", "--count32=1",
                             "--other=bad"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(parse(bad[i], NULL), 2);
    assert_int_equal(taken.count32, 0);
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
    assert_int_equal(parse("--flag", "--size=7"), 2);
    assert_string_equal(said, "program: --flag goes with no size of 7; program --help says more\n");
    assert_int_equal(parse("--bogus", NULL), 2);
    assert_string_equal(said, "program: --bogus is not understood; program --help says more\n");
    assert_int_equal(parse("--flag", "-x"), 2);
    assert_string_equal(said, "program: -x is not understood; program --help says more\n");
    assert_int_equal(parse("--flag=yes", NULL), 2);
    assert_string_equal(said, "program: --flag=yes is not understood; program --help says more\n");
    assert_int_equal(parse("--flag", "--size"), 2);
    assert_string_equal(said, "program: --size needs a value; program --help says more\n");
    assert_int_equal(parse("--size=\x1b[31m", NULL), 2);
    assert_string_equal(said, "program: --size does not take '?[31m'; program --help says more\n");
}
