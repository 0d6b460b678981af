/* SPDX-License-Identifier: MIT */
/* Subcommands that are programs of their own, with libraries that the others do without. */
#ifndef DODO_TOOLS_EXTERNAL_H
#define DODO_TOOLS_EXTERNAL_H

#include <stddef.h>

typedef struct External {
    const char *name;
    const char *summary;
    const char *package; /* that has it in Debian */
} External;

extern const External externals[];
extern const size_t externals_count;

/* Becomes the program that @argv[0], one of their names, stands for. Returns the exit status if
 * that cannot be: why is said. */
int external_run(const External *e, char **argv);

#endif
