/* SPDX-License-Identifier: MIT */
/* A port: one transport and the endpoint whose sessions live on it. Takes datagrams in by batches,
 * gives messages to its owner, collects what is to be sent and sends it at the batch's end. No
 * memory is allocated after port_open(). Belongs to one thread. Pure but for what the transport
 * does: time comes in, and what there is to tell goes out as events. */
#ifndef DODO_USOCKET_PORT_H
#define DODO_USOCKET_PORT_H

#include <stdint.h>

#include "base/env.h"
#include "proto/endpoint.h"
#include "usocket/batches.h"
#include "usocket/burst_send.h"
#include "usocket/transport.h"

enum {
    PORT_DATAGRAM_MAX = WIRE_HEADER_SIZE + WIRE_PAYLOAD_MAX + WIRE_SEAL_OVERHEAD,
};

/* What an operator may want to know. The last five come now and then, with what has come since. */
enum PortEventKind {
    PORT_SEND_FAILED,    /* error */
    PORT_RECEIVE_FAILED, /* error */
    PORT_CUT_OFF,        /* error, address: nothing that is sent leaves this host */
    PORT_REACHES_AGAIN,  /* address */
    PORT_VERSION,        /* datagrams, version: of another one */
    PORT_CLUSTER,        /* datagrams: for another cluster */
    PORT_DENIED,         /* datagrams, address: not made with our key */
    PORT_LIMITED,        /* datagrams, address: with our key, but more than sessions are made for */
};

typedef struct PortEvent {
    enum PortEventKind kind;
    int error; /* as errno has it */
    uint8_t version;
    uint64_t datagrams;
    Addr address; /* our own; PORT_DENIED, PORT_LIMITED: of who sent the last one */
} PortEvent;

typedef struct PortOps {
    void (*message)(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                    uint64_t now_ns);
    void (*up)(void *ctx, Session *s, uint64_t now_ns); /* NULL where nothing is initiated */
    void (*closed)(void *ctx, Session *s);              /* the session dies; NULL: nobody cares */
    void (*event)(void *ctx, const PortEvent *e);       /* NULL: nobody cares */
} PortOps;

typedef struct PortConfig {
    const EndpointConfig *endpoint;
    Env env;          /* of the endpoint; its ctx is borrowed */
    BatchesRoom room; /* what is 0 is the most; send_bytes are PORT_DATAGRAM_MAX */
} PortConfig;

typedef struct Port {
    Transport *transport; /* of the batches */
    Endpoint *endpoint;
    const PortOps *ops;
    void *ctx;
    Batches batches;
    uint64_t complain_from_ns; /* no event before then, see complain() */
    EndpointCounters complained;
    Addr denied_from; /* who last sent what was not made with our key */
    Addr limited_from;
    struct {
        bool cut;              /* nothing that was sent has left this host, as last told */
        uint64_t sent, astray; /* the transport's, as last seen */
        uint64_t from_ns;      /* no event before then */
    } way;
} Port;

/* @transport and the endpoint made of @config are the port's. 0, or -ENOMEM (then the transport is
 * the caller's still). */
int port_open(Port *p, Transport *transport, const PortConfig *config, const PortOps *ops,
              void *ctx);
void port_close(Port *p); /* also of a zeroed Port; no callbacks */

/* Takes in one batch, calls the owner for each message, sends what came of it. Returns the
 * messages taken, 0 when none was there. With batches.room.receives of them, there may be more. */
unsigned port_receive(Port *p, uint64_t now_ns);
/* Falls asleep until a message comes, which the next port_receive() takes in, or nothing did for a
 * while. Only where the transport has receive_asleep(). False: nothing came. */
bool port_sleep(Port *p);
/* The same without sleeping. False: nothing is there. */
bool port_look(Port *p);
/* Nothing that is sent leaves this host: our address has gone, or has not come yet. */
static inline bool port_is_cut_off(const Port *p)
{
    return p->way.cut;
}
/* HELLOs that are due. */
void port_expire(Port *p, uint64_t now_ns);
uint64_t port_deadline(const Port *p);

/* Queues a message; port_flush() or the end of port_receive(), port_expire() sends it.
 * @len <= WIRE_PAYLOAD_MAX. */
void port_message(Port *p, Session *s, uint8_t type, const uint8_t *payload, size_t len);
void port_flush(Port *p);
/* Sends at once, ahead of what is queued: a burst; a message that may be longer than others. What
 * has no way, as a PROBE_ACK that is too long for our own route, is lost. */
void port_burst(Port *p, Session *s, const Burst *b, BurstScratch *scratch);
void port_large(Port *p, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                BurstScratch *scratch);
/* Answers a PING; @epoch: of an imd, else 0. Anything malformed is ignored. */
void port_pong(Port *p, Session *s, const uint8_t *payload, size_t len, uint64_t epoch);

#endif
