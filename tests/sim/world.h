/* SPDX-License-Identifier: MIT */
/* A whole small cluster in one process: clients with their threads and files, one manager, one to
 * three hosts, a stranger; on one virtual clock, from one seed. */
#ifndef DODO_TESTS_SIM_WORLD_H
#define DODO_TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/core.h"
#include "cmd/lease.h"
#include "dodo/dodo.h"
#include "imd/member.h"
#include "imd/pool.h"
#include "imd/serve.h"
#include "libdodo/core.h"
#include "proto/contact.h"
#include "proto/rules.h"
#include "rmd/manager_link.h"
#include "tests/lib/simfs.h"
#include "tests/lib/simnet.h"
#include "tests/sim/alloc.h"
#include "tests/sim/cover.h"
#include "tests/sim/sim_transport.h"
#include "usocket/burst_send.h"
#include "usocket/port.h"

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
    SCENARIO_PAUSES,     /* processes stand still for a while: nobody is given up for that */
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
    SCENARIO_CAPPED,   /* owners cap what their imds send and receive: nobody is given up for it */
    SCENARIO_MANAGERS, /* two managers, both of which believe that they are active now and then */
    SCENARIO_PRESSURE, /* an owner takes parts of the memory of hot regions, again and again */
    SCENARIO_MIRRORS,  /* regions of two copies, whose hosts die and freeze one after the other */
    SCENARIO_COPIES,   /* ... with a few hot blocks, all threads on them, late duplicates */
    SCENARIO_DRAINS,   /* hosts are taken out of service, and open regions leave them */
    SCENARIO_CARRIES,  /* ... and regions that are kept for a next run */
    SCENARIO_SHARES,   /* processes of a host that read the same */
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

/* All that the seed decides at its start. */
typedef struct Params {
    enum Scenario scenario;
    bool calm;         /* no region may be lost in this seed */
    bool calm_manager; /* ... and the manager always answers in time */
    bool managers;     /* there are two */
    bool sealed;
    bool rotating; /* two keys, and not all seal with the same */
    unsigned clients, threads, imds, imd_threads, files, client_hosts;
    uint64_t pool_bytes;
    size_t file_cap, region_max;
    uint64_t duration_ns, think_ns;
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
    uint64_t fault_every_ns;  /* TIME_NEVER: none */
    uint64_t fault_long_ns;   /* a fault lasts up to this */
    uint64_t client_pause_ns; /* ... but for pauses of programs; 0: as all */
    bool one_by_one;          /* no host is hit before the last one is back for so long: */
    uint64_t back_ns;
    uint64_t cap_bytes, cap_packets; /* of an imd, a second; 0: none */
    uint64_t turn_late_ns;           /* a data thread answers so late; 0: at once */
    uint64_t trickle_ns;          /* a host may serve one long datagram in so long; 0: none does */
    unsigned faults[FAULT_COUNT]; /* weights */
    uint32_t stranger_ppm;
    uint64_t writer_every_ns; /* other programs write to the files; TIME_NEVER: not */
    uint32_t no_memory_ppm;   /* allocations that fail, in all processes */
    uint64_t datagram_max;
    bool give_back;            /* hosts give back what is freed */
    uint64_t extent_bytes;     /* in such pieces an owner takes memory */
    bool weighted;             /* placement by space and traffic */
    uint64_t purge_ns;         /* it takes so long to give pages back, at most; 0: a moment */
    bool owners;               /* there are monitors, which talk to the manager */
    uint64_t limit_every_ns;   /* owners change their pools' limits; TIME_NEVER: never */
    bool checked;              /* clients check what hosts return */
    uint64_t lie_every_ns;     /* bits of a host's pool flip; TIME_NEVER: never */
    uint64_t reclaim_every_ns; /* owners come back and go again; TIME_NEVER: never */
    uint64_t drain_every_ns;   /* a host is drained, or is wanted again; TIME_NEVER: none is */
    unsigned drains_max;       /* hosts at once */
    uint64_t drain_rate;       /* bytes a second; 0: no limit */
    bool same_ports;           /* a process started again uses the same ports */
    SimLink link;
    ShellParams shells;
    SimFsConfig fs;
    /* the settings of the cores */
    uint64_t hello_retry_ns, alive_ns, beat_ns, client_dead_ns, host_dead_ns, grace_ns,
        refraction_ns, transfer_deadline_ns, reopen_ns, retained_age_ns, leave_deadline_ns;
    RequestTimes client_request;
    uint64_t imd_retry_ns, imd_retry_max_ns, imd_deadline_ns;
    unsigned imd_writes_max, imd_fills_max, imd_regions_max;
    unsigned cmd_opens_max, cmd_regions_max;
    uint32_t grant_bytes;
    uint64_t credit_bytes, fill_queue_bytes;
    unsigned sessions_max;
} Params;

typedef struct World World;
typedef struct Process Process;

/* ---- the oracle ----------------------------------------------------------------------------- */

typedef struct Alternative {
    struct Alternative *next;
    uint64_t offset;
    size_t len;
    uint32_t version; /* 0: the bytes below */
    uint8_t bytes[];
} Alternative;

/* An mread under way: what each byte may be. */
typedef struct ReadWatch {
    ListNode link; /* in FileModel.reads */
    SimFile *file;
    uint64_t offset;
    size_t len;
    uint8_t *snapshot;
    uint64_t size_min, size_max;
    Alternative *alternatives;
    bool overlapped; /* by an mwrite */
    bool beside;     /* ... or nearly: they may have a block in common */
} ReadWatch;

/* An mwrite under way. */
typedef struct WriteWatch {
    ListNode link; /* in FileModel.writes */
    SimFile *file;
    uint64_t offset;
    size_t len;
    uint32_t version;
    size_t touched;         /* bytes of it that reached the file, in any order */
    uint8_t *applied;       /* bit per byte */
    uint64_t begun;         /* bytes of it that the library has given to the file */
    bool pending;           /* one of its file writes is under way, */
    size_t pending_len;     /* so long */
    bool failed, shortened; /* injected */
} WriteWatch;

/* What a killed process had open. */
typedef struct KilledRange {
    uint64_t offset, len; /* len 0: none */
    bool writing;
} KilledRange;
enum { KILLED_MAX = 16 };

typedef struct FileModel {
    ListNode reads, writes;
    KilledRange killed[KILLED_MAX];
    unsigned killed_next;
} FileModel;

/* The bytes of write @version; every write has its own. */
void oracle_bytes(uint32_t version, uint64_t offset, uint8_t *out, size_t len);
void oracle_file_changed(void *ctx, SimFile *file, uint64_t offset, size_t len, void *cookie);
void oracle_read_begin(ReadWatch *r, SimFile *file, uint64_t offset, size_t len);
/* True when @count bytes in @buf are what they may be; else @why has words. */
bool oracle_read_right(World *w, const ReadWatch *r, const uint8_t *buf, ssize_t count, size_t full,
                       char *why, size_t cap);
void oracle_read_end(ReadWatch *r);
void oracle_write_begin(World *w, WriteWatch *v, SimFile *file, uint64_t offset, size_t len);
/* Bytes from the start that reached the file. */
size_t oracle_write_prefix(const WriteWatch *v);
void oracle_write_end(WriteWatch *v);

/* Behind a core's Env. */
typedef struct SimEnv {
    SimRng rng;
    World *world;
    char name[16];
} SimEnv;

/* ---- processes ------------------------------------------------------------------------------ */

/* What the program knows of a region it opened. */
typedef struct Desc {
    enum { DESC_FREE, DESC_OPENING, DESC_OPEN, DESC_CLOSING } state;
    int rd;
    SimFile *file;
    SimHandle *handle;
    uint64_t offset, len;
    unsigned flags;
    unsigned users;
    bool lost, killed_writing;
    bool written;   /* since the opening */
    Stamp stamp;    /* at the opening */
    bool must_open; /* nothing excuses a failure */
    bool leased;    /* at the opening: nobody could write the file */
    bool retained;  /* at the opening: a host kept it, with the same stamp, ... */
    bool stale;     /* ... or with another */
    bool reused;    /* it was found there: what the host has of it is a belief, until it is read */
    bool dead;      /* it was seen without any memory */
    unsigned discards; /* that have begun */
    uint64_t read; /* the memory it had when the script read it last; 0: not all of it had any */
    uint64_t filled_bytes; /* when it was last looked at */
    struct {
        uint64_t epoch;   /* of its host when it was last looked at; 0: inactive */
        bool lost;        /* it had one before */
        uint64_t gone_ns; /* since when that host is no more; 0: it is there */
    } seen[MEMBERS_MAX];  /* a stripe, its second copy; an ordinary region has one */
} Desc;

/* What a thread's channel sends and receives by. */
typedef struct SimPort {
    World *world;
    Endpoint *endpoint;
    Channel *channel;
    SimTransport transport; /* socket NULL: closed */
    Batches batches;
} SimPort;

typedef struct Thread Thread;
struct Thread {
    Process *process;
    unsigned index;
    Channel *channel;
    SimPort port;
    SimTimer timer;
    bool background;
    Thread *owner;         /* not NULL: a call that this thread does not wait for, on its channel */
    bool held, cancelled;  /* ... */
    bool in_call, in_file; /* in a blocking system call */
    bool file_done, write_done;
    SimFsResult file_result, write_result;
    uint8_t file_need;            /* of the blocking one */
    Call *file_call, *write_call; /* whose they are: pieces of calls too */
    Call call;
    /* the call */
    enum ProgramOp op;
    Desc *desc;
    int rd;                        /* it was when the call began */
    bool was_closing;              /* when the call began */
    bool must_hit;                 /* all of it must be remote */
    uint64_t holders[MEMBERS_MAX]; /* numbers of the copies that held all that the call reads */
    unsigned discards;             /* of its region, when it began */
    bool thinking;
    Desc *write_at_once; /* the next call is a write to it */
    int bad_errno;
    ssize_t bad_result;
    uint64_t offset;
    size_t len;
    uint64_t started_ns, paused_before_ns;
    uint64_t host_epoch; /* of the region's host then; 0: none */
    bool injected;       /* a file failure hit this call */
    bool synced;         /* an fdatasync of this call came to its end */
    uint64_t hits_before;
    ReadWatch read;
    WriteWatch write;
    uint8_t *buf; /* region_max and a guard */
    /* a vectored call: the same bytes, scattered */
    bool vectored;
    int buffers;
    struct iovec iov[VECTOR_BUFFERS];
    uint8_t *scattered;
    unsigned stripes_begun; /* that it touches */
};

struct Process {
    World *world;
    unsigned index;
    uint16_t host;
    uint32_t life;   /* raised at its end: voids its events */
    uint32_t number; /* this run's, unique in the world */
    bool running, paused;
    bool leaving;  /* DO_EXIT: no new calls, then the script's end */
    bool scripted; /* thread 0 follows the script, the others rest */
    unsigned script_step, script_desc, open_tries;
    uint64_t clock_offset_ns;
    uint64_t paused_at_ns, paused_total_ns;
    SimRng rng; /* the program's */
    SimEnv env;
    SimHeap heap;
    Client *client;
    Id128 self;
    Thread threads[THREADS_MAX + 1]; /* the last is the background's */
    Thread async[THREADS_MAX][ASYNC_MAX];
    unsigned threads_count;
    Desc descs[DESCS_MAX];
    int carried[CARRIED_MAX]; /* descriptors of regions that leave a host by carry.c */
    unsigned carried_count;
    bool wake_pending, background_pending;
    bool kill_when_writing;
    ClientStats last; /* counted into the coverage already */
    uint64_t hosts_lost_seen, poisoned_seen, moves_seen, unfilled_seen;
};

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

typedef struct IdSet {
    uint64_t *slots;
    size_t cap, count;
} IdSet;
bool id_set_add(IdSet *s, uint64_t id); /* true: it was new */
bool id_set_has(const IdSet *s, uint64_t id);
void id_set_free(IdSet *s);

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
    IdSet ids_used;      /* region ids of this epoch */
    IdSet requests_seen; /* (manager, id) */
    uint64_t allocs_seen, reopens_seen, adds_done, reopens_done;
    uint64_t reported_used, reported_limit; /* to its monitor */
    uint64_t left_ns;                       /* when it was asked to leave */
} ImdNode;

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
    SimRng owners_rng, lies_rng, writers_rng, shells_rng;
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
    SimRng managers_rng, drains_rng;
    bool drained[IMDS_MAX];
    uint64_t drain_requests;
    Stranger stranger;
    SimOwner owners[IMDS_MAX];
    ClusterKey keys[CLUSTER_KEYS_MAX];
    uint32_t next_version, next_process;
    IdSet written;               /* openings in which something was written */
    unsigned kept, not_kept;     /* clean closes of DODO_RETAIN regions */
    unsigned reused, not_reused; /* openings of what was kept and fresh */
    enum Phase phase;
    uint64_t phase_until_ns;
    uint64_t work_at_ns;
    bool stopping;
    bool looked_always; /* invariants are looked at after each event */
    char violation[512];
    uint64_t violation_ns;
    uint64_t *cover; /* COVER_MAX, of the worker */
    FILE *trace;
    uint64_t zero_ns;
    ListNode shared_maps, shares; /* shares.c */
    ListNode records;             /* of KeptRecord: what clients keep of retained regions' blocks */
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

/* What NEED_FILE_STAMP tells. */
void file_proof(const SimFile *f, FileResult *ret);
/* records.c: NEED_CHECKS_SAVE and NEED_CHECKS_LOAD. What they give call_file_done(). */
ssize_t records_do(World *w, const Call *call);
void records_free(World *w);
/* shares.c: NEED_SHARE, hooks.share_end, and the end of a process. */
void shares_join(Process *p, const Call *call);
void shares_end(Share *share);
void shares_kill(World *w, const Process *p);

void params_choose(Params *p, uint64_t seed, int scenario);
const char *scenario_name(unsigned scenario);

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

/* process.c */
void process_start(Process *p);
void process_kill(Process *p);
void process_pause(Process *p);
void process_resume(Process *p);
uint64_t process_now(const Process *p);
void thread_step(Thread *t);
void thread_begin(Thread *t); /* after call_*_start() */
/* It has lost its processor for so long, where it is. */
void thread_hold_up(Thread *t, uint64_t ns);
void process_end(Process *p);           /* orderly, after its last call */
unsigned thread_calls(const Thread *t); /* of its own channel, under way */

/* program.c */
enum { GUARD = 64, GUARD_BYTE = 0xA5 }; /* behind each read's buffer */
void program_start(Process *p);
void program_call_over(Thread *t);       /* results.c */
size_t program_clipped(const Thread *t); /* the call's length inside the region */
void program_note_written(Thread *t);    /* the call writes */
void program_note_held(const Thread *t, uint64_t held[MEMBERS_MAX]); /* as Thread.holders, now */
void program_think(Thread *t);
bool process_idle(const Process *p);
void program_file_released(Process *p, SimHandle *h);
void program_forget(Process *p); /* killed: watches end */
/* Takes a kept region, or closes one that it has taken. */
void program_carry(Thread *t);
void program_carry_close(Thread *t); /* carried_count > 0 */
void program_carry_over(Thread *t);
void program_change_file(Thread *t);
void program_read_all(Thread *t, Desc *d);
void program_write_all(Thread *t, Desc *d);
void program_open(Thread *t, Desc *d);
void program_close(Thread *t, Desc *d);
SimFs *program_fs(Process *p);
bool program_kept(Process *p, const Desc *d, const Stamp *stamp, bool *ret_other);
uint64_t opening_id(const RegionAddress *a); /* names an opening in World.written */

/* 0: an ordinary region */
static inline unsigned program_stripes(const World *w, const Desc *d)
{
    uint64_t stripe = w->p.stripe_bytes;
    if (!(d->flags & DODO_STRIPE) || d->len <= stripe)
        return 0;
    return (unsigned)((d->len + stripe - 1) / stripe);
}
static inline bool program_mirrored(const Desc *d)
{
    return d->flags & DODO_MIRROR;
}

/* vector.c */
void vector_scatter(Thread *t, bool writing); /* makes iov of the call's bytes */
bool vector_gather(Thread *t);                /* after a read; false: wrote beside its buffers */
void vector_free(Thread *t);

/* script.c: what each process does after the faults have healed */
enum ScriptStep {
    SCRIPT_READ,      /* all regions, and ... */
    SCRIPT_READ_MORE, /* ... again: what was not remote is filled */
    SCRIPT_READ_HITS, /* all must be remote now */
    SCRIPT_READ_DONE, /* waits for PHASE_CLOSE */
    SCRIPT_CLOSE,
    SCRIPT_CLOSED, /* waits for PHASE_WORK */
    SCRIPT_OPEN,   /* a new region is needed */
    SCRIPT_NEW_READ,
    SCRIPT_NEW_WRITE,
    SCRIPT_NEW_READ_MORE,
    SCRIPT_NEW_READ_HITS,
    SCRIPT_NEW_CLOSE,
    SCRIPT_LEAVE,
    SCRIPT_END
};
void script_begin(Process *p, enum ScriptStep step);
void script_next(Thread *t);
uint64_t script_wait(Thread *t);
unsigned script_open_failed(Thread *t); /* how often */
void script_left(Process *p);           /* DO_LEAVE is over */

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
void imd_pause(ImdNode *n);
void imd_resume(ImdNode *n);
void imd_thread_pause(ImdThread *t);
void imd_thread_resume(ImdThread *t);

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
