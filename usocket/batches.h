/* SPDX-License-Identifier: MIT */
/* A transport with its buffers: messages come by batches, and datagrams that are to be sent are
 * collected, so that one system call takes them. What they say is the owner's: a port's, or that of
 * a link of libdodo. No memory is allocated after batches_open(). Belongs to one thread. */
#ifndef DODO_USOCKET_BATCHES_H
#define DODO_USOCKET_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "usocket/transport.h"

enum { BATCHES_RECEIVES_MAX = 32, BATCHES_SENDS_MAX = 64 };

/* What there is room for. */
typedef struct BatchesRoom {
    unsigned receives;    /* messages received a call; runs joined by GRO count as one */
    size_t receive_bytes; /* of each; at most TRANSPORT_RECV_MAX, and what the transport asks for */
    unsigned sends;       /* datagrams collected before they are sent */
    size_t send_bytes;    /* of each; longer ones are sent by themselves */
} BatchesRoom;

typedef struct Batches {
    Transport *transport;
    BatchesRoom room;
    uint8_t *buffers; /* room.receives of room.receive_bytes */
    TransportReceive receives[BATCHES_RECEIVES_MAX];
    int came;         /* messages that batches_sleep() or batches_look() brought */
    uint8_t *collect; /* room.sends of room.send_bytes */
    unsigned count;   /* collected */
    struct {
        Addr to;
        size_t len;
    } sends[BATCHES_SENDS_MAX];
} Batches;

/* @transport is theirs. 0, or -ENOMEM (then it is the caller's still). */
int batches_open(Batches *b, Transport *transport, const BatchesRoom *room);
void batches_close(Batches *b); /* also of zeroed ones */

/* Takes in what sleeping brought, or else what is there now: messages in b->receives, or -errno. */
int batches_receive(Batches *b);
/* Falls asleep until a message comes, or nothing did for a while. Only where the transport has
 * receive_asleep(). False: nothing came. */
bool batches_sleep(Batches *b);
/* The same without sleeping. */
bool batches_look(Batches *b);

/* Room for a datagram of room.send_bytes at most, which batches_keep() then keeps. What is
 * collected is sent before, if there is none: *@ret_res, as of batches_flush(). */
uint8_t *batches_next(Batches *b, int *ret_res);
void batches_keep(Batches *b, const Addr *to, size_t len);
/* Collects a copy of a datagram, or sends it after the others, if it is longer. As
 * batches_flush(). */
int batches_put(Batches *b, const Addr *to, const uint8_t *datagram, size_t len);
/* Sends what is collected: 0, or -errno. */
int batches_flush(Batches *b);

#endif
