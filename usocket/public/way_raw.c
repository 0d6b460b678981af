/* SPDX-License-Identifier: MIT */
/* Raw frames: the socket comes from the helper, which has bound it and attached its filter. */
#include "usocket/public/way.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "usocket/public/frame.h"
#include "usocket/public/grant.h"

enum { HELPER_WAIT_S = 5 };
static const char run_dir[] = "/run/dodo-socket";

/* ---- the helper ------------------------------------------------------------------------------ */

/* Where the helper of that interface listens. */
static int helper_path(const char *interface, struct sockaddr_un *ret)
{
    const char *dir = secure_getenv("DODO_SOCKET_DIR");
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(ret->sun_path, sizeof ret->sun_path, "%s/%s", dir && *dir ? dir : run_dir,
                     interface);
    return n < 0 || (size_t)n >= sizeof ret->sun_path ? -ENAMETOOLONG : 0;
}

static int connect_helper(const char *interface)
{
    struct sockaddr_un at;
    const struct timeval wait = {.tv_sec = HELPER_WAIT_S};
    int res = helper_path(interface, &at);
    if (res < 0)
        return res;
    CLEANUP_CLOSE int fd = os_above_standard(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0)
        return -errno;
    do
        res = connect(fd, (const struct sockaddr *)&at, sizeof at);
    while (res != 0 && errno == EINTR);
    if (res == 0)
        return STEAL_FD(fd);
    if (errno == EAGAIN)
        return -ETIMEDOUT;
    return errno == ENOENT || errno == ENOTDIR ? -ECONNREFUSED : -errno;
}

/* The helper's reply, and the socket with it: its descriptor in *ret_fd, or -1. */
static int receive_reply(int helper, GrantReply *ret, int *ret_fd)
{
    uint8_t bytes[GRANT_MESSAGE + 1];
    union {
        struct cmsghdr header;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {bytes, sizeof bytes};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = CMSG_LEN(sizeof *ret_fd)}; /* no room for a second */
    ssize_t n;
    do
        n = recvmsg(helper, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -EPROTO;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof *ret_fd))
        memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
    return grant_reply_decode(bytes, (size_t)n, ret);
}

/* Is it what we asked for, in our network namespace? */
static int check_socket(int fd, const DodoUAddr *local, const GrantReply *r)
{
    int domain = 0, type = 0;
    socklen_t len = sizeof domain;
    if (r->interface != local->scope)
        return -EPROTO;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || domain != AF_PACKET ||
        type != SOCK_DGRAM)
        return -EPROTO;
    return 0;
}

/* Asks for a socket for @local. Its descriptor, or -errno. */
static int ask_helper(const DodoUAddr *local, GrantReply *ret)
{
    uint8_t bytes[GRANT_MESSAGE];
    GrantRequest r = {.port = local->port};
    char name[IF_NAMESIZE];

    if (!if_indextoname(local->scope, name))
        return -ENODEV;
    (void)snprintf(r.interface, sizeof r.interface, "%s", name);
    memcpy(r.mac, local->host, FRAME_MAC);
    CLEANUP_CLOSE int helper = connect_helper(name);
    if (helper < 0)
        return helper;
    grant_request_encode(&r, bytes);
    if (send(helper, bytes, sizeof bytes, MSG_NOSIGNAL) < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -EPROTO;
    CLEANUP_CLOSE int fd = -1;
    int res = receive_reply(helper, ret, &fd);
    if (res == 0 && ret->error)
        res = -ret->error;
    if (res == 0)
        res = fd >= 0 ? check_socket(fd, local, ret) : -EPROTO;
    return res < 0 ? res : STEAL_FD(fd);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* No message is as long as where this ends to count. */
static size_t iov_length(const struct iovec *iov, int iovc)
{
    size_t n = 0;
    for (int i = 0; i < iovc && n <= FRAME_MESSAGE_MAX; i++)
        n += iov[i].iov_len < SSIZE_MAX ? iov[i].iov_len : SSIZE_MAX;
    return n;
}

/* The header, and then the message's own buffers. */
static struct msghdr with_header(uint8_t *head, struct iovec *all, const struct iovec *iov,
                                 int iovc, struct sockaddr_ll *name)
{
    all[0] = (struct iovec){head, FRAME_HEADER};
    if (iovc > 0)
        memcpy(all + 1, iov, (size_t)iovc * sizeof *iov);
    return (struct msghdr){.msg_name = name,
                           .msg_namelen = sizeof *name,
                           .msg_iov = all,
                           .msg_iovlen = (size_t)iovc + 1};
}

static int raw_send(const Way *w, const DodoUAddr *to, const struct iovec *iov, int iovc)
{
    uint8_t head[FRAME_HEADER];
    struct iovec all[DODO_U_IOV_MAX + 1];
    struct sockaddr_ll name = {.sll_family = AF_PACKET,
                               .sll_protocol = htons(FRAME_ETHERTYPE),
                               .sll_ifindex = (int)w->local.scope,
                               .sll_halen = FRAME_MAC};
    size_t len = iov_length(iov, iovc);
    if (len > FRAME_MESSAGE_MAX)
        return -EMSGSIZE;
    frame_encode(&(FrameHeader){to->port, w->local.port, (uint16_t)len}, head);
    memcpy(name.sll_addr, to->host, FRAME_MAC);
    const struct msghdr m = with_header(head, all, iov, iovc, &name);
    return sendmsg(w->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Who sent the frame. False: nobody can have. */
static bool sender(const struct sockaddr_ll *name, uint16_t port, DodoUAddr *ret)
{
    if (name->sll_halen != FRAME_MAC || !address_mac_single(name->sll_addr))
        return false;
    *ret = (DodoUAddr){.kind = DODO_U_MAC, .port = port, .scope = (uint32_t)name->sll_ifindex};
    memcpy(ret->host, name->sll_addr, FRAME_MAC);
    return true;
}

static ssize_t raw_receive(const Way *w, const struct iovec *iov, int iovc, DodoUAddr *from)
{
    uint8_t head[FRAME_HEADER];
    struct iovec all[DODO_U_IOV_MAX + 1];
    struct sockaddr_ll name = {0};
    FrameHeader h;
    struct msghdr m = with_header(head, all, iov, iovc, &name);
    ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT | MSG_TRUNC); /* the frame's length, not ours */
    if (n < 0)
        return -errno;
    /* The filter has seen to the port, unless the socket's user did something to it. */
    if (frame_decode(head, (size_t)n, &h) != 0 || h.to != w->local.port ||
        !sender(&name, h.from, from))
        return -EBADMSG;
    return h.length > iov_length(iov, iovc) ? -EMSGSIZE : h.length;
}

static ssize_t raw_message_max(const Way *w)
{
    struct ifreq r = {0};
    if (!if_indextoname(w->local.scope, r.ifr_name) || ioctl(w->fd, SIOCGIFMTU, &r) != 0)
        return -ENODEV;
    ssize_t max = r.ifr_mtu - FRAME_HEADER;
    return max < FRAME_MESSAGE_MAX ? max : FRAME_MESSAGE_MAX;
}

static const WayOps raw_ops = {raw_send, raw_receive, raw_message_max};

int way_raw_open(const DodoUAddr *local, const WayBuffers *b, Way *ret)
{
    GrantReply r;
    int given = ask_helper(local, &r);
    if (given < 0)
        return given;
    CLEANUP_CLOSE int fd = os_above_standard(given);
    if (fd < 0)
        return -errno;
    if (b->send_bytes)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &b->send_bytes, sizeof b->send_bytes);
    if (b->receive_bytes)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &b->receive_bytes, sizeof b->receive_bytes);
    *ret =
        (Way){.ops = &raw_ops, .local = {.kind = DODO_U_MAC, .port = r.port, .scope = r.interface}};
    memcpy(ret->local.host, r.mac, FRAME_MAC);
    ret->fd = STEAL_FD(fd);
    return 0;
}
