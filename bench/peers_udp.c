/* SPDX-License-Identifier: MIT */
/* See peers_udp.h. */
#include "bench/peers_udp.h"

#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/os.h"
#include "usocket/cipher.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static_assert(sizeof(RawHeader) <= RAW_READ_HEADER && sizeof(RawHeader) <= RAW_DONE_BYTES, "fits");
static_assert(sizeof(RawHeader) + sizeof(RawPlace) <= RAW_WRITE_HEADER, "fits");

enum {
    BUFFER_BYTES = 8 << 20, /* SO_RCVBUF, SO_SNDBUF: for all of a write in one burst */
    COUNTER_BYTES = WIRE_COUNTER_SIZE,
    TAG_BYTES = WIRE_TAG_SIZE,
};

/* ---- the link ------------------------------------------------------------------------------- */

static int set_int(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) < 0 ? -errno : 0;
}

struct sockaddr_in raw_sockaddr(const Addr *a)
{
    struct sockaddr_in s = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    memcpy(&s.sin_addr, a->host, sizeof s.sin_addr);
    return s;
}

static int open_socket(RawLink *w)
{
    w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0)
        return -errno;
    if (set_int(w->fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES) < 0)
        (void)set_int(w->fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
    if (set_int(w->fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES) < 0)
        (void)set_int(w->fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
    return set_int(w->fd, SOL_UDP, UDP_GRO, 1);
}

RawLink *raw_link_new(void)
{
    static const uint8_t key[SEAL_KEY_SIZE] = {1}; /* it protects nothing */
    RawLink *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w == MAP_FAILED)
        return NULL;
    w->fd = -1;
    bool ready = open_socket(w) == 0 && seal_suite_init(&w->suite) == 0;
    w->suite.faster = cipher_fastest(); /* as Dodo's ends have */
    if (!ready || seal_key_set(&w->sealing, &w->suite, key, true) < 0 ||
        seal_key_set(&w->opening, &w->suite, key, false) < 0) {
        raw_link_free(w);
        return NULL;
    }
    for (unsigned i = 0; i < RAW_RECEIVES; i++) {
        w->in_iov[i] = (struct iovec){w->buffers[i], sizeof w->buffers[i]};
        w->in[i].msg_hdr = (struct msghdr){.msg_name = &w->in_from[i],
                                           .msg_iov = &w->in_iov[i],
                                           .msg_iovlen = 1,
                                           .msg_control = &w->in_control[i]};
    }
    return w;
}

void raw_link_free(RawLink *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        (void)close(w->fd);
    seal_key_deinit(&w->sealing);
    seal_key_deinit(&w->opening);
    seal_suite_deinit(&w->suite);
    (void)munmap(w, sizeof *w);
}

/* ---- sending -------------------------------------------------------------------------------- */

static uint32_t datagram_size(const RawCut *cut)
{
    return cut->mtu - 20u - 8u;
}

uint32_t raw_step(const RawCut *cut)
{
    return datagram_size(cut) - cut->header - (cut->sealed ? WIRE_SEAL_OVERHEAD : 0);
}

static void write_header(uint8_t *out, const RawHeader *h, uint64_t offset, size_t header)
{
    RawPlace place = {offset};
    memcpy(out, h, sizeof *h);
    if (header >= sizeof *h + sizeof place)
        memcpy(out + sizeof *h, &place, sizeof place);
}

/* header (authentic), counter, data (sealed), tag: one piece of memory. */
static bool seal_datagram(RawLink *w, const RawCut *cut, const RawHeader *h, uint64_t offset,
                          const uint8_t *data, uint32_t len, uint8_t *out)
{
    uint8_t *sealed = out + cut->header + COUNTER_BYTES;
    memset(out, 0, cut->header);
    write_header(out, h, offset, cut->header);
    put_u64(out + cut->header, ++w->counter);
    return seal_seal(&w->sealing, w->counter, out, cut->header, data, len, sealed, sealed + len);
}

static void set_segment(struct msghdr *h, RawControl *control, uint16_t segment)
{
    h->msg_control = control;
    h->msg_controllen = CMSG_SPACE(sizeof segment);
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    c->cmsg_level = SOL_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof segment);
    memcpy(CMSG_DATA(c), &segment, sizeof segment);
}

static int send_messages(RawLink *w, unsigned count)
{
    for (unsigned at = 0; at < count;) {
        int n = sendmmsg(w->fd, w->out + at, count - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n < 0 ? 0 : (unsigned)n;
    }
    return 0;
}

/* The iovecs of a run: two a datagram (header and a slice of @data), sealed one. Their count; 0
 * for a failing cipher. */
static unsigned gather(RawLink *w, const RawCut *cut, RawHeader *h, uint64_t offset,
                       const uint8_t *data)
{
    uint32_t step = raw_step(cut), segments = (h->len + step - 1) / step;
    for (uint32_t i = 0; i < segments; i++) {
        uint32_t at = i * step, n = h->len - at < step ? h->len - at : step;
        h->index = (uint16_t)i;
        if (cut->sealed) {
            uint8_t *out = w->staging + (size_t)i * datagram_size(cut);
            if (!seal_datagram(w, cut, h, offset, data + at, n, out))
                return 0;
            w->iov[i] = (struct iovec){out, cut->header + n + WIRE_SEAL_OVERHEAD};
        } else {
            write_header(w->headers[i], h, offset, cut->header);
            w->iov[2 * i] = (struct iovec){w->headers[i], cut->header};
            w->iov[2 * i + 1] = (struct iovec){(void *)(uintptr_t)(data + at), n};
        }
    }
    return segments;
}

int raw_send_run(RawLink *w, const RawCut *cut, RawHeader h, uint64_t offset, const uint8_t *data)
{
    uint32_t size = datagram_size(cut), most = TRANSPORT_GSO_MAX / size;
    unsigned messages = 0, each = cut->sealed ? 1 : 2, segments = gather(w, cut, &h, offset, data);
    if (segments == 0)
        return -EIO;
    if (most > TRANSPORT_GSO_SEGMENTS)
        most = TRANSPORT_GSO_SEGMENTS;
    for (uint32_t i = 0; i < segments; i += most, messages++) {
        uint32_t n = segments - i < most ? segments - i : most;
        struct msghdr *m = &w->out[messages].msg_hdr;
        *m = (struct msghdr){.msg_name = &w->peer,
                             .msg_namelen = sizeof w->peer,
                             .msg_iov = &w->iov[each * i],
                             .msg_iovlen = each * (size_t)n};
        if (n > 1)
            set_segment(m, &w->out_control[messages], (uint16_t)size);
    }
    return send_messages(w, messages);
}

int raw_send_header(RawLink *w, const RawHeader *h, uint64_t offset, size_t len)
{
    uint8_t bytes[RAW_REQUEST_BYTES > RAW_DONE_BYTES ? RAW_REQUEST_BYTES : RAW_DONE_BYTES] = {0};
    write_header(bytes, h, offset, len);
    ssize_t n =
        sendto(w->fd, bytes, len, MSG_NOSIGNAL, (struct sockaddr *)&w->peer, sizeof w->peer);
    return n < 0 ? -errno : 0;
}

/* ---- receiving ------------------------------------------------------------------------------ */

int raw_receive(RawLink *w, unsigned most)
{
    uint64_t until = 0;
    int n;
    if (most > RAW_RECEIVES)
        most = RAW_RECEIVES;
    for (unsigned i = 0; i < most; i++) {
        w->in[i].msg_hdr.msg_namelen = sizeof w->in_from[i];
        w->in[i].msg_hdr.msg_controllen = sizeof w->in_control[i];
    }
    if (w->poll_ns > 0) {
        until = os_now_ns() + w->poll_ns;
        do
            n = recvmmsg(w->fd, w->in, most, MSG_DONTWAIT, NULL);
        while (n < 0 && errno == EAGAIN && os_now_ns() < until);
        if (n > 0)
            return n;
    }
    n = recvmmsg(w->fd, w->in, most, MSG_WAITFORONE, NULL);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED ? 0 : -errno;
}

size_t raw_joined(RawLink *w, int i)
{
    struct msghdr *m = &w->in[i].msg_hdr;
    int size = (int)w->in[i].msg_len;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO)
            memcpy(&size, CMSG_DATA(c), sizeof size);
    return size > 0 ? (size_t)size : 1;
}

const uint8_t *raw_open(RawLink *w, const RawCut *cut, uint8_t *datagram, size_t len,
                        size_t *ret_len)
{
    size_t around = cut->header + (cut->sealed ? (size_t)WIRE_SEAL_OVERHEAD : 0);
    if (len < around)
        return NULL;
    *ret_len = len - around;
    if (!cut->sealed)
        return datagram + cut->header;
    uint8_t *data = datagram + cut->header + COUNTER_BYTES;
    return seal_open(&w->opening, get_u64(datagram + cut->header), datagram, cut->header, data,
                     *ret_len, data + *ret_len)
               ? data
               : NULL;
}
