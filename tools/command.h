/* SPDX-License-Identifier: MIT */
/* The dodo command's subcommands: one file each, and one line in the table of main.c. */
#ifndef DODO_TOOLS_COMMAND_H
#define DODO_TOOLS_COMMAND_H

typedef struct Command {
    const char *name;
    const char *summary;
    /* As a main(): argv[0] is the subcommand's name. Returns the exit status. */
    int (*run)(int argc, char **argv);
} Command;

extern const Command command_status;
extern const Command command_check;
extern const Command command_config;
extern const Command command_join;
extern const Command command_owner;
extern const Command command_rekey;
extern const Command command_top;
extern const Command command_events;
extern const Command command_clients;
extern const Command command_explain;
extern const Command command_ping;
extern const Command command_keygen;
extern const Command command_bench;
extern const Command command_survey;
extern const Command command_drain;
extern const Command command_regions;

#endif
