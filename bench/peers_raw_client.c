/* SPDX-License-Identifier: MIT */
/* The bare network, asked: UDP of Dodo's shape (peers_udp.h), and TCP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "bench/peers_client.h"
#include "bench/peers_raw.h"
#include "bench/peers_stream.h"
#include "bench/peers_udp.h"

enum { LOST_MS = 100 };

/* ---- UDP ------------------------------------------------------------------------------------ */

typedef struct UdpClient {
    RawLink *link;
    RawCut read, write;
    RawHeader request; /* with what every request says */
} UdpClient;

static void udp_close(void *conn)
{
    UdpClient *c = conn;
    if (c)
        raw_link_free(c->link);
    free(c);
}

static int udp_open(const PeerOptions *o, unsigned thread, void **ret_conn)
{
    struct timeval patience = {.tv_usec = LOST_MS * 1000};
    char text[ADDR_TEXT_MAX];
    Addr a;
    if (!peer_part(o->at, thread, text, sizeof text) || addr_parse(text, 0, &a) < 0 ||
        a.kind != ADDR_IP4 || o->size > RAW_BYTES_MAX || o->mtu < RAW_MTU_MIN)
        return -EINVAL;
    UdpClient *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    *ret_conn = c; /* closed by the caller, whatever comes */
    c->link = raw_link_new();
    if (!c->link ||
        setsockopt(c->link->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
        return -errno;
    c->link->peer = raw_sockaddr(&a);
    c->link->poll_ns = o->poll_ns;
    c->read = (RawCut){(uint16_t)o->mtu, o->sealed, RAW_READ_HEADER};
    c->write = (RawCut){(uint16_t)o->mtu, o->sealed, RAW_WRITE_HEADER};
    c->request = (RawHeader){.sealed = o->sealed,
                             .mtu = (uint16_t)o->mtu,
                             .poll_us = (uint16_t)(o->server_poll_ns / NS_PER_US)};
    os_random(NULL, &c->request.serial, sizeof c->request.serial); /* none of an earlier client's */
    return 0;
}

/* The pieces of message @i go to their places, if they are the next ones. */
static void take_message(UdpClient *c, int i, uint8_t *buf, uint32_t *next, size_t *got)
{
    RawLink *w = c->link;
    size_t step = raw_joined(w, i), all = w->in[i].msg_len, n = 0;
    for (size_t p = 0; p < all; p += step) {
        uint8_t *datagram = w->buffers[i] + p;
        size_t len = all - p < step ? all - p : step;
        RawHeader h;
        if (len < sizeof h)
            return;
        memcpy(&h, datagram, sizeof h);
        if (h.kind != RAW_DATA || h.serial != c->request.serial || h.index != *next)
            continue;
        const uint8_t *data = raw_open(w, &c->read, datagram, len, &n);
        if (!data || *got + n > c->request.len)
            continue;
        memcpy(buf + *got, data, n);
        *got += n;
        ++*next;
    }
}

static int udp_read(void *conn, uint64_t offset, void *buf, size_t len)
{
    UdpClient *c = conn;
    uint32_t step = raw_step(&c->read), segments = ((uint32_t)len + step - 1) / step, next = 0;
    uint32_t most = TRANSPORT_GSO_MAX / (c->request.mtu - 28u);
    size_t got = 0;
    c->request.kind = RAW_READ;
    c->request.serial++;
    c->request.len = (uint32_t)len;
    int n = raw_send_header(c->link, &c->request, offset, RAW_REQUEST_BYTES);
    while (n >= 0 && got < len) {
        n = raw_receive(c->link, (segments - next - 1) / most + 1);
        if (n == 0)
            return PEER_LOST;
        for (int i = 0; i < n; i++)
            take_message(c, i, buf, &next, &got);
    }
    return n < 0 ? n : 0;
}

static int udp_start(void *conn, uint64_t offset, const void *buf, size_t len)
{
    UdpClient *c = conn;
    c->request.kind = RAW_WRITE;
    c->request.serial++;
    c->request.len = (uint32_t)len;
    return raw_send_run(c->link, &c->write, c->request, offset, buf);
}

static int udp_finish(void *conn)
{
    UdpClient *c = conn;
    for (;;) {
        RawHeader h = {.kind = 0};
        int n = raw_receive(c->link, 1);
        if (n <= 0)
            return n < 0 ? n : PEER_LOST;
        if (c->link->in[0].msg_len >= sizeof h)
            memcpy(&h, c->link->buffers[0], sizeof h);
        if (h.kind == RAW_DONE && h.serial == c->request.serial)
            return 0;
    }
}

const PeerOps peer_udp = {udp_open, udp_close, udp_read, udp_start, udp_finish};

/* ---- TCP ------------------------------------------------------------------------------------ */

static void tcp_close(void *conn)
{
    int *fd = conn;
    if (fd)
        (void)close(*fd);
    free(fd);
}

static int tcp_open(const PeerOptions *o, unsigned thread, void **ret_conn)
{
    int *fd CLEANUP_FREE = malloc(sizeof *fd);
    if (!fd)
        return -ENOMEM;
    *fd = stream_connect(o->at, thread);
    if (*fd < 0)
        return *fd;
    *ret_conn = fd;
    fd = NULL;
    return 0;
}

static int tcp_read(void *conn, uint64_t offset, void *buf, size_t len)
{
    int fd = *(int *)conn;
    RawStream request = {.kind = RAW_READ, .len = (uint32_t)len, .offset = offset};
    int result = stream_send(fd, &(struct iovec){&request, sizeof request}, 1);
    return result < 0 ? result : stream_receive(fd, &(struct iovec){buf, len}, 1);
}

static int tcp_start(void *conn, uint64_t offset, const void *buf, size_t len)
{
    RawStream request = {.kind = RAW_WRITE, .len = (uint32_t)len, .offset = offset};
    struct iovec iov[2] = {{&request, sizeof request}, {(void *)(uintptr_t)buf, len}};
    return stream_send(*(int *)conn, iov, 2);
}

static int tcp_finish(void *conn)
{
    RawStream done;
    int result = stream_receive(*(int *)conn, &(struct iovec){&done, sizeof done}, 1);
    return result < 0 ? result : done.kind == RAW_DONE ? 0 : -EPROTO;
}

const PeerOps peer_tcp = {tcp_open, tcp_close, tcp_read, tcp_start, tcp_finish};
