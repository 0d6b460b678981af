/* SPDX-License-Identifier: MIT */
/* Which daemons answer here: many are asked at once. */
#ifndef DODO_TOOLS_PROBE_H
#define DODO_TOOLS_PROBE_H

#include "tools/client.h"

enum { PROBES_AT_ONCE = 256 };

typedef struct Probe {
    Addr peer;
    bool answers; /* with our key */
    uint8_t role; /* if so */
} Probe;

/* Each gets the timeout of the options. 0; -errno: nobody could be asked, and @error says why. */
int probe_all(const ToolOptions *o, Probe *probes, size_t count, char error[CONFIG_ERROR_MAX]);

#endif
