/* SPDX-License-Identifier: MIT */
#include "tools/drain_here.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/host_address.h"
#include "tools/cluster_status.h"

static unsigned find(const ClusterStatus *s, const HostAddresses *here, Addr *ret)
{
    unsigned count = 0;
    for (guint i = 0; i < s->hosts->len; i++) {
        const HostStatus *h = &g_array_index(s->hosts, HostStatus, i);
        if (h->state == HOST_BUSY || !host_addresses_have(here, &h->address))
            continue;
        *ret = h->address;
        count++;
    }
    return count;
}

int drain_find_here(ToolClient *manager, Addr *ret, char error[CONFIG_ERROR_MAX])
{
    ClusterStatus s;
    HostAddresses here;
    int res = host_addresses_read(&here);
    if (res < 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot read the addresses of this host: %s",
                       strerror(-res));
        return res;
    }
    cluster_status_init(&s);
    res = cluster_status_fetch(&s, manager, error);
    const unsigned count = res == 0 ? find(&s, &here, ret) : 0;
    cluster_status_deinit(&s);
    if (res < 0 || count == 1)
        return res;
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   count == 0
                       ? "this host lends no memory: the manager knows no imd at its addresses"
                       : "the manager knows %u imds at addresses of this host: name one, as "
                         "dodo status lists it",
                   count);
    return -ENOENT;
}
