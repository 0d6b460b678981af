/* SPDX-License-Identifier: MIT */
/* UDP, and raw frames beside it. Between ends that poll a frame takes less time than a datagram
 * (scripts/bench-raw). A run of more than three, or four long ones, goes sooner by UDP, which the
 * kernel carries as one (GSO), and so does all that goes to who sleeps. Which
 * peers take frames, raw/peers.h decides; whether we poll, we know by how often we look in vain.
 *
 * What comes as frames lies in a ring in memory, so that looking for it makes no system call. While
 * it comes that way, the UDP socket is looked at every few microseconds only. */
#include "usocket/transport.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/os.h"
#include "base/sockaddr.h"
#include "base/time.h"
#include "usocket/raw/ask.h"
#include "usocket/raw/datagram.h"
#include "usocket/raw/interface.h"
#include "usocket/raw/mac.h"
#include "usocket/raw/neighbours.h"
#include "usocket/raw/peers.h"
#include "usocket/raw/ring.h"

enum {
    RUN_MAX = 3,      /* datagrams of a run that goes as frames; */
    RUN_LONG_MAX = 4, /* of one of long datagrams: */
    LONG = 4096,      /* bytes of each */
    BATCH_MAX = 16,   /* frames a system call */
    PIECES_MAX = 4,   /* iovecs of a datagram */
    EMPTY_LOOKS = 32, /* in vain, until the socket is asked for an error */
    POLLS_LOOKS = 8,  /* in vain, for each message: who looks so often polls */
};
static const uint64_t UDP_LOOK_NS = 5 * NS_PER_US; /* while frames come */
/* As long as peers send frames to who said that it polls, and some more. */
static const uint64_t FRAMES_AGE_NS = 2 * PEER_TRUST_NS;

typedef struct FrameBatch {
    unsigned count;
    RawPeer *of[BATCH_MAX];
    size_t lengths[BATCH_MAX];
    struct mmsghdr messages[BATCH_MAX];
    struct iovec iov[BATCH_MAX][1 + PIECES_MAX];
    struct sockaddr_ll to[BATCH_MAX];
    uint8_t heads[BATCH_MAX][DATAGRAM_HEADER];
} FrameBatch;

typedef struct RawUdp {
    Transport base;
    Transport *udp;
    int fd;     /* of frames */
    int either; /* epoll: one of both is readable */
    uint32_t interface;
    uint16_t port; /* of our frames */
    size_t mtu;
    uint64_t patience_ns;
    bool last_by_udp;       /* what came last */
    uint64_t udp_looked_ns; /* while frames come */
    uint64_t frames_ns;     /* when we last said that we poll, 0: never */
    unsigned empty_looks;
    bool always, polls;             /* of TransportRaw; what the looks said */
    unsigned looks_vain, looks_met; /* since then */
    Ring ring;
    Neighbours neighbours;
    RawPeers peers;
    FrameBatch batch;
} RawUdp;

/* What others have counted. */
static void sum_up(RawUdp *r)
{
    r->base.sent = r->udp->sent + r->base.frames.sent;
    r->base.astray = r->udp->astray;
    r->base.astray_error = r->udp->astray_error;
}

/* ---- peers ----------------------------------------------------------------------------------- */

static void look_up(RawUdp *r, RawPeer *p, uint64_t now_ns)
{
    PeerWay way;
    int res = neighbours_look(&r->neighbours, &r->udp->local, &p->at, &way);
    raw_peer_looked(p, res == 0 ? &way : NULL, now_ns);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* What could not be sent is as lost as in the network; the peer gets no frames for a while. */
static void flush(RawUdp *r, uint64_t now_ns)
{
    FrameBatch *b = &r->batch;
    for (unsigned at = 0; at < b->count;) {
        int n = sendmmsg(r->fd, b->messages + at, b->count - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            at += (unsigned)n;
            r->base.frames.sent += (unsigned)n;
        } else if (errno != EINTR) {
            if (errno == EMSGSIZE && b->lengths[at] <= r->mtu)
                r->mtu = b->lengths[at] - 1; /* it has shrunk */
            raw_peer_failed(b->of[at++], now_ns);
        }
    }
    b->count = 0;
}

/* A frame to @p, whose @iov are borrowed until the next flush(). */
static void push(RawUdp *r, RawPeer *p, uint8_t kind, const struct iovec *iov, unsigned count,
                 uint64_t now_ns)
{
    FrameBatch *b = &r->batch;
    if (b->count == BATCH_MAX)
        flush(r, now_ns);
    const unsigned i = b->count++;
    DatagramHeader h = {
        .to_port = p->port, .from_port = r->port, .kind = kind, .from = p->way.self};
    h.from.port = r->udp->local.port;
    b->of[i] = p;
    b->iov[i][0] = (struct iovec){b->heads[i], DATAGRAM_HEADER};
    for (unsigned k = 0; k < count; k++) {
        b->iov[i][1 + k] = iov[k];
        h.length += iov[k].iov_len;
    }
    datagram_encode(&h, b->heads[i]);
    b->lengths[i] = DATAGRAM_HEADER + h.length;
    b->to[i] = (struct sockaddr_ll){.sll_family = AF_PACKET,
                                    .sll_protocol = htons(FRAME_ETHERTYPE),
                                    .sll_ifindex = (int)r->interface,
                                    .sll_halen = FRAME_MAC};
    memcpy(b->to[i].sll_addr, p->way.mac, FRAME_MAC);
    b->messages[i].msg_hdr = (struct msghdr){.msg_name = &b->to[i],
                                             .msg_namelen = sizeof b->to[i],
                                             .msg_iov = b->iov[i],
                                             .msg_iovlen = 1 + (size_t)count};
}

/* Whether we poll, by how often we looked in vain since this was last asked for. */
static bool polls(RawUdp *r, uint64_t now_ns)
{
    if (r->looks_vain + r->looks_met >= POLLS_LOOKS) {
        r->polls = r->looks_vain / POLLS_LOOKS >= r->looks_met;
        r->looks_vain = r->looks_met = 0;
    }
    if (r->polls || r->always)
        r->frames_ns = now_ns;
    return r->polls || r->always;
}

/* At once, with what waits before it. */
static void send_probe(RawUdp *r, RawPeer *p, uint8_t kind, uint32_t number, uint64_t now_ns)
{
    uint8_t bytes[DATAGRAM_PROBE];
    const struct iovec iov = {bytes, sizeof bytes};
    datagram_probe_encode(&(DatagramProbe){number, r->ring.frame_max, polls(r, now_ns)}, bytes);
    push(r, p, kind, &iov, 1, now_ns);
    flush(r, now_ns);
}

static void probe(RawUdp *r, RawPeer *p, uint64_t now_ns)
{
    uint32_t random = (uint32_t)now_ns;
    (void)os_random_try(&random, sizeof random); /* it is for strangers to guess, and no more */
    send_probe(r, p, DATAGRAM_ASK, raw_peer_probed(p, random, now_ns), now_ns);
}

/* The peer, if frames go to it now. Sees to it that it is known whether they do. */
static RawPeer *hearing_peer(RawUdp *r, const Addr *to, uint64_t now_ns)
{
    RawPeer *p = raw_peers_make(&r->peers, to, now_ns);
    if (!p)
        return NULL;
    if (raw_peer_must_look(p, now_ns) && (p->hears || raw_peers_may_look(&r->peers, now_ns)))
        look_up(r, p, now_ns);
    bool hears = raw_peer_hears(p, now_ns);
    if (raw_peer_must_probe(p, now_ns))
        probe(r, p, now_ns); /* first: who reads the datagram answers this, too */
    return hears && p->hears ? p : NULL;
}

/* How many datagrams are in it, and how long the longest is. 0: too many. */
static unsigned short_run(const TransportSend *s, size_t *ret_longest)
{
    size_t len = 0;
    if (s->segment == 0) {
        for (unsigned i = 0; i < s->iov_count; i++)
            len += s->iov[i].iov_len;
        *ret_longest = len;
        return s->iov_count <= PIECES_MAX ? 1 : 0;
    }
    *ret_longest = s->segment;
    size_t n = s->iov_per_segment ? (s->iov_count + s->iov_per_segment - 1) / s->iov_per_segment
                                  : (s->iov->iov_len + s->segment - 1) / s->segment;
    const size_t most = s->segment < LONG ? RUN_MAX : RUN_LONG_MAX;
    return n <= most && s->iov_per_segment <= PIECES_MAX ? (unsigned)n : 0;
}

static void push_run(RawUdp *r, RawPeer *p, const TransportSend *s, unsigned count, uint64_t now_ns)
{
    for (unsigned i = 0; i < count; i++) {
        if (s->segment == 0) {
            push(r, p, DATAGRAM_MESSAGE, s->iov, s->iov_count, now_ns);
        } else if (s->iov_per_segment) {
            const unsigned at = i * s->iov_per_segment, left = s->iov_count - at;
            push(r, p, DATAGRAM_MESSAGE, s->iov + at,
                 left < s->iov_per_segment ? left : s->iov_per_segment, now_ns);
        } else {
            const size_t at = (size_t)i * s->segment, left = s->iov->iov_len - at;
            const struct iovec cut = {(uint8_t *)s->iov->iov_base + at,
                                      left < s->segment ? left : s->segment};
            push(r, p, DATAGRAM_MESSAGE, &cut, 1, now_ns);
        }
    }
}

/* True: it goes as frames. */
static bool send_frames(RawUdp *r, const TransportSend *s, uint64_t now_ns)
{
    size_t longest;
    const unsigned count = short_run(s, &longest);
    if (count == 0 || longest + DATAGRAM_HEADER > r->mtu)
        return false;
    RawPeer *p = hearing_peer(r, s->to, now_ns);
    if (!p || longest + DATAGRAM_HEADER > p->frame_max)
        return false;
    push_run(r, p, s, count, now_ns);
    return true;
}

/* Those that go by UDP are sent together. Frames may come later or sooner than these. */
static int raw_send(Transport *t, const TransportSend *sends, unsigned count)
{
    RawUdp *r = (RawUdp *)t;
    const uint64_t now = os_now_ns();
    int res = 0;
    for (unsigned i = 0; i < count && res == 0;) {
        unsigned n = 0;
        while (i + n < count && !send_frames(r, &sends[i + n], now))
            n++;
        if (n > 0)
            res = r->udp->ops->send(r->udp, sends + i, n);
        i += n + (i + n < count);
    }
    flush(r, now);
    sum_up(r);
    return res;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Who sent it, if that is who it says. NULL: it is refused. */
static RawPeer *sender(RawUdp *r, const uint8_t *mac, const Addr *from, uint64_t now_ns)
{
    PeerWay way;
    RawPeer *p = raw_peers_find(&r->peers, from);
    if (p && raw_peer_must_look(p, now_ns) && (p->hears || raw_peers_may_look(&r->peers, now_ns)))
        look_up(r, p, now_ns);
    if (p && p->near)
        return memcmp(p->way.mac, mac, FRAME_MAC) == 0 ? p : NULL;
    /* A stranger gets no place in the table before it is known to be none. */
    if (!raw_peers_may_look(&r->peers, now_ns) ||
        neighbours_look(&r->neighbours, &r->udp->local, from, &way) != 0 ||
        memcmp(way.mac, mac, FRAME_MAC) != 0)
        return NULL;
    p = raw_peers_make(&r->peers, from, now_ns);
    if (p)
        raw_peer_looked(p, &way, now_ns);
    return p;
}

static void take_probe(RawUdp *r, RawPeer *p, const DatagramHeader *h, const DatagramProbe *b,
                       uint64_t now_ns)
{
    if (h->kind == DATAGRAM_ANSWER) {
        raw_peer_answered(p, h->from_port, b, now_ns);
        return;
    }
    raw_peer_asked(p, h->from_port, b, now_ns);
    send_probe(r, p, DATAGRAM_ANSWER, b->number, now_ns);
    if (raw_peer_must_probe(p, now_ns))
        probe(r, p, now_ns);
}

/* True: it is a message for @into. */
static bool take_frame(RawUdp *r, const RingFrame *f, TransportReceive *into, uint64_t now_ns)
{
    DatagramHeader h;
    DatagramProbe b;
    RawPeer *p = NULL;
    bool good = f->mac && mac_is_single(f->mac) && datagram_decode(f->bytes, f->len, &h) == 0 &&
                h.to_port == r->port && h.from.kind == r->udp->local.kind;
    const uint8_t *rest = f->bytes + DATAGRAM_HEADER;
    if (good && h.kind != DATAGRAM_MESSAGE)
        good = datagram_probe_decode(rest, h.length, &b) == 0;
    if (good)
        p = sender(r, f->mac, &h.from, now_ns);
    if (!p || h.length > into->cap) {
        r->base.frames.refused++;
        return false;
    }
    r->base.frames.received++;
    if (h.kind != DATAGRAM_MESSAGE) {
        take_probe(r, p, &h, &b, now_ns);
        return false;
    }
    raw_peer_spoke(p, now_ns);
    memcpy(into->buf, rest, h.length);
    into->from = h.from;
    into->len = h.length;
    into->segment = 0;
    return true;
}

/* Bounded also where only such frames come that are no messages. */
static unsigned take_frames(RawUdp *r, TransportReceive *receives, unsigned count)
{
    unsigned n = 0;
    RingFrame f;
    if (!ring_peek(&r->ring, &f))
        return 0;
    const uint64_t now = os_now_ns();
    for (unsigned i = 0; i < r->ring.count && n < count && ring_peek(&r->ring, &f); i++) {
        n += take_frame(r, &f, &receives[n], now);
        ring_release(&r->ring);
    }
    return n;
}

static int take_udp(RawUdp *r, TransportReceive *receives, unsigned count)
{
    int n = r->udp->ops->receive(r->udp, receives, count);
    if (n > 0)
        r->last_by_udp = true;
    return n;
}

/* Every look costs a system call. Where UDP brought what came last, it may bring the next. */
static bool udp_is_due(RawUdp *r)
{
    if (r->last_by_udp)
        return true;
    const uint64_t now = os_now_ns();
    if (now < time_add(r->udp_looked_ns, UDP_LOOK_NS))
        return false;
    r->udp_looked_ns = now;
    return true;
}

/* An interface that went down or away makes the socket readable until somebody asks why. */
static void clear_error(RawUdp *r)
{
    int error;
    socklen_t len = sizeof error;
    if (++r->empty_looks % EMPTY_LOOKS == 0)
        (void)getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &error, &len);
}

static int raw_receive(Transport *t, TransportReceive *receives, unsigned count)
{
    RawUdp *r = (RawUdp *)t;
    const unsigned room = count > 1 ? count - 1 : count; /* however many come, UDP has its turn */
    unsigned n = take_frames(r, receives, room);
    int more = 0;
    if (n > 0)
        r->last_by_udp = false;
    if (n < count && udp_is_due(r)) {
        more = take_udp(r, receives + n, count - n);
        if (n == 0 && more == 0)
            clear_error(r);
        sum_up(r);
    }
    if (n > 0 || more > 0)
        r->looks_met++;
    else
        r->looks_vain++;
    return more < 0 ? more : (int)n + more;
}

/* Who was not told lately that we poll sends us no frames, but for probes, and they come with
 * datagrams. */
static int raw_receive_asleep(Transport *t, TransportReceive *receives, unsigned count)
{
    RawUdp *r = (RawUdp *)t;
    r->looks_met++; /* no poll */
    unsigned n = take_frames(r, receives, count);
    if (n > 0)
        return (int)n;
    if (r->frames_ns == 0 || os_now_ns() >= time_add(r->frames_ns, FRAMES_AGE_NS))
        return r->udp->ops->receive_asleep(r->udp, receives, count);
    struct pollfd fds[2] = {{.fd = r->fd, .events = POLLIN},
                            {.fd = r->udp->ops->fd(r->udp), .events = POLLIN}};
    const struct timespec patience = time_to_timespec(r->patience_ns);
    if (ppoll(fds, 2, r->patience_ns ? &patience : NULL, NULL) <= 0)
        return 0;
    if (fds[0].revents)
        n = take_frames(r, receives, count);
    if (n == 0)
        clear_error(r);
    int more = fds[1].revents && n < count ? take_udp(r, receives + n, count - n) : 0;
    if (n > 0 && more == 0)
        r->last_by_udp = false;
    return more < 0 ? more : (int)n + more;
}

static void raw_nudge(const Transport *t)
{
    const RawUdp *r = (const RawUdp *)t;
    r->udp->ops->nudge(r->udp);
}

static int raw_fd(const Transport *t)
{
    return ((const RawUdp *)t)->either;
}

static size_t raw_datagram_max(Transport *t, const Addr *to)
{
    RawUdp *r = (RawUdp *)t;
    return r->udp->ops->datagram_max(r->udp, to);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void raw_close(Transport *t)
{
    RawUdp *r = (RawUdp *)t;
    transport_close(r->udp);
    ring_close(&r->ring);
    neighbours_close(&r->neighbours);
    if (r->fd >= 0)
        (void)close(r->fd);
    if (r->either >= 0)
        (void)close(r->either);
    free(r);
}

static const TransportOps raw_ops = {
    .name = "raw",
    .close = raw_close,
    .send = raw_send,
    .receive = raw_receive,
    .receive_asleep = raw_receive_asleep,
    .nudge = raw_nudge,
    .fd = raw_fd,
    .datagram_max = raw_datagram_max,
};

/* The port with the number of the UDP port, so that a probe finds it; or else any, which our own
 * probes tell. */
static int ask_for_port(RawUdp *r, const TransportRaw *raw)
{
    GrantReply reply;
    AskRequest ask = {
        .interface = r->interface, .port = r->udp->local.port, .wait_ns = raw->wait_ns};
    int fd = ask_helper(&ask, &reply);
    if (fd == -EADDRINUSE) {
        ask.port = 0;
        fd = ask_helper(&ask, &reply);
    }
    r->fd = fd < 0 ? fd : os_above_standard(fd);
    if (fd >= 0 && r->fd < 0)
        return -errno;
    r->port = r->fd < 0 ? 0 : reply.port;
    return r->fd < 0 ? r->fd : 0;
}

static int read_mtu(RawUdp *r, const char *interface)
{
    struct ifreq q = {0};
    strncpy(q.ifr_name, interface, sizeof q.ifr_name - 1);
    if (ioctl(r->fd, SIOCGIFMTU, &q) != 0)
        return -errno;
    r->mtu = (size_t)q.ifr_mtu;
    return 0;
}

static int watch_both(RawUdp *r)
{
    struct epoll_event e = {.events = EPOLLIN};
    r->either = os_above_standard(epoll_create1(EPOLL_CLOEXEC));
    if (r->either < 0 || epoll_ctl(r->either, EPOLL_CTL_ADD, r->fd, &e) != 0 ||
        epoll_ctl(r->either, EPOLL_CTL_ADD, r->udp->ops->fd(r->udp), &e) != 0)
        return -errno;
    return 0;
}

static int open_frames(RawUdp *r, const TransportRaw *raw)
{
    int res = interface_number(raw->interface, &r->interface);
    if (res == 0)
        res = ask_for_port(r, raw);
    if (res == 0)
        res = read_mtu(r, raw->interface);
    if (res == 0)
        res = ring_open(&r->ring, r->fd, r->mtu);
    if (res == 0)
        res = neighbours_open(&r->neighbours, r->interface);
    return res == 0 ? watch_both(r) : res;
}

int transport_raw_open(const Addr *local, const TransportOptions *options, const TransportRaw *raw,
                       Transport **ret, int *ret_raw)
{
    int res = transport_udp_open(local, options, ret);
    *ret_raw = 0;
    if (res < 0)
        return res;
    RawUdp *r = calloc(1, sizeof *r);
    if (!r) {
        *ret_raw = -ENOMEM;
        return 0;
    }
    r->udp = *ret;
    r->fd = r->either = r->neighbours.fd = -1;
    r->patience_ns = options ? options->patience_ns : 0;
    r->always = raw->always;
    r->base = *r->udp;
    r->base.ops = &raw_ops;
    *ret_raw = open_frames(r, raw);
    if (*ret_raw == 0) {
        *ret = &r->base;
        return 0;
    }
    r->udp = NULL; /* it is the caller's */
    raw_close(&r->base);
    return 0;
}

const char *transport_raw_advice(int error)
{
    switch (-error) {
    case ECONNREFUSED:
        return "start dodo-socket for the interface: systemctl enable --now "
               "dodo-socket@INTERFACE.socket";
    case EACCES:
        return "add this program's user to the group dodo-socket";
    case ENODEV:
        return "no such interface, or none of Ethernet: see ip link";
    case EDQUOT:
    case ENOBUFS:
        return "the helper gives no more sockets: fewer threads or programs with raw frames";
    case ETIMEDOUT:
    case EPROTO:
        return "the helper does not answer as it should: see the log of dodo-socket";
    default:
        return "see dodo-socket(8)";
    }
}
