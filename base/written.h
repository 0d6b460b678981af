/* SPDX-License-Identifier: MIT */
/* The end of programs that print results. */
#ifndef DODO_BASE_WRITTEN_H
#define DODO_BASE_WRITTEN_H

/* What was printed has to be on its way: a full disk must not look like a short answer. @status; or
 * EXIT_FAILURE instead of EXIT_SUCCESS, with a line on stderr that names the @program, if it is
 * not.
 */
int written_check(const char *program, int status);

#endif
