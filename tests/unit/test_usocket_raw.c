/* SPDX-License-Identifier: MIT */
/* Raw frames alone: what a stranger on the network can do to a socket, and what one can do to it
 * who has it. Run by tests/net/usocket.sh, on the interfaces ua and ub, with a privilege that the
 * library itself does not use: to forge. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.h"
#include "tests/unit/usocket_fixture.h"
#include "usocket/raw/frame.h"

enum { FORGED = 100000, BETWEEN = 32, LINK = 14, FORGED_MAX = 300 };

/* ---- strangers ------------------------------------------------------------------------------- */

/* A frame as it is on the wire. */
typedef struct Forged {
    uint8_t bytes[LINK + FORGED_MAX];
    size_t len;
    bool taken; /* the filter takes it, and the library has to refuse it */
} Forged;

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/* A good frame from @from to @to, as if of some host. */
static void forge_good(Forged *f, const macaddr_t *to, const macaddr_t *from, size_t message)
{
    memset(f, 0, sizeof *f);
    memcpy(f->bytes, to->host, 6);
    memcpy(f->bytes + 6, from->host, 6);
    put16(f->bytes + 12, FRAME_ETHERTYPE);
    frame_encode(&(FrameHeader){to->port, from->port, (uint16_t)message}, f->bytes + LINK);
    fill(f->bytes + LINK + FRAME_HEADER, message);
    f->len = LINK + FRAME_HEADER + message;
}

/* Something that is no message for @to. */
static void forge(Random *r, Forged *f, const macaddr_t *to, const macaddr_t *from)
{
    size_t message = (size_t)random_below(r, 200);
    forge_good(f, to, from, message);
    uint8_t *head = f->bytes + LINK;
    switch (random_below(r, 9)) {
    case 0: /* another port */
        head[2] ^= (uint8_t)(1 + random_below(r, 255));
        break;
    case 1: /* another host's */
        f->bytes[random_below(r, 6)] ^= 0x20;
        break;
    case 2: /* everybody's */
        memset(f->bytes, 0xff, 6);
        break;
    case 3: /* another protocol */
        put16(f->bytes + 12, random_below(r, 2) ? 0x88b6 : 0x9999);
        break;
    case 4: /* another version */
        head[random_below(r, 2)] ^= (uint8_t)(1 + random_below(r, 255));
        break;
    case 5: /* cut off: within the header, or the message */
        f->len = LINK + (size_t)random_below(r, FRAME_HEADER + message);
        f->taken = f->len >= LINK + 4;
        break;
    case 6: /* it says that it is longer */
        put16(head + 6, 0);
        head[7] = (uint8_t)(1 + random_below(r, 255));
        f->taken = true;
        break;
    case 7: /* more comes than it says, and than Ethernet pads */
        f->len = LINK + FRAME_PADDED + 1 + (size_t)random_below(r, FORGED_MAX - FRAME_PADDED - 1);
        head[6] = (uint8_t)random_below(r, 30);
        head[7] = 0;
        f->taken = true;
        break;
    default: /* from nobody */
        if (random_below(r, 2))
            put16(head + 4, 0);
        else
            f->bytes[6] |= 1;
        f->taken = true;
    }
}

static int stranger_open(const char *interface, struct sockaddr_ll *ret)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    *ret = (struct sockaddr_ll){
        .sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface), .sll_halen = 6};
    assert_true(fd >= 0);
    return fd;
}

static void stranger_send(int fd, const struct sockaddr_ll *to, const Forged *f)
{
    assert_int_equal(sendto(fd, f->bytes, f->len, 0, (const struct sockaddr *)to, sizeof *to),
                     f->len);
}

/* Nothing but a counter changes, and messages between the frames arrive. */
TEST(strangers__change_nothing_but_a_counter)
{
    Ends e = ends_make();
    struct sockaddr_ll out;
    int fd = stranger_open("ub", &out);
    Random r = {2026};
    DodoUStats st;
    uint64_t refused = 0, good = 0;
    for (unsigned i = 0; i < FORGED; i++) {
        Forged f;
        forge(&r, &f, &e.at[0], &e.at[1]);
        stranger_send(fd, &out, &f);
        refused += f.taken;
        if (i % BETWEEN != 0)
            continue;
        send_filled(e.s[1], i % 1000);
        expect_filled(e.s[0], i % 1000, e.at[1]);
        expect_nothing(e.s[0]);
        good++;
    }
    expect_nothing(e.s[0]);
    assert_int_equal(dodo_u_stats(e.s[0], &st), 0);
    assert_in_range(refused, FORGED / 4, FORGED / 2);
    assert_int_equal(st.refused, refused);
    assert_int_equal(st.received, good);
    assert_int_equal(st.dropped, 0);
    assert_int_equal(st.cut, 0);
    assert_int_equal(close(fd), 0);
    ends_close(&e);
}

/* Where the frames are read as they come, too: the same as with a program of one's own. */
TEST(strangers__a_good_frame_is_a_message)
{
    Ends e = ends_make();
    struct sockaddr_ll out;
    Forged f;
    int fd = stranger_open("ub", &out);
    for (size_t message = 0; message < 100; message++) {
        forge_good(&f, &e.at[0], &e.at[1], message);
        if (f.len < LINK + FRAME_PADDED)
            f.len = LINK + FRAME_PADDED; /* as a network card pads it */
        stranger_send(fd, &out, &f);
        expect_filled(e.s[0], message, e.at[1]);
    }
    assert_int_equal(close(fd), 0);
    ends_close(&e);
}

/* A flood of what is refused keeps nobody in a call that does not wait. */
TEST(strangers__do_not_hold_up_a_call)
{
    Ends e = ends_make();
    struct sockaddr_ll out;
    Forged f;
    DodoUStats st;
    int fd = stranger_open("ub", &out);
    forge_good(&f, &e.at[0], &e.at[1], 3);
    f.bytes[LINK + 6] = 9;
    for (int i = 0; i < 300; i++)
        stranger_send(fd, &out, &f);
    expect_nothing(e.s[0]);
    assert_int_equal(dodo_u_stats(e.s[0], &st), 0);
    assert_in_range(st.refused, 1, 299);
    send_filled(e.s[1], 7);
    expect_filled(e.s[0], 7, e.at[1]);
    assert_int_equal(dodo_u_stats(e.s[0], &st), 0);
    assert_int_equal(st.refused + st.dropped, 300);
    assert_int_equal(close(fd), 0);
    ends_close(&e);
}

/* However many are refused before nothing is left: with O_NONBLOCK no call waits. */
TEST(strangers__do_not_make_a_call_wait)
{
    enum { MOST = 260 };
    Ends e = ends_make();
    struct sockaddr_ll out;
    Forged f;
    char byte;
    int fd = stranger_open("ub", &out);
    forge_good(&f, &e.at[0], &e.at[1], 3);
    f.bytes[LINK + 6] = 9;
    assert_int_equal(fcntl(e.s[0], F_SETFL, O_NONBLOCK), 0);
    for (int count = 1; count < MOST; count++) {
        for (int i = 0; i < count; i++)
            stranger_send(fd, &out, &f);
        while (is_readable(e.s[0]))
            assert_errno(u_recv(e.s[0], &byte, 1, NULL, -1), EAGAIN);
    }
    assert_int_equal(close(fd), 0);
    ends_close(&e);
}

/* ---- who has the socket ---------------------------------------------------------------------- */

/* The kernel's socket behind the one that was made last. */
static int packet_socket(void)
{
    for (int fd = 255; fd > 2; fd--) {
        int domain = 0;
        socklen_t len = sizeof domain;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_PACKET)
            return fd;
    }
    fail_msg("there is no packet socket");
    return -1;
}

/* The filter stays, and takes nothing else, whatever is done to the socket. */
TEST(given_socket__takes_nothing_else)
{
    Ends e = ends_make();
    macaddr_t third_at;
    int third = bound_to("any/0%ub", &third_at), fd = packet_socket();
    struct sock_filter all = {.code = BPF_RET | BPF_K, .k = UINT32_MAX};
    const struct sock_fprog program = {1, &all};
    const int off = 0;
    const struct sockaddr_ll everything = {.sll_family = AF_PACKET,
                                           .sll_protocol = htons(0x0003 /* ETH_P_ALL */)};
    struct packet_mreq promiscuous = {.mr_ifindex = (int)if_nametoindex("ub"),
                                      .mr_type = PACKET_MR_PROMISC};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &off, sizeof off), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &off, sizeof off), -1);
    assert_int_equal(errno, EPERM);
    /* These the kernel allows. */
    assert_int_equal(bind(fd, (const struct sockaddr *)&everything, sizeof everything), 0);
    (void)setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous);

    struct sockaddr_ll out;
    int stranger = stranger_open("ua", &out);
    Forged f;
    send_filled(e.s[0], 20); /* to e.s[1], on the same interface */
    expect_filled(e.s[1], 20, e.at[0]);
    forge_good(&f, &e.at[1], &e.at[0], 20);
    put16(f.bytes + 12, 0x0800);
    stranger_send(stranger, &out, &f);
    f.bytes[0] ^= 0x20;
    stranger_send(stranger, &out, &f);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    send_filled(e.s[0], 21); /* what came before is there when this has come */
    expect_filled(e.s[1], 21, e.at[0]);
    assert_int_equal(poll(&p, 1, 0), 0);
    assert_int_equal(u_connect(e.s[0], as_peer(third_at)), 0);
    send_filled(e.s[0], 22); /* its own messages still come */
    expect_filled(third, 22, e.at[0]);
    assert_int_equal(close(stranger), 0);
    assert_int_equal(u_close(third), 0);
    ends_close(&e);
}

/* Who sends with it sends in the name of the interface; of which protocol, the kernel leaves to
 * him: SECURITY.md and dodo-socket(8) say so. */
TEST(given_socket__sends_as_its_own_host)
{
    Ends e = ends_make();
    int fd = packet_socket(), seer = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* of ub */
    const struct sockaddr_ll see = {.sll_family = AF_PACKET,
                                    .sll_protocol = htons(0x9999),
                                    .sll_ifindex = (int)if_nametoindex("ua")};
    assert_int_equal(bind(seer, (const struct sockaddr *)&see, sizeof see), 0);
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(0x9999),
                             .sll_ifindex = (int)if_nametoindex("ub"),
                             .sll_halen = 6};
    memcpy(to.sll_addr, e.at[0].host, 6);
    uint8_t frame[60] = {0}, got[100];
    memcpy(frame + 6, "\x02\xde\xad\xbe\xef\x01", 6); /* were it a whole frame */
    assert_int_equal(sendto(fd, frame, sizeof frame, 0, (const struct sockaddr *)&to, sizeof to),
                     sizeof frame);
    struct pollfd p = {.fd = seer, .events = POLLIN};
    assert_int_equal(poll(&p, 1, ENOUGH_MS), 1);
    assert_int_equal(recv(seer, got, sizeof got, 0), LINK + sizeof frame);
    assert_memory_equal(got, e.at[0].host, 6);
    assert_memory_equal(got + 6, e.at[1].host, 6);
    assert_int_equal(close(seer), 0);
    ends_close(&e);
}

/* ---- the interface --------------------------------------------------------------------------- */

static void interface_up(const char *name, bool up)
{
    struct ifreq r = {0};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &r), 0);
    r.ifr_flags = (short)(up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
    assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
    assert_int_equal(close(fd), 0);
}

/* That it goes down is reported once; afterwards the socket works as before. */
TEST(interface__down_and_up)
{
    Ends e = ends_make();
    char byte;
    interface_up("ua", false);
    assert_errno(u_recv(e.s[0], &byte, 1, NULL, ENOUGH_MS), ENETDOWN);
    expect_nothing(e.s[0]);
    assert_errno(u_send(e.s[0], "x", 1), ENETDOWN);
    interface_up("ua", true);
    while (u_send(e.s[1], "y", 1) != 1 || u_recv(e.s[0], &byte, 1, NULL, 10) != 1) {
    } /* until there is a carrier */
    assert_int_equal(byte, 'y');
    ends_close(&e);
}

/* Room for a message is what the interface says now. */
TEST(max__follows_the_interface)
{
    Ends e = ends_make();
    ssize_t before = dodo_u_max(e.s[0]);
    assert_int_equal(system("ip link set ua mtu 1200"), 0);
    assert_int_equal(dodo_u_max(e.s[0]), 1200 - FRAME_HEADER);
    uint8_t buf[1200];
    assert_errno(u_send(e.s[0], buf, 1200 - FRAME_HEADER + 1), EMSGSIZE);
    send_filled(e.s[0], 1200 - FRAME_HEADER);
    expect_filled(e.s[1], 1200 - FRAME_HEADER, e.at[0]);
    char back[64];
    (void)snprintf(back, sizeof back, "ip link set ua mtu %zd", before + FRAME_HEADER);
    assert_int_equal(system(back), 0);
    assert_int_equal(dodo_u_max(e.s[0]), before);
    ends_close(&e);
}

/* The last case: it takes the interfaces away. */
TEST(interface__gone)
{
    Ends e = ends_make();
    char byte, text[DODO_U_TEXT_MAX];
    macaddr_t own = e.at[0];
    own.scope = u_aton("any/7%ua").scope;
    assert_int_equal(system("ip link del ua"), 0);
    assert_errno(u_recv(e.s[0], &byte, 1, NULL, ENOUGH_MS), ENETDOWN);
    expect_nothing(e.s[0]);
    assert_int_equal(u_send(e.s[0], "x", 1), -1);
    assert_errno(dodo_u_max(e.s[0]), ENODEV);
    assert_non_null(strstr(u_ntoa(own, text), "%")); /* its number */
    int s = u_socket(0, 0);
    assert_errno(u_bind(s, &own, 1), ENODEV);
    assert_int_equal(u_close(s), 0);
    ends_close(&e);
}

/* ---- */

int main(void)
{
    via = &paths[2];
    return cases_run(NULL, NULL);
}
