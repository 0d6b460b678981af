/* SPDX-License-Identifier: MIT */
#include "usocket/raw/neighbours.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "usocket/raw/mac.h"

enum { HOST_MAX = 16, REPLY_MAX = 4096 };

/* States in which the kernel itself would send to that MAC address. */
enum { GOOD_STATES = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT };

/* A request with its attributes, as netlink has it. */
typedef struct Request {
    struct nlmsghdr head;
    union {
        struct rtmsg route;
        struct ndmsg neighbour;
    } of;
    uint8_t attributes[2 * RTA_SPACE(HOST_MAX)];
} Request;

static size_t host_bytes(const Addr *a)
{
    return a->kind == ADDR_IP4 ? 4 : HOST_MAX;
}

static uint8_t family_of(const Addr *a)
{
    return a->kind == ADDR_IP4 ? AF_INET : AF_INET6;
}

int neighbours_open(Neighbours *n, uint32_t interface)
{
    const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
    *n = (Neighbours){.interface = interface};
    n->fd = os_above_standard(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (n->fd >= 0 && bind(n->fd, (const struct sockaddr *)&any, sizeof any) == 0)
        return 0;
    int res = -errno;
    neighbours_close(n);
    return res;
}

void neighbours_close(Neighbours *n)
{
    if (n->fd >= 0)
        (void)close(n->fd);
    n->fd = -1;
}

static void begin(Request *r, uint16_t type, size_t body)
{
    memset(r, 0, sizeof *r);
    r->head.nlmsg_type = type;
    r->head.nlmsg_flags = NLM_F_REQUEST;
    r->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
}

/* NDA_DST has the same layout and number as RTA_DST. */
static void add_address(Request *r, uint16_t type, const Addr *a)
{
    struct rtattr *at = (struct rtattr *)(void *)((uint8_t *)r + NLMSG_ALIGN(r->head.nlmsg_len));
    at->rta_type = type;
    at->rta_len = (uint16_t)RTA_LENGTH(host_bytes(a));
    memcpy(RTA_DATA(at), a->host, host_bytes(a));
    r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + (uint32_t)RTA_LENGTH(host_bytes(a));
}

/* Asks, and takes the answer, which is there at once. A message of @type, or -errno. */
static int ask(Neighbours *n, Request *r, uint16_t type, uint8_t reply[REPLY_MAX])
{
    r->head.nlmsg_seq = ++n->sequence;
    if (send(n->fd, r, r->head.nlmsg_len, MSG_DONTWAIT) < 0)
        return -errno;
    for (;;) {
        struct sockaddr_nl from;
        socklen_t from_len = sizeof from;
        ssize_t len =
            recvfrom(n->fd, reply, REPLY_MAX, MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return -errno;
        const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)reply;
        if (from.nl_pid != 0 || !NLMSG_OK(h, (size_t)len) || h->nlmsg_seq != n->sequence)
            continue; /* not from the kernel, or late */
        if (h->nlmsg_type == type)
            return 0;
        const struct nlmsgerr *e = NLMSG_DATA(h);
        bool told = h->nlmsg_type == NLMSG_ERROR && h->nlmsg_len >= NLMSG_LENGTH(sizeof *e);
        return told && e->error < 0 ? e->error : -EPROTO;
    }
}

/* The attribute of that type, with at least @bytes; NULL: there is none. */
static const void *find(const uint8_t *reply, size_t body, uint16_t type, size_t bytes)
{
    const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)reply;
    if (h->nlmsg_len < NLMSG_SPACE(body))
        return NULL;
    size_t left = h->nlmsg_len - NLMSG_SPACE(body);
    const struct rtattr *at = (const void *)(reply + NLMSG_SPACE(body));
    for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
        if ((at->rta_type & NLA_TYPE_MASK) == type && RTA_PAYLOAD(at) >= bytes)
            return RTA_DATA(at);
    return NULL;
}

/* The route, and with it the address that we have on it. */
static int look_route(Neighbours *n, const Addr *local, const Addr *to, Addr *ret_self)
{
    Request r;
    uint8_t reply[REPLY_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
    const size_t body = sizeof r.of.route, bytes = host_bytes(to);
    uint32_t out;
    begin(&r, RTM_GETROUTE, body);
    r.of.route = (struct rtmsg){.rtm_family = family_of(to), .rtm_dst_len = (uint8_t)(8 * bytes)};
    add_address(&r, RTA_DST, to);
    if (!addr_is_any(local)) {
        r.of.route.rtm_src_len = (uint8_t)(8 * bytes);
        add_address(&r, RTA_SRC, local);
    }
    int res = ask(n, &r, RTM_NEWROUTE, reply);
    if (res < 0)
        return res;
    const struct rtmsg *route = NLMSG_DATA((struct nlmsghdr *)(void *)reply);
    const void *oif = find(reply, body, RTA_OIF, sizeof out);
    const void *self = find(reply, body, RTA_PREFSRC, bytes);
    if (!oif || route->rtm_type != RTN_UNICAST || find(reply, body, RTA_GATEWAY, 0) ||
        find(reply, body, RTA_VIA, 0) || find(reply, body, RTA_MULTIPATH, 0))
        return -EHOSTUNREACH;
    memcpy(&out, oif, sizeof out);
    if (out != n->interface || (addr_is_any(local) && !self))
        return -EHOSTUNREACH;
    *ret_self = *local;
    ret_self->port = 0;
    if (addr_is_any(local))
        memcpy(ret_self->host, self, bytes);
    return 0;
}

static int look_mac(Neighbours *n, const Addr *to, uint8_t ret[FRAME_MAC])
{
    Request r;
    uint8_t reply[REPLY_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
    const size_t body = sizeof r.of.neighbour;
    begin(&r, RTM_GETNEIGH, body);
    r.of.neighbour =
        (struct ndmsg){.ndm_family = family_of(to), .ndm_ifindex = (int32_t)n->interface};
    add_address(&r, NDA_DST, to);
    int res = ask(n, &r, RTM_NEWNEIGH, reply);
    if (res < 0)
        return res == -ENOENT ? -EHOSTUNREACH : res;
    const struct ndmsg *neighbour = NLMSG_DATA((struct nlmsghdr *)(void *)reply);
    const uint8_t *mac = find(reply, body, NDA_LLADDR, FRAME_MAC);
    if (!mac || !(neighbour->ndm_state & GOOD_STATES) || !mac_is_single(mac))
        return -EHOSTUNREACH;
    memcpy(ret, mac, FRAME_MAC);
    return 0;
}

/* Link-local addresses mean something on their link alone: they stay with UDP. */
static bool is_usable(const Addr *a)
{
    return a->kind == ADDR_IP4 ||
           (a->kind == ADDR_IP6 && a->scope == 0 && (a->host[0] != 0xfe || a->host[1] < 0x80));
}

int neighbours_look(Neighbours *n, const Addr *local, const Addr *to, PeerWay *ret)
{
    PeerWay way;
    if (to->kind != local->kind || !is_usable(to) || !is_usable(local))
        return -EHOSTUNREACH;
    int res = look_route(n, local, to, &way.self);
    if (res == 0)
        res = look_mac(n, to, way.mac);
    if (res == 0)
        *ret = way;
    return res;
}
