/* SPDX-License-Identifier: MIT */
/* The addresses of this host, and which of them a daemon serves at that is not given one. */
#ifndef DODO_DAEMON_HOST_ADDRESS_H
#define DODO_DAEMON_HOST_ADDRESS_H

#include "base/listen.h"
#include "base/places.h"

enum { HOST_ADDRESS_ERROR_MAX = 512 };

typedef struct HostAddress {
    char interface[LISTEN_INTERFACE_MAX];
    Addr addr;    /* port 0 */
    bool passing; /* IPv6: made for privacy and soon replaced, or not valid yet, or no more */
} HostAddress;
typedef struct HostAddresses {
    unsigned count;
    HostAddress *of; /* on the heap */
} HostAddresses;

struct ifaddrs;

int host_addresses_read(HostAddresses *ret); /* 0, -errno */
/* A list of getifaddrs(3): all of it, for any address may be the one that counts. */
void host_addresses_take(HostAddresses *ret, const struct ifaddrs *list);
void host_addresses_clear(HostAddresses *all); /* also of zeroed ones */
/* Marks those that @if_inet6, the text of /proc/net/if_inet6, calls passing. */
void host_addresses_mark(HostAddresses *all, const char *if_inet6);
bool host_addresses_have(const HostAddresses *all, const Addr *a); /* on any port */
/* The first of @interface that others can reach, IPv4 first; only those of @kind, if that is not
 * ADDR_NONE. Passing ones only if there is no other. NULL: there is none. */
const Addr *host_addresses_pick(const HostAddresses *all, const char *interface, uint8_t kind);

/* What is wanted of an address. */
typedef struct AddressWish {
    Listen listen;
    Places manager;     /* where @listen is open: the way to it decides */
    uint8_t kind;       /* only of this family; ADDR_NONE: any */
    bool loopback_only; /* of the manager's addresses no others count */
} AddressWish;

/* With the port of the wish. It may wait for names to be resolved. 0, or -errno and what to do. */
int host_address_find(const AddressWish *w, Addr *ret, char error[HOST_ADDRESS_ERROR_MAX]);

#endif
