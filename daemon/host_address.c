/* SPDX-License-Identifier: MIT */
#include "daemon/host_address.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "base/sockaddr.h"

/* ---- all of them ----------------------------------------------------------------------------- */

void host_addresses_clear(HostAddresses *all)
{
    g_free(all->of);
    *all = (HostAddresses){.count = 0};
}

/* That of an IPv4 address may be its label, "eth0:1". No interface has a colon in its name. */
static void take_interface(HostAddress *h, const char *name)
{
    (void)g_strlcpy(h->interface, name, sizeof h->interface);
    h->interface[strcspn(h->interface, ":")] = '\0';
}

void host_addresses_take(HostAddresses *ret, const struct ifaddrs *list)
{
    gsize room = 0;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next)
        room++;
    *ret = (HostAddresses){.of = g_new0(HostAddress, room)};
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        HostAddress *h = &ret->of[ret->count];
        if (!i->ifa_addr)
            continue;
        h->addr = addr_from((const SockAddr *)(const void *)i->ifa_addr);
        take_interface(h, i->ifa_name);
        ret->count += h->addr.kind != ADDR_NONE;
    }
}

int host_addresses_read(HostAddresses *ret)
{
    struct ifaddrs *list = NULL;
    g_autofree char *marks = NULL;
    *ret = (HostAddresses){.count = 0};
    if (getifaddrs(&list) != 0)
        return -errno;
    host_addresses_take(ret, list);
    freeifaddrs(list);
    if (g_file_get_contents("/proc/net/if_inet6", &marks, NULL, NULL))
        host_addresses_mark(ret, marks);
    return 0;
}

/* "fd000000000000000000000000000001 02 40 00 80     eth0" */
static bool read_mark(const char *line, uint8_t host[16], unsigned *flags)
{
    unsigned index, prefix, scope;
    for (unsigned i = 0; i < 16; i++) {
        const int high = g_ascii_xdigit_value(line[2 * i]);
        const int low = high < 0 ? -1 : g_ascii_xdigit_value(line[2 * i + 1]);
        if (low < 0)
            return false;
        host[i] = (uint8_t)(high << 4 | low);
    }
    return sscanf(line + 32, " %x %x %x %x", &index, &prefix, &scope, flags) == 4;
}

void host_addresses_mark(HostAddresses *all, const char *if_inet6)
{
    enum { TEMPORARY = 0x01, DADFAILED = 0x08, DEPRECATED = 0x20, TENTATIVE = 0x40 };
    g_auto(GStrv) lines = g_strsplit(if_inet6, "\n", -1);
    for (char **line = lines; *line; line++) {
        uint8_t host[16];
        unsigned flags;
        if (!read_mark(*line, host, &flags) ||
            !(flags & (TEMPORARY | DADFAILED | DEPRECATED | TENTATIVE)))
            continue;
        for (unsigned i = 0; i < all->count; i++)
            if (all->of[i].addr.kind == ADDR_IP6 &&
                memcmp(all->of[i].addr.host, host, sizeof host) == 0)
                all->of[i].passing = true;
    }
}

bool host_addresses_have(const HostAddresses *all, const Addr *a)
{
    for (unsigned i = 0; i < all->count; i++)
        if (addr_same_host(&all->of[i].addr, a))
            return true;
    return false;
}

/* ---- one of them ----------------------------------------------------------------------------- */

static bool is_of_the_link(const Addr *a)
{
    return a->kind == ADDR_IP4 ? a->host[0] == 169 && a->host[1] == 254
                               : a->host[0] == 0xfe && (a->host[1] & 0xc0) == 0x80;
}

/* The less the better; 0 is none. */
static unsigned rank(const HostAddress *h, const char *interface, uint8_t kind)
{
    if (strcmp(h->interface, interface) != 0 || is_of_the_link(&h->addr) ||
        (kind != ADDR_NONE && h->addr.kind != kind))
        return 0;
    return 1 + (h->addr.kind == ADDR_IP4 ? 0 : 1) + (h->passing ? 2 : 0);
}

const Addr *host_addresses_pick(const HostAddresses *all, const char *interface, uint8_t kind)
{
    const HostAddress *best = NULL;
    for (unsigned i = 0; i < all->count; i++) {
        const unsigned r = rank(&all->of[i], interface, kind);
        if (r && (!best || r < rank(best, interface, kind)))
            best = &all->of[i];
    }
    return best ? &best->addr : NULL;
}

/* An interface may have other names than that which its addresses tell (ip link property). */
static const Addr *pick_by_any_name(const HostAddresses *all, const char *name, uint8_t kind)
{
    char own[IF_NAMESIZE];
    const Addr *a = host_addresses_pick(all, name, kind);
    const unsigned number = a ? 0 : if_nametoindex(name);
    return number && if_indextoname(number, own) ? host_addresses_pick(all, own, kind) : a;
}

static int of_interface(const AddressWish *w, Addr *ret, char *error)
{
    const char *name = w->listen.interface;
    CLEANUP(host_addresses_clear) HostAddresses all = {0};
    int res = host_addresses_read(&all);
    const Addr *a = res < 0 ? NULL : pick_by_any_name(&all, name, w->kind);
    if (a) {
        *ret = *a;
        return 0;
    }
    if (res < 0)
        (void)snprintf(error, HOST_ADDRESS_ERROR_MAX,
                       "--listen %s: the addresses of this host cannot be read: %s", name,
                       strerror(-res));
    else if (if_nametoindex(name) == 0)
        (void)snprintf(error, HOST_ADDRESS_ERROR_MAX,
                       "--listen %s: there is no such interface (see ip addr)", name);
    else
        (void)snprintf(error, HOST_ADDRESS_ERROR_MAX,
                       "--listen %s: the interface has no%s address that others can reach (see ip "
                       "addr)",
                       name,
                       w->kind == ADDR_IP4   ? " IPv4"
                       : w->kind == ADDR_IP6 ? " IPv6"
                                             : "");
    return res < 0 ? res : -EADDRNOTAVAIL;
}

static int of_route(const AddressWish *w, Addr *ret, char *error)
{
    char text[ADDR_TEXT_MAX];
    Resolved r;
    resolve_places(&w->manager, w->kind, w->loopback_only, &r);
    for (unsigned i = 0; i < r.count; i++) {
        *ret = resolve_route(&r.found[i]);
        if (ret->kind != ADDR_NONE)
            return 0;
    }
    if (r.count == 0)
        (void)snprintf(error, HOST_ADDRESS_ERROR_MAX, "%.*s", HOST_ADDRESS_ERROR_MAX - 1, r.error);
    else
        (void)snprintf(error, HOST_ADDRESS_ERROR_MAX,
                       "there is no way to the manager %s from here (see ip route), and so no "
                       "address to listen at: give --listen ADDR or --listen INTERFACE if it is "
                       "to come",
                       addr_format(&r.found[0], text, sizeof text));
    return -EADDRNOTAVAIL;
}

int host_address_find(const AddressWish *w, Addr *ret, char error[HOST_ADDRESS_ERROR_MAX])
{
    Addr found = w->listen.addr;
    const int res = found.kind != ADDR_NONE ? 0
                    : *w->listen.interface  ? of_interface(w, &found, error)
                                            : of_route(w, &found, error);
    if (res == 0) {
        *ret = found;
        ret->port = w->listen.addr.port;
    }
    return res;
}
