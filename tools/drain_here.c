/* SPDX-License-Identifier: MIT */
#include "tools/drain_here.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/host_address.h"
#include "tools/cluster_status.h"
#include "tools/drain_words.h"

static bool is_here(const Addr *a, const void *here)
{
    return host_addresses_have(here, a);
}

int drain_find_here(ToolClient *manager, Addr *ret, char error[CONFIG_ERROR_MAX])
{
    ClusterStatus s;
    CLEANUP(host_addresses_clear) HostAddresses here = {0};
    int res = host_addresses_read(&here);
    if (res < 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot read the addresses of this host: %s",
                       strerror(-res));
        return res;
    }
    cluster_status_init(&s);
    res = cluster_status_fetch(&s, manager, error);
    const unsigned count = res == 0
                               ? drain_pick_here((const HostStatus *)(const void *)s.hosts->data,
                                                 s.hosts->len, is_here, &here, ret)
                               : 0;
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
