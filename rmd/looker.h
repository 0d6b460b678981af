/* SPDX-License-Identifier: MIT */
/* The thread that looks at the host once a poll. What it asks may hang (a bus, an X server), so it
 * is a thread of its own, and its silence counts as "not known". */
#ifndef DODO_RMD_LOOKER_H
#define DODO_RMD_LOOKER_H

#include "daemon/mailbox.h"
#include "rmd/input_helper.h"
#include "rmd/monitor.h"
#include "rmd/options.h"
#include "rmd/sources.h"

/* What one look found. */
typedef struct Observation {
    Letter letter;    /* first; g_free() it */
    uint64_t real_ns; /* CLOCK_REALTIME when it was taken */
    Look look;        /* its console_source is of sources */
    SourcesReport sources;
    double load_average;           /* of all; NAN: not known */
    double imd_share, saver_share; /* of it */
    const char *container; /* how it is known that rmd runs in one; of the looker; or NULL */
} Observation;

typedef struct Looker Looker;

/* Both are borrowed; @input: who watches input devices, NULL: nobody. NULL: no memory. */
Looker *looker_new(const RmdOptions *options, InputHelper *input);
/* Looks now, in the calling thread; not while the thread runs. NULL: no memory. */
Observation *looker_look(Looker *l);
/* Logs that rmd runs in a container, if it does: it sees no owner there by itself. */
void looker_warn(const Looker *l);
/* From now on a thread does, and posts what it finds to @mailbox. 0, or -errno. */
int looker_start(Looker *l, Mailbox *mailbox);
/* Whose share of the load is imd's; 0: there is none. */
void looker_set_imd(Looker *l, int pid);
/* Ends the thread. -ETIMEDOUT: it hangs, and @l must stay as it is. */
int looker_stop(Looker *l);
Looker *looker_free(Looker *l); /* NULL is fine; returns NULL */

#endif
