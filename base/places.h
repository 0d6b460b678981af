/* SPDX-License-Identifier: MIT */
/* Where a peer may be: addresses, or names of hosts that stand for some, in the order in which they
 * are tried. Pure: nothing is resolved here. */
#ifndef DODO_BASE_PLACES_H
#define DODO_BASE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

enum {
    PLACE_NAME_MAX = 254, /* a DNS name has at most 253 characters */
    PLACES_MAX = 8,
    PLACES_TEXT_MAX = 1024,
    PLACES_FOUND_MAX = 16, /* addresses of them all; more are not tried */
};

typedef struct Place {
    char name[PLACE_NAME_MAX]; /* empty: @addr is the address */
    Addr addr;                 /* of a name: only the port */
} Place;

typedef struct Places {
    unsigned count;
    Place of[PLACES_MAX];
} Places;

/* "manager:7700", "10.0.0.1", "a.example:7700,[fd00::1]:7700": names and addresses as addr_parse()
 * takes them, with commas between them. 0, or -EINVAL with *ret untouched. */
int places_parse(const char *text, uint16_t default_port, Places *ret);
bool places_have_names(const Places *p);
/* All that are addresses, in order; how many: at most PLACES_MAX. */
unsigned places_addresses(const Places *p, Addr ret[PLACES_MAX]);

#endif
