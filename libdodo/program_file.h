/* SPDX-License-Identifier: MIT */
/* This process's page (program_page.h), in a file that others of its user can read. A process that
 * can have none, for want of a directory, of memory or of permission, goes on without. The child of
 * a fork has none until it uses the libraries itself. */
#ifndef DODO_LIBDODO_PROGRAM_FILE_H
#define DODO_LIBDODO_PROGRAM_FILE_H

#include "dodo/dodo.h"
#include "libdodo/program_page.h"

/* A part of the page, which is made if need be; it stays as long as the process. NULL: there is
 * none, and will be none. Any thread. */
ProgramPart *program_part(enum ProgramPartOf which);
/* The cache's, for libmanage of the same build. */
DODO_API struct ProgramPart *dodo_private_program(void);

/* For fork: nothing is being made in between. */
void program_lock_all(void);
void program_unlock_all(void);
/* In the child. */
void program_abandon(void);

#endif
