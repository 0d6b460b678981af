/* SPDX-License-Identifier: MIT */
/*
 * Reads of a program that nobody changed, on a model of the kernel's leases: all orders in which
 * two readers, a writer, the worker and the keeper can take their steps. A read gives what the file
 * had at some moment of the call, also if the program closes the lease's descriptor without our
 * hearing of it. Each rule is needed: a library that breaks it gives something else, or reads a
 * region that is closed.
 *
 * The file has one block, and its content is how often it was written.
 */
#include <stdint.h>
#include <string.h>

#include "adapters/mount/trust.h"
#include "adapters/preload/hold.h"
#include "tests/lib/case.h"
#include "tests/lib/state_search.h"

enum { READERS = 2, READS = 5, OPENINGS = 2, WRITES = 2, LOSSES = 1, NONE = -1 };

/* What the library may do wrong. */
enum Fault {
    FAULT_NONE,
    FAULT_NO_QUESTION,  /* a reader does not ask for the lease */
    FAULT_STAYS_OPEN,   /* readers may enter when the lease has gone back */
    FAULT_CLOSES_EARLY, /* the region is closed beside readers */
    FAULT_REGION_STAYS, /* what is cached outlives the lease */
};

enum Phase { IDLE, BEGUN, ENTERED, TRUSTED, FROM_FILE, READS_FILE, HAS_FILE };
enum Worker { RESTS, LEASED, OPENED };
enum Lease { LEASE_NONE, LEASE_TAKEN, LEASE_BREAKING };

typedef struct Reader {
    int8_t phase, low, data;
} Reader;

typedef struct World {
    Hold hold;
    Reader readers[READERS];
    int8_t version;
    int8_t lease, worker;
    int8_t open, users;         /* of the region, for readers */
    int8_t has_region, content; /* what is cached; NONE: nothing yet */
    int8_t writer_waits, writer_open;
    int8_t reads_left, openings_left, writes_left, losses_left;
} World;

/* ---- the library ----------------------------------------------------------------------------- */

static void give_up(const StateSearch *s, World *w, bool broken)
{
    if (hold_give_up(&w->hold, broken, 0) && s->fault != FAULT_STAYS_OPEN)
        w->open = false;
    w->lease = LEASE_NONE;
}

static void end(const StateSearch *s, World *w)
{
    w->has_region = false;
    if (s->fault != FAULT_REGION_STAYS)
        w->content = NONE;
    w->lease = LEASE_NONE;
    w->worker = RESTS;
    hold_end(&w->hold, false, 0, 0);
    w->hold.again_ns = 0; /* time passes */
}

static void step_worker(const StateSearch *s, World *w)
{
    switch ((enum Worker)w->worker) {
    case RESTS:
        hold_take(&w->hold);
        if (w->writer_open) {
            end(s, w);
        } else {
            w->lease = LEASE_TAKEN;
            w->worker = LEASED;
        }
        break;
    case LEASED:
        w->has_region = true;
        w->worker = OPENED;
        break;
    case OPENED:
        w->worker = RESTS;
        if (hold_begin(&w->hold))
            w->open = true;
        else
            end(s, w);
        break;
    }
}

static void give(StateSearch *s, const World *w, Reader *r, int data)
{
    s->wrong |= data < r->low || data > w->version;
    *r = (Reader){.phase = IDLE};
}

static void leave(StateSearch *s, World *w, Reader *r, int data)
{
    w->users--;
    give(s, w, r, data);
}

static void plainly(World *w, Reader *r)
{
    w->users--;
    r->phase = FROM_FILE;
}

static void step_reader(StateSearch *s, World *w, Reader *r)
{
    const bool asks = s->fault != FAULT_NO_QUESTION;
    switch ((enum Phase)r->phase) {
    case IDLE:
        w->reads_left--;
        r->low = w->version;
        r->phase = BEGUN;
        break;
    case BEGUN:
        w->users += w->open;
        r->phase = w->open ? ENTERED : FROM_FILE;
        break;
    case ENTERED:
        if (asks && w->lease != LEASE_TAKEN)
            plainly(w, r);
        else
            r->phase = TRUSTED;
        break;
    case TRUSTED:
        s->wrong |= !w->has_region;
        if (w->content != NONE)
            leave(s, w, r, w->content);
        else
            r->phase = READS_FILE;
        break;
    case READS_FILE:
        r->data = w->version;
        r->phase = HAS_FILE;
        break;
    case HAS_FILE:
        s->wrong |= !w->has_region;
        w->content = r->data;
        leave(s, w, r, r->data);
        break;
    case FROM_FILE:
        give(s, w, r, w->version);
        break;
    }
}

/* ---- one step of everybody ------------------------------------------------------------------- */

static void steps_of_readers(StateSearch *s, const World *w)
{
    for (unsigned i = 0; i < READERS; i++) {
        World next = *w;
        if (w->readers[i].phase == IDLE && w->reads_left == 0)
            continue;
        step_reader(s, &next, &next.readers[i]);
        state_push(s, &next);
    }
}

static void steps_of_library(StateSearch *s, const World *w)
{
    World next = *w;
    if (hold_want(&next.hold, 0))
        state_push(s, &next);
    next = *w;
    if (w->hold.state == HOLD_WANTED) {
        step_worker(s, &next);
        state_push(s, &next);
    }
    next = *w;
    if (w->hold.state == HOLD_ENDING && (w->users == 0 || s->fault == FAULT_CLOSES_EARLY)) {
        end(s, &next);
        state_push(s, &next);
    }
    next = *w;
    if (w->lease == LEASE_BREAKING || (w->hold.state == HOLD_HELD && w->lease == LEASE_NONE)) {
        give_up(s, &next, true); /* the keeper hears of it, or looks */
        state_push(s, &next);
    }
    next = *w;
    if (w->hold.state == HOLD_HELD) { /* the program has closed the file */
        give_up(s, &next, false);
        state_push(s, &next);
    }
    next = *w;
    if (w->lease != LEASE_NONE && w->losses_left > 0) { /* ... or the lease's descriptor */
        next.lease = LEASE_NONE;
        next.losses_left--;
        state_push(s, &next);
    }
}

static void steps_of_writer(StateSearch *s, const World *w)
{
    World next = *w;
    if (w->writer_open) {
        next.writer_open = false;
        state_push(s, &next);
        next = *w;
        next.version++;
        next.writes_left--;
        if (w->writes_left > 0)
            state_push(s, &next);
    } else if (w->writer_waits && w->lease == LEASE_NONE) {
        next.writer_waits = false;
        next.writer_open = true;
        state_push(s, &next);
    } else if (!w->writer_waits && w->openings_left > 0) {
        next.openings_left--;
        next.writer_waits = w->lease != LEASE_NONE;
        next.writer_open = w->lease == LEASE_NONE;
        next.lease = w->lease == LEASE_NONE ? LEASE_NONE : LEASE_BREAKING;
        state_push(s, &next);
    }
}

static void steps(StateSearch *s, const void *state)
{
    World w;
    memcpy(&w, state, sizeof w);
    steps_of_readers(s, &w);
    steps_of_library(s, &w);
    steps_of_writer(s, &w);
}

static bool goes_wrong(enum Fault fault)
{
    World start;
    memset(&start, 0, sizeof start); /* with its padding */
    start.hold.state = HOLD_PLAIN;
    start.content = NONE;
    start.reads_left = READS;
    start.openings_left = OPENINGS;
    start.writes_left = WRITES;
    start.losses_left = LOSSES;
    return state_search(&start, sizeof start, (int)fault, steps);
}

TEST(preload_model__no_read_is_wrong_in_any_order)
{
    assert_false(goes_wrong(FAULT_NONE));
}

TEST(preload_model__a_reader_asks_for_the_lease)
{
    assert_true(goes_wrong(FAULT_NO_QUESTION));
}

TEST(preload_model__nobody_enters_when_the_lease_has_gone_back)
{
    assert_true(goes_wrong(FAULT_STAYS_OPEN));
}

TEST(preload_model__the_region_is_closed_when_all_have_left)
{
    assert_true(goes_wrong(FAULT_CLOSES_EARLY));
}

TEST(preload_model__what_is_cached_goes_with_the_lease)
{
    assert_true(goes_wrong(FAULT_REGION_STAYS));
}
