/* SPDX-License-Identifier: MIT */
/* What the files of the manager's core share: its directories (IWD, RD, clients), the requests to
 * imds ("calls"), and what clients wait for ("tasks"). Not for anyone outside cmd's core.
 *
 * Who owns what: the manager owns hosts, clients, regions, calls and tasks, each by a hash map or
 * a list. A region always has a host; hosts and clients are never freed while something points
 * at them. All functions run to their end without calling back, but for the sink. */
#ifndef DODO_CMD_MANAGER_PRIVATE_H
#define DODO_CMD_MANAGER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hmap.h"
#include "base/list.h"
#include "base/time.h"
#include "base/timers.h"
#include "cmd/core.h"
#include "cmd/events.h"
#include "proto/request.h"
#include "proto/rules.h"

enum {
    CALLS_WAITING_MAX = 256, /* calls to one host that wait for its request window */
    CALL_BODY_MAX = 128,     /* bytes of a request's body to an imd */
    DOOMED_WINDOW = 16,      /* of a host's request window: for FREEs that nobody waits for */
    FREED_REMEMBERED = 64,   /* FREEs per host that a LISTING under way may not know of */
    HOST_PICKS_MAX = 16,     /* random picks of a host before all are looked at */
    ROOM_BLOCK = 64,         /* hosts whose greatest room is known together */
    RANDOM_POOL = 32,        /* numbers taken from the environment at once */
    OPEN_DEADLINES = 2,      /* an OPEN is over after so many request_deadline_ns at the latest */
    ACCUSED_MAX = 2,         /* hosts that one machine's word keeps from being chosen */
    LISTED_ALIGN = 4096,     /* no region is smaller at its imd */
    LISTED_SLACK = 64, /* regions that a host may list beyond: what has just been freed there */
    SPARE_PART = 64,   /* of the region directory, one such part is for openings */
    ALIKE_MAX = 8,     /* kept regions with the same piece of a file: all are looked at together */
    DIFFERS_MAX = 3,   /* keep-alives that differ before a list is asked of a busy peer */
    DRAINS_MAX = MOVES_MAX, /* hosts that are drained at a time: one reply to MOVES names them */
    PACE_SAMPLES = 16,      /* within client_dead: how fast a drain gets on */
};

/* A list of regions (CLAIM, LISTING) that comes page by page, and what the last whole one settled.
 * If a peer's digest and ours differ just as they did after that list, another list would say
 * nothing new. */
typedef struct ListProgress {
    uint32_t list; /* the peer's number of it */
    uint32_t mark; /* ours: counts lists from 1; regions seen in this one carry it */
    uint32_t pages, page_base;
    uint64_t page_map; /* bit i: page page_base + i came */
    uint64_t before;   /* the lowest of all pages */
    uint64_t digest;   /* over what it named so far */
    uint64_t heard_ns;
    uint32_t differs; /* keep-alives in a row whose digest differed */
    bool running;
    bool doubtful; /* it saw something that is in flight: it settles nothing */
    bool crowded;  /* it named what found no room: it settles nothing once there is room */
    bool settled;
    uint64_t settled_theirs, settled_ours;
} ListProgress;

typedef struct Freed {
    uint64_t region;
    uint64_t request;
} Freed;

/* The requests to a host. */
typedef struct HostCalls {
    Numbers ids;
    ListNode running, waiting; /* Call.of_host */
    unsigned running_count, waiting_count, doomed_running;
} HostCalls;

/* The last regions that were freed there. */
typedef struct HostFreed {
    Freed of[FREED_REMEMBERED];
    unsigned next;
} HostFreed;

/* Of its regions, those that programs have open and those that are kept for the next run. */
typedef struct HostHas {
    uint64_t open, open_bytes, kept, kept_bytes;
} HostHas;

/* A host that is being taken out of service (OP_DRAIN). */
typedef struct HostDrain {
    bool on;
    bool drop;        /* what is kept there is freed */
    bool told;        /* that nothing is left */
    bool lost;        /* the host has left with what was there */
    uint8_t place;    /* in Manager.drains.hosts and ClientMoves */
    uint64_t rate;    /* bytes a second that all clients together may copy; 0: no limit */
    uint64_t clients; /* that have regions open there */
} HostDrain;

/* What was left to move away from a host that is being drained. */
typedef struct DrainSample {
    uint64_t at_ns, left_bytes;
} DrainSample;
typedef struct DrainPace {
    uint64_t next_ns;
    unsigned taken;
    DrainSample of[PACE_SAMPLES]; /* the last ones, the oldest is overwritten */
} DrainPace;

/* What the host's last beat, or answer, says. */
typedef struct HostSaid {
    ImdHint hint;
    uint64_t pool_bytes;
    Served served;
    uint64_t beat_ns, traffic; /* of the last beat; bytes a second before it */
} HostSaid;

/* A host with an imd: an entry of the idle-workstation directory (the paper's IWD). */
typedef struct Host {
    HmapNode by_epoch;
    HmapNode by_address;
    ListNode in_order; /* Manager.hosts.order, by sequence */
    uint64_t sequence; /* counts hosts; a STATUS cursor */
    unsigned slot;
    uint64_t epoch; /* the identity of its memory */
    Id128 id;
    Session *session; /* NULL: until it is heard again nothing can be sent */
    Addr address;     /* of its control socket */
    uint64_t heard_ns;
    uint64_t distrust_until_ns; /* a client reported it: not chosen before */
    Addr distrusted_by;         /* that client's */
    uint64_t avoid_until_ns;    /* it left a request unanswered: not chosen before */
    bool leaving;
    bool lost;   /* on its way out of the directory: nothing is begun with it any more */
    bool listed; /* a whole LISTING came */
    HostSaid said;

    ListNode regions;
    uint64_t regions_count, digest;
    HostHas has;
    HostDrain drain;
    uint64_t named;   /* clients that it alone has named */
    ListNode doomed;  /* regions to be freed, nobody waits for it */
    ListNode stirred; /* Manager.hosts.stirred */

    HostCalls calls;
    HostFreed freed;
    ListProgress list;
    ReplyCache replies;
} Host;

/* What the resource monitor of a host's owner (rmd) reported last. */
typedef struct Owner {
    HmapNode by_address;
    HmapNode by_epoch; /* where epoch is not 0 */
    ListNode in_order; /* Manager.owners.order, by sequence */
    uint64_t sequence; /* a STATUS cursor */
    Addr address;      /* of the rmd */
    Id128 id;
    uint64_t heard_ns;
    uint64_t request_last; /* highest id of its requests so far */
    uint64_t epoch;        /* of its imd; 0: none */
    uint64_t lendable_bytes;
    uint8_t state; /* enum HostOwner */
    Reason reason;
} Owner;

/* What a client has open on hosts that are being drained. */
typedef struct ClientMoves {
    uint64_t hosts;               /* bit i: it has some on Manager.drains.hosts[i] */
    uint32_t regions[DRAINS_MAX]; /* how many there */
    uint64_t count, bytes;        /* of all of them */
    uint64_t asked_ns;            /* when it sent MOVES last; 0: it has not, for these hosts */
    OpMoves said;                 /* then */
} ClientMoves;

typedef struct CmdClient {
    HmapNode by_id;
    Id128 id;
    uint64_t heard_ns;
    bool confirmed;    /* heard itself, not only named by an imd */
    uint64_t named_by; /* epoch of that imd, until it is heard itself; 0: none */
    bool left;         /* sent LEAVE: the entry stays a while for late duplicates */
    ListNode of_left;
    ListNode regions;                      /* Region.open.of_client */
    uint64_t regions_count, bytes, digest; /* of .regions */
    ListNode tasks;
    Session *session;      /* of its keep-alives, or of a call before the first; NULL: none */
    uint64_t request_last; /* highest id of its requests so far */
    ClientMoves moves;
    ListProgress list;
    ReplyCache replies;
} CmdClient;

enum RegionState {
    REGION_OPENED, /* in its client's list: .open */
    REGION_KEPT,   /* released, findable by file: .kept */
    REGION_BUSY,   /* a call about it is under way (Call.region): nothing else touches it */
    REGION_DOOMED, /* waits for its FREE: .doomed */
};

/* An entry of the region directory (the paper's RD). There may be millions. */
typedef struct Region {
    HmapNode by_address;
    Host *host;
    ListNode of_host;
    FileKey key;
    uint64_t offset, len; /* in the file */
    uint64_t region;
    uint64_t imd_request; /* the last ALLOC, REOPEN, RELEASE that made it what it is; 0: listed */
    uint32_t opening;
    uint32_t list_mark;
    uint8_t state; /* enum RegionState */
    bool retain;   /* it may be kept when it is closed */
    bool listed;   /* opened by a manager before this one, as its host's list says */
    uint8_t place; /* in its block */
    union {
        struct {
            CmdClient *client;
            ListNode of_client;
            uint64_t request; /* the client's, that opened it; or an upper bound of it */
            uint32_t mark;    /* of the CmdClient.list that named it */
        } open;
        struct {
            HmapNode by_file;
            Stamp stamp;
        } kept;
        ListNode doomed;
    };
} Region;
_Static_assert(sizeof(Region) <= 160, "millions of them");

/* The memory that they lie in. */
typedef struct RegionBlocks {
    ListNode with_room;
    size_t count;
} RegionBlocks;

/* How much room each host is believed to have in a round of an OPEN, by slot; 0 if there is none.
 * One array, and beside it the greatest of each block: a full cluster shows at a glance, and the
 * few hosts with room among thousands are found without looking at each. */
typedef struct Rooms {
    uint64_t *of_slot; /* hosts_max, rounded up to whole blocks */
    uint64_t *of_block;
} Rooms;

/* What a client waits for. An OPEN becomes a series of calls, a CLOSE is one call. */
typedef struct Task {
    ListNode of_client; /* alone when the client is gone */
    ListNode of_manager;
    CmdClient *client; /* NULL: left or died meanwhile */
    Session *session;  /* where the reply goes; NULL: nowhere until the request comes again */
    uint64_t request;
    uint16_t op;
    bool waits;   /* OPEN: for hosts that have not joined yet; nothing is under way for it */
    bool evict;   /* OPEN, TAKE: the second round */
    OpOpen open;  /* OPEN, TAKE */
    OpTake take;  /* TAKE */
    CopyPlace to; /* TAKE: the new region */
    /* TAKE: goes on with the new region, which is REGION_BUSY, and whose client is there. */
    void (*allocated)(Manager *m, struct Task *t, Region *r, const OpAllocReply *given);
    Region *fresh;       /* OPEN: memory for the new region, so that success cannot fail */
    uint64_t give_up_ns; /* OPEN: begins no further call then */
    Stamp close_stamp;   /* CLOSE */
    uint64_t tried[];    /* OPEN: bit per host slot, this round */
} Task;

struct Call;
/* A request to an imd has ended: with the answer's status and body, or a negative status. */
typedef void CallOver(Manager *m, const struct Call *call, int status, const uint8_t *body,
                      size_t len);

typedef struct CallAsk {
    uint16_t op;
    CallOver *over;
    Task *task;     /* NULL: nobody waits */
    Region *region; /* what it is about, REGION_BUSY from then on; NULL: ALLOC */
    uint64_t give_up_ns;
} CallAsk;

/* A request to an imd: waiting for the host's window, or running. */
typedef struct Call {
    ListNode of_host;
    Host *host;
    CallAsk ask;
    Timer timer;      /* in Manager.timers */
    Request *request; /* NULL: waiting */
    uint16_t body_len;
    uint8_t body[CALL_BODY_MAX];
} Call;

typedef struct Tasks {
    ListNode all;
    unsigned opens;    /* OPEN tasks */
    unsigned reserved; /* OPEN tasks that hold a fresh region */
    unsigned waiting;  /* OPEN tasks that wait for hosts */
} Tasks;

/* Clients that left, and are remembered. */
typedef struct ClientsLeft {
    ListNode all; /* the oldest first */
    size_t count;
} ClientsLeft;

typedef struct RandomPool {
    uint64_t of[RANDOM_POOL];
    unsigned left;
} RandomPool;

typedef struct HostTable {
    Hmap by_epoch, by_address;
    ListNode order; /* by sequence */
    uint64_t sequence;
    Host **slots; /* hosts_max; NULL where free */
    unsigned slots_end;
    Rooms rooms[2];    /* free; what an eviction could make, [Task.evict] */
    uint64_t ids_base; /* new hosts' request ids start here: one may be a returned one */
    ListNode stirred;  /* with something to send since the last cmd_calls_pump_stirred() */
} HostTable;

typedef struct OwnerTable {
    Hmap by_address, by_epoch;
    ListNode order; /* by sequence */
} OwnerTable;

/* Hosts that are being drained; NULL where free. */
typedef struct Drains {
    Host *hosts[DRAINS_MAX];
    DrainPace paces[DRAINS_MAX];
} Drains;

/* The region directory (the paper's RD). */
typedef struct RegionTable {
    Hmap by_address;
    Hmap kept;          /* by file */
    HmapNode kept_hand; /* where the last one that gave way was found */
    RegionBlocks blocks;
} RegionTable;

struct Manager {
    ManagerConfig config;
    Env env;
    ManagerSink sink;
    Id128 instance;
    uint64_t number;   /* as in WireHello.epoch */
    uint64_t start_ns; /* moved by our own pauses: grace counts only while we ran */
    uint64_t now_ns;
    uint64_t tick_ns, tick_period_ns; /* next look at who is silent */

    HostTable hosts;
    OwnerTable owners;
    Drains drains;
    Hmap clients;
    ClientsLeft left;
    RegionTable regions;
    Tasks tasks;
    size_t calls;
    Timers timers; /* of calls */
    RandomPool random;
    ManagerStats stats;
    Events events;
};

/* From the bottom up. The directory, in tables that send nothing: common.c, rooms.c, drain_table.c,
 * drain_pace.c, region_blocks.c, regions.c, host_table.c, owner_table.c, client_table.c. Requests
 * to imds: tasks.c, calls.c. Procedures: placement.c, open.c, take.c, close.c, reconcile.c,
 * hosts.c, reports.c, drain.c, status.c, drain_status.c, region_status.c, clients.c. At the top:
 * manager.c, duty.c. Beside them: events.c. */

/* ---- common.c ---- */
/* Keeps an event, and tells the sink. */
void cmd_tell(Manager *m, const ManagerEvent *event, const char *why);
void cmd_tell_host(Manager *m, const Host *h, enum EventKind kind, const char *why);
void cmd_tell_owner(Manager *m, const Owner *o, enum EventKind kind, const char *why);
void cmd_tell_client(Manager *m, const CmdClient *c, const Addr *address, enum EventKind kind,
                     const char *why);
/* Seeded: peers choose what is hashed. */
uint64_t cmd_hash(uint64_t seed, const void *bytes, size_t len);
/* Uniform in [0, n), n > 0. The environment is asked for many at once: that is a system call. */
uint64_t cmd_random_below(Manager *m, uint64_t n);
/* @cache may be NULL: the reply is not kept. @session may be NULL: it is only kept. */
void cmd_reply(Manager *m, ReplyCache *cache, Session *session, uint64_t id, uint16_t op,
               uint16_t status, const uint8_t *body, size_t len);
/* REQUEST_EXECUTE: do it. A repeat's reply was sent again. */
enum RequestFate cmd_admit(Manager *m, ReplyCache *cache, Session *session,
                           const WireRequest *request);
static inline bool cmd_silent(const Manager *m, uint64_t heard_ns, uint64_t limit_ns)
{
    return m->now_ns >= time_add(heard_ns, limit_ns);
}

/* ---- manager.c ---- */
/* With nothing, from now on as @number. What waits for an answer gets none. */
void cmd_begin_again(Manager *m, uint64_t number, uint64_t now_ns);

/* ---- rooms.c ---- */
int cmd_rooms_init(Manager *m);   /* 0, or -ENOMEM */
void cmd_rooms_clear(Manager *m); /* there are no hosts any more */
void cmd_rooms_deinit(Manager *m);
/* What the host in this slot has room for; nothing, when there is none any more. */
void cmd_rooms_set(Manager *m, unsigned slot, const ImdHint *hint);
size_t cmd_rooms_bytes(const Manager *m);
bool cmd_rooms_check(const Manager *m);

/* ---- drain_table.c: which hosts are being drained, and what clients have there ---- */
/* @r has just become, or is about to be no more, a region that its client has open. */
void cmd_drain_opened(const Region *r);
void cmd_drain_unopened(const Region *r);
/* False: too many are being drained. */
bool cmd_drain_on(Manager *m, Host *h);
/* All clients with regions there ask what to move at once, not with their next keep-alives. */
void cmd_drain_hurry(const Manager *m, const Host *h);
void cmd_drain_off(Manager *m, Host *h);
/* It has sent MOVES of late. */
bool cmd_client_asks(const Manager *m, const CmdClient *c);
bool cmd_drain_check_host(const Manager *m, const Host *h);
bool cmd_drain_check_client(const Manager *m, const CmdClient *c);

/* ---- drain_pace.c: how fast drains get on ---- */
void cmd_drain_paces_tick(Manager *m);
/* Bytes that are to be moved, as it was when that was looked at last. */
uint64_t cmd_drain_ahead(const Manager *m, const Host *h);
uint64_t cmd_drain_kept(const Host *h); /* of them, those that are kept, unless they are dropped */
/* The recent rate at which the bytes left fall, [bytes/s]; the time for @bytes at it. 0: not known.
 */
uint64_t cmd_drain_pace(const Manager *m, const Host *h);
uint64_t cmd_drain_seconds(uint64_t bytes, uint64_t pace);

/* ---- region_blocks.c: memory for regions ---- */
/* All zero but for its place; NULL: no memory. */
Region *cmd_region_new(Manager *m);
void cmd_region_free(Manager *m, Region *r); /* memory only */
void cmd_regions_deinit(Manager *m);
size_t cmd_regions_bytes(const Manager *m);

/* ---- regions.c: the region directory ---- */
Region *cmd_region_find(const Manager *m, const Host *h, uint64_t region);
/* Enters @r, whose host-independent fields are set, as REGION_BUSY. */
void cmd_region_add(Manager *m, Region *r, Host *h);
/* From any state to REGION_BUSY: out of the list or map of its state. */
void cmd_region_detach(Manager *m, Region *r);
/* From REGION_BUSY: */
void cmd_region_open(Region *r, CmdClient *c, uint64_t request);
void cmd_region_keep(Manager *m, Region *r, const Stamp *stamp);
/* From any state: to be freed at its imd, soon; or just taken out of the directory. */
void cmd_region_doom(Manager *m, Region *r);
void cmd_region_drop(Manager *m, Region *r);
void cmd_region_set_opening(Region *r, uint32_t opening);
RegionName cmd_region_name(const Region *r);
/* A number that regions have in common if they have the same piece of the same file. It says
 * nothing of the file: it is made with a secret that is used for nothing else. */
uint64_t cmd_region_piece(const Manager *m, const Region *r);
/* First and next kept region of this piece of a file; the order means nothing. */
Region *cmd_kept_first(const Manager *m, const FileKey *key, uint64_t offset, uint64_t len);
Region *cmd_kept_next(const Manager *m, const Region *r);
/* Room for another region, those of OPENs under way counted. */
bool cmd_regions_room(const Manager *m);
/* Little room is left: from now on each opening lets a kept region give way. */
bool cmd_regions_scarce(const Manager *m);
/* Kept regions are a cache: one is freed, so that there is room soon. False: there is none. */
bool cmd_regions_give_way(Manager *m);
void cmd_regions_of_host_drop(Manager *m, Host *h);

/* ---- host_table.c: the idle-workstation directory ---- */
Host *cmd_host_find(const Manager *m, uint64_t epoch);
Host *cmd_host_at(const Manager *m, const Addr *address);
/* The entry of a session's imd; NULL: none, or another imd's of that epoch. */
Host *cmd_host_of(const Manager *m, const Session *session);
bool cmd_host_silent(const Manager *m, const Host *h);
bool cmd_host_reachable(const Manager *m, const Host *h);
void cmd_host_hint(Manager *m, Host *h, const ImdHint *hint);
void cmd_host_set_address(Manager *m, Host *h, const Addr *address);
Host *cmd_host_add(Manager *m, Session *session);
/* It is on its way out: nothing is begun with it any more. */
void cmd_host_withdraw(Manager *m, Host *h);
/* Out of the table, and freed. Neither calls nor regions are left. */
void cmd_host_remove(Manager *m, Host *h);
void cmd_host_free(Host *h); /* memory only */
/* Remembers that request @request freed @region, for lists that were taken before. */
void cmd_freed_remember(Host *h, uint64_t region, uint64_t request);

/* ---- owner_table.c: what the owners' resource monitors reported ---- */
/* The monitor that says that this imd is, or was, its own; NULL: none does. */
const Owner *cmd_owner_of(const Manager *m, uint64_t epoch, const Addr *imd);
Owner *cmd_owner_get(Manager *m, const Session *session);
void cmd_owner_set_epoch(Manager *m, Owner *o, uint64_t epoch);
void cmd_owners_tick(Manager *m);
void cmd_owners_postpone(Manager *m, uint64_t gap_ns); /* of all: we did not listen */
void cmd_owners_free(Manager *m);

/* ---- client_table.c ---- */
CmdClient *cmd_client_find(const Manager *m, const Id128 *id);
/* Finds or makes it; NULL: too many, or no memory. */
CmdClient *cmd_client_get(Manager *m, const Id128 *id);
/* It is heard itself, or goes: it counts no longer as named by a host. */
void cmd_client_unname(Manager *m, CmdClient *c);
void cmd_client_unleave(Manager *m, CmdClient *c);
void cmd_client_abandon(Manager *m, CmdClient *c);
void cmd_client_remove(Manager *m, CmdClient *c);
void cmd_client_free(CmdClient *c); /* memory only */

/* ---- tasks.c ---- */
Task *cmd_task_new(Manager *m, CmdClient *c, Session *session, const WireRequest *request,
                   size_t tried_bytes);
void cmd_task_over(Manager *m, Task *t, uint16_t status, const uint8_t *body, size_t len);
void cmd_task_unreserve(Manager *m, Task *t); /* frees the memory for its new region */
void cmd_task_destroy(Manager *m, Task *t);

/* ---- calls.c: requests to imds ---- */
/* Status of a call that has no answer. */
enum { CALL_TIMED_OUT = -1, CALL_HOST_LOST = -2 };
/* 0; -EBUSY: too many wait for this host; -ENOMEM. @ask->region becomes the call's. Never ends the
 * call before it returns. */
int cmd_call_begin(Manager *m, Host *h, const CallAsk *ask, const uint8_t *body, size_t len);
int cmd_call_free(Manager *m, Region *r,
                  Task *task); /* a FREE: of a CLOSE, or of a doomed region */
void cmd_call_reply(Manager *m, Host *h, const WireReply *reply);
/* Starts what waits for the host's window, then FREEs of doomed regions. */
void cmd_calls_pump(Manager *m, Host *h);
void cmd_calls_pump_stirred(Manager *m);    /* of all hosts that have something new */
void cmd_calls_resend(Manager *m, Host *h); /* a new session */
void cmd_calls_fail(Manager *m, Host *h);   /* all of a host end with CALL_HOST_LOST */
void cmd_calls_expire(Manager *m);
void cmd_calls_postpone(Manager *m, uint64_t gap_ns);
void cmd_call_destroy(Manager *m, Call *call); /* it has no timer any more */

/* ---- placement.c: which host is asked ---- */
/* The host can be reached, and no report is against it: neither ours, nor one of any client, nor of
 * the one that opens. */
bool cmd_host_fit(const Manager *m, const Host *h, const OpOpen *open);
/* And it is not being drained: new regions may come there. */
bool cmd_host_chosen(const Manager *m, const Host *h, const OpOpen *open);
/* A random host for this OPEN's round that was not tried yet (marks it tried); NULL: none. */
Host *cmd_host_choose(Manager *m, Task *task);

/* ---- open.c, take.c, close.c ---- */
/* Of an opening that was checked; NULL: too many are under way, or no memory. */
Task *cmd_open_task(Manager *m, CmdClient *c, Session *session, const WireRequest *request,
                    const OpOpen *open);
/* Asks hosts for the region, until one gives it: then the task is over, or TAKE's goes on. */
void cmd_open_alloc(Manager *m, Task *t);
/* What an imd gave, if it makes sense. */
bool cmd_given_decode(const Call *call, int status, const uint8_t *body, size_t len,
                      OpAllocReply *ret);
/* What remains after a failed REOPEN: nothing; or a region that is kept as before; or one that may
 * be open or not, or is stale, and so must be freed. */
void cmd_settle_unopened(Manager *m, Region *r, int status, const Stamp *stamp);
void cmd_take(Manager *m, CmdClient *c, Session *session, const WireRequest *request);
void cmd_open(Manager *m, CmdClient *c, Session *session, const WireRequest *request);
/* An OPEN that comes for the first time finds no room to wait for hosts: it is left unanswered, and
 * comes again. */
bool cmd_open_comes_early(const Manager *m, const WireRequest *request);
/* It waits for hosts, and its client asks again. */
void cmd_open_again(Manager *m, Task *t);
/* @h has joined, or has given its first list: OPENs that wait for hosts are taken up. */
void cmd_opens_take_up(Manager *m, const Host *h);
/* Of those that wait, the client wants none any more whose request's id is below this. */
void cmd_opens_forget(Manager *m, CmdClient *c, uint64_t below);
uint64_t cmd_opens_deadline(const Manager *m); /* of those that wait */
void cmd_opens_expire(Manager *m);
void cmd_close(Manager *m, CmdClient *c, Session *session, const WireRequest *request);
/* This manager has just started, and the region's host may still report it. */
bool cmd_region_may_come(const Manager *m, const RegionAddress *address);

/* ---- reconcile.c ---- */
/* Whether to ask for a list: the digests differ, and a list could say why. @quiet: nothing is under
 * way with this peer that alone makes them differ for a moment. */
bool cmd_list_wanted(const Manager *m, ListProgress *p, uint64_t theirs, uint64_t ours, bool quiet);
bool cmd_list_under_way(const Manager *m, const ListProgress *p);
uint16_t cmd_claim(Manager *m, CmdClient *c, const OpClaim *claim);
uint16_t cmd_listing(Manager *m, Host *h, const OpListing *listing);

/* ---- hosts.c: what imds ask ---- */
void cmd_host_session_closed(Manager *m, const Session *session);
void cmd_host_input(Manager *m, Session *session, const WireRequest *request);
/* The memory of that epoch is gone, or counts as gone. */
void cmd_host_lose(Manager *m, Host *h, const char *why);
void cmd_hosts_tick(Manager *m);

/* ---- reports.c: what clients and owners say of hosts ---- */
void cmd_report(Manager *m, CmdClient *c, Session *session, const WireRequest *request);
void cmd_owner_input(Manager *m, Session *session, const WireRequest *request);

/* ---- drain.c: hosts that are taken out of service ---- */
void cmd_moves(Manager *m, CmdClient *c, Session *session, const WireRequest *request);
void cmd_drain(Manager *m, Session *session, const WireRequest *request);
OpDrainReply cmd_drain_look(const Manager *m, const Host *h);
/* An imd asks for the drain of its own host. STATUS_OK: it is on, and so far. */
uint16_t cmd_drain_own(Manager *m, Host *h, const WireRequest *request, OpDrainReply *ret);
void cmd_drains_tick(Manager *m);
/* The host leaves, and its regions are there yet. */
void cmd_drain_parts(Host *h);
/* In words, how far the drain is. */
void cmd_drain_reason(const Manager *m, const Host *h, Reason *ret);

/* ---- drain_status.c ---- */
void cmd_drains(Manager *m, Session *session, const WireRequest *request);

/* ---- region_status.c ---- */
void cmd_regions(Manager *m, Session *session, const WireRequest *request);
void cmd_copies(Manager *m, Session *session, const WireRequest *request);

/* ---- status.c ---- */
/* A host that lends memory, or an owner who is busy: the other one is NULL. */
typedef struct Listed {
    const Host *host;
    const Owner *owner;
    HostStatus status;
} Listed;
typedef void ListVisit(void *ctx, const Listed *listed);
/* Visits at most @max of them, from @cursor on, which is 0 at first. The next cursor; 0: these were
 * all. */
uint64_t cmd_list_hosts(const Manager *m, uint64_t cursor, unsigned max, ListVisit *visit,
                        void *ctx);
void cmd_status(Manager *m, Session *session, const WireRequest *request);
void cmd_events(Manager *m, Session *session, const WireRequest *request);

/* ---- clients.c: what clients ask ---- */
void cmd_client_input(Manager *m, Session *session, const WireRequest *request);
void cmd_clients_tick(Manager *m);
void cmd_client_session_closed(Manager *m, const Session *session);

#endif
