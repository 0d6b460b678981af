/* SPDX-License-Identifier: MIT */
#include "usocket/public/way.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/os.h"

enum { MESSAGE_MAX_IP4 = 65535 - 20 - 8, MESSAGE_MAX_IP6 = 65535 - 8 };

typedef union SockAddr {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
} SockAddr;

static socklen_t sockaddr_of(const DodoUAddr *a, SockAddr *ret)
{
    if (a->kind == DODO_U_IP4) {
        ret->ip4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(a->port)};
        memcpy(&ret->ip4.sin_addr, a->host, sizeof ret->ip4.sin_addr);
        return sizeof ret->ip4;
    }
    ret->ip6 = (struct sockaddr_in6){
        .sin6_family = AF_INET6, .sin6_port = htons(a->port), .sin6_scope_id = a->scope};
    memcpy(&ret->ip6.sin6_addr, a->host, sizeof ret->ip6.sin6_addr);
    return sizeof ret->ip6;
}

static DodoUAddr address_of(const SockAddr *s)
{
    DodoUAddr a = {.kind = DODO_U_NONE};
    if (s->any.sa_family == AF_INET) {
        a.kind = DODO_U_IP4;
        a.port = ntohs(s->ip4.sin_port);
        memcpy(a.host, &s->ip4.sin_addr, sizeof s->ip4.sin_addr);
    } else if (s->any.sa_family == AF_INET6) {
        a.kind = DODO_U_IP6;
        a.port = ntohs(s->ip6.sin6_port);
        a.scope = s->ip6.sin6_scope_id;
        memcpy(a.host, &s->ip6.sin6_addr, sizeof s->ip6.sin6_addr);
    }
    return a;
}

static int udp_send(const Way *w, const DodoUAddr *to, const struct iovec *iov, int iovc)
{
    SockAddr name;
    const struct msghdr m = {.msg_name = &name,
                             .msg_namelen = sockaddr_of(to, &name),
                             .msg_iov = (struct iovec *)iov, /* sendmsg does not write to it */
                             .msg_iovlen = (size_t)iovc};
    return sendmsg(w->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static ssize_t udp_receive(const Way *w, const struct iovec *iov, int iovc, DodoUAddr *from)
{
    SockAddr name = {.any = {.sa_family = AF_UNSPEC}};
    struct msghdr m = {.msg_name = &name,
                       .msg_namelen = sizeof name,
                       .msg_iov = (struct iovec *)iov,
                       .msg_iovlen = (size_t)iovc};
    ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT);
    if (n < 0)
        return -errno;
    *from = address_of(&name);
    return m.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}

static ssize_t udp_message_max(const Way *w)
{
    return w->local.kind == DODO_U_IP4 ? MESSAGE_MAX_IP4 : MESSAGE_MAX_IP6;
}

static const WayOps udp_ops = {udp_send, udp_receive, udp_message_max};

/* A size that the system cuts down is no error. */
static void set_buffers(int fd, const WayBuffers *b)
{
    if (b->send_bytes)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &b->send_bytes, sizeof b->send_bytes);
    if (b->receive_bytes)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &b->receive_bytes, sizeof b->receive_bytes);
}

int way_udp_open(const DodoUAddr *local, const WayBuffers *b, Way *ret)
{
    SockAddr name;
    socklen_t len = sockaddr_of(local, &name);
    const int one = 1;
    CLEANUP_CLOSE int fd =
        os_above_standard(socket(name.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (fd < 0)
        return -errno;
    if (local->kind == DODO_U_IP6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) != 0)
        return -errno;
    set_buffers(fd, b);
    if (bind(fd, &name.any, len) != 0 || getsockname(fd, &name.any, &len) != 0)
        return -errno;
    *ret = (Way){.ops = &udp_ops, .local = address_of(&name)};
    ret->fd = STEAL_FD(fd);
    return 0;
}
