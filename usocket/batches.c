/* SPDX-License-Identifier: MIT */
#include "usocket/batches.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

int batches_open(Batches *b, Transport *transport, const BatchesRoom *room)
{
    assert(room->receives <= BATCHES_RECEIVES_MAX && room->sends <= BATCHES_SENDS_MAX);
    *b = (Batches){.room = *room};
    size_t bytes = room->receive_bytes;
    b->buffers = aligned_alloc(PAGE, (room->receives * bytes + PAGE - 1) / PAGE * PAGE);
    b->collect = malloc(room->sends * room->send_bytes);
    if (!b->buffers || !b->collect) {
        batches_close(b);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < room->receives; i++)
        b->receives[i] = (TransportReceive){.buf = b->buffers + i * bytes, .cap = bytes};
    b->transport = transport;
    return 0;
}

void batches_close(Batches *b)
{
    if (b->transport)
        b->transport->ops->close(b->transport);
    free(b->buffers);
    free(b->collect);
    b->transport = NULL;
    b->buffers = b->collect = NULL;
}

/* ---- receiving ------------------------------------------------------------------------------- */

int batches_receive(Batches *b)
{
    int n = b->came;
    b->came = 0;
    return n > 0 ? n : b->transport->ops->receive(b->transport, b->receives, b->room.receives);
}

bool batches_sleep(Batches *b)
{
    b->came = b->transport->ops->receive_asleep(b->transport, b->receives, b->room.receives);
    return b->came > 0;
}

bool batches_look(Batches *b)
{
    b->came = b->transport->ops->receive(b->transport, b->receives, b->room.receives);
    return b->came > 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint8_t *place(const Batches *b, unsigned i)
{
    return b->collect + i * b->room.send_bytes;
}

int batches_flush(Batches *b)
{
    TransportSend sends[BATCHES_SENDS_MAX];
    struct iovec iov[BATCHES_SENDS_MAX];
    unsigned n = b->count;
    if (n == 0)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        iov[i] = (struct iovec){place(b, i), b->sends[i].len};
        sends[i] = (TransportSend){.to = &b->sends[i].to, .iov = &iov[i], .iov_count = 1};
    }
    b->count = 0;
    return b->transport->ops->send(b->transport, sends, n);
}

uint8_t *batches_next(Batches *b, int *ret_res)
{
    *ret_res = b->count == b->room.sends ? batches_flush(b) : 0;
    return place(b, b->count);
}

void batches_keep(Batches *b, const Addr *to, size_t len)
{
    assert(b->count < b->room.sends && len <= b->room.send_bytes);
    b->sends[b->count].to = *to;
    b->sends[b->count++].len = len;
}

static int send_alone(Batches *b, const Addr *to, const uint8_t *datagram, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)datagram, len};
    const TransportSend send = {.to = to, .iov = &iov, .iov_count = 1};
    return b->transport->ops->send(b->transport, &send, 1);
}

int batches_put(Batches *b, const Addr *to, const uint8_t *datagram, size_t len)
{
    int res;
    if (len > b->room.send_bytes) {
        res = batches_flush(b);
        int alone = send_alone(b, to, datagram, len);
        return res < 0 ? res : alone;
    }
    memcpy(batches_next(b, &res), datagram, len);
    batches_keep(b, to, len);
    return res;
}
