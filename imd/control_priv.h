/* SPDX-License-Identifier: MIT */
/* Inside of the control core. From the bottom up: control_regions.c (the manager's requests and the
 * commands they lead to); control_manager.c (our requests to the manager); control_limit.c (the
 * pool's limit); control.c (life, dispatch, clock). Nobody else includes this. */
#ifndef DODO_IMD_CONTROL_PRIV_H
#define DODO_IMD_CONTROL_PRIV_H

#include "base/list.h"
#include "base/time.h"
#include "imd/control.h"
#include "imd/directory.h"
#include "proto/request.h"
#include "proto/rules.h"
#include "proto/silence.h"

enum {
    LISTING_WINDOW = 8,   /* pages under way at once */
    JOBS_MAX = 256,       /* requests being executed, of this and earlier managers */
    AGED_DROPS_MAX = 16,  /* drops under way beyond which none is begun for age */
    LIMIT_GOING_MAX = 64, /* ... regions that go or shrink, for the pool's limit */
};

/* A request of the manager being executed. */
typedef struct Job {
    ListNode in_list; /* Entry.jobs, ImdControl.waiting, or alone while Entry.job */
    uint64_t id;
    uint64_t manager; /* ImdControl.manager_count when it came: no reply goes to another */
    uint16_t op;
    union {
        OpAlloc alloc;
        OpFree free;
        OpRelease release;
        OpReopen reopen;
    } body;
} Job;

/* Extents as they were when the pool's limit was found to be passed, in the order in which they go.
 */
typedef struct Victim {
    uint64_t turn; /* of its region among the released ones; UINT64_MAX: it is open */
    uint64_t used, region;
    unsigned extent;
} Victim;
typedef struct Victims {
    Victim *all;
    size_t room, count, next;
} Victims;

/* Our requests under way: one of each, and some pages. */
enum {
    SLOT_JOIN,
    SLOT_BEAT,
    SLOT_PART,
    SLOT_DRAIN,
    SLOT_PAGE,
    SLOT_MAX = SLOT_PAGE + LISTING_WINDOW
};
typedef struct Slot {
    bool on;
    Request request;
} Slot;

/* The list being sent: a snapshot, so that its pages fit together. */
typedef struct Listing {
    bool on;
    RegionListing *regions;
    size_t count;
    uint64_t before;
    uint32_t list, pages, next_page, answered;
} Listing;

/* The drain of this host, for its owner. */
typedef struct Save {
    bool on, over;
    uint64_t begun_ns, ask_ns; /* the next question */
} Save;

struct ImdControl {
    ImdControlConfig config;
    Env env;
    ImdControlSink sink;
    Directory directory;

    bool up; /* there was a session to a manager */
    Id128 manager;
    uint64_t manager_count; /* counts manager instances */
    ReplyCache replies;

    uint64_t commands;  /* ids given out; 0 is IMD_LEAVE's, nobody waits for it */
    ListNode commanded; /* entries with a command under way */
    ListNode waiting;   /* ALLOCs that wait for a range to be dropped */
    unsigned jobs;
    unsigned dropping, shrinking; /* entries in these states */
    Victims victims;
    uint64_t renewed_ns; /* control_limit_renew() has looked last */

    Numbers ids;
    Slot slots[SLOT_MAX];
    Listing listing;
    Save save;
    bool joined, lost; /* lost: it was silent for too long, and nobody has asked since */
    Silence silence;   /* of the manager */
    uint64_t next_ns;  /* of the next BEAT, or JOIN */
    uint64_t beat_ns;  /* the last BEAT was sent */
    uint64_t now_ns;   /* of what is going on */
    Served served;
    bool leaving, parted;
};

static inline void control_trace(const ImdControl *c, const char *what, uint64_t number)
{
    env_trace(&c->env, "imd: %s %llu", what, (unsigned long long)number);
}

/* ---- control_regions.c ---------------------------------------------------------------------- */

void control_request(ImdControl *c, const WireRequest *request);
/* Requests under way of an earlier manager lose their reply; those that did nothing yet end. */
void control_jobs_forget(ImdControl *c);
void control_jobs_refuse(ImdControl *c); /* leaving: those that wait for room */
/* Lowest id of a request of this manager whose effect the directory may not show yet. */
uint64_t control_before(const ImdControl *c);
/* False: nobody waits for it. */
bool control_command_done(ImdControl *c, uint64_t command, int result, uint64_t now_ns);
void control_drop_aged(ImdControl *c, uint64_t now_ns);
uint64_t control_aged_ns(const ImdControl *c);
/* Its region goes; not with a command under way. */
void control_drop(ImdControl *c, Entry *e);
/* Its chosen extents go; likewise. */
void control_shrink(ImdControl *c, Entry *e);
void control_jobs_deinit(ImdControl *c);
bool control_jobs_check(const ImdControl *c);

/* ---- control_limit.c ------------------------------------------------------------------------ */

/* What is filled beyond the pool's limit begins to go, as far as it can for now. */
void control_limit_keep(ImdControl *c);
/* Now and then: what holds no data any more goes, and what nobody uses, if something could not be
 * filled for the limit. */
void control_limit_renew(ImdControl *c, uint64_t now_ns);
void control_limit_deinit(ImdControl *c);
bool control_limit_check(const ImdControl *c);

/* ---- control_manager.c ---------------------------------------------------------------------- */

void control_manager_init(ImdControl *c);
void control_manager_deinit(ImdControl *c);
void control_manager_up(ImdControl *c, bool same, uint64_t now_ns);
void control_manager_reply(ImdControl *c, const WireReply *reply, uint64_t now_ns);
/* What the manager believes of our room is wrong: the next BEAT comes sooner. */
void control_manager_hurry(ImdControl *c);
void control_manager_part(ImdControl *c, uint64_t now_ns);
/* Starts what is due, sends what is to be sent. */
void control_manager_run(ImdControl *c, uint64_t now_ns);
uint64_t control_manager_deadline(const ImdControl *c);

#endif
