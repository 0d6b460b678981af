/* SPDX-License-Identifier: MIT */
/* Public addresses and their text. Pure: the names of interfaces are others' to look up. */
#ifndef DODO_USOCKET_PUBLIC_ADDRESS_H
#define DODO_USOCKET_PUBLIC_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "dodo/usocket.h"

/* Room for the name of an interface, with its end: as IF_NAMESIZE. */
enum { ADDRESS_INTERFACE = 16 };

/* "10.0.0.1:7000", "[fe80::1%eth0]:7000", "02:00:00:00:00:01/7000%eth0", "any/7000%eth0". The name
 * of the interface comes in @ret_interface, "" for none, and the address has the scope 0.
 * 0; -EINVAL, with nothing changed. */
int address_parse(const char *text, DodoUAddr *ret, char ret_interface[ADDRESS_INTERFACE]);
/* @interface: the name for a scope; NULL: its number is written. @buf of DODO_U_TEXT_MAX is always
 * enough. Returns @buf. */
char *address_format(const DodoUAddr *a, const char *interface, char *buf, size_t cap);

/* A name that an interface can have, as the kernel sees it, and that is no path. */
bool address_interface_good(const char *name);
/* The MAC address of one host: neither all zeros nor for many. */
bool address_mac_single(const unsigned char *mac);
/* What was left open in a MAC address: all zeros. */
bool address_mac_any(const unsigned char *mac);

#endif
