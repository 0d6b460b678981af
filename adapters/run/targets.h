/* SPDX-License-Identifier: MIT */
/* Which directories a program is to see through the cache. */
#ifndef DODO_ADAPTERS_RUN_TARGETS_H
#define DODO_ADAPTERS_RUN_TARGETS_H

#include <glib.h>
#include <stdint.h>

/* Directories given (@given, or NULL), or else those of the large files and the directories that
 * @arguments name, or else the working directory. Absolute, without symbolic links, and none inside
 * another. On error NULL, with @error (of @cap bytes). */
GPtrArray *targets_choose(char **given, char **arguments, uint64_t min_bytes, char *error,
                          size_t cap);

#endif
