/* SPDX-License-Identifier: MIT */
/* Subcommands that are programs of their own, with libraries that the others do without. */
#ifndef DODO_TOOLS_EXTERNAL_H
#define DODO_TOOLS_EXTERNAL_H

#include <stddef.h>

typedef struct External {
    const char *name;
    const char *summary;
    const char *package; /* that has it in Debian */
    const char *entry;   /* for beside_load(); NULL: it is for beside_run() */
    const char *places[4];
} External;

extern const External externals[];
extern const size_t externals_count;

#endif
