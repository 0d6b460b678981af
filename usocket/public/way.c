/* SPDX-License-Identifier: MIT */
#include "usocket/public/way.h"

#include <unistd.h>

bool way_leads_to(const Way *w, const DodoUAddr *to)
{
    if (w->local.kind != to->kind)
        return false;
    return to->kind != DODO_U_MAC || to->scope == 0 || to->scope == w->local.scope;
}

void way_close(Way *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
}
