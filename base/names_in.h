/* SPDX-License-Identifier: MIT */
/* The names in a directory. */
#ifndef DODO_BASE_NAMES_IN_H
#define DODO_BASE_NAMES_IN_H

/* Calls @look for each name in @dir that begins with no dot, of @most names at most, in any order.
 * @look may remove it. A directory that cannot be read has none. @dir stays open. */
void names_in(int dir, unsigned most, void (*look)(void *ctx, int dir, const char *name),
              void *ctx);

#endif
