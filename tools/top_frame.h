/* SPDX-License-Identifier: MIT */
/* A frame of dodo top: the cluster as text. Pure: what was seen in, lines out. */
#ifndef DODO_TOOLS_TOP_FRAME_H
#define DODO_TOOLS_TOP_FRAME_H

#include <glib.h>

#include "proto/wire.h"

/* The cluster at one moment. */
typedef struct TopSample {
    const HostStatus *hosts;
    size_t count;
    uint64_t regions, clients, uptime_ms;
    uint64_t number; /* of the manager: as in WireHello.epoch */
    uint64_t at_ns;
} TopSample;

typedef struct TopView {
    TopSample now, before; /* @before: of no hosts and at 0 where there is none */
    const Addr *manager;
    unsigned width, height; /* what there is room for; height 0: for all, in the manager's order,
                               else those with most traffic are first */
    const char *fault;      /* why @now is an old one; NULL: it is not */
} TopView;

/* Lines that end with a newline, of printable ASCII; the caller's to free. Traffic is by the
 * second, of hosts that @before has too; without @before, since each host's start. */
GString *top_frame(const TopView *v);

#endif
