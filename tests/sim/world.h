/* SPDX-License-Identifier: MIT */
/* A whole small cluster in one process: clients with their threads and files, one manager, one to
 * three hosts, a stranger; on one virtual clock, from one seed. */
#ifndef DODO_TESTS_SIM_WORLD_H
#define DODO_TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dodo/dodo.h"
#include "proto/rules.h"
#include "rmd/manager_link.h"
#include "tests/sim/cmd_node.h"
#include "tests/sim/cover.h"
#include "tests/sim/imd_node.h"
#include "tests/sim/process.h"

/* The resource monitor of a host's owner. */
typedef struct SimOwner {
    World *world;
    ImdNode *imd;
    uint32_t life;
    SimHeap heap;
    SimEnv env;
    Endpoint *endpoint;
    SimSocket *socket;
    SimTimer timer;
    bool busy;          /* the owner is there */
    uint64_t turn_ns;   /* when he goes, or comes back */
    MonitorStatus told; /* last */
    ManagerLink link;
    uint8_t late[WIRE_PAYLOAD_MAX]; /* what it told when he was last there */
    size_t late_len;
} SimOwner;

typedef struct Stranger {
    World *world;
    uint32_t life;
    SimHeap heap;
    SimRng rng;
    SimEnv env;
    Endpoint *endpoint;
    SimSocket *socket;
    SimTimer timer;
    uint64_t ask;
} Stranger;

/* A seed's story: faults and load; heal, until all calls are over; settle; every region is read
 * until it is remote; all is closed; new regions work; all leave, or are killed; quiet. */
enum Phase {
    PHASE_RUN,
    PHASE_HEAL,
    PHASE_SETTLE,
    PHASE_PROBE,
    PHASE_CLOSE,
    PHASE_WORK,
    PHASE_QUIET,
    PHASE_DONE
};

struct World {
    uint64_t seed;
    Params p;
    SimNet *net;
    SimRng rng; /* faults, schedules of the shells */
    struct {
        SimRng owners, lies, writers, shells, managers, drains;
    } rngs;
    SimTransports transports;
    struct {
        SimFile *file; /* NULL: none writes now */
        uint64_t offset, len;
        unsigned pieces;
        bool overlapped; /* a region was open in between */
    } writer;
    SimFs *fs[CLIENTS_MAX];
    FileModel models[CLIENTS_MAX][SIMFS_FILES_MAX];
    Process processes[CLIENTS_MAX];
    ImdNode imds[IMDS_MAX];
    CmdNode cmd, other; /* other: with Params.managers */
    struct {
        CmdNode *holder;
        uint64_t number; /* of leases so far */
    } lock;
    struct {
        bool of[IMDS_MAX];
        uint64_t requests;
    } drains;
    Stranger stranger;
    SimOwner owners[IMDS_MAX];
    ClusterKey keys[CLUSTER_KEYS_MAX];
    struct {
        uint32_t version, process;
    } next;
    IdSet written; /* openings in which something was written */
    struct {
        unsigned kept, not_kept;     /* clean closes of DODO_RETAIN regions */
        unsigned reused, not_reused; /* openings of what was kept and fresh */
    } retained;
    struct {
        enum Phase now;
        uint64_t until_ns;
        uint64_t work_at_ns;
        bool stopping;
    } phase;
    bool looked_always; /* invariants are looked at after each event */
    struct {
        char text[512];
        uint64_t at_ns;
    } violated;
    uint64_t *cover; /* COVER_MAX, of the worker */
    FILE *trace;
    uint64_t zero_ns;
    struct {
        ListNode maps, all;
    } sharing;        /* shares.c */
    ListNode records; /* of KeptRecord: what clients keep of retained regions' blocks */
    void (*program_first_start)(World *w, unsigned index);
};

/* ---- what the files share ------------------------------------------------------------------- */

static inline void cover(World *w, enum SimCover what)
{
    w->cover[what]++;
}
static inline void cover_add(World *w, enum SimCover what, uint64_t n)
{
    w->cover[what] += n;
}
static inline uint64_t world_now(const World *w)
{
    return simnet_now(w->net);
}
void violate(World *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void story(World *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0: an ordinary region */
static inline unsigned program_stripes(const World *w, const Desc *d)
{
    uint64_t stripe = w->p.programs.stripe_bytes;
    if (!(d->flags & DODO_STRIPE) || d->len <= stripe)
        return 0;
    return (unsigned)((d->len + stripe - 1) / stripe);
}
static inline bool program_mirrored(const Desc *d)
{
    return d->flags & DODO_MIRROR;
}

/* stranger.c */
void stranger_start(Stranger *s);
void stranger_stop(Stranger *s);

/* faults.c */
void faults_start(World *w);
void faults_heal(World *w);

/* shells.c: what goes wrong between the daemons and their system */
void shells_choose(Params *p, uint64_t seed);
void shells_start(World *w); /* before any daemon */
void shells_heal(World *w);
void shells_end(World *w);
void shell_event(World *w, const char *name, const PortEvent *e);
uint64_t shell_timer_late(World *w); /* by how much, if at all */

/* later.c: who is of a later build */
void later_choose(Params *p, uint64_t seed);
uint64_t later_features(const World *w, const Id128 *self); /* 0: of this one */

/* lies.c: until the faults heal; what was changed stays so */
void lies_start(World *w);
void drains_start(World *w);

/* writers.c: other programs whose writes take long */
void writers_start(World *w);

/* owners.c: the owners of the hosts, who want their memory back now and then */
void owners_start(World *w);
void owners_heal(World *w);
void owners_stop(World *w); /* the seed is over */

/* check.c */
void check_invariants(World *w);
void check_no_leak(World *w);
void check_probed(World *w);
void check_quiet(World *w);

/* world.c: what every kind of program on the cluster has in common */
/* Clock, network and links; the manager and the hosts, not started. */
void cluster_make(World *w, uint64_t rng_stream);
/* All of it within a tenth of a second, in any order. */
void cluster_start(World *w, unsigned programs, void (*start)(World *w, unsigned index));
/* Until PHASE_DONE, or something is wrong. Invariants are checked after so many events. */
void cluster_run(World *w, unsigned check_every);
void cluster_end(World *w);
/* After so long every silence has been noticed, every list reconciled. */
uint64_t cluster_settle_ns(const World *w);
void phase_enter(World *w, enum Phase phase, uint64_t at_most_ns);
/* If its goal was not reached in any reasonable time, some call does not end. */
void phase_overdue(World *w);

/* ... and libdodo's own programs */
typedef struct SimResult {
    uint64_t digest;
    uint64_t virtual_ns, events, checks;
    unsigned scenario;
    bool failed;
    char violation[512];
    uint64_t violation_ns;
} SimResult;
/* All of it, from @w->seed and @w->p; nothing has started yet. */
void programs_make(World *w);
void programs_end(World *w);
/* Runs one seed. @scenario < 0: the seed's own choice. Invariants are checked after every
 * @check_every events. */
void world_run(uint64_t seed, int scenario, unsigned check_every, FILE *trace, uint64_t *cover,
               SimResult *ret);

#endif
