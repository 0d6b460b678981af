/* SPDX-License-Identifier: MIT */
/* The bare network's other end: serves reads and writes of its memory over UDP (one thread, as one
 * data thread of imd) and over TCP (a thread a connection). */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "bench/peers_common.h"
#include "bench/peers_raw.h"
#include "bench/peers_stream.h"
#include "bench/peers_udp.h"

#include <netinet/tcp.h>

static const char usage[] = "Usage: peers-raw ADDR:PORT [area=SIZE]\n"
                            "Serves so much memory over UDP and TCP; prints its address when it is "
                            "ready.\n";

/* A write under way, by the client's port: the clients are on one host. */
typedef struct Stream {
    uint32_t serial, next, got;
    bool open;
} Stream;

typedef struct Server {
    RawLink *link;
    int listener;
    uint8_t *area;
    uint64_t area_bytes;
    Stream streams[UINT16_MAX + 1];
} Server;

static bool inside(const Server *s, uint64_t offset, uint32_t len)
{
    return len > 0 && len <= RAW_BYTES_MAX && len <= s->area_bytes && offset <= s->area_bytes - len;
}

/* ---- UDP ------------------------------------------------------------------------------------ */

static int serve_write(Server *s, const RawHeader *h, uint64_t offset, uint8_t *p, size_t len)
{
    RawCut cut = {h->mtu, h->sealed, RAW_WRITE_HEADER};
    Stream *t = &s->streams[ntohs(s->link->peer.sin_port)];
    size_t n = 0;
    if (h->index == 0)
        *t = (Stream){.serial = h->serial, .open = true};
    if (!t->open || h->serial != t->serial || h->index != t->next)
        return 0;
    const uint8_t *data = raw_open(s->link, &cut, p, len, &n);
    if (!data || t->got + n > h->len)
        return 0;
    memcpy(s->area + offset + t->got, data, n);
    t->got += (uint32_t)n;
    t->next++;
    if (t->got != h->len)
        return 0;
    t->open = false;
    RawHeader done = {.kind = RAW_DONE, .serial = h->serial};
    return raw_send_header(s->link, &done, offset, RAW_DONE_BYTES);
}

static int serve_datagram(Server *s, uint8_t *p, size_t len)
{
    RawHeader h;
    RawPlace place;
    if (len < sizeof h + sizeof place)
        return 0;
    memcpy(&h, p, sizeof h);
    memcpy(&place, p + sizeof h, sizeof place);
    if (!inside(s, place.offset, h.len) || h.mtu < RAW_MTU_MIN)
        return 0;
    s->link->poll_ns = h.poll_us * NS_PER_US;
    if (h.kind == RAW_WRITE)
        return serve_write(s, &h, place.offset, p, len);
    if (h.kind != RAW_READ)
        return 0;
    RawCut cut = {h.mtu, h.sealed, RAW_READ_HEADER};
    h.kind = RAW_DATA;
    return raw_send_run(s->link, &cut, h, place.offset, s->area + place.offset);
}

static int serve_udp(Server *s)
{
    RawLink *w = s->link;
    for (;;) {
        int n = raw_receive(w, RAW_RECEIVES), result = n;
        for (int i = 0; i < n && result >= 0; i++) {
            size_t step = raw_joined(w, i), all = w->in[i].msg_len;
            w->peer = w->in_from[i];
            for (size_t p = 0; p < all && result >= 0; p += step)
                result = serve_datagram(s, w->buffers[i] + p, all - p < step ? all - p : step);
        }
        if (result < 0)
            return result;
    }
}

/* ---- TCP ------------------------------------------------------------------------------------ */

typedef struct Connection {
    Server *server;
    int fd;
} Connection;

static int serve_request(Server *s, int fd)
{
    RawStream r, done = {.kind = RAW_DONE};
    int result = stream_receive(fd, &(struct iovec){&r, sizeof r}, 1);
    if (result < 0 || !inside(s, r.offset, r.len))
        return result < 0 ? result : -EINVAL;
    struct iovec data = {s->area + r.offset, r.len};
    if (r.kind == RAW_READ)
        return stream_send(fd, &data, 1);
    result = stream_receive(fd, &data, 1);
    return result < 0 ? result : stream_send(fd, &(struct iovec){&done, sizeof done}, 1);
}

static void *serve_connection(void *arg)
{
    Connection *c = arg;
    while (serve_request(c->server, c->fd) == 0)
        ;
    (void)close(c->fd);
    free(c);
    return NULL;
}

static void *serve_tcp(void *arg)
{
    Server *s = arg;
    for (;;) {
        pthread_t thread;
        int on = 1, fd = accept(s->listener, NULL, NULL);
        Connection *c = fd >= 0 ? malloc(sizeof *c) : NULL;
        if (!c) {
            if (fd >= 0)
                (void)close(fd);
            continue;
        }
        *c = (Connection){s, fd};
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (os_thread_start(&thread, serve_connection, c) != 0)
            abort();
        pthread_detach(thread);
    }
    return NULL;
}

/* ---- main ----------------------------------------------------------------------------------- */

static int listen_at(Server *s, const Addr *at)
{
    char text[ADDR_TEXT_MAX];
    struct sockaddr_in local = raw_sockaddr(at);
    socklen_t len = sizeof local;
    Addr bound = *at;
    int on = 1;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->listener < 0 || setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(s->link->fd, (struct sockaddr *)&local, sizeof local) < 0 ||
        getsockname(s->link->fd, (struct sockaddr *)&local, &len) < 0 ||
        bind(s->listener, (struct sockaddr *)&local, sizeof local) < 0 ||
        listen(s->listener, PEER_THREADS_MAX) < 0)
        return -errno;
    bound.port = ntohs(local.sin_port);
    printf("peers-raw: ready at %s\n", addr_format(&bound, text, sizeof text));
    (void)fflush(stdout);
    return 0;
}

static int serve(Server *s, const Addr *at)
{
    pthread_t thread;
    s->area = mmap(NULL, s->area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    s->link = raw_link_new();
    if (s->area == MAP_FAILED || !s->link)
        return -errno;
    (void)madvise(s->area, s->area_bytes, MADV_HUGEPAGE); /* as imd's pool */
    peer_data_make(peer_data_first(0), s->area, s->area_bytes);
    int result = listen_at(s, at);
    if (result < 0)
        return result;
    if (os_thread_start(&thread, serve_tcp, s) != 0)
        return -ENOMEM;
    return serve_udp(s);
}

int main(int argc, char **argv)
{
    PeerOptions o = peer_defaults;
    Server *s CLEANUP_FREE = calloc(1, sizeof *s);
    Addr at;
    if (argc < 2 || addr_parse(argv[1], 0, &at) < 0 || at.kind != ADDR_IP4 ||
        !peer_options(&o, argc - 2, argv + 2)) {
        fputs(usage, stderr);
        return 2;
    }
    if (s)
        s->area_bytes = o.area_bytes;
    int result = s ? serve(s, &at) : -ENOMEM;
    fprintf(stderr, "peers-raw: %s\n", strerror(-result));
    return 1;
}
