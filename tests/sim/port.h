/* SPDX-License-Identifier: MIT */
/* Sockets of the simulated programs and daemons, their randomness and their timers. */
#ifndef DODO_TESTS_SIM_PORT_H
#define DODO_TESTS_SIM_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "libdodo/core.h"
#include "tests/lib/sim_rng.h"
#include "tests/lib/simnet.h"
#include "tests/sim/sim_transport.h"
#include "usocket/batches.h"
#include "usocket/port.h"

typedef struct World World;

/* Behind a core's Env. */
typedef struct SimEnv {
    SimRng rng;
    World *world;
    char name[16];
} SimEnv;

/* What a thread's channel sends and receives by. */
typedef struct SimPort {
    World *world;
    Endpoint *endpoint;
    Channel *channel;
    SimTransport transport; /* socket NULL: closed */
    Batches batches;
} SimPort;

Env sim_env(SimEnv *e);
void endpoint_config_fill(const World *w, EndpointConfig *c, uint8_t role, const Id128 *self,
                          uint64_t epoch);
/* A daemon's port. */
typedef struct SimListen {
    uint16_t host, port;
    const uint32_t *life; /* the daemon's */
    uint8_t role;
    uint64_t epoch;
    Id128 self;
    SimEnv *env;
    const PortOps *ops;
    void (*ready)(void *ctx); /* something has come */
    void *ctx;
} SimListen;
void sim_listen(World *w, Port *p, SimTransport *t, const SimListen *l);
/* Seals and sends one message. */
void sim_send(World *w, Endpoint *e, SimSocket *from, Session *s, uint8_t type,
              const uint8_t *payload, size_t len);
void sim_flush_hellos(World *w, Endpoint *e, SimSocket *from, uint64_t now_ns);

/* port.c: what all clients have alike */
void client_config_fill(const World *w, ClientConfig *c, const Id128 *self, unsigned regions_max);
typedef struct SimPortOptions {
    Client *client;
    SimEnv *env;
    const Id128 *self;
    unsigned calls; /* on the channel at a time */
    bool background;
    uint16_t host, port;
    const uint32_t *life;
    void (*ready)(void *ctx); /* something has come, for sim_port_receive() */
    void *ctx;
} SimPortOptions;
/* The channel; channel_free() it, or sim_port_kill(), and sim_port_close(). */
Channel *sim_port_open(SimPort *p, World *w, const SimPortOptions *o);
void sim_port_close(SimPort *p);
/* As link_receive() and link_step() of libdodo/link.c. */
void sim_port_receive(SimPort *p, uint64_t now_ns);
void sim_port_step(SimPort *p, uint64_t now_ns);
void sim_port_kill(SimPort *p);         /* frees no more than what it has of the crypto library */
bool channel_blocked(Channel *channel); /* one of its calls waits for another's */
/* At @deadline_ns of that clock, if ever; a timer of the kernel fires a little late. */
void sim_timer_at(World *w, SimTimer *t, uint64_t deadline_ns, uint64_t clock_offset_ns);

#endif
