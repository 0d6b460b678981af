/* SPDX-License-Identifier: MIT */
/* A Transport over the simulated network: what shells send and receive by, in the simulation. Its
 * memory is the owner's; nothing is allocated. Runs are sent datagram by datagram; what waits of
 * one sender and of one length comes joined, as GRO has it. */
#ifndef DODO_TESTS_SIM_TRANSPORT_H
#define DODO_TESTS_SIM_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/simnet.h"
#include "usocket/transport.h"

enum { SIM_TRANSPORT_QUEUE = 256 }; /* datagrams that wait; what comes beyond is lost */

/* What the transports of a world have alike: how the system treats them, and what has come of
 * it. */
typedef struct SimTransports {
    SimRng rng;
    uint32_t part_ppm; /* calls that bring only a part of what is there */
    uint32_t full_ppm; /* calls that find the send queue full: what is left of them is dropped */
    uint64_t look_late_ns;            /* an owner looks so late for what has come, at most */
    unsigned no_route[SIM_HOSTS_MAX]; /* count of reasons why nothing leaves the host */
    uint64_t parts, joined, dropped, astray, late; /* counted */
} SimTransports;

typedef struct SimTransportConfig {
    SimNet *net;
    SimTransports *all;
    uint16_t host, port;
    size_t datagram_max;
    const uint32_t *life; /* the owner's, raised at its end */
    /* Something has come, and is the owner's to receive; called again as long as something is
     * there. */
    void (*ready)(void *ctx);
    void *ctx;
} SimTransportConfig;

typedef struct SimTransport {
    Transport base; /* first */
    SimTransportConfig config;
    SimSocket *socket;
    bool again;    /* the owner is called once more */
    size_t room;   /* datagrams that the send queue takes, of this call */
    size_t joined; /* datagrams of a run that come joined, of this call */
} SimTransport;

void sim_transport_open(SimTransport *t, const SimTransportConfig *config);
/* While held, its owner does not run: what comes waits. */
void sim_transport_hold(SimTransport *t, bool held);
/* Calls the owner, if something is there. */
void sim_transport_look(SimTransport *t);

#endif
