/* SPDX-License-Identifier: MIT */
/* As daemon/program.h, for a program without libraries. */
#ifndef DODO_TOOLS_BESIDE_H
#define DODO_TOOLS_BESIDE_H

#include <limits.h>

/* Each takes the first of @places that there is; they are absolute, or relative to the directory of
 * this program; NULL at the end. They return, with errno, if none can be run: @path is the last of
 * them. */

/* Becomes that program. */
void beside_run(const char *const *places, char **argv, char path[PATH_MAX]);
/* Ends as its function @entry does, which is the main() of a program that is made to be loaded: for
 * those that may be short, as to become a program takes longer. */
void beside_load(const char *const *places, const char *entry, char **argv, char path[PATH_MAX]);

#endif
