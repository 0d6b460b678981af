/* SPDX-License-Identifier: MIT */
/* What the programs' command lines have in common: long options alone, --help and --version, one
 * form of complaint. What the options mean is each program's own. */
#ifndef DODO_EXAMPLES_COMMAND_LINE_H
#define DODO_EXAMPLES_COMMAND_LINE_H

#include <getopt.h>
#include <stddef.h>

enum {
    COMMAND_LINE_HELP = 1, /* what take() never sees; a program's own options are above */
    COMMAND_LINE_VERSION,
    COMMAND_LINE_OWN = 256,
    COMMAND_LINE_FAULT_MAX = 256,
};

/* The last rows of every program's options. */
#define COMMAND_LINE_COMMON                                   \
    {"help", no_argument, NULL, COMMAND_LINE_HELP},           \
        {"version", no_argument, NULL, COMMAND_LINE_VERSION}, \
    {                                                         \
        NULL, 0, NULL, 0                                      \
    }

typedef struct CommandLine {
    const char *program; /* as it is called, in front of what is complained of */
    const char *version; /* what --version says */
    const char *help;    /* what --help says, with its last newline */
    const struct option *options;
    /* One option with its argument, NULL if it takes none: 0, or < 0 when that is no good. */
    int (*take)(void *ctx, int option, const char *arg);
    /* What is wrong with the options as a whole: a constant, or written to @text of
     * COMMAND_LINE_FAULT_MAX bytes; NULL: nothing. */
    const char *(*find_fault)(void *ctx, char *text);
} CommandLine;

/* 0: go on; else the program ends with *ret_status (--help, --version, a bad command line). */
int command_line_parse(const CommandLine *line, void *ctx, int argc, char **argv, int *ret_status);

#endif
