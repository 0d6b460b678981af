/* SPDX-License-Identifier: MIT */
/* What the programs' command lines have in common: a table of long options, --help and --version,
 * one form of complaint. */
#ifndef DODO_EXAMPLES_COMMAND_LINE_H
#define DODO_EXAMPLES_COMMAND_LINE_H

#include <stddef.h>
#include <stdint.h>

enum { COMMAND_LINE_FAULT_MAX = 256, COMMAND_LINE_OPTIONS_MAX = 32 };

/* What an option takes, and the type of the field that has it. */
typedef enum OptionKind {
    OPTION_FLAG,    /* nothing; bool: is set */
    OPTION_TEXT,    /* const char *: the argument itself */
    OPTION_SIZE,    /* uint64_t [bytes], see parse_size() */
    OPTION_TIME,    /* uint64_t [ns], see parse_time() */
    OPTION_COUNT,   /* uint64_t, from @min to @max */
    OPTION_COUNT32, /* uint32_t, likewise */
    OPTION_OTHER,   /* what @parse makes of it */
} OptionKind;

typedef struct CommandOption {
    const char *name; /* without the dashes */
    OptionKind kind;
    size_t at; /* of the field in the program's options */
    uint64_t min, max;
    int (*parse)(void *options, const char *arg); /* 0, or < 0 when that is no good */
} CommandOption;

typedef struct CommandLine {
    const char *program;          /* as it is called, in front of what is complained of */
    const char *version;          /* what --version says */
    const char *help;             /* what --help says, with its last newline */
    const CommandOption *options; /* up to one without a name; COMMAND_LINE_OPTIONS_MAX at most */
    /* What is wrong with the options as a whole: a constant, or written to @text of
     * COMMAND_LINE_FAULT_MAX bytes; NULL: nothing. */
    const char *(*find_fault)(const void *options, char *text);
} CommandLine;

/* @options has the defaults. 0: go on; else the program ends with *ret_status (--help, --version, a
 * bad command line). */
int command_line_parse(const CommandLine *line, void *options, int argc, char **argv,
                       int *ret_status);

#endif
