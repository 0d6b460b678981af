/* SPDX-License-Identifier: MIT */
/* When the manager's log has a line: who came and went, and what became of the directories. Pure.
 */
#ifndef DODO_CMD_JOURNAL_H
#define DODO_CMD_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/core.h"

enum { JOURNAL_EVENTS_MAX = 100 }; /* named in a while, see journal.c */

typedef struct Journal {
    ManagerStats reported;
    uint64_t report_ns; /* no report before */
    bool pending;       /* there is something to report then */
    unsigned events;    /* in this while */
    uint64_t events_until_ns;
} Journal;

/* Whether an event is named. Programs may come and go by the thousand: in a while only so many are.
 * @ret_unnamed: how many were not in the last while, to be said before; mostly 0. */
bool journal_event(Journal *j, uint64_t now_ns, unsigned *ret_unnamed);
/* Whether the directories are reported, as they are in @s now: what changed, once a second at
 * most. */
bool journal_report(Journal *j, const ManagerStats *s, uint64_t now_ns);
uint64_t journal_deadline(const Journal *j);

#endif
