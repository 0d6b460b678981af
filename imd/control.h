/* SPDX-License-Identifier: MIT */
/* The core of the idle memory daemon's control thread: joins the manager, beats, allocates and
 * frees regions, keeps the directory and the release records of retained regions. Pure.
 *
 * It hands regions to data threads by commands. A command is over when the shell says so
 * (imd_control_done); only then does the core answer the manager or use the range again. */
#ifndef DODO_IMD_CONTROL_H
#define DODO_IMD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "imd/data.h"
#include "proto/wire.h"

typedef struct ImdControl ImdControl;

/* UNFILL: the chosen ones of the region's extents. PURGE is no data thread's: its pages go back to
 * the host; of a range that no region has any more, or of extents that were unfilled. */
enum ImdCommandKind { IMD_ADD, IMD_DROP, IMD_REOPEN, IMD_CLOSE, IMD_LEAVE, IMD_UNFILL, IMD_PURGE };
typedef struct ImdCommand {
    uint64_t id; /* echoed in imd_control_done() */
    uint8_t kind;
    unsigned thread;
    ImdRegion
        region; /* CLOSE: region.region only; DROP: pool_offset and len too; REOPEN: opening
                   and capability too; UNFILL: pool_offset and extents too; PURGE: pool_offset and
                   len, whole units of POOL_ALIGN, and extents, if it is about those that go */
} ImdCommand;

typedef struct ImdControlSink {
    /* Neither may call back into the core; both borrow their arguments until return.
     * To the manager, on the control socket's session: REQUEST, REPLY. */
    void (*message)(void *ctx, uint8_t type, const uint8_t *payload, size_t len);
    void (*command)(void *ctx, const ImdCommand *command);
    void *ctx;
} ImdControlSink;

typedef struct ImdControlConfig {
    uint64_t epoch;
    uint64_t pool_bytes;
    unsigned threads;               /* 1 .. JOIN_PORTS_MAX */
    uint16_t ports[JOIN_PORTS_MAX]; /* of the data threads */
    unsigned regions_max;           /* ALLOC beyond it: NO_MEMORY */
    uint64_t extent_bytes;          /* a power of two, at least POOL_ALIGN */
    uint64_t beat_ns;               /* between BEATs */
    uint64_t manager_dead_ns;       /* silence after BEATs: it is lost; 0: never */
    uint64_t retained_age_max_ns;   /* released regions older than it go; 0: no limit */
    bool give_back; /* each range that comes back is PURGEd before it is used again */
} ImdControlConfig;

ImdControl *imd_control_new(const ImdControlConfig *config, const Env *env,
                            const ImdControlSink *sink, uint64_t now_ns);
ImdControl *imd_control_free(ImdControl *c);

/* The session with the manager came up (again, or with another manager: @manager is its
 * Session.peer_id): JOIN follows. Requests of an earlier manager instance are forgotten. */
void imd_control_up(ImdControl *c, const Id128 *manager, uint64_t now_ns);
/* A REQUEST or REPLY from the manager. */
void imd_control_input(ImdControl *c, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns);
/* A command is over; @result: 0 or -ENOMEM (ADD). */
void imd_control_done(ImdControl *c, uint64_t command, int result, uint64_t now_ns);
/* What the data threads served since the start, all together, for BEATs. */
void imd_control_served(ImdControl *c, const Served *served);
/* Limits what is reserved and what is filled of the pool to @bytes; what is on its way back counts.
 * No region is given and nothing is filled beyond that. If more is filled, extents are unfilled,
 * the least recently used first, those of released regions before those of open ones: their clients
 * find the blocks unfilled and read the file. A region that would have nothing left is dropped: its
 * client finds it gone. */
void imd_control_limit(ImdControl *c, uint64_t bytes, uint64_t now_ns);
uint64_t imd_control_limit_bytes(const ImdControl *c);
uint64_t imd_control_used_bytes(const ImdControl *c);   /* reserved */
uint64_t imd_control_filled_bytes(const ImdControl *c); /* ... and filled */
/* The owner is back: the manager is to have programs move their regions to other hosts, and is
 * asked how far that is. */
void imd_control_save(ImdControl *c, uint64_t now_ns);
/* Nothing is left to move, or nothing moves: nobody does it, no other host has room, the manager is
 * away. */
bool imd_control_saved(const ImdControl *c);
/* SIGTERM: no new regions, PART is sent; finished when it is answered or gave up. */
void imd_control_leave(ImdControl *c, uint64_t now_ns);
bool imd_control_finished(const ImdControl *c);

uint64_t imd_control_deadline(const ImdControl *c);
void imd_control_expire(ImdControl *c, uint64_t now_ns);

bool imd_control_joined(const ImdControl *c);
/* Instances of a manager that there was a session to, so far. */
uint64_t imd_control_managers(const ImdControl *c);
/* Since the last call the manager was silent for too long: a new session may find it. */
bool imd_control_lost(ImdControl *c);
size_t imd_control_regions(const ImdControl *c); /* that hold a range of the pool */
uint64_t imd_control_free_bytes(const ImdControl *c);
bool imd_control_check(const ImdControl *c); /* invariants: directory and pool agree to the byte */
/* Walk over what a LISTING would show now (not regions being added or dropped); false ends. For
 * tests and the simulation. */
bool imd_control_region_at(const ImdControl *c, size_t index, RegionListing *ret);

#endif
