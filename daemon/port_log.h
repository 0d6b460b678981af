/* SPDX-License-Identifier: MIT */
/* The daemons' log lines for what a port tells. */
#ifndef DODO_DAEMON_PORT_LOG_H
#define DODO_DAEMON_PORT_LOG_H

#include "usocket/port.h"

/* PortOps.event; @ctx is not used. */
void port_log(void *ctx, const PortEvent *e);

#endif
