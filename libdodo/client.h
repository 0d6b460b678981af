/* SPDX-License-Identifier: MIT */
/* The client: the process's regions, and what it knows of the manager and of hosts. Not for shells.
 */
#ifndef DODO_LIBDODO_CLIENT_H
#define DODO_LIBDODO_CLIENT_H

#include "base/list.h"
#include "libdodo/moves.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"
#include "libdodo/story.h"
#include "proto/fence.h"

enum {
    RD_INDEX_BITS = 20, /* a descriptor: generation above, table index below */
    RD_GENERATIONS = 1 << (30 - RD_INDEX_BITS),
    REGIONS_MAX = 1 << RD_INDEX_BITS,
    REPORTS_MAX = 4, /* of hosts, that wait to be sent; more are not taken */
};

/* What the program has asked of hosts since a copy's last piece was read (heal.c), which the next
 * one must not keep waiting for long. */
typedef struct HealBeside {
    uint64_t calls, bytes;
    uint64_t piece_blocks; /* of the last one */
    bool gone;             /* its host had nothing of it any more */
} HealBeside;

/* What the program's own regions have done for it, and what that is worth: how long reads took that
 * needed no file, and those of files. */
typedef struct Account {
    ProgramFigures figures;
    bool changed;
    uint64_t held_blocks; /* of all regions, as far as was seen */
    uint64_t remote_ns, file_ns, file_bytes;
} Account;

/* What is known of the manager. */
typedef struct ManagerSeen {
    Finder finder;        /* of its addresses */
    Fence fence;          /* of managers */
    bool late;            /* it left an OPEN unanswered, and was not heard since */
    bool silent;          /* ... any request for as long as one may take, or a close */
    uint64_t patience_ns; /* of a close, as the process ends; 0: as of any request */
    uint64_t refraction_until_ns;
    uint64_t refraction_ns; /* of the failures so far; 0: none since the last success */
} ManagerSeen;

/* The process's regions. */
typedef struct RegionTable {
    Region **of; /* by index; NULL: free */
    uint16_t *generations;
    unsigned size, free_hint;
    unsigned count;
    ListNode all;
    ListNode idle;   /* to be established again */
    uint64_t digest; /* over the claimed ones */
    uint32_t claimed;
} RegionTable;

/* Regions that have two copies (copies.c, heal.c). */
typedef struct Copies {
    ListNode all;       /* active ones that have a twin */
    ListNode lone;      /* to be established again, the other copy of which is active */
    ListNode uneven;    /* to be healed from the other copy */
    uint64_t uneven_ns; /* none of them is due before */
    uint64_t look_ns;   /* none of the copies that nobody reads is looked at before */
    uint64_t refraction_until_ns, refraction_ns; /* of second copies, which nobody lacks */
    HealBeside beside;
} Copies;

/* A host that did not answer of late: new regions go elsewhere. */
typedef struct LostHost {
    uint64_t epoch, until_ns;
    unsigned logged; /* bit per enum HostFault */
} LostHost;
typedef struct Faults {
    LostHost lost[OPEN_AVOID_MAX];
    unsigned lost_next;
    OpReport reports[REPORTS_MAX];
    unsigned reports_count;
} Faults;

/* Copies to hosts that the background makes, after the program's call has ended (call_fill.c). */
typedef struct Fills {
    ListNode all;
    size_t bytes;
    uint64_t put, over; /* ever; over in their order */
    unsigned waiters;   /* calls that wait for theirs to be over */
} Fills;

struct Client {
    ClientConfig config;
    Env env;
    ClientHooks hooks;
    /* all below under the lock */
    ManagerSeen manager;
    RegionTable regions;
    Copies copies;
    Numbers ids;
    Faults faults;
    Fills fills;
    PrefetchList prefetch;
    Moves moves;
    Story story;
    bool alive_due; /* something for cmd to know before the next keep-alive */
    ClientStats stats;
    Account account;
    CreditPool credit;       /* atomic, outside the lock */
    _Atomic bool stopped;    /* outside the lock */
    _Atomic uint32_t losses; /* of regions' memory; changes under the lock */
};

/* ---- table.c ---- */
void client_lock(Client *c);
void client_unlock(Client *c);
/* Who is asked; kind ADDR_NONE: nobody, for none is named or its names have no address yet. */
Addr client_manager(Client *c);
/* @peer has not answered for a while, or not at all: who is asked now. */
Addr client_manager_next(Client *c, const Addr *peer);
Addr client_manager_silent(Client *c, const Addr *peer);
/* Whether the manager of this session may be asked: it is active, and has no older lease than one
 * that was heard. */
bool client_manager_allowed(Client *c, const Session *s, uint64_t now_ns);
/* It has answered. */
void client_manager_heard(Client *c, const Session *s, uint64_t now_ns);
/* It has left a request unanswered for as long as that may take. */
void client_manager_gone(Client *c);
/* It has a newer lease than any that was heard: it is asked from now on. */
void client_manager_scouted(Client *c, const Session *s, uint64_t now_ns);
/* How many addresses it may have. */
unsigned client_managers(Client *c);
void client_log(Client *c, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether anybody reads lines of this level. */
bool client_logs(Client *c, int level);
void client_settle(Client *c, uint64_t id); /* this request is over */
/* All below under the lock. */
Region *client_region(Client *c, int rd);      /* NULL: not open */
Region *client_user_region(Client *c, int rd); /* ... or closing, or a stripe: none of a user's */

/* Under the lock. */
int client_region_new(Client *c, Region **ret); /* 0, -ENOMEM, -EMFILE */
/* It is one of the program's, on [@offset, @offset + @len) of this file. */
void client_region_given(Client *c, Region *r, const FileGiven *given, uint64_t len,
                         uint64_t offset, unsigned flags);
/* Out of the table, with its stripes; free it after unlocking. */
void client_region_remove(Client *c, Region *r);
/* Not under the lock. */
void client_region_free(Client *c, Region *r); /* releases the file */

#endif
