/* SPDX-License-Identifier: MIT */
/* A manager's core with hosts and clients around it, many of each, for cmd-load. What they say
 * passes through the real encoders and is made ready batch by batch; only the manager's own work
 * is on the clock, which is this thread's CPU time: others on the machine do not count. */
#ifndef DODO_BENCH_CMD_LOAD_RIG_H
#define DODO_BENCH_CMD_LOAD_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "bench/common.h"
#include "cmd/core.h"
#include "proto/request.h"

enum { LOAD_BATCH = 32, LOAD_REGION_BYTES = 4096 };

typedef struct LoadMessage {
    Session *peer;
    size_t at; /* its payload in LoadQueue.bytes */
    uint16_t len;
    uint8_t type;
} LoadMessage;

typedef struct LoadQueue {
    LoadMessage *messages;
    uint8_t *bytes;
    size_t count, used;
} LoadQueue;

typedef struct LoadHost {
    Session session;
    Numbers ids;
    uint64_t next_region, regions, pool_regions, digest;
    uint32_t lists;
} LoadHost;

typedef struct LoadClient {
    Session session;
    Numbers ids;
    uint64_t regions, digest;
    uint32_t lists;
    uint64_t opening_file; /* what its OPEN under way is of */
    uint32_t number;
} LoadClient;

/* A region that a client has open. */
typedef struct LoadRegion {
    uint64_t region, file;
    uint32_t host, client, opening;
} LoadRegion;

/* What a phase took. */
typedef struct LoadTime {
    uint64_t cpu_ns;
    uint64_t worst_ns; /* the longest of its batches */
    uint64_t messages;
} LoadTime;

typedef struct LoadRig {
    Manager *m;
    ManagerConfig config;
    uint64_t now_ns, start_cpu_ns;
    LoadHost *hosts;
    LoadClient *clients;
    LoadRegion *regions;
    unsigned hosts_count, clients_count;
    size_t regions_count, regions_room;
    uint64_t files; /* the next new piece of a file */
    Random random;
    LoadTime time;
    LoadQueue in, out;
    uint64_t opened, refused, reused, closed;
    unsigned next_client;
    Session tool;
    Numbers tool_ids;
} LoadRig;

/* @regions_max: of the directory. Ends the program when there is no memory. */
LoadRig *load_rig_new(unsigned hosts, unsigned clients, size_t regions_room, size_t regions_max);
LoadRig *load_rig_free(LoadRig *rig);
/* Another manager in place of this one; it knows nothing. */
void load_manager_restart(LoadRig *rig);
/* Everything below adds to rig->time. */
LoadTime load_time_take(LoadRig *rig); /* what it took since the last call */

void load_join(LoadRig *rig);  /* all hosts; each gives its whole list */
void load_alive(LoadRig *rig); /* all clients */
void load_beat(LoadRig *rig);  /* all hosts */
void load_tick(LoadRig *rig, unsigned ticks);
void load_claim(LoadRig *rig); /* whole lists of all clients */
void load_list(LoadRig *rig);  /* whole lists of all hosts */
void load_leave(LoadRig *rig); /* all clients, and what is freed for it */
/* @count clients in turn open a new piece of a file each; LOAD_BATCH at once. */
void load_open(LoadRig *rig, size_t count);
/* The same for random regions: closed for good, or released. Released ones are not in
 * rig->regions any more; those of the last batch can be opened again. */
void load_close(LoadRig *rig, size_t count);
void load_release_and_reopen(LoadRig *rig, size_t count);
void load_release(LoadRig *rig, size_t count);
/* @what of enum DrainWhat; all clients ask what to move; all regions of that host are opened at
 * another one and closed there. How many there were. */
void load_drain(LoadRig *rig, unsigned host, uint8_t what);
void load_ask_moves(LoadRig *rig);
size_t load_move(LoadRig *rig, unsigned host);
/* The manager hears that these many of the hosts have room for @each regions more, the others for
 * none. */
void load_room(LoadRig *rig, unsigned hosts, size_t each);

#endif
