/* SPDX-License-Identifier: MIT */
/* What the network itself takes: requests and answers over UDP in datagrams of the same size and
 * with as much header as Dodo's, many a system call (GSO and GRO), both ends blocking. No
 * reliability: what does not come in order is lost, and counted. This is the measure that Dodo is
 * compared with, so it does all that a data path must do (every header is looked at, the bytes end
 * up in place) and nothing that Dodo adds. */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "examples/bench_common.h"
#include "proto/wire.h"
#include "tests/bench/wire_common.h"
#include "usocket/transport.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static const char usage[] =
    "Usage: wire-raw serve ADDR:PORT [area=SIZE]\n"
    "       wire-raw read|write ADDR:PORT [NAME=VALUE...]\n"
    "The server prints its address when it is ready. The client prints a line of JSON.\n"
    "\n"
    "  name=TEXT  who is measured, for the line\n"
    "  size=SIZE  of a read or write (8K; 4M at most)\n"
    "  area=SIZE  of memory, as the server was told (32M)\n"
    "  time=TIME  inside the calls, at least (200ms)\n"
    "  ops=N      reads or writes, at least (20)\n"
    "  warm=N     of them before that, not counted (100)\n";

enum {
    DATAGRAM = 1500 - 20 - 8, /* payload at MTU 1500 over IPv4 */
    READ_HEADER = WIRE_HEADER_SIZE + WIRE_DATA_HEADER_SIZE,
    WRITE_HEADER = WIRE_HEADER_SIZE + WIRE_WRITE_HEADER_SIZE,
    REQUEST_BYTES = WIRE_HEADER_SIZE + WIRE_READ_SIZE,
    DONE_BYTES = WIRE_HEADER_SIZE + WIRE_WRITE_ACK_SIZE,
    BYTES_MAX = 4 << 20, /* of a read or write */
    SEGMENTS_MAX = BYTES_MAX / (DATAGRAM - WRITE_HEADER) + 1,
    MESSAGE_SEGMENTS = TRANSPORT_GSO_MAX / DATAGRAM,
    MESSAGES_MAX = SEGMENTS_MAX / MESSAGE_SEGMENTS + 1,
    RECEIVES = 8,
    BUFFER_BYTES = 8 << 20, /* SO_RCVBUF, SO_SNDBUF: for all of a write in one burst */
    LOST_MS = 100,
};

/* In front of every datagram, padded to READ_HEADER or WRITE_HEADER. Both ends are one program on
 * one machine: no byte order. */
enum Kind { READ = 0x0d0d0001, DATA, WRITE, DONE };
typedef struct Header {
    uint32_t kind, index;
    uint64_t serial, offset;
    uint32_t len; /* of the whole read or write */
    uint32_t zero;
} Header;
static_assert(sizeof(Header) <= READ_HEADER && sizeof(Header) <= DONE_BYTES, "fits");

typedef union Control {
    struct cmsghdr header;
    uint8_t bytes[CMSG_SPACE(sizeof(int))];
} Control;

typedef struct Wire {
    int fd;
    struct sockaddr_in peer;
    /* out */
    uint8_t headers[SEGMENTS_MAX][WRITE_HEADER];
    struct iovec iov[2 * SEGMENTS_MAX];
    struct mmsghdr out[MESSAGES_MAX];
    Control out_control[MESSAGES_MAX];
    /* in */
    struct mmsghdr in[RECEIVES];
    struct iovec in_iov[RECEIVES];
    struct sockaddr_in in_from[RECEIVES];
    Control in_control[RECEIVES];
    uint8_t buffers[RECEIVES][TRANSPORT_RECV_MAX];
    /* the client's read, or the server's write, under way */
    uint64_t serial;
    uint32_t next_index; /* what comes next; 0 and serial 0: nothing is under way */
    uint32_t got;
    uint64_t base; /* the client's area in the server's memory */
} Wire;

/* ---- the socket ----------------------------------------------------------------------------- */

static int set_int(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) < 0 ? -errno : 0;
}

static struct sockaddr_in sockaddr_of(const Addr *a)
{
    struct sockaddr_in s = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    memcpy(&s.sin_addr, a->host, sizeof s.sin_addr);
    return s;
}

static int wire_open(Wire *w)
{
    w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0)
        return -errno;
    if (set_int(w->fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES) < 0)
        (void)set_int(w->fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
    if (set_int(w->fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES) < 0)
        (void)set_int(w->fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
    for (unsigned i = 0; i < RECEIVES; i++) {
        w->in_iov[i] = (struct iovec){w->buffers[i], sizeof w->buffers[i]};
        w->in[i].msg_hdr = (struct msghdr){.msg_name = &w->in_from[i],
                                           .msg_iov = &w->in_iov[i],
                                           .msg_iovlen = 1,
                                           .msg_control = &w->in_control[i]};
    }
    return set_int(w->fd, SOL_UDP, UDP_GRO, 1);
}

/* ---- sending -------------------------------------------------------------------------------- */

static void set_segment(struct msghdr *h, Control *control)
{
    uint16_t segment = DATAGRAM;
    h->msg_control = control;
    h->msg_controllen = CMSG_SPACE(sizeof segment);
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    c->cmsg_level = SOL_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof segment);
    memcpy(CMSG_DATA(c), &segment, sizeof segment);
}

/* All of it, headers and slices of @data gathered by the kernel. */
static int send_run(Wire *w, Header h, size_t header_len, const uint8_t *data)
{
    uint32_t step = DATAGRAM - (uint32_t)header_len, segments = (h.len + step - 1) / step;
    unsigned messages = 0;
    for (h.index = 0; h.index < segments; h.index++) {
        uint32_t at = h.index * step, left = h.len - at;
        memcpy(w->headers[h.index], &h, sizeof h);
        w->iov[2 * h.index] = (struct iovec){w->headers[h.index], header_len};
        w->iov[2 * h.index + 1] =
            (struct iovec){(void *)(uintptr_t)(data + at), left < step ? left : step};
    }
    for (uint32_t i = 0; i < segments; i += MESSAGE_SEGMENTS, messages++) {
        uint32_t n = segments - i < MESSAGE_SEGMENTS ? segments - i : MESSAGE_SEGMENTS;
        struct msghdr *m = &w->out[messages].msg_hdr;
        *m = (struct msghdr){.msg_name = &w->peer,
                             .msg_namelen = sizeof w->peer,
                             .msg_iov = &w->iov[2 * i],
                             .msg_iovlen = 2 * (size_t)n};
        if (n > 1)
            set_segment(m, &w->out_control[messages]);
    }
    for (unsigned at = 0; at < messages;) {
        int n = sendmmsg(w->fd, w->out + at, messages - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n < 0 ? 0 : (unsigned)n;
    }
    return 0;
}

/* A datagram without data, of @len bytes. */
static int send_header(Wire *w, const Header *h, size_t len)
{
    uint8_t bytes[REQUEST_BYTES] = {0};
    memcpy(bytes, h, sizeof *h);
    ssize_t n =
        sendto(w->fd, bytes, len, MSG_NOSIGNAL, (struct sockaddr *)&w->peer, sizeof w->peer);
    return n < 0 ? -errno : 0;
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* Blocks for the first message, takes at most @most. Their count, 0 when the time is over. */
static int receive(Wire *w, unsigned most)
{
    if (most > RECEIVES)
        most = RECEIVES;
    for (unsigned i = 0; i < most; i++) {
        w->in[i].msg_hdr.msg_namelen = sizeof w->in_from[i];
        w->in[i].msg_hdr.msg_controllen = sizeof w->in_control[i];
    }
    int n = recvmmsg(w->fd, w->in, most, MSG_WAITFORONE, NULL);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED ? 0 : -errno;
}

/* Datagrams that GRO joined in message @i have this size. */
static size_t joined_size(Wire *w, int i)
{
    struct msghdr *m = &w->in[i].msg_hdr;
    int size = (int)w->in[i].msg_len;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO)
            memcpy(&size, CMSG_DATA(c), sizeof size);
    return size > 0 ? (size_t)size : 1;
}

/* A piece of a run that is under way: to its place at @base, if it is the next one. */
static void take_piece(Wire *w, const Header *h, const uint8_t *datagram, size_t len,
                       size_t header_len, uint8_t *base)
{
    uint32_t step = DATAGRAM - (uint32_t)header_len;
    if (h->serial != w->serial || h->index != w->next_index || len < header_len ||
        w->got + (len - header_len) > h->len)
        return;
    memcpy(base + (size_t)h->index * step, datagram + header_len, len - header_len);
    w->next_index++;
    w->got += (uint32_t)(len - header_len);
}

/* ---- the server ----------------------------------------------------------------------------- */

static int serve_datagram(Wire *w, uint8_t *area, uint64_t area_bytes, const uint8_t *p, size_t len)
{
    Header h;
    if (len < sizeof h)
        return 0;
    memcpy(&h, p, sizeof h);
    if (h.len == 0 || h.len > BYTES_MAX || h.len > area_bytes || h.offset > area_bytes - h.len)
        return 0;
    if (h.kind == READ)
        return send_run(w, (Header){DATA, 0, h.serial, h.offset, h.len, 0}, READ_HEADER,
                        area + h.offset);
    if (h.kind != WRITE)
        return 0;
    if (h.index == 0) {
        w->serial = h.serial;
        w->next_index = w->got = 0;
    }
    take_piece(w, &h, p, len, WRITE_HEADER, area + h.offset);
    if (h.serial != w->serial || w->got != h.len)
        return 0;
    w->serial = 0;
    return send_header(w, &(Header){DONE, 0, h.serial, h.offset, h.len, 0}, DONE_BYTES);
}

static int serve(Wire *w, const WireOptions *o, const Addr *at)
{
    char text[ADDR_TEXT_MAX];
    struct sockaddr_in local = sockaddr_of(at);
    socklen_t len = sizeof local;
    Addr bound = *at;
    uint64_t bytes = 2 * o->area_bytes; /* one half to read, one to write */
    uint8_t *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || bind(w->fd, (struct sockaddr *)&local, sizeof local) < 0 ||
        getsockname(w->fd, (struct sockaddr *)&local, &len) < 0)
        return -errno;
    (void)madvise(area, bytes, MADV_HUGEPAGE); /* as imd's pool */
    bench_data_make(0, area, bytes);
    bound.port = ntohs(local.sin_port);
    printf("wire-raw: ready at %s\n", addr_format(&bound, text, sizeof text));
    (void)fflush(stdout);
    for (;;) {
        int n = receive(w, RECEIVES), result = n;
        for (int i = 0; i < n && result >= 0; i++) {
            size_t step = joined_size(w, i), all = w->in[i].msg_len;
            w->peer = w->in_from[i];
            for (size_t p = 0; p < all && result >= 0; p += step)
                result = serve_datagram(w, area, bytes, w->buffers[i] + p,
                                        all - p < step ? all - p : step);
        }
        if (result < 0)
            return result;
    }
}

/* ---- the client ----------------------------------------------------------------------------- */

static int raw_read(void *ctx, uint64_t offset, void *buf, size_t len)
{
    Wire *w = ctx;
    uint32_t segments = ((uint32_t)len + DATAGRAM - READ_HEADER - 1) / (DATAGRAM - READ_HEADER);
    offset += w->base;
    w->next_index = w->got = 0;
    int n =
        send_header(w, &(Header){READ, 0, ++w->serial, offset, (uint32_t)len, 0}, REQUEST_BYTES);
    if (n < 0)
        return n;
    while (w->got < len) {
        n = receive(w, (segments - w->next_index - 1) / MESSAGE_SEGMENTS + 1);
        if (n <= 0)
            return n < 0 ? n : WIRE_LOST;
        for (int i = 0; i < n; i++) {
            size_t step = joined_size(w, i), all = w->in[i].msg_len;
            for (size_t p = 0; p < all; p += step) {
                Header h;
                if (all - p < READ_HEADER)
                    break;
                memcpy(&h, w->buffers[i] + p, sizeof h);
                if (h.kind == DATA && h.offset == offset && h.len == len)
                    take_piece(w, &h, w->buffers[i] + p, all - p < step ? all - p : step,
                               READ_HEADER, buf);
            }
        }
    }
    return 0;
}

static int raw_write(void *ctx, uint64_t offset, const void *buf, size_t len)
{
    Wire *w = ctx;
    int n = send_run(w, (Header){WRITE, 0, ++w->serial, w->base + offset, (uint32_t)len, 0},
                     WRITE_HEADER, buf);
    while (n >= 0) {
        Header h = {.kind = 0};
        n = receive(w, 1);
        if (n == 0)
            return WIRE_LOST;
        if (n < 0)
            break;
        if (w->in[0].msg_len >= sizeof h)
            memcpy(&h, w->buffers[0], sizeof h);
        if (h.kind == DONE && h.serial == w->serial)
            return 0;
    }
    return n;
}

static int measure(Wire *w, const WireOptions *o, const Addr *at)
{
    WireTarget target = {.read = raw_read, .write = raw_write, .ctx = w};
    struct timeval patience = {.tv_usec = LOST_MS * 1000};
    WireResult r;
    w->peer = sockaddr_of(at);
    w->base = o->write ? o->area_bytes : 0;
    if (o->size > BYTES_MAX)
        return -EINVAL;
    if (setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
        return -errno;
    os_random(NULL, &w->serial, sizeof w->serial / 2); /* none of an earlier client's */
    int result = wire_measure(o, &target, &r);
    if (result == 0)
        wire_print(o, &r, "");
    return result == 0 && r.wrong_bytes > 0 ? -EBADMSG : result;
}

int main(int argc, char **argv)
{
    static char read_word[] = "read";
    bool server = argc > 1 && strcmp(argv[1], "serve") == 0;
    Wire *w CLEANUP_FREE = calloc(1, sizeof *w);
    Addr at;
    if (server)
        argv[1] = read_word;
    WireOptions o = wire_options(argc, argv, usage);
    if (addr_parse(o.at, 0, &at) < 0 || at.kind != ADDR_IP4) {
        fputs(usage, stderr);
        return 2;
    }
    int result = w ? wire_open(w) : -ENOMEM;
    if (result == 0)
        result = server ? serve(w, &o, &at) : measure(w, &o, &at);
    if (result < 0)
        fprintf(stderr, "wire-raw: %s\n", strerror(-result));
    return result < 0;
}
