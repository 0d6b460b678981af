/* SPDX-License-Identifier: MIT */
/* What dodo clients shows of the programs that it has seen. Pure. */
#ifndef DODO_TOOLS_PROGRAMS_TEXT_H
#define DODO_TOOLS_PROGRAMS_TEXT_H

#include "tools/programs.h"

/* Those that run longest first. */
void programs_sort(GArray *seen);
/* Who has that number; on the heap. */
typedef char *ProgramUserFn(uint32_t uid);
/* Appends: a table for people, with their users if @user, or a JSON object. @now_ns: of the clock
 * of Program.started_ns. */
void programs_table(const GArray *seen, uint64_t now_ns, ProgramUserFn *user, GString *out);
void programs_json(const GArray *seen, uint64_t now_ns, ProgramUserFn *user, GString *out);

#endif
