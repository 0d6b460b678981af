/* SPDX-License-Identifier: MIT */
/* What imd gives up once it has opened all that it needs: it takes datagrams from the network, and
 * whoever takes it over by one of them must find nothing to use. Everything given up stays given
 * up. What the kernel or the build cannot do is left out and reported in @ret_missing. */
#ifndef DODO_IMD_SANDBOX_H
#define DODO_IMD_SANDBOX_H

#include <stddef.h>

enum { SANDBOX_TEXT_MAX = 256 };

/* Before the first thread is started: a filter holds for the calling thread and those that it
 * starts. Supplementary groups go where we may drop them; new privileges, files and all system
 * calls that imd does not use go always. @ret_missing: words such as "landlock(...)", with blanks
 * between; empty when nothing is missing. */
void sandbox_enter(char *ret_missing, size_t cap);

#endif
