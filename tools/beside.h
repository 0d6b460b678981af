/* SPDX-License-Identifier: MIT */
/* As daemon/program.h, for a program without libraries. */
#ifndef DODO_TOOLS_BESIDE_H
#define DODO_TOOLS_BESIDE_H

#include <limits.h>

/* Becomes the first of @places that can be run; they are absolute, or relative to the directory of
 * this program; NULL at the end. Returns, with errno, if none can be: @path is the last of them. */
void beside_run(const char *const *places, char **argv, char path[PATH_MAX]);

#endif
