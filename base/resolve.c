/* SPDX-License-Identifier: MIT */
#include "base/resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct Wanted {
    uint8_t kind;
    bool loopback_only;
} Wanted;

/* False: of another family. */
static bool addr_of(const struct sockaddr *sa, uint16_t port, Addr *ret)
{
    *ret = (Addr){.port = port};
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;
        ret->kind = ADDR_IP4;
        memcpy(ret->host, &in->sin_addr, 4);
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)sa;
        ret->kind = ADDR_IP6;
        ret->scope = in->sin6_scope_id;
        memcpy(ret->host, &in->sin6_addr, 16);
    }
    return ret->kind != ADDR_NONE;
}

static bool add(Resolved *r, Wanted *w, const Addr *a)
{
    if (w->kind == ADDR_NONE)
        w->kind = a->kind;
    if (a->kind != w->kind || (w->loopback_only && !addr_is_loopback(a)))
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
    Addr a;
    int res = getaddrinfo(p->name, NULL, &hints, &list);
    if (res != 0) {
        complain(r, p->name, gai_strerror(res));
        return;
    }
    for (const struct addrinfo *i = list; i; i = i->ai_next) {
        if (!addr_of(i->ai_addr, p->addr.port, &a))
            continue;
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

static socklen_t sockaddr_of(const Addr *a, struct sockaddr_storage *ret)
{
    memset(ret, 0, sizeof *ret);
    if (a->kind == ADDR_IP4) {
        struct sockaddr_in *in = (struct sockaddr_in *)(void *)ret;
        in->sin_family = AF_INET;
        in->sin_port = htons(a->port);
        memcpy(&in->sin_addr, a->host, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)(void *)ret;
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(a->port);
    in->sin6_scope_id = a->scope;
    memcpy(&in->sin6_addr, a->host, 16);
    return sizeof *in;
}

Addr resolve_route(const Addr *peer)
{
    Addr local = {.kind = ADDR_NONE};
    struct sockaddr_storage sa;
    if (peer->kind != ADDR_IP4 && peer->kind != ADDR_IP6)
        return local;
    socklen_t len = sockaddr_of(peer, &sa);
    int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&sa, len) == 0) {
        len = sizeof sa;
        if (getsockname(fd, (struct sockaddr *)&sa, &len) == 0)
            (void)addr_of((const struct sockaddr *)&sa, 0, &local);
    }
    if (fd >= 0)
        (void)close(fd);
    return local;
}
