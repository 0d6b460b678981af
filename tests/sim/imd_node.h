/* SPDX-License-Identifier: MIT */
/* A host's idle memory daemon: its control thread, its data threads, and what the simulation knows
 * that they hold. */
#ifndef DODO_TESTS_SIM_IMD_NODE_H
#define DODO_TESTS_SIM_IMD_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "imd/member.h"
#include "imd/serve.h"
#include "tests/sim/alloc.h"
#include "tests/sim/oracle.h"
#include "tests/sim/params.h"
#include "tests/sim/port.h"

typedef struct ImdThread {
    struct ImdNode *node;
    unsigned index;
    SimTransport transport;
    Port port;
    ImdServe serve;
    SimTimer timer;
    bool paused, parted;
    ImdCommand leave; /* the command, until the good-byes are said */
    ImdCommand queue[IMD_COMMANDS_MAX];
    uint64_t queue_going[IMD_COMMANDS_MAX]; /* IMD_PURGE: bit per extent that goes */
    unsigned queue_head, queue_len, ready;
    uint64_t last_delivery_ns;
    uint8_t acked; /* enum WriteState of the answer being given; WRITE_STATE_MAX: none yet */
} ImdThread;

/* What the simulation knows of a region that a data thread holds. */
typedef struct ImdHeld {
    uint64_t region;
    unsigned thread;
    uint64_t offset, len;
    uint32_t opening;
    bool released;
} ImdHeld;

typedef struct ImdNode {
    World *world;
    unsigned index;
    uint16_t host;
    uint32_t life;
    bool running, paused, leaving;
    uint64_t clock_offset_ns;
    uint64_t epoch;
    uint64_t stopped_ns; /* when its last life ended */
    uint64_t silent_ns;  /* when it last came to life, stood still or went on */
    SimEnv env;
    SimHeap heap;
    SimTransport transport;
    Port port;
    ImdMember member;
    SimTimer timer;
    ImdThread threads[IMD_THREADS_MAX];
    Pace pace;
    uint8_t *pool;
    ImdHeld held[256];
    unsigned held_count;
    struct {
        IdSet ids;      /* of regions, of this epoch */
        IdSet requests; /* (manager, id) */
        uint64_t allocs, reopens, adds_done, reopens_done;
    } seen;
    uint64_t reported_used, reported_limit; /* to its monitor */
    uint64_t left_ns;                       /* when it was asked to leave */
    uint64_t save_by_ns;                    /* its owner is back: it leaves by then; 0: he is not */
} ImdNode;

/* imd_held.c */
ImdHeld *held_find(ImdNode *n, uint64_t region); /* NULL: no data thread has it */
void held_add(ImdNode *n, const ImdCommand *c);
void held_remove(ImdNode *n, uint64_t region);
/* Memory goes back: a range; extents, which went when it began. */
void held_give_back(ImdNode *n, const ImdRegion *range);
uint64_t held_going(const ImdExtents *x);
void held_give_extents_back(ImdThread *t, const ImdRegion *r, uint64_t map);
/* imd_broken.c: nothing happens while the rules are kept. */
Env broken_imd_env(Env env);     /* the control thread's */
void broken_imd_ids(ImdNode *n); /* before what may allocate */
void broken_imd_obeyed(ImdThread *t, const ImdCommand *c, int result); /* a data thread did @c */
/* imd_node.c */
void imd_start(ImdNode *n);
void imd_crash(ImdNode *n);
void imd_stop(ImdNode *n); /* the seed is over */
void imd_leave(ImdNode *n);
void imd_limit(ImdNode *n, uint64_t bytes);
void imd_save(ImdNode *n, uint64_t bytes);
void imd_pause(ImdNode *n);
void imd_resume(ImdNode *n);
uint64_t imd_now(const ImdNode *n);
uint64_t imd_moment(ImdNode *n); /* from one thread to another */
/* The control thread hears of it in a moment. */
void imd_command_over(ImdNode *n, const ImdCommand *c, int result);
/* imd_thread.c */
void imd_thread_start(ImdNode *n, unsigned index);
void imd_thread_order(ImdThread *t, const ImdCommand *c);
void imd_thread_pause(ImdThread *t);
void imd_thread_resume(ImdThread *t);
void imd_thread_go_on(ImdThread *t); /* if neither it nor its imd stands still */

#endif
