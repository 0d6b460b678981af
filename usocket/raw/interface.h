/* SPDX-License-Identifier: MIT */
/* Interfaces by name and by number. As if_nametoindex(3), but what the C library cannot find out
 * for want of a descriptor is no missing interface here. */
#ifndef DODO_USOCKET_RAW_INTERFACE_H
#define DODO_USOCKET_RAW_INTERFACE_H

#include <stdint.h>

#include "usocket/raw/mac.h"

/* 0; -ENODEV: there is none; other -errno: that is not known. */
int interface_number(const char *name, uint32_t *ret);
int interface_name(uint32_t number, char ret[INTERFACE_NAME]);

#endif
