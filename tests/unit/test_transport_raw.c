/* SPDX-License-Identifier: MIT */
/* UDP with raw frames beside it, between two hosts: all that holds over UDP, what goes as frames,
 * how peers get to know each other, and what strangers can do. Run by tests/net/raw.sh, which makes
 * the hosts (network namespaces) and their helpers, with a privilege that the transport itself does
 * not use: to go into the namespaces, and to forge. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/os.h"
#include "base/random.h"
#include "base/sockaddr.h"
#include "tests/unit/transport_ends.h"
#include "usocket/raw/datagram.h"

enum { FORGED = 100000, BETWEEN = 32, LINK = 14, FORGED_MAX = 300 };

/* A host as the script has made it. */
typedef struct Host {
    const char *namespace, *helpers, *address;
} Host;
static Host hosts[2];
static bool polling; /* frames go to who polls alone, as for all but tests */

static void enter(const Host *h)
{
    int fd = open(h->namespace, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(setns(fd, CLONE_NEWNET), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(setenv("DODO_SOCKET_DIR", h->helpers, 1), 0);
}

static int open_on(const Host *h, const char *address, Transport **ret)
{
    const TransportOptions o = {.receive_bytes = 212992};
    const TransportRaw raw = {.interface = "eth0", .wait_ns = 60 * NS_PER_S, .always = !polling};
    int why = 0;
    Addr at;
    enter(h);
    assert_int_equal(addr_parse(address, 0, &at), 0);
    assert_int_equal(transport_raw_open(&at, &o, &raw, ret, &why), 0);
    return why;
}

static void open_ends(Ends *e)
{
    assert_int_equal(open_on(&hosts[0], hosts[0].address, &e->from), 0);
    assert_int_equal(open_on(&hosts[1], hosts[1].address, &e->to), 0);
    assert_string_equal(e->from->ops->name, "raw");
}

static void send_byte(Transport *from, const Addr *to, uint8_t byte)
{
    struct iovec iov = {&byte, 1};
    const TransportSend s = {.to = to, .iov = &iov, .iov_count = 1};
    assert_int_equal(from->ops->send(from, &s, 1), 0);
}

/* Takes in what is there. Returns the messages. */
static int drain(Transport *t)
{
    int n = 0;
    for (int k = 1; k > 0;) {
        TransportReceive r = {.buf = in[0], .cap = sizeof in[0]};
        k = t->ops->receive(t, &r, 1);
        n += k;
    }
    return n;
}

static bool goes_as_frames(Transport *from, Transport *to)
{
    const uint64_t before = to->frames.received;
    send_byte(from, &to->local, 1);
    for (int n = 0; n == 0;) {
        assert_int_equal(transport_wait(to, PATIENCE_NS), 1);
        n = drain(to);
    }
    (void)drain(from); /* answers to probes */
    return to->frames.received > before;
}

/* Sends to and fro until both go as frames. A probe alone counts as one, too. */
static void meet(Ends *e)
{
    const uint64_t end = os_now_ns() + PATIENCE_NS;
    for (int good = 0; good < 3;) {
        assert_true(os_now_ns() < end);
        const bool there = goes_as_frames(e->from, e->to), back = goes_as_frames(e->to, e->from);
        good = there && back ? good + 1 : 0;
    }
}

/* ---- what every transport does --------------------------------------------------------------- */

TEST(send__runs)
{
    Ends e;
    bool joined = false;
    open_ends(&e);
    check_run(&e, 2000, 1000, 1, &joined); /* strangers yet: by UDP */
    meet(&e);
    check_all_runs(&e, &joined);
    assert_int_equal(e.to->frames.refused, 0);
    close_ends(&e);
}

TEST(send__many_single_datagrams_keep_their_order)
{
    Ends e;
    open_ends(&e);
    meet(&e);
    check_many(&e);
    assert_true(e.to->frames.received >= 200);
    close_ends(&e);
}

TEST(receive__nothing_there)
{
    Ends e;
    open_ends(&e);
    check_nothing(&e);
    meet(&e);
    check_nothing(&e);
    close_ends(&e);
}

TEST(datagram_max__goes_through)
{
    Ends e;
    open_ends(&e);
    check_longest(&e);
    meet(&e);
    const uint64_t before = e.to->frames.received;
    check_longest(&e);
    assert_true(e.to->frames.received > before);
    close_ends(&e);
}

TEST(receive_asleep__a_nudge_or_a_frame_ends_it)
{
    Ends e;
    open_ends(&e);
    check_nudges(e.to);
    meet(&e);
    check_nudges(e.to);
    for (int i = 0; i < 100; i++) {
        TransportReceive r = {.buf = in[0], .cap = sizeof in[0]};
        send_byte(e.from, &e.to->local, (uint8_t)i);
        while (e.to->ops->receive_asleep(e.to, &r, 1) == 0) { /* a probe alone */
        }
        assert_int_equal(r.len, 1);
        assert_int_equal(r.buf[0], i);
        assert_true(addr_equal(&r.from, &e.from->local));
        (void)drain(e.from);
    }
    close_ends(&e);
}

/* ---- peers ----------------------------------------------------------------------------------- */

/* A program binds to no address: its frames say which one its datagrams come from. */
TEST(open__at_any_address)
{
    Ends e;
    Addr from;
    const char *any = hosts[0].address[0] == '[' ? "[::]:0" : "0.0.0.0:0";
    assert_int_equal(open_on(&hosts[0], any, &e.from), 0);
    assert_int_equal(open_on(&hosts[1], hosts[1].address, &e.to), 0);
    assert_int_equal(addr_parse(hosts[0].address, 0, &from), 0);
    from.port = e.from->local.port;
    bool as_frames = false;
    for (int i = 0; i < 1000 && !as_frames; i++) {
        const uint64_t before = e.to->frames.received;
        TransportReceive r = {.buf = in[0], .cap = sizeof in[0]};
        send_byte(e.from, &e.to->local, 7);
        for (int n = 0; n == 0;) {
            assert_int_equal(transport_wait(e.to, PATIENCE_NS), 1);
            n = e.to->ops->receive(e.to, &r, 1);
        }
        assert_true(addr_equal(&r.from, &from));
        as_frames = e.to->frames.received > before + 1; /* more than a probe */
        (void)drain(e.from);
    }
    close_ends(&e);
}

/* Short runs go as frames, long ones by UDP. */
TEST(send__long_runs_by_udp)
{
    Ends e;
    bool joined = false;
    open_ends(&e);
    meet(&e);
    uint64_t before = e.to->frames.received;
    check_run(&e, 3000, 1000, 2, &joined);
    assert_in_range(e.to->frames.received - before, 3, 4); /* and a probe, perhaps */
    before = e.to->frames.received;
    check_run(&e, 4000, 1000, 2, &joined);
    assert_in_range(e.to->frames.received - before, 0, 0);
    close_ends(&e);
}

/* The receiver looks @looks times and finds nothing; then a byte is sent to it. True: that came as
 * a frame. */
static bool frame_after(Ends *e, int looks)
{
    TransportReceive r = {.buf = in[0], .cap = sizeof in[0]};
    for (int i = 0; i < looks; i++)
        (void)e->to->ops->receive(e->to, &r, 1);
    const uint64_t before = e->to->frames.received;
    send_byte(e->from, &e->to->local, 1);
    while (e->to->ops->receive_asleep(e->to, &r, 1) == 0) {
    }
    (void)e->from->ops->receive(e->from, &r, 1); /* what was answered */
    return e->to->frames.received > before;
}

/* Who sleeps gets datagrams; once it polls, frames, and datagrams when it sleeps again. */
TEST(send__frames_to_who_polls)
{
    const uint64_t end = os_now_ns() + PATIENCE_NS / 10;
    Ends e;
    polling = true;
    open_ends(&e);
    polling = false;
    unsigned frames = 0;
    for (unsigned i = 0; i < 1000; i++)
        frames += frame_after(&e, 0);
    assert_true(frames < 500); /* probes alone */
    for (unsigned row = 0; row < 20 && os_now_ns() < end;)
        row = frame_after(&e, 20) ? row + 1 : 0;
    for (unsigned row = 0; row < 20 && os_now_ns() < end;)
        row = frame_after(&e, 0) ? 0 : row + 1;
    assert_true(os_now_ns() < end);
    close_ends(&e);
}

/* One of the two has no frames: all goes by UDP, and nothing is lost. */
TEST(send__to_a_peer_without_frames)
{
    Ends e;
    Addr at;
    bool joined = false;
    assert_int_equal(open_on(&hosts[0], hosts[0].address, &e.from), 0);
    enter(&hosts[1]);
    assert_int_equal(addr_parse(hosts[1].address, 0, &at), 0);
    assert_int_equal(transport_udp_open(&at, NULL, &e.to), 0);
    for (int i = 0; i < 100; i++)
        check_run(&e, 2000, 1000, 0, &joined);
    close_ends(&e);
}

/* On one host there is no wire between two ends. */
TEST(send__to_the_same_host)
{
    Ends e;
    bool joined = false;
    assert_int_equal(open_on(&hosts[0], hosts[0].address, &e.from), 0);
    assert_int_equal(open_on(&hosts[0], hosts[0].address, &e.to), 0);
    for (int i = 0; i < 100; i++)
        check_run(&e, 2000, 1000, 0, &joined);
    assert_int_equal(e.from->frames.sent, 0);
    close_ends(&e);
}

/* It ends while others send: they go on by UDP, to who comes after it, too. */
TEST(send__to_one_that_comes_back_without_frames)
{
    Ends e;
    open_ends(&e);
    meet(&e);
    const Addr at = e.to->local;
    e.to = transport_close(e.to);
    enter(&hosts[1]);
    assert_int_equal(transport_udp_open(&at, NULL, &e.to), 0);
    const uint64_t end = os_now_ns() + PATIENCE_NS;
    int came = 0;
    for (; came < 10; came += drain(e.to)) {
        assert_true(os_now_ns() < end);
        send_byte(e.from, &at, 3);
        (void)transport_wait(e.to, NS_PER_MS);
    }
    close_ends(&e);
}

static void set_up(bool up)
{
    struct ifreq q = {.ifr_name = "eth0"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &q), 0);
    q.ifr_flags = (short)(up ? q.ifr_flags | IFF_UP : q.ifr_flags & ~IFF_UP);
    assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &q), 0);
    (void)close(fd);
}

/* The error that this leaves keeps nobody awake for ever. */
TEST(receive__after_the_interface_was_down)
{
    Ends e;
    open_ends(&e);
    if (e.to->local.kind == ADDR_IP6) { /* whose addresses go with it */
        close_ends(&e);
        return;
    }
    meet(&e);
    enter(&hosts[1]);
    set_up(false);
    for (int i = 0; transport_wait(e.to, 0) == 1; i++) {
        assert_true(i < 10000);
        assert_int_equal(drain(e.to), 0);
    }
    set_up(true);
    const uint64_t end = os_now_ns() + PATIENCE_NS / 10, frames = e.to->frames.received;
    while (e.to->frames.received < frames + 10) { /* what goes before there is a way is lost */
        assert_true(os_now_ns() < end);
        send_byte(e.from, &e.to->local, 1);
        (void)transport_wait(e.to, NS_PER_MS);
        (void)drain(e.to);
        (void)drain(e.from);
    }
    close_ends(&e);
}

TEST(open__says_why_there_are_no_frames)
{
    const TransportRaw none = {.interface = "nosuch0", .wait_ns = NS_PER_S};
    const TransportRaw lo = {.interface = "lo", .wait_ns = NS_PER_S};
    Transport *t;
    Addr at;
    int why;
    enter(&hosts[0]);
    assert_int_equal(addr_parse(hosts[0].address, 0, &at), 0);
    assert_int_equal(transport_raw_open(&at, NULL, &none, &t, &why), 0);
    assert_int_equal(why, -ENODEV);
    assert_string_equal(t->ops->name, "udp");
    t = transport_close(t);
    assert_int_equal(transport_raw_open(&at, NULL, &lo, &t, &why), 0);
    assert_int_equal(why, -ECONNREFUSED); /* no helper serves it */
    assert_string_equal(t->ops->name, "udp");
    assert_non_null(strstr(transport_raw_advice(why), "dodo-socket"));
    t = transport_close(t);
}

/* ---- strangers ------------------------------------------------------------------------------- */

typedef struct Forged {
    uint8_t bytes[LINK + FORGED_MAX];
    size_t len;
} Forged;

static void hardware_address(const Host *h, uint8_t ret[FRAME_MAC])
{
    struct ifreq q = {.ifr_name = "eth0"};
    enter(h);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &q), 0);
    memcpy(ret, q.ifr_hwaddr.sa_data, FRAME_MAC);
    (void)close(fd);
}

/* A frame that the filter takes and that is none of ours, or not of who it says. */
static void forge(Random *r, Forged *f, const uint8_t macs[2][FRAME_MAC], const Ends *e)
{
    DatagramHeader h = {.to_port = e->to->local.port,
                        .from_port = e->from->local.port,
                        .kind = (uint8_t)(DATAGRAM_MESSAGE + random_below(r, 3)),
                        .from = e->from->local,
                        .length = DATAGRAM_PROBE};
    uint8_t *head = f->bytes + LINK;
    memcpy(f->bytes, macs[1], FRAME_MAC);
    memcpy(f->bytes + FRAME_MAC, macs[0], FRAME_MAC);
    f->bytes[12] = FRAME_ETHERTYPE >> 8;
    f->bytes[13] = FRAME_ETHERTYPE & 0xff;
    f->len = LINK + DATAGRAM_HEADER + h.length;
    datagram_encode(&h, head);
    datagram_probe_encode(&(DatagramProbe){(uint32_t)random_next(r), 1500, true},
                          head + DATAGRAM_HEADER);
    switch (random_below(r, 7)) {
    case 0: /* another host's MAC address */
        f->bytes[FRAME_MAC + 1 + random_below(r, 5)] ^= 0x11;
        break;
    case 1: /* for another sender's */
        head[12 + random_below(r, e->to->local.kind == ADDR_IP4 ? 4 : 16)] ^=
            (uint8_t)(1 + random_below(r, 255));
        break;
    case 2: /* of the other family */
        head[9] = e->to->local.kind == ADDR_IP4 ? 6 : 4;
        break;
    case 3: /* no kind of ours */
        head[8] = (uint8_t)(DATAGRAM_ANSWER + 1 + random_below(r, 40));
        break;
    case 4: /* cut off */
        f->len = LINK + 4 + (size_t)random_below(r, DATAGRAM_HEADER + DATAGRAM_PROBE - 4);
        break;
    case 5: /* from nobody's port */
        put_u16(head + 10, 0);
        break;
    default: /* no probe */
        head[8] = (uint8_t)(DATAGRAM_ASK + random_below(r, 2));
        put_u16(head + DATAGRAM_HEADER + 6, (uint16_t)(2 + random_below(r, 1000)));
    }
}

/* Nothing but a counter changes, and messages between the frames arrive. */
TEST(strangers__change_nothing_but_a_counter)
{
    uint8_t macs[2][FRAME_MAC];
    struct sockaddr_ll out = {.sll_family = AF_PACKET, .sll_halen = FRAME_MAC};
    Random r = {2027};
    Ends e;
    open_ends(&e);
    meet(&e);
    hardware_address(&hosts[1], macs[1]);
    hardware_address(&hosts[0], macs[0]);
    out.sll_ifindex = (int)if_nametoindex("eth0");
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    const uint64_t refused = e.to->frames.refused, answers = e.to->frames.sent;
    unsigned good = 0;
    const unsigned count = e.to->local.kind == ADDR_IP4 ? FORGED : FORGED / 10;
    for (unsigned i = 0; i < count; i++) {
        Forged f = {.len = 0};
        forge(&r, &f, macs, &e);
        assert_int_equal(sendto(fd, f.bytes, f.len, 0, (struct sockaddr *)&out, sizeof out), f.len);
        if (i % BETWEEN == 0)
            good += goes_as_frames(e.from, e.to);
    }
    assert_int_equal(drain(e.to), 0);
    assert_int_equal(e.to->frames.refused - refused, count);
    assert_true(good > count / BETWEEN / 2); /* the others by UDP: the machine may be busy */
    /* Its own probes and answers to those of the real one: none to what was forged. */
    assert_true(e.to->frames.sent - answers < count / BETWEEN * 3);
    meet(&e);
    assert_int_equal(close(fd), 0);
    close_ends(&e);
}

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    for (int i = 0; i < 2; i++)
        hosts[i] = (Host){argv[1 + 3 * i], argv[2 + 3 * i], argv[3 + 3 * i]};
    return cases_run(NULL, NULL);
}
