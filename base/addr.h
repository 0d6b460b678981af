/* SPDX-License-Identifier: MIT */
/* Network addresses as plain values: IPv4, IPv6, Ethernet, and the simulation's hosts.
 * Parsing takes numbers only, never names: no call here blocks or asks the network. */
#ifndef DODO_BASE_ADDR_H
#define DODO_BASE_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum AddrKind { ADDR_NONE, ADDR_IP4, ADDR_IP6, ADDR_MAC, ADDR_SIM, ADDR_KIND_MAX };

typedef struct Addr {
    uint8_t kind; /* enum AddrKind */
    uint8_t zero;
    uint16_t port;    /* host order; 0: any */
    uint32_t scope;   /* IPv6 link-local scope, else 0 */
    uint8_t host[16]; /* IP4: 4 bytes, MAC: 6, SIM: 2 (little-endian host number); rest zero */
} Addr;

enum { ADDR_TEXT_MAX = 64 };

bool addr_equal(const Addr *a, const Addr *b);
bool addr_same_host(const Addr *a, const Addr *b); /* ports apart */
uint64_t addr_hash(const Addr *a);
bool addr_is_loopback(const Addr *a);
bool addr_is_any(const Addr *a);  /* 0.0.0.0, :: */
bool addr_is_many(const Addr *a); /* multicast, 255.255.255.255: nothing comes from there */
Addr addr_sim(uint16_t host, uint16_t port);

/* "10.0.0.1:7700", "[::1]:7700", "10.0.0.1" (port becomes @default_port), "[fe80::1%2]:7700".
 * 0, or -EINVAL with *ret_addr untouched. */
int addr_parse(const char *text, uint16_t default_port, Addr *ret_addr);
/* Always terminated; @buf of ADDR_TEXT_MAX is always enough. Returns @buf. */
char *addr_format(const Addr *a, char *buf, size_t cap);

#endif
