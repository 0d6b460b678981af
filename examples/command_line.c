/* SPDX-License-Identifier: MIT */
/* See command_line.h. */
#include "examples/command_line.h"

#include <assert.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/parse.h"
#include "base/printable.h"
#include "base/written.h"

/* What getopt_long() returns: these, or OWN and the place in the program's table. */
enum { HELP = 1, VERSION, OWN = 256 };
enum { SHOWN_MAX = 128 }; /* of a word that is no good */

static int complain(const CommandLine *line, const char *what, int *ret_status)
{
    fprintf(stderr, "%s: %s; %s --help says more\n", line->program, what, line->program);
    *ret_status = 2;
    return 1;
}

/* The table as getopt_long() wants it. */
static void list_options(const CommandOption *all, struct option *ret)
{
    unsigned n = 0;
    for (; all[n].name; n++) {
        assert(n < COMMAND_LINE_OPTIONS_MAX);
        int takes = all[n].kind == OPTION_FLAG ? no_argument : required_argument;
        ret[n] = (struct option){all[n].name, takes, NULL, OWN + (int)n};
    }
    ret[n++] = (struct option){"help", no_argument, NULL, HELP};
    ret[n++] = (struct option){"version", no_argument, NULL, VERSION};
    ret[n] = (struct option){NULL, 0, NULL, 0};
}

static int take_count32(const CommandOption *o, const char *arg, uint32_t *ret)
{
    uint64_t count;
    int r = parse_u64(arg, o->min, o->max, &count);
    if (r == 0)
        *ret = (uint32_t)count;
    return r;
}

static int take(const CommandOption *o, void *options, const char *arg)
{
    void *field = (char *)options + o->at;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)field = arg;
        return 0;
    case OPTION_SIZE:
        return parse_size(arg, field);
    case OPTION_TIME:
        return parse_time(arg, field);
    case OPTION_COUNT:
        return parse_u64(arg, o->min, o->max, field);
    case OPTION_COUNT32:
        return take_count32(o, arg, field);
    case OPTION_OTHER:
    default:
        return o->parse(options, arg);
    }
}

int command_line_parse(const CommandLine *line, void *options, int argc, char **argv,
                       int *ret_status)
{
    struct option known[COMMAND_LINE_OPTIONS_MAX + 3];
    char text[COMMAND_LINE_FAULT_MAX], shown[SHOWN_MAX];
    list_options(line->options, known);
    opterr = 0; /* its words would name the program by its path */
    for (;;) {
        const char *word = argv[optind > 0 ? optind : 1];
        const int option = getopt_long(argc, argv, "+:", known, NULL);
        if (option == -1)
            break;
        if (option == HELP || option == VERSION) {
            if (option == HELP)
                fputs(line->help, stdout);
            else
                puts(line->version);
            return *ret_status = written_check(line->program, 0), 1;
        }
        if (option == '?' || option == ':') {
            snprintf(text, sizeof text, "%s %s", printable_short(word, shown, sizeof shown),
                     option == ':' ? "needs a value" : "is not understood");
            return complain(line, text, ret_status);
        }
        const CommandOption *o = &line->options[option - OWN];
        if (take(o, options, optarg) < 0) {
            snprintf(text, sizeof text, "--%s does not take '%s'", o->name,
                     printable_short(optarg, shown, sizeof shown));
            return complain(line, text, ret_status);
        }
    }
    const char *fault = optind < argc ? "only options are taken" : line->find_fault(options, text);
    return fault ? complain(line, fault, ret_status) : 0;
}
