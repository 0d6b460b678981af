/* SPDX-License-Identifier: MIT */
/* The programs that use Dodo on this host, by the pages that they keep (libdodo/program_page.h). */
#ifndef DODO_TOOLS_PROGRAMS_H
#define DODO_TOOLS_PROGRAMS_H

#include <glib.h>

#include "libdodo/program_page.h"

typedef struct ProgramSeen {
    Program program;
    uint32_t uid; /* whose file it is */
} ProgramSeen;

/* This user's, root's of all users. Removes what this user's programs have left. Appends
 * ProgramSeen. */
void programs_look(GArray *seen);

#endif
