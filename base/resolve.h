/* SPDX-License-Identifier: MIT */
/* Names of hosts become addresses. It may take seconds: never in a thread that serves anybody. */
#ifndef DODO_BASE_RESOLVE_H
#define DODO_BASE_RESOLVE_H

#include "base/places.h"

enum { RESOLVE_ERROR_MAX = 512 };
enum { RESOLVE_ALL = ADDR_KIND_MAX }; /* of any family */

/* Those that are addresses stay as they are. */
typedef struct Resolved {
    unsigned count;
    Addr found[PLACES_FOUND_MAX];  /* in the order of the places */
    char error[RESOLVE_ERROR_MAX]; /* of the last name without an address; empty: there is none */
} Resolved;

/* @kind: only addresses of this family; ADDR_NONE: of the first one's; RESOLVE_ALL.
 * @loopback_only: no others are taken, for there is no key. */
void resolve_places(const Places *places, uint8_t kind, bool loopback_only, Resolved *ret);

/* The address of this host that what is sent to @peer leaves from, port 0: as the kernel knows the
 * way; nothing is sent. Kind ADDR_NONE: there is no way. */
Addr resolve_route(const Addr *peer);

#endif
