/* SPDX-License-Identifier: MIT */
/* The UDP transport, IPv4 and IPv6. Many datagrams a system call: runs go out as GSO messages
 * (UDP_SEGMENT) and come in joined by GRO, everything else by sendmmsg and recvmmsg. Where the
 * route to a host cannot do GSO (no checksum offload, IPsec), that is found out when it fails, and
 * runs to that host are sent as single datagrams from then on.
 *
 * Datagrams are never fragmented: IP_PMTUDISC_DO refuses what exceeds the path MTU as known, and
 * datagram_max() asks the kernel what that is. */
#include "usocket/transport.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/sockaddr.h"
#include "base/time.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
    PEERS_MAX = 256,         /* hosts remembered; a colliding one takes the place of the other */
    STALL_MAX_MS = 20,       /* how long one send call may wait for a full send queue in all */
    IP4_OVERHEAD = 20 + 8,   /* IP and UDP header */
    IP6_OVERHEAD = 40 + 8,   /* without extension headers: the kernel adds none unasked */
    UDP4_MAX = 65507,        /* the most that IPv4's length field allows */
    DATAGRAM_MIN = 1280 - 48 /* every IPv6 path carries this much; so must ours for IPv4 */
};
static const uint64_t MTU_FRESH_NS = 5 * NS_PER_S;  /* then the route's MTU is asked for again */
static const uint64_t GSO_PAUSE_NS = 60 * NS_PER_S; /* then GSO is tried again */

typedef union Control { /* room for one cmsg of an int, aligned */
    struct cmsghdr header;
    uint8_t bytes[CMSG_SPACE(sizeof(int))];
} Control;

/* What is known about the way to a host. */
typedef struct Peer {
    Addr host; /* port 0; ADDR_NONE: free */
    size_t datagram_max;
    uint64_t mtu_until_ns; /* datagram_max is good until then */
    uint64_t gso_from_ns;  /* no GSO before then; 0: it works as far as known */
} Peer;

/* What one message of a batch stands for: @count datagrams of a send from the @first on. */
typedef struct Piece {
    const TransportSend *send;
    size_t first, count;
} Piece;

typedef struct Batch {
    unsigned count;
    Piece pieces[TRANSPORT_BATCH_MAX];
    struct mmsghdr messages[TRANSPORT_BATCH_MAX];
    struct iovec cuts[TRANSPORT_BATCH_MAX]; /* for runs in one iovec */
    SockAddr to[TRANSPORT_BATCH_MAX];
    Control controls[TRANSPORT_BATCH_MAX];
} Batch;

typedef struct Udp {
    Transport base;
    int fd;
    bool gso;
    bool too_long; /* a single datagram exceeded the path MTU since this was last cleared */
    int stall_ms;  /* what is left of STALL_MAX_MS in this call */
    Peer peers[PEERS_MAX];
    Batch batch;  /* the messages as planned */
    Batch single; /* a failed GSO message, datagram by datagram */
    struct mmsghdr in[TRANSPORT_BATCH_MAX];
    struct iovec in_iov[TRANSPORT_BATCH_MAX];
    SockAddr in_from[TRANSPORT_BATCH_MAX];
    Control in_control[TRANSPORT_BATCH_MAX];
} Udp;

/* ---- addresses ------------------------------------------------------------------------------- */

/* The entry for @to's host, made again where another host has it. */
static Peer *peer_of(Udp *u, const Addr *to)
{
    Addr host = *to;
    host.port = 0;
    Peer *p = &u->peers[addr_hash(&host) % PEERS_MAX];
    if (!addr_equal(&p->host, &host))
        *p = (Peer){.host = host};
    return p;
}

static bool gso_works(Udp *u, const Addr *to)
{
    if (!u->gso)
        return false;
    Peer *p = peer_of(u, to);
    if (p->gso_from_ns && os_now_ns() >= p->gso_from_ns)
        p->gso_from_ns = 0;
    return p->gso_from_ns == 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int flush(Udp *u, Batch *b);

static void set_segment(struct msghdr *h, Control *control, uint16_t segment)
{
    h->msg_control = control;
    h->msg_controllen = CMSG_SPACE(sizeof segment);
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    c->cmsg_level = SOL_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof segment);
    memcpy(CMSG_DATA(c), &segment, sizeof segment);
}

/* Puts a piece into the batch, which is sent first when it is full. */
static int push(Udp *u, Batch *b, Piece p)
{
    if (b->count == TRANSPORT_BATCH_MAX) {
        int res = flush(u, b);
        if (res < 0)
            return res;
    }
    unsigned i = b->count++;
    const TransportSend *s = p.send;
    struct msghdr *h = &b->messages[i].msg_hdr;
    b->pieces[i] = p;
    *h = (struct msghdr){.msg_name = &b->to[i], .msg_namelen = sockaddr_from(s->to, &b->to[i])};
    if (s->segment == 0) {
        h->msg_iov = (struct iovec *)s->iov; /* sendmsg does not write to it */
        h->msg_iovlen = s->iov_count;
    } else if (s->iov_per_segment) {
        size_t at = p.first * s->iov_per_segment, n = p.count * s->iov_per_segment;
        h->msg_iov = (struct iovec *)s->iov + at;
        h->msg_iovlen = s->iov_count - at < n ? s->iov_count - at : n;
    } else {
        size_t at = p.first * s->segment, n = p.count * s->segment;
        b->cuts[i] = (struct iovec){(uint8_t *)s->iov->iov_base + at,
                                    s->iov->iov_len - at < n ? s->iov->iov_len - at : n};
        h->msg_iov = &b->cuts[i];
        h->msg_iovlen = 1;
    }
    if (p.count > 1)
        set_segment(h, &b->controls[i], s->segment);
    return 0;
}

/* A GSO message that the kernel refused, once more as single datagrams. If these are sent, GSO was
 * the reason; if they are too long themselves, the path MTU has shrunk. */
static int send_singly(Udp *u, Piece p)
{
    int res = 0;
    u->too_long = false;
    for (size_t i = 0; i < p.count && res == 0; i++)
        res = push(u, &u->single, (Piece){p.send, p.first + i, 1});
    if (res == 0)
        res = flush(u, &u->single);
    if (!u->too_long)
        peer_of(u, p.send->to)->gso_from_ns = time_add(os_now_ns(), GSO_PAUSE_NS);
    return res;
}

/* The send queue is full: waits for room. False when this call has waited long enough. */
static bool wait_for_room(Udp *u)
{
    if (u->stall_ms <= 0)
        return false;
    uint64_t start = os_now_ns();
    struct pollfd p = {.fd = u->fd, .events = POLLOUT};
    (void)poll(&p, 1, u->stall_ms); /* interrupted: sending shows whether there is room */
    uint64_t waited_ms = (os_now_ns() - start) / NS_PER_MS;
    u->stall_ms -= waited_ms < STALL_MAX_MS ? (int)waited_ms + 1 : STALL_MAX_MS;
    return true;
}

/* Message @at of the batch was not sent because of @error. Outcomes: -errno, SEND_AGAIN, or
 * SEND_NEXT: it is lost, or was sent in another way. */
enum { SEND_AGAIN, SEND_NEXT };
static int send_failed(Udp *u, Batch *b, unsigned at, int error)
{
    Piece p = b->pieces[at];
    switch (error) {
    case EBADF:
    case ENOTSOCK:
    case EFAULT:
        return -error;
    case EINTR:
        return SEND_AGAIN;
    case EAGAIN:
        return wait_for_room(u) ? SEND_AGAIN : SEND_NEXT;
    case EIO:
    case EINVAL:
    case EMSGSIZE:
        if (p.count > 1) {
            int res = send_singly(u, p);
            return res < 0 ? res : SEND_NEXT;
        }
        if (error == EMSGSIZE) {
            u->too_long = true;
            peer_of(u, p.send->to)->mtu_until_ns = 0;
        }
        return SEND_NEXT;
    default: /* EPERM, ENETUNREACH, ECONNREFUSED, ENOBUFS ...: as lost as in the network */
        return SEND_NEXT;
    }
}

/* The address that we send from has gone, or the way to the peer. (For a run EINVAL may as well say
 * that there is no GSO.) */
static void note_astray(Udp *u, const Piece *p, int error)
{
    if (error != ENETUNREACH && error != EADDRNOTAVAIL && error != ENETDOWN &&
        (error != EINVAL || p->count > 1))
        return;
    u->base.astray++;
    u->base.astray_error = error;
}

static int flush(Udp *u, Batch *b)
{
    int res = 0;
    for (unsigned at = 0; at < b->count && res >= 0;) {
        int n = sendmmsg(u->fd, b->messages + at, b->count - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            at += (unsigned)n;
            u->base.sent += (unsigned)n;
            continue;
        }
        int error = errno;
        note_astray(u, &b->pieces[at], error);
        res = send_failed(u, b, at, error);
        at += res == SEND_NEXT;
    }
    b->count = 0;
    return res < 0 ? res : 0;
}

static size_t run_count(const TransportSend *s)
{
    if (s->iov_per_segment)
        return (s->iov_count + s->iov_per_segment - 1) / s->iov_per_segment;
    assert(s->iov_count == 1);
    return (s->iov->iov_len + s->segment - 1) / s->segment;
}

static size_t per_message(Udp *u, const TransportSend *s)
{
    if (!gso_works(u, s->to))
        return 1;
    size_t n = TRANSPORT_GSO_MAX / s->segment;
    if (n > TRANSPORT_GSO_SEGMENTS)
        n = TRANSPORT_GSO_SEGMENTS;
    if (s->iov_per_segment && n > IOV_MAX / s->iov_per_segment)
        n = IOV_MAX / s->iov_per_segment;
    return n > 1 ? n : 1;
}

static int udp_send(Transport *t, const TransportSend *sends, unsigned count)
{
    Udp *u = (Udp *)t;
    int res = 0;
    u->stall_ms = STALL_MAX_MS;
    for (unsigned i = 0; i < count && res == 0; i++) {
        const TransportSend *s = &sends[i];
        if (s->to->kind != t->local.kind)
            continue; /* of another family: no way leads there */
        if (s->segment == 0) {
            res = push(u, &u->batch, (Piece){s, 0, 1});
            continue;
        }
        size_t n = run_count(s), per = per_message(u, s);
        for (size_t at = 0; at < n && res == 0; at += per)
            res = push(u, &u->batch, (Piece){s, at, n - at < per ? n - at : per});
    }
    int flushed = flush(u, &u->batch);
    return res < 0 ? res : flushed;
}

static int udp_fd(const Transport *t)
{
    return ((const Udp *)t)->fd;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static uint16_t segment_of(struct msghdr *h)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        int segment;
        if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO)
            continue;
        memcpy(&segment, CMSG_DATA(c), sizeof segment);
        return segment > 0 && segment <= UINT16_MAX ? (uint16_t)segment : 0;
    }
    return 0;
}

static void take_message(TransportReceive *r, struct mmsghdr *m, const SockAddr *from)
{
    r->from = addr_from(from);
    r->len = m->msg_hdr.msg_flags & MSG_TRUNC ? 0 : m->msg_len; /* never with enough room */
    r->segment = segment_of(&m->msg_hdr);
    if (r->segment >= r->len)
        r->segment = 0;
}

static int receive(Udp *u, TransportReceive *receives, unsigned count, int flags)
{
    if (count > TRANSPORT_BATCH_MAX)
        count = TRANSPORT_BATCH_MAX;
    for (unsigned i = 0; i < count; i++) {
        struct msghdr *h = &u->in[i].msg_hdr; /* the rest of it stays as prepared */
        if (u->in_iov[i].iov_base == receives[i].buf)
            continue; /* so do those that no message has come into */
        assert(receives[i].cap >= TRANSPORT_RECV_MAX);
        u->in_iov[i] = (struct iovec){receives[i].buf, receives[i].cap};
        h->msg_namelen = sizeof u->in_from[i];
        h->msg_controllen = sizeof u->in_control[i];
    }
    int n = recvmmsg(u->fd, u->in, count, flags, NULL);
    if (n < 0) {
        int error = errno;
        /* Anything else (ECONNREFUSED ...) is about an earlier send and is gone now. */
        return error == EBADF || error == ENOTSOCK || error == EFAULT ? -error : 0;
    }
    for (int i = 0; i < n; i++) {
        take_message(&receives[i], &u->in[i], &u->in_from[i]);
        u->in_iov[i].iov_base = NULL; /* whichever call is the next to use it prepares it again */
    }
    return n;
}

static int udp_receive(Transport *t, TransportReceive *receives, unsigned count)
{
    return receive((Udp *)t, receives, count, MSG_DONTWAIT);
}

static int udp_receive_asleep(Transport *t, TransportReceive *receives, unsigned count)
{
    return receive((Udp *)t, receives, count, MSG_WAITFORONE);
}

static void udp_nudge(const Transport *t)
{
    SockAddr own;
    socklen_t len = sockaddr_from(&t->local, &own);
    (void)sendto(udp_fd(t), NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL, &own.any, len);
}

/* ---- the path MTU ---------------------------------------------------------------------------- */

/* What the route to @to carries: the MTU of a socket connected there. -errno. */
static int route_mtu(const Addr *local, const Addr *to)
{
    SockAddr from, peer;
    Addr near = *local, far = *to;
    near.port = 0;
    if (far.port == 0)
        far.port = 9; /* connecting sends nothing, but wants a port */
    socklen_t from_len = sockaddr_from(&near, &from), peer_len = sockaddr_from(&far, &peer);
    if (near.kind != far.kind || peer_len == 0)
        return -EAFNOSUPPORT;
    bool ip4 = far.kind == ADDR_IP4;
    CLEANUP_CLOSE int fd =
        os_above_standard(socket(peer.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    int mtu = 0;
    socklen_t len = sizeof mtu;
    if (fd < 0 || bind(fd, &from.any, from_len) != 0 || connect(fd, &peer.any, peer_len) != 0 ||
        getsockopt(fd, ip4 ? IPPROTO_IP : IPPROTO_IPV6, ip4 ? IP_MTU : IPV6_MTU, &mtu, &len) != 0)
        return -errno;
    return mtu;
}

static size_t udp_datagram_max(Transport *t, const Addr *to)
{
    Udp *u = (Udp *)t;
    Peer *p = peer_of(u, to);
    uint64_t now = os_now_ns();
    if (now < p->mtu_until_ns)
        return p->datagram_max;
    int mtu = route_mtu(&t->local, to);
    int payload = mtu < 0 ? 0 : mtu - (to->kind == ADDR_IP4 ? IP4_OVERHEAD : IP6_OVERHEAD);
    payload = payload < DATAGRAM_MIN ? DATAGRAM_MIN : payload > UDP4_MAX ? UDP4_MAX : payload;
    p->datagram_max = (size_t)payload;
    p->mtu_until_ns = time_add(now, MTU_FRESH_NS);
    return p->datagram_max;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void udp_close(Transport *t)
{
    Udp *u = (Udp *)t;
    if (u->fd >= 0)
        (void)close(u->fd);
    free(u);
}

static const TransportOps udp_ops = {
    .name = "udp",
    .close = udp_close,
    .send = udp_send,
    .receive = udp_receive,
    .receive_asleep = udp_receive_asleep,
    .nudge = udp_nudge,
    .fd = udp_fd,
    .datagram_max = udp_datagram_max,
};

/* As much as the system gives: beyond its limit with the privilege, else up to it. */
static void set_buffer(int fd, int force_option, int option, size_t bytes)
{
    int v = bytes > INT_MAX / 2 ? INT_MAX / 2 : (int)bytes;
    if (v > 0 && setsockopt(fd, SOL_SOCKET, force_option, &v, sizeof v) != 0)
        (void)setsockopt(fd, SOL_SOCKET, option, &v, sizeof v);
}

static int set_options(Udp *u, int family, const TransportOptions *o)
{
    const int one = 1, df4 = IP_PMTUDISC_DO, df6 = IPV6_PMTUDISC_DO;
    int granted = 0, segment = 0;
    socklen_t len = sizeof granted;
    bool ip4 = family == AF_INET;
    if (ip4 ? setsockopt(u->fd, IPPROTO_IP, IP_MTU_DISCOVER, &df4, sizeof df4) != 0
            : setsockopt(u->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &df6, sizeof df6) != 0 ||
                  setsockopt(u->fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) != 0)
        return -errno;
    set_buffer(u->fd, SO_RCVBUFFORCE, SO_RCVBUF, o->receive_bytes);
    set_buffer(u->fd, SO_SNDBUFFORCE, SO_SNDBUF, o->send_bytes);
    if (getsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &granted, &len) != 0)
        return -errno;
    u->base.receive_bytes = (size_t)granted;
    struct timeval patience = {(time_t)(o->patience_ns / NS_PER_S),
                               (suseconds_t)(o->patience_ns % NS_PER_S / NS_PER_US)};
    if (setsockopt(u->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        return -errno;
    /* Kernels before 4.18 have no GSO, before 5.0 no GRO: all works without. */
    len = sizeof segment;
    u->gso = !o->no_gso && getsockopt(u->fd, SOL_UDP, UDP_SEGMENT, &segment, &len) == 0;
    if (!o->no_gro)
        (void)setsockopt(u->fd, SOL_UDP, UDP_GRO, &one, sizeof one);
    return 0;
}

static void prepare_receives(Udp *u)
{
    for (unsigned i = 0; i < TRANSPORT_BATCH_MAX; i++)
        u->in[i].msg_hdr = (struct msghdr){.msg_name = &u->in_from[i],
                                           .msg_iov = &u->in_iov[i],
                                           .msg_iovlen = 1,
                                           .msg_control = &u->in_control[i]};
}

static int set_local(Udp *u)
{
    SockAddr local;
    socklen_t len = sizeof local;
    if (getsockname(u->fd, &local.any, &len) != 0)
        return -errno;
    u->base.local = addr_from(&local);
    return 0;
}

/* Wi-Fi, DHCP and VPNs bring addresses when they please: once it is there, the socket works. */
static int bind_to(Udp *u, const SockAddr *address, socklen_t len, bool free_bind)
{
    const int one = 1;
    if (bind(u->fd, &address->any, len) == 0)
        return 0;
    if (errno != EADDRNOTAVAIL || !free_bind)
        return -errno;
    bool ip4 = address->any.sa_family == AF_INET;
    if (setsockopt(u->fd, ip4 ? IPPROTO_IP : IPPROTO_IPV6, ip4 ? IP_FREEBIND : IPV6_FREEBIND, &one,
                   sizeof one) != 0 ||
        bind(u->fd, &address->any, len) != 0)
        return -EADDRNOTAVAIL;
    u->base.late = true;
    return 0;
}

int transport_udp_open(const Addr *local, const TransportOptions *options, Transport **ret)
{
    static const TransportOptions defaults;
    SockAddr address;
    socklen_t len = sockaddr_from(local, &address);
    if (len == 0)
        return -EAFNOSUPPORT;
    Udp *u = calloc(1, sizeof *u);
    if (!u)
        return -ENOMEM;
    u->base.ops = &udp_ops;
    u->fd = os_above_standard(
        socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)); /* calls say MSG_DONTWAIT */
    int res = u->fd < 0 ? -errno : 0;
    if (res == 0)
        res = set_options(u, address.any.sa_family, options ? options : &defaults);
    if (res == 0)
        res = bind_to(u, &address, len, options && options->free_bind);
    if (res == 0)
        res = set_local(u);
    if (res < 0) {
        udp_close(&u->base);
        return res;
    }
    prepare_receives(u);
    *ret = &u->base;
    return 0;
}
