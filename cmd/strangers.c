/* SPDX-License-Identifier: MIT */
#include "cmd/strangers.h"

#include <inttypes.h>
#include <stdio.h>

bool stranger_reason(const PortEvent *e, Reason *ret)
{
    static const char *const texts[] = {
        [PORT_VERSION] = "of another version of the protocol",
        [PORT_CLUSTER] = "for another cluster",
        [PORT_DENIED] = "not made with the key of this cluster",
        [PORT_LIMITED] = "to begin more sessions than are answered",
    };
    *ret = (Reason){""};
    if (e->kind >= sizeof texts / sizeof *texts || !texts[e->kind])
        return false;
    (void)snprintf(ret->text, sizeof ret->text, "%" PRIu64 " datagrams came that were %s",
                   e->datagrams, texts[e->kind]);
    return true;
}
