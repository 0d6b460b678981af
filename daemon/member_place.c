/* SPDX-License-Identifier: MIT */
#include "daemon/member_place.h"

#include "daemon/start.h"

int member_place_start(const CommonOptions *o, const Listen *listen, AddressWatch *address,
                       Resolver *resolver, Places *ret, char error[CONFIG_ERROR_MAX])
{
    int res = address_watch_start(address, o, listen, true, error);
    if (res == 0)
        res = start_manager(o, &address->at, ret, error);
    return res < 0 ? res : resolver_start(resolver, o, &address->at, ret, error);
}
