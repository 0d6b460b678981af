/* SPDX-License-Identifier: MIT */
/* The program itself, as a child of `dodo run` or in its place. */
#ifndef DODO_ADAPTERS_RUN_CHILD_H
#define DODO_ADAPTERS_RUN_CHILD_H

/* As env(1) has them: our own failure; the program cannot be run; there is none. As shells have it:
 * a signal ended it, whose number is added. */
enum { EXIT_OURS = 125, EXIT_CANNOT = 126, EXIT_NONE = 127, EXIT_SIGNAL = 128 };

/* This process becomes it, or says why not: the status to exit with. */
int child_become(char **argv);
/* Runs it from the directory @cwd until it ends: its status as waitpid(2) has it, or -1. What is
 * sent to us meanwhile is passed on to it. */
int child_run(char **argv, const char *cwd);
/* Ends as a program with that status did, by its signal; or returns the status to exit with: also
 * where no signal ends us, as the first process of a PID namespace. */
int child_end_like(int status);

#endif
