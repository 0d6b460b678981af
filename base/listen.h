/* SPDX-License-Identifier: MIT */
/* Where a daemon is to listen: an address of this host, an interface that has one, or neither.
 * Pure: no address is looked up here. */
#ifndef DODO_BASE_LISTEN_H
#define DODO_BASE_LISTEN_H

#include <stdbool.h>

#include "base/addr.h"

enum { LISTEN_INTERFACE_MAX = 16 }; /* as the kernel has it, with the zero */

typedef struct Listen {
    Addr addr; /* kind ADDR_NONE: the port alone is known */
    char interface[LISTEN_INTERFACE_MAX];
} Listen;

/* "10.0.0.1:7701" as addr_parse() takes it, or "eth0", "eth0:7701": a name begins with a letter.
 * 0, or -EINVAL with *ret untouched. */
int listen_parse(const char *text, uint16_t default_port, Listen *ret);
/* Neither an address nor an interface is given. */
bool listen_is_open(const Listen *l);
bool listen_equal(const Listen *a, const Listen *b);

#endif
