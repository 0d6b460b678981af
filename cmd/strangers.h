/* SPDX-License-Identifier: MIT */
/* What a port tells of those who are none of the cluster, as an event's reason. Pure. */
#ifndef DODO_CMD_STRANGERS_H
#define DODO_CMD_STRANGERS_H

#include "proto/wire.h"
#include "usocket/port.h"

/* False: it tells of no stranger. */
bool stranger_reason(const PortEvent *e, Reason *ret);

#endif
