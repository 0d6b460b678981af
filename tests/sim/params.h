/* SPDX-License-Identifier: MIT */
/* How large a simulated cluster is, and all that a seed decides of it at its start. */
#ifndef DODO_TESTS_SIM_PARAMS_H
#define DODO_TESTS_SIM_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/request.h"
#include "tests/lib/simfs.h"
#include "tests/lib/simnet.h"
#include "usocket/batches.h"

enum {
    CLIENTS_MAX = 3,
    CARRIED_MAX = 2 * 3, /* regions at once, by a program */
    THREADS_MAX = 3,
    IMDS_MAX = 3,
    IMD_THREADS_MAX = 2,
    IMD_COMMANDS_MAX = 512,
    DESCS_MAX = 10,
    STRIPES_MAX = 20,              /* of a region */
    MEMBERS_MAX = 2 * STRIPES_MAX, /* with their second copies */
    ASYNC_MAX = 4,                 /* calls of a thread that it does not wait for */
    VECTOR_BUFFERS = 40,           /* of a vectored call */
    FILE_CAP = 320 * 1024,
    REGION_MAX = 40 * 4096,
    LARGE_FILE_CAP = 6 << 20, /* SCENARIO_LARGE: several windows of a transfer */
    LARGE_REGION_MAX = 5 << 20,
    QUEUE_DATAGRAMS = 256,
    HOST_CMD = 0,
    HOST_IMD = 1,
    HOST_OTHER = 4, /* another manager's */
    HOST_CLIENT = 5,
    HOST_STRANGER = 9,
    HOSTS_COUNT = 10,
    PORT_CMD = 7700,
    PORT_IMD = 7701,
    PORT_RMD = 7702,
    PORT_DATA = 7710,
};

/* What a seed is about. Each biases the mix; the calm ones also know what may not happen. */
enum Scenario {
    SCENARIO_GENERAL,    /* everything, a random part of it switched off */
    SCENARIO_CALM,       /* datagrams are lost, doubled, late; nothing else: no region is lost */
    SCENARIO_PAUSES,     /* processes are paused: no peer declares them dead */
    SCENARIO_AMNESIA,    /* the manager starts again: no region is lost, retained ones are found */
    SCENARIO_RETAIN,     /* retained regions, kills, files that change in between */
    SCENARIO_CONTENTION, /* a few hot blocks, all threads on them, late duplicates */
    SCENARIO_FILE,       /* the file system fails */
    SCENARIO_HOSTS,      /* hosts crash, leave, pause, are cut off */
    SCENARIO_CHURN,      /* open and close without end in a pool too small */
    SCENARIO_END,        /* regions over the end of files that grow */
    SCENARIO_SILENCE,    /* slow links and cuts that outlast a deadline in the midst of writes */
    SCENARIO_RECLAIM,    /* clients stand still until they are given up, then go on */
    SCENARIO_CRASHES,    /* programs are killed in the midst of writes, and run again at once */
    SCENARIO_LARGE,      /* regions of several megabytes: calls of many chunks and windows */
    SCENARIO_STRIPES,    /* regions over several hosts, which come and go, and calls in pieces */
    SCENARIO_SILENT,     /* some hosts say nothing for long: calls to the others take no longer */
    SCENARIO_CHOSEN, /* a seed chooses one of those above; those below are for rules of theirs */
    SCENARIO_WRITERS = SCENARIO_CHOSEN, /* other programs' slow writes between two openings */
    SCENARIO_SECONDS,  /* stamps of whole seconds, and files that change between two openings */
    SCENARIO_OFFERS,   /* offers that are held up beside writes of parts of blocks */
    SCENARIO_TRICKLE,  /* hosts that answer, and serve next to nothing for a while */
    SCENARIO_CAPPED,   /* owners cap their imds' traffic: no client declares them dead */
    SCENARIO_MANAGERS, /* two managers, both of which believe that they are active now and then */
    SCENARIO_PRESSURE, /* an owner takes parts of the memory of hot regions, again and again */
    SCENARIO_MIRRORS,  /* regions of two copies, whose hosts die and freeze one after the other */
    SCENARIO_COPIES,   /* ... with a few hot blocks, all threads on them, late duplicates */
    SCENARIO_DRAINS,   /* hosts are taken out of service, and open regions leave them */
    SCENARIO_CARRIES,  /* ... and regions that are kept for a next run */
    SCENARIO_SHARES,   /* processes of a host that read the same */
    SCENARIO_SAVES,    /* what was used last moves away from hosts whose owners come back */
    SCENARIO_COUNT
};

enum Fault {
    FAULT_CUT,
    FAULT_PARTITION,
    FAULT_IMD_CRASH,
    FAULT_IMD_LEAVE,
    FAULT_IMD_PAUSE,
    FAULT_THREAD_PAUSE,
    FAULT_CMD_CRASH,
    FAULT_CMD_PAUSE,
    FAULT_CLIENT_KILL,
    FAULT_CLIENT_KILL_WRITING,
    FAULT_CLIENT_PAUSE,
    FAULT_COUNT
};

enum ProgramOp {
    DO_OPEN,
    DO_READ,
    DO_WRITE,
    DO_CLOSE,
    DO_SYNC,
    DO_BAD,
    DO_CHANGE_FILE,
    DO_ASYNC, /* calls that the thread does not wait for */
    DO_OFFER, /* mfillv of what the file holds at that instant */
    DO_DISCARD,
    DO_CARRY, /* a region that is kept on a host which is being drained */
    DO_EXIT,  /* an orderly end, then a new run */
    DO_LEAVE, /* part of it */
    DO_FILL,  /* some of the offers: the library reads the file */
    DO_COUNT
};

/* What the seed decides of the daemons' ports, and of what goes wrong below them. */
typedef struct ShellParams {
    BatchesRoom room;
    uint32_t part_ppm, full_ppm; /* as in SimTransports */
    uint64_t look_late_ns;
    uint64_t timer_late_ns;     /* some timers fire so late, at most; 0: none does */
    uint64_t no_route_every_ns; /* TIME_NEVER: there is always one */
} ShellParams;

/* ... of what programs do. */
typedef struct ProgramParams {
    uint64_t think_ns;
    unsigned descs; /* open at once, a process */
    unsigned region_blocks_max;
    unsigned hot_ppm;     /* reads and writes aim at the hot blocks */
    unsigned popular_ppm; /* opens of one of a few fixed ranges */
    bool shares;          /* the processes of a host share what they read */
    uint32_t retain_ppm, rdonly_ppm, fallback_ppm, stripe_ppm, mirror_ppm;
    uint64_t stripe_bytes;
    uint32_t vector_ppm;                            /* reads and writes over several buffers */
    unsigned async;                                 /* calls beside its others, a thread */
    uint32_t async_write_ppm, hold_ppm, cancel_ppm; /* of these */
    uint32_t prefetch_ppm;                          /* reads that are preceded by a hint of more */
    unsigned weights[DO_COUNT];
} ProgramParams;

/* ... of faults. */
typedef struct FaultParams {
    unsigned weights[FAULT_COUNT];
    uint64_t every_ns;        /* TIME_NEVER: none */
    uint64_t long_ns;         /* a fault lasts up to this */
    uint64_t client_pause_ns; /* ... but for pauses of programs; 0: as all */
    bool one_by_one;          /* no host is hit before the last one is back for so long: */
    uint64_t back_ns;
    uint64_t turn_late_ns; /* a data thread answers so late; 0: at once */
    uint64_t trickle_ns;   /* a host may serve one long datagram in so long; 0: none does */
    uint32_t stranger_ppm;
    uint64_t writer_every_ns; /* other programs write to the files; TIME_NEVER: not */
    uint32_t no_memory_ppm;   /* allocations that fail, in all processes */
    uint64_t lie_every_ns;    /* bits of a host's pool flip; TIME_NEVER: never */
} FaultParams;

/* ... of hosts. */
typedef struct HostParams {
    uint64_t pool_bytes;
    uint64_t cap_bytes, cap_packets; /* of an imd, a second; 0: none */
    bool give_back;                  /* hosts give back what is freed */
    uint64_t extent_bytes;           /* in such pieces an owner takes memory */
    uint64_t purge_ns;               /* it takes so long to give pages back, at most; 0: a moment */
    uint64_t drain_every_ns; /* a host is drained, or is wanted again; TIME_NEVER: none is */
    unsigned drains_max;     /* hosts at once */
    uint64_t drain_rate;     /* bytes a second; 0: no limit */
} HostParams;

/* ... of owners. */
typedef struct OwnerParams {
    bool monitors;             /* there are monitors, which talk to the manager */
    uint64_t limit_every_ns;   /* owners change their pools' limits; TIME_NEVER: never */
    uint64_t reclaim_every_ns; /* owners come back and go again; TIME_NEVER: never */
    uint64_t save_within_ns;   /* ... so long what was used last may move away; 0: not at all */
} OwnerParams;

/* ... of the cores' settings. */
typedef struct CoreParams {
    uint64_t hello_retry_ns, alive_ns, beat_ns, client_dead_ns, host_dead_ns, grace_ns,
        refraction_ns, transfer_deadline_ns, reopen_ns, retained_age_ns, leave_deadline_ns;
    RequestTimes client_request;
    uint64_t imd_retry_ns, imd_retry_max_ns, imd_deadline_ns;
    unsigned imd_writes_max, imd_fills_max, imd_regions_max;
    unsigned cmd_opens_max, cmd_regions_max;
    uint32_t grant_bytes;
    uint64_t credit_bytes, fill_queue_bytes;
    unsigned sessions_max;
} CoreParams;

/* All that the seed decides at its start. */
typedef struct Params {
    enum Scenario scenario;
    bool calm;         /* no region may be lost in this seed */
    bool calm_manager; /* ... and the manager always answers in time */
    bool managers;     /* there are two */
    bool sealed;
    bool later;    /* some are of a later build */
    bool rotating; /* two keys, and not all seal with the same */
    unsigned clients, threads, imds, imd_threads, files, client_hosts;
    size_t file_cap, region_max;
    uint64_t duration_ns;
    uint64_t datagram_max;
    bool weighted;   /* placement by space and traffic */
    bool checked;    /* clients check what hosts return */
    bool same_ports; /* a process started again uses the same ports */
    ProgramParams programs;
    HostParams hosts;
    OwnerParams owners;
    FaultParams faults;
    SimLink link;
    ShellParams shells;
    SimFsConfig fs;
    CoreParams cores;
} Params;

void params_choose(Params *p, uint64_t seed, int scenario);
const char *scenario_name(unsigned scenario);

#endif
