/* SPDX-License-Identifier: MIT */
/* Addresses as sockets have them. For shells only. */
#ifndef DODO_BASE_SOCKADDR_H
#define DODO_BASE_SOCKADDR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"

typedef union SockAddr {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
} SockAddr;

/* Length of the result, 0 when @a is neither IPv4 nor IPv6. */
static inline socklen_t sockaddr_from(const Addr *a, SockAddr *ret)
{
    switch ((enum AddrKind)a->kind) {
    case ADDR_IP4:
        ret->ip4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(a->port)};
        memcpy(&ret->ip4.sin_addr, a->host, 4);
        return sizeof ret->ip4;
    case ADDR_IP6:
        ret->ip6 = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons(a->port), .sin6_scope_id = a->scope};
        memcpy(&ret->ip6.sin6_addr, a->host, 16);
        return sizeof ret->ip6;
    case ADDR_NONE:
    case ADDR_MAC:
    case ADDR_SIM:
    case ADDR_KIND_MAX:
        break;
    }
    return 0;
}

/* Kind ADDR_NONE: of another family. */
static inline Addr addr_from(const SockAddr *s)
{
    Addr a = {.kind = ADDR_NONE};
    if (s->any.sa_family == AF_INET) {
        a.kind = ADDR_IP4;
        a.port = ntohs(s->ip4.sin_port);
        memcpy(a.host, &s->ip4.sin_addr, 4);
    } else if (s->any.sa_family == AF_INET6) {
        a.kind = ADDR_IP6;
        a.port = ntohs(s->ip6.sin6_port);
        a.scope = s->ip6.sin6_scope_id;
        memcpy(a.host, &s->ip6.sin6_addr, 16);
    }
    return a;
}

#endif
