/* SPDX-License-Identifier: MIT */
/* Whether a region may stay in remote memory for the next run. Not for shells. */
#ifndef DODO_LIBDODO_RETAIN_H
#define DODO_LIBDODO_RETAIN_H

#include "libdodo/region.h"

/* At opening: leaves @given retainable only if nobody can be writing its file. */
void retain_judge(Client *c, FileGiven *given, unsigned flags);
/* Only what was never written in this opening. */
bool retain_may_release(const Region *r);
/* ... and only if its file is unchanged since the opening, nobody writes it, and each later change
 * will change its stamp. */
bool retain_is_fresh(Client *c, const Region *r, const FileResult *result);
/* The same of a region that is shared; nothing is logged. */
bool retain_is_proven(const Region *r, const FileResult *result);

#endif
