/* SPDX-License-Identifier: MIT */
/* See command_line.h. */
#include "examples/command_line.h"

#include <stdio.h>

static int complain(const CommandLine *line, const char *what, int *ret_status)
{
    fprintf(stderr, "%s: %s; %s --help says more\n", line->program, what, line->program);
    *ret_status = 2;
    return 1;
}

int command_line_parse(const CommandLine *line, void *ctx, int argc, char **argv, int *ret_status)
{
    char text[COMMAND_LINE_FAULT_MAX];
    int option, index = 0;
    while ((option = getopt_long(argc, argv, "", line->options, &index)) != -1) {
        if (option == COMMAND_LINE_HELP || option == COMMAND_LINE_VERSION) {
            if (option == COMMAND_LINE_HELP)
                fputs(line->help, stdout);
            else
                puts(line->version);
            return *ret_status = 0, 1;
        }
        if (option == '?')
            return *ret_status = 2, 1; /* getopt has said why */
        if (line->take(ctx, option, optarg) < 0) {
            snprintf(text, sizeof text, "--%s does not take '%s'", line->options[index].name,
                     optarg);
            return complain(line, text, ret_status);
        }
    }
    const char *fault = optind < argc ? "only options are taken" : line->find_fault(ctx, text);
    return fault ? complain(line, fault, ret_status) : 0;
}
