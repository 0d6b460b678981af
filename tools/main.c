/* SPDX-License-Identifier: MIT */
/* dodo-tools: finds the subcommand and runs it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/printable.h"
#include "base/written.h"
#include "daemon/log.h"
#include "daemon/start.h"
#include "tools/command.h"
#include "tools/external.h"

static const Command *const commands[] = {
    &command_status, &command_top,     &command_clients, &command_regions,
    &command_events, &command_drain,   &command_check,   &command_config,
    &command_join,   &command_explain, &command_owner,   &command_ping,
    &command_keygen, &command_rekey,   &command_bench,   &command_survey,
};

static void print_help(FILE *to)
{
    (void)fputs("Usage:\n  dodo COMMAND [OPTION...]\n\nCommands:\n", to);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        (void)fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    for (size_t i = 0; i < externals_count; i++)
        (void)fprintf(to, "  %-10s %s\n", externals[i].name, externals[i].summary);
    (void)fputs("\nOptions:\n"
                "  --version  Print the version and exit\n"
                "  --help     Print this and exit; after a command: its options\n",
                to);
}

static int run(const Command *c, int argc, char **argv)
{
    char name[32];
    (void)snprintf(name, sizeof name, "dodo %s", c->name);
    return written_check(name, c->run(argc, argv));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    os_keep_standard();
    start_ignore_full_files();
    log_init("dodo", LOG_LEVEL_WARN);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return run(commands[i], argc - 1, argv + 1);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help(stdout);
        return written_check("dodo", EXIT_SUCCESS);
    }
    if (strcmp(name, "--version") == 0) {
        printf("dodo %s\n", DODO_VERSION);
        return written_check("dodo", EXIT_SUCCESS);
    }
    char shown[64];
    if (argc > 1)
        (void)fprintf(stderr, "dodo: unknown command \"%s\" (see dodo --help)\n",
                      printable_short(name, shown, sizeof shown));
    else
        print_help(stderr);
    return EXIT_USAGE;
}
