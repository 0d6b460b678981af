/* SPDX-License-Identifier: MIT */
/* Two transports in one process whose datagrams reach each other, for tests of shells without a
 * network. Each end has a bounded queue under the pair's mutex and an eventfd that is readable
 * while the queue holds something. */
#include "usocket/transport.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { PAIR_DATAGRAM_MAX = 65507 };

typedef struct Message {
    uint8_t *bytes;
    size_t len;
    uint16_t segment;
} Message;

typedef struct Pair Pair;
typedef struct PairEnd {
    Transport base;
    Pair *pair;
    int fd;
    bool open;
    unsigned first, count; /* of the ring @queue */
    Message queue[TRANSPORT_PAIR_QUEUE];
} PairEnd;

struct Pair {
    pthread_mutex_t lock; /* queues, open */
    PairEnd ends[2];
};

static PairEnd *other_end(PairEnd *e)
{
    return &e->pair->ends[e == &e->pair->ends[0]];
}

/* Joins @count iovecs into one message for @to; lost when its queue is full or memory is short. */
static void enqueue(PairEnd *to, const struct iovec *iov, unsigned count, uint16_t segment)
{
    size_t len = 0;
    for (unsigned i = 0; i < count; i++)
        len += iov[i].iov_len;
    if (!to->open || to->count == TRANSPORT_PAIR_QUEUE ||
        (segment ? segment : len) > PAIR_DATAGRAM_MAX)
        return;
    Message m = {.bytes = malloc(len + 1), .len = len, .segment = segment < len ? segment : 0};
    if (!m.bytes)
        return;
    for (size_t i = 0, at = 0; i < count; at += iov[i++].iov_len)
        memcpy(m.bytes + at, iov[i].iov_base, iov[i].iov_len);
    to->queue[(to->first + to->count++) % TRANSPORT_PAIR_QUEUE] = m;
    (void)eventfd_write(to->fd, 1); /* cannot fail: the counter stays below its limit */
}

/* A run goes in messages below TRANSPORT_GSO_MAX, as over UDP. */
static void send_run(PairEnd *to, const TransportSend *s)
{
    unsigned per = TRANSPORT_GSO_MAX / s->segment;
    per = per < 1 ? 1 : per > TRANSPORT_GSO_SEGMENTS ? TRANSPORT_GSO_SEGMENTS : per;
    if (s->iov_per_segment) {
        unsigned step = per * s->iov_per_segment;
        for (unsigned i = 0; i < s->iov_count; i += step)
            enqueue(to, s->iov + i, s->iov_count - i < step ? s->iov_count - i : step, s->segment);
        return;
    }
    size_t step = (size_t)per * s->segment, len = s->iov->iov_len;
    for (size_t at = 0; at < len; at += step) {
        struct iovec cut = {(uint8_t *)s->iov->iov_base + at, len - at < step ? len - at : step};
        enqueue(to, &cut, 1, s->segment);
    }
}

static int pair_send(Transport *t, const TransportSend *sends, unsigned count)
{
    PairEnd *e = (PairEnd *)t, *to = other_end(e);
    pthread_mutex_lock(&e->pair->lock);
    for (unsigned i = 0; i < count; i++) {
        if (!addr_equal(sends[i].to, &to->base.local))
            continue; /* nobody lives there */
        if (sends[i].segment)
            send_run(to, &sends[i]);
        else
            enqueue(to, sends[i].iov, sends[i].iov_count, 0);
    }
    pthread_mutex_unlock(&e->pair->lock);
    return 0;
}

static void dequeue(PairEnd *e, TransportReceive *r)
{
    Message *m = &e->queue[e->first];
    assert(r->cap >= TRANSPORT_RECV_MAX);
    r->from = other_end(e)->base.local;
    r->len = m->len;
    r->segment = m->segment;
    memcpy(r->buf, m->bytes, m->len);
    free(m->bytes);
    e->first = (e->first + 1) % TRANSPORT_PAIR_QUEUE;
    e->count--;
}

static int pair_receive(Transport *t, TransportReceive *receives, unsigned count)
{
    PairEnd *e = (PairEnd *)t;
    eventfd_t ignored;
    unsigned n = 0;
    pthread_mutex_lock(&e->pair->lock);
    while (n < count && e->count)
        dequeue(e, &receives[n++]);
    if (!e->count)
        (void)eventfd_read(e->fd, &ignored); /* EAGAIN: it was not readable */
    pthread_mutex_unlock(&e->pair->lock);
    return (int)n;
}

static int pair_fd(const Transport *t)
{
    return ((const PairEnd *)t)->fd;
}

static size_t pair_datagram_max(Transport *t, const Addr *to)
{
    return PAIR_DATAGRAM_MAX;
}

static void pair_close(Transport *t)
{
    PairEnd *e = (PairEnd *)t;
    Pair *p = e->pair;
    pthread_mutex_lock(&p->lock);
    e->open = false;
    for (; e->count; e->count--, e->first = (e->first + 1) % TRANSPORT_PAIR_QUEUE)
        free(e->queue[e->first].bytes);
    (void)close(e->fd);
    bool last = !other_end(e)->open;
    pthread_mutex_unlock(&p->lock);
    if (last) {
        pthread_mutex_destroy(&p->lock);
        free(p);
    }
}

static const TransportOps pair_ops = {
    .name = "pair",
    .close = pair_close,
    .send = pair_send,
    .receive = pair_receive,
    .fd = pair_fd,
    .datagram_max = pair_datagram_max,
};

int transport_pair_open(Transport *ret[2])
{
    Pair *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    for (unsigned i = 0; i < 2; i++) {
        PairEnd *e = &p->ends[i];
        e->base.ops = &pair_ops;
        e->base.local = addr_sim((uint16_t)(i + 1), 0);
        e->base.receive_bytes = (size_t)TRANSPORT_PAIR_QUEUE * TRANSPORT_RECV_MAX;
        e->pair = p;
        e->open = true;
        e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (e->fd < 0) {
            int res = -errno;
            if (i)
                (void)close(p->ends[0].fd);
            free(p);
            return res;
        }
    }
    pthread_mutex_init(&p->lock, NULL);
    ret[0] = &p->ends[0].base;
    ret[1] = &p->ends[1].base;
    return 0;
}
