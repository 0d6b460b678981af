/* SPDX-License-Identifier: MIT */
/* Public addresses and their text. Pure: the names of interfaces are others' to look up. */
#ifndef DODO_USOCKET_PUBLIC_ADDRESS_H
#define DODO_USOCKET_PUBLIC_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "dodo/usocket.h"
#include "usocket/raw/mac.h"

/* "10.0.0.1:7000", "[fe80::1%eth0]:7000", "02:00:00:00:00:01/7000%eth0", "any/7000%eth0". The name
 * of the interface comes in @ret_interface, "" for none, and the address has the scope 0.
 * 0; -EINVAL, with nothing changed. */
int address_parse(const char *text, DodoUAddr *ret, char ret_interface[INTERFACE_NAME]);
/* @interface: the name for a scope; NULL: its number is written. @buf of DODO_U_TEXT_MAX is always
 * enough. Returns @buf. */
char *address_format(const DodoUAddr *a, const char *interface, char *buf, size_t cap);

#endif
