/* SPDX-License-Identifier: MIT */
/* MAC addresses and names of interfaces. Pure. */
#ifndef DODO_USOCKET_RAW_MAC_H
#define DODO_USOCKET_RAW_MAC_H

#include <stdbool.h>

/* Room for the name of an interface, with its end: as IF_NAMESIZE. */
enum { INTERFACE_NAME = 16 };

/* A name that an interface can have, as the kernel sees it, and that is no path. */
bool interface_name_good(const char *name);
/* The MAC address of one host: neither all zeros nor for many. */
bool mac_is_single(const unsigned char *mac);
/* What was left open in a MAC address: all zeros. */
bool mac_is_any(const unsigned char *mac);

#endif
