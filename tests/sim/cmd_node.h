/* SPDX-License-Identifier: MIT */
/* The manager, and a second one where the seed wants two. */
#ifndef DODO_TESTS_SIM_CMD_NODE_H
#define DODO_TESTS_SIM_CMD_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/core.h"
#include "cmd/lease.h"
#include "tests/sim/alloc.h"
#include "tests/sim/oracle.h"
#include "tests/sim/port.h"

typedef struct CmdNode {
    World *world;
    const char *name;
    uint16_t host;
    uint32_t life;
    Lease lease;
    bool running, paused;
    uint64_t clock_offset_ns;
    uint64_t started_ns;
    SimEnv env;
    SimHeap heap;
    SimTransport transport;
    Port port;
    Manager *manager;
    SimTimer timer;
    IdSet requests_seen;
    uint64_t opens_seen;
    ManagerStats last;
    Session operator; /* of drains.c */
} CmdNode;

/* cmd_node.c */
void cmd_start(CmdNode *n);
void cmd_crash(CmdNode *n);
/* A request of an operator, whose answers nobody hears. */
void cmd_asked(CmdNode *n, const uint8_t *payload, size_t len);
void cmd_stop(CmdNode *n); /* the seed is over */
void cmd_pause(CmdNode *n);
void cmd_resume(CmdNode *n);
void cmd_count(CmdNode *n);
/* Its command prints the number of a lease; its command ends. */
void cmd_lease_begins(CmdNode *n, uint64_t number);
void cmd_lease_ends(CmdNode *n);

/* managers.c */
CmdNode *world_manager(const World *w); /* the one that has the lock, if it takes one */
void managers_start(World *w);
void managers_heal(World *w);
Places managers_places(void);

#endif
