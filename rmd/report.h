/* SPDX-License-Identifier: MIT */
/* What rmd knows and thinks, in plain words, for `rmd --explain` and `dodo explain`. */
#ifndef DODO_RMD_REPORT_H
#define DODO_RMD_REPORT_H

#include <glib.h>

#include "rmd/looker.h"
#include "rmd/verdicts.h"

/* How much of it: the owner may know all; others get no names, no count of those who are logged
 * in, and times in steps of an hour. */
enum Detail { DETAIL_FULL, DETAIL_COARSE };

/* Appends what each source and each fact says. @o NULL: nothing has been seen yet. */
void report_observation(GString *text, const Observation *o, enum Detail detail);
/* Appends the conditions, and which decides. */
void report_monitor(GString *text, const Monitor *m, uint64_t now_ns, enum Detail detail);
/* Appends why rules fail, if they do. */
void report_rules(GString *text, const Verdicts *v);

#endif
