/* SPDX-License-Identifier: MIT */
/* An event as dodo events shows it. */
#ifndef DODO_TOOLS_EVENT_LINE_H
#define DODO_TOOLS_EVENT_LINE_H

#include <glib.h>

#include "proto/wire.h"

/* A line that ends with a newline, for people, in local time, or an object of JSON, in UTC; the
 * caller's to free. @now_ms: since 1970, when @e had its age. */
char *event_line(const EventEntry *e, gint64 now_ms, bool json);

#endif
