/* SPDX-License-Identifier: MIT */
/* A manager's core with scripted imds and clients around it, for the tests of cmd. Everything
 * passes through the real encoders; time is what the test says; after every step the manager's
 * invariants are checked. */
#ifndef DODO_TESTS_CMD_FIXTURE_H
#define DODO_TESTS_CMD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"
#include "cmd/core.h"
#include "proto/request.h"

enum { IMDS_MAX = 160, CLIENTS_MAX = 24, FAKE_REGIONS_MAX = 512, OPS_MAX = 64 };

typedef struct Sent {
    Session *to;
    uint8_t type;
    size_t len;
    uint8_t payload[WIRE_PAYLOAD_MAX];
} Sent;

typedef struct FakeImd {
    Session session;
    uint64_t pool;
    RegionListing regions[FAKE_REGIONS_MAX];
    unsigned count;
    uint64_t next_region;
    Numbers ids;
    ReplyCache replies;
    bool deaf;            /* gets nothing from the manager */
    bool dumb;            /* its replies are lost */
    bool dead;            /* does not beat either */
    uint64_t claims_free; /* told as largest free block; 0: the truth */
    uint16_t refuse[OPS_MAX];
    unsigned got[OPS_MAX]; /* executed or refused, by op */
    unsigned executed;     /* of all ops; then of each op when it first and when it last came: */
    unsigned first_got[OPS_MAX], last_got[OPS_MAX];
    bool evicted; /* the last ALLOC had evict = 1 */
    uint32_t lists, lists_asked;
    uint32_t last_flags;
    uint64_t settled; /* as its BEAT was answered last */
    uint64_t latest;  /* id of its latest JOIN or BEAT */
    uint64_t served;  /* bytes that it has read out, beside a few */
} FakeImd;

typedef struct FakeClient {
    Session session, other; /* two threads' sockets */
    Numbers ids;
    RegionAddress open[FAKE_REGIONS_MAX];
    unsigned count;
    bool dead;
    uint32_t lists, lists_asked;
    uint32_t last_flags;
    uint64_t latest_alive;
} FakeClient;

/* An owner's monitor. */
typedef struct FakeRmd {
    Session session;
    Numbers ids;
} FakeRmd;

typedef struct Rig {
    Manager *m;
    ManagerConfig config;
    uint64_t now_ns, random;
    Sent *log;
    size_t count, room, read;
    FakeImd *imds[IMDS_MAX];
    unsigned imds_count;
    FakeClient *clients[CLIENTS_MAX];
    unsigned clients_count;
    uint8_t instances;
    char events[4096]; /* "WHAT(REGIONS) ..." */
    Session tool;
    Numbers tool_ids;
} Rig;

/* ---- the manager's surroundings ------------------------------------------------------------- */

ManagerConfig rig_config(void);
Rig *rig_new_with(ManagerConfig config, uint64_t seed);
Rig *rig_new(void);
void rig_free(Rig *rig);
/* The manager forgets everything; the imds notice the new instance. */
void rig_amnesia(Rig *rig);
void rig_input(Rig *rig, Session *from, uint8_t type, const uint8_t *payload, size_t len);
uint64_t rig_request(Rig *rig, Session *from, Numbers *ids, uint16_t op, const uint8_t *body,
                     size_t len);
/* The same request again, as a retry or a duplicate. */
void rig_again(Rig *rig, Session *from, uint64_t id, uint64_t settled, uint16_t op,
               const uint8_t *body, size_t len);
/* Replies to this request so far; the last one's content, body borrowed until the next step. */
unsigned rig_replies(const Rig *rig, const Session *to, uint64_t id, WireReply *ret);
uint16_t rig_status(const Rig *rig, const Session *to, uint64_t id);
bool rig_answered(const Rig *rig, const Session *to, uint64_t id);
ManagerStats rig_stats(const Rig *rig);
/* What the manager sent last is a request. */
WireRequest rig_asked(const Rig *rig);
/* @from answers it with OK and @given, less @cut bytes at its end. */
void rig_give(Rig *rig, Session *from, const WireRequest *asked, const OpAllocReply *given,
              size_t cut);
/* @from asks for @op, and the answer is INVALID and nothing else. */
void rig_refuses(Rig *rig, Session *from, Numbers *ids, uint16_t op, const uint8_t *body,
                 size_t len);

/* ---- imds ----------------------------------------------------------------------------------- */

FakeImd *imd_new(Rig *rig, uint64_t pool);
ImdHint imd_hint(const FakeImd *imd);
RegionListing *imd_region(FakeImd *imd, uint64_t region);
void imd_drop(FakeImd *imd, RegionListing *l);
/* The lowest request id that is not reflected in what imd->regions says. */
uint64_t imd_before(const FakeImd *imd);
uint64_t imd_join(Rig *rig, FakeImd *imd);
uint64_t imd_beat(Rig *rig, FakeImd *imd);
/* One page of a list, as the arguments say. */
uint64_t imd_page(Rig *rig, FakeImd *imd, uint32_t list, uint32_t page, uint32_t pages,
                  uint64_t before, const RegionListing *regions, unsigned count);
/* A whole list of what it has. */
void imd_list(Rig *rig, FakeImd *imd);
/* A request of the manager's reaches it. */
void imd_serve(Rig *rig, FakeImd *imd, const Sent *s);

/* ---- monitors ------------------------------------------------------------------------------- */

/* On the imd's host. */
FakeRmd rmd_of(const FakeImd *imd);
/* What it says of its owner: 77 bytes could be lent. */
OpHost rmd_op(enum HostOwner state, uint64_t epoch, const char *reason);
/* It reports its owner, and is answered with OK. The request's id. */
uint64_t rmd_report(Rig *rig, FakeRmd *rmd, enum HostOwner state, uint64_t epoch,
                    const char *reason);

/* ---- clients -------------------------------------------------------------------------------- */

FakeClient *client_new(Rig *rig);
FileKey key_of(uint8_t n);
Stamp stamp_of(uint64_t n);
OpOpen open_of(uint8_t file, uint64_t len, uint32_t flags);
uint64_t client_request(Rig *rig, FakeClient *c, uint16_t op, const uint8_t *body, size_t len);
uint64_t client_open_send(Rig *rig, FakeClient *c, const OpOpen *open);
/* Takes the reply to an OPEN into the client's table. */
uint16_t client_opened(Rig *rig, FakeClient *c, uint64_t id, OpOpenReply *ret);
uint64_t client_alive(Rig *rig, FakeClient *c);
uint64_t client_claim_page(Rig *rig, FakeClient *c, uint32_t list, uint32_t page, uint32_t pages,
                           uint64_t before, const RegionAddress *open, unsigned count);
void client_claim(Rig *rig, FakeClient *c);
uint64_t client_close_send(Rig *rig, FakeClient *c, const RegionAddress *address, uint8_t mode,
                           uint64_t stamp);

/* ---- running -------------------------------------------------------------------------------- */

/* Delivers what the manager sent, and what comes of it, until nothing more does. */
void rig_pump(Rig *rig);
/* Time passes; nobody but the manager does anything by itself. */
void rig_wait(Rig *rig, uint64_t ns);
/* Time passes as it does in a living cluster: all that live beat and keep alive, and send the
 * lists that they are asked for. */
void rig_live(Rig *rig, uint64_t seconds);
/* A host that joined and gave its list. */
FakeImd *imd_up(Rig *rig, uint64_t pool);
uint16_t client_open(Rig *rig, FakeClient *c, const OpOpen *open, OpOpenReply *ret);
uint16_t client_close(Rig *rig, FakeClient *c, const RegionAddress *address, uint8_t mode,
                      uint64_t stamp);
/* What the manager tells the tool of its hosts, from @cursor on. */
OpStatusReply rig_status_page(Rig *rig, uint64_t cursor);
/* How many lists all together have been asked for. */
unsigned lists_asked(const Rig *rig);
/* That many regions of 4 KiB. */
void open_many(Rig *rig, FakeClient *c, unsigned count);
/* Its memory goes: it says so, and is answered. */
void imd_part(Rig *rig, FakeImd *imd);

/* ---- requests that wait for a host ----------------------------------------------------------- */

enum { LINE_MAX = 100 };
typedef struct Line {
    FakeClient *clients[2]; /* by turns */
    uint64_t ids[LINE_MAX];
    unsigned count;
} Line;

/* Two clients open @count regions at @imd, the only host; then it is deaf, and they close them. */
Line line_up(Rig *rig, FakeImd *imd, unsigned count);
unsigned line_answered(const Rig *rig, const Line *l);
/* All are answered with OK. */
void line_done(const Rig *rig, Line *l);

#endif
