/* SPDX-License-Identifier: MIT */
/* The control core under test, against a manager and data threads played by the test. */
#ifndef DODO_TESTS_UNIT_IMD_CONTROL_FIXTURE_H
#define DODO_TESTS_UNIT_IMD_CONTROL_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/id.h"
#include "base/time.h"
#include "imd/control.h"
#include "proto/request.h"

enum {
    EPOCH = 0xe90c,
    PAGE = 4096,
    POOL_PAGES = 64,
    MESSAGES_MAX = 64,
    COMMANDS_MAX = 80,
};

#define BEAT_NS NS_PER_S
#define AGE_NS (100 * NS_PER_S)

typedef struct Message {
    uint8_t type;
    size_t len;
    uint8_t payload[WIRE_PAYLOAD_MAX];
} Message;

typedef struct Fixture {
    ImdControl *c;
    uint64_t random;
    uint64_t now_ns;
    Message messages[MESSAGES_MAX]; /* not yet looked at, in order */
    unsigned messages_count;
    ImdCommand commands[COMMANDS_MAX];
    unsigned commands_count;
    uint64_t next_id; /* the manager's requests */
    uint64_t settled;
    uint64_t beat_settled; /* as the manager answers BEATs */
    /* the last reply */
    WireReply reply;
    OpAllocReply alloc;
    OpFreeReply freed;
    /* the last request of the imd */
    WireRequest request;
} Fixture;

extern const Id128 manager_one, manager_two, client_one, client_two;
extern const Stamp stamp_one, stamp_two;

/* ---- the fixture ---------------------------------------------------------------------------- */

ImdControlConfig config_default(void);
void control_start(Fixture *f, const ImdControlConfig *config);
int setup(void **state);
int teardown(void **state);
void elapse(Fixture *f, uint64_t ns);

/* ---- the manager's side of what the imd sends -------------------------------------------------
 */

void pop_message(Fixture *f, uint8_t type, Message *ret);
/* The imd's next request, whose body stays in @m. */
void expect_request(Fixture *f, uint16_t op, Message *m);
void answer_id(Fixture *f, uint64_t id, uint16_t op, uint16_t status, uint32_t flags);
void answer(Fixture *f, uint16_t status, uint32_t flags);
void expect_beat(Fixture *f, OpBeat *ret);
void expect_listing(Fixture *f, OpListing *ret);
/* Joined, and the first BEAT answered. */
void join(Fixture *f);

/* ---- the manager's requests -------------------------------------------------------------------
 */

void send_request(Fixture *f, uint64_t id, uint16_t op, const uint8_t *body, size_t len);
uint64_t send_new(Fixture *f, uint16_t op, const uint8_t *body, size_t len);
uint64_t ask_alloc(Fixture *f, const OpAlloc *m);
OpAlloc alloc_of(unsigned pages, uint8_t evict);
uint64_t ask_free(Fixture *f, uint64_t region, uint32_t opening);
uint64_t ask_release(Fixture *f, const RegionAddress *a, const Stamp *stamp);
uint64_t ask_reopen(Fixture *f, uint64_t region, uint32_t opening, const Stamp *stamp);
/* The next message is the reply to @id; its hint is right. */
void expect_reply(Fixture *f, uint64_t id, enum Status status);
/* The next command; nothing was said to the manager before it is over. */
ImdCommand expect_command(Fixture *f, enum ImdCommandKind kind);
void finish(Fixture *f, const ImdCommand *command, int result);
ImdCommand finish_next(Fixture *f, enum ImdCommandKind kind);
RegionAddress alloc(Fixture *f, unsigned pages);
void release(Fixture *f, const RegionAddress *a, const Stamp *stamp);

#endif
