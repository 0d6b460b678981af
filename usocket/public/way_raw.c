/* SPDX-License-Identifier: MIT */
/* Raw frames: the socket comes from the helper, which has bound it and attached its filter. */
#include "usocket/public/way.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "usocket/raw/ask.h"
#include "usocket/raw/frame.h"
#include "usocket/raw/mac.h"

static const uint64_t HELPER_WAIT_NS = 5 * NS_PER_S;

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
    if (name->sll_halen != FRAME_MAC || !mac_is_single(name->sll_addr))
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
    struct ifreq r = {.ifr_ifindex = (int)w->local.scope};
    if (ioctl(w->fd, SIOCGIFNAME, &r) != 0 || ioctl(w->fd, SIOCGIFMTU, &r) != 0)
        return -ENODEV;
    ssize_t max = r.ifr_mtu - FRAME_HEADER;
    return max < FRAME_MESSAGE_MAX ? max : FRAME_MESSAGE_MAX;
}

static const WayOps raw_ops = {raw_send, raw_receive, raw_message_max};

int way_raw_open(const DodoUAddr *local, const WayBuffers *b, Way *ret)
{
    GrantReply r;
    AskRequest ask = {.interface = local->scope, .port = local->port, .wait_ns = HELPER_WAIT_NS};
    memcpy(ask.mac, local->host, FRAME_MAC);
    int given = ask_helper(&ask, &r);
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
