/* SPDX-License-Identifier: MIT */
#include "base/resolve.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sockaddr.h"

#ifndef IPV6_PREFER_SRC_PUBLIC
#define IPV6_PREFER_SRC_PUBLIC 2
#endif

typedef struct Wanted {
    uint8_t kind;
    bool loopback_only;
} Wanted;

static bool add(Resolved *r, Wanted *w, const Addr *a)
{
    if (w->kind == ADDR_NONE)
        w->kind = a->kind;
    if ((a->kind != w->kind && w->kind != RESOLVE_ALL) ||
        (w->loopback_only && !addr_is_loopback(a)))
        return false;
    for (unsigned i = 0; i < r->count; i++)
        if (addr_equal(&r->found[i], a))
            return true;
    if (r->count < PLACES_FOUND_MAX)
        r->found[r->count++] = *a;
    return true;
}

static void complain(Resolved *r, const char *name, const char *why)
{
    (void)snprintf(r->error, sizeof r->error,
                   "%s: %s: correct the name, write it into /etc/hosts or DNS, or give the address",
                   name, why);
}

static void resolve_name(const Place *p, Wanted *w, Resolved *r)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *list = NULL;
    bool taken = false, any = false;
    int res = getaddrinfo(p->name, NULL, &hints, &list);
    if (res != 0) {
        complain(r, p->name, gai_strerror(res));
        return;
    }
    for (const struct addrinfo *i = list; i; i = i->ai_next) {
        const SockAddr *sa = (const SockAddr *)(const void *)i->ai_addr;
        Addr a = addr_from(sa);
        if (a.kind == ADDR_NONE)
            continue;
        a.port = p->addr.port;
        any = true;
        taken |= add(r, w, &a);
    }
    freeaddrinfo(list);
    if (taken)
        return;
    if (any && w->loopback_only)
        (void)snprintf(r->error, sizeof r->error,
                       "%s: not a loopback address, and there is no key: name one with key = FILE "
                       "(dodo keygen makes one)",
                       p->name);
    else
        complain(r, p->name, w->kind == ADDR_IP6 ? "no IPv6 address" : "no IPv4 address");
}

void resolve_places(const Places *places, uint8_t kind, bool loopback_only, Resolved *ret)
{
    Wanted w = {.kind = kind, .loopback_only = loopback_only};
    *ret = (Resolved){.count = 0};
    for (unsigned i = 0; i < places->count; i++) {
        if (*places->of[i].name)
            resolve_name(&places->of[i], &w, ret);
        else
            (void)add(ret, &w, &places->of[i].addr);
    }
}

Addr resolve_route(const Addr *peer)
{
    Addr local = {.kind = ADDR_NONE};
    SockAddr sa;
    socklen_t len = sockaddr_from(peer, &sa);
    const int lasting = IPV6_PREFER_SRC_PUBLIC; /* not one that changes each day, for privacy */
    int fd = len == 0 ? -1 : socket(sa.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && peer->kind == ADDR_IP6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, &lasting, sizeof lasting);
    if (fd >= 0 && connect(fd, &sa.any, len) == 0) {
        len = sizeof sa;
        if (getsockname(fd, &sa.any, &len) == 0)
            local = addr_from(&sa);
    }
    local.port = 0;
    if (fd >= 0)
        (void)close(fd);
    return local;
}
