/* SPDX-License-Identifier: MIT */
/* What the manager's web page shows, as JSON, a bounded piece at a time. Pure. */
#ifndef DODO_CMD_WEB_H
#define DODO_CMD_WEB_H

#include "cmd/core.h"

enum {
    WEB_HOSTS_MAX = 500,    /* in an answer */
    WEB_CLIENTS_MAX = 1000, /* where there are more, none is listed */
    WEB_EVENTS_MAX = 256,   /* in an answer */
    WEB_ROOM = 768 << 10,   /* what any answer has room in */
};

/* The cluster, and its hosts from @cursor on: 0, then what "next" says, until that is "0". Programs
 * are listed with the first hosts. The length; 0: no room. */
size_t web_status(const Manager *m, uint64_t cursor, char *buf, size_t cap);
/* The events after number @after. */
size_t web_events(const Manager *m, uint64_t after, char *buf, size_t cap);

#endif
