/* SPDX-License-Identifier: MIT */
/* What came to pass in the cluster: the last events of it, for operators. Programs, which may come
 * and go by the thousand, have a ring of their own, so that they hide nothing about hosts. Pure. */
#ifndef DODO_CMD_EVENTS_H
#define DODO_CMD_EVENTS_H

#include <stdint.h>

#include "cmd/core.h"

enum { EVENTS_KEPT = 512 }; /* in each ring */

typedef struct EventRing {
    uint64_t count; /* that came; the last EVENTS_KEPT of them are here */
    ManagerEvent of[EVENTS_KEPT];
} EventRing;

typedef struct Events {
    uint64_t last; /* number of the newest */
    EventRing hosts, programs;
} Events;

/* Gives @e its number and keeps it. */
const ManagerEvent *events_add(Events *l, const ManagerEvent *e);
/* The oldest one that is kept of those after number @after; NULL: there is none. */
const ManagerEvent *events_after(const Events *l, uint64_t after);
/* @text in @ret: cut to what there is room for, and "?" for what does not print. */
void event_reason(Reason *ret, const char *text);

#endif
