/* SPDX-License-Identifier: MIT */
/* Where a daemon that belongs to a manager serves, and where that manager may be. */
#ifndef DODO_DAEMON_MEMBER_PLACE_H
#define DODO_DAEMON_MEMBER_PLACE_H

#include "daemon/address_watch.h"
#include "daemon/resolver.h"

/* Both by the options, with the processes beside the daemon that look again; before threads,
 * sockets and keys are there. @ret: the manager's places. 0, -errno; what was started stays. */
int member_place_start(const CommonOptions *o, const Listen *listen, AddressWatch *address,
                       Resolver *resolver, Places *ret, char error[CONFIG_ERROR_MAX]);

#endif
