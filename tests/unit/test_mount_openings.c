/* SPDX-License-Identifier: MIT */
/*
 * Who serves the openings of one file, on a model of the kernel: all orders in which programs below
 * a mount open the file, store to it, look at it through mappings, and close it. No opening is
 * refused, and no mapping shows what the file had before. Each rule of openings.h is needed: a
 * mount that breaks it does something wrong.
 *
 * The content of the file is how often it was stored to, and it has one page below the mount. What
 * the kernel does is what Linux does: it refuses to mix openings that it serves itself with those
 * that have it keep pages, or that go straight; it drops pages at an opening, and when it sends a
 * write here; it drops none when it writes the file itself; a mapping of the file itself keeps
 * nothing of the mount's open; and a release comes here some time after the close.
 */
#include <stdint.h>
#include <string.h>

#include "adapters/mount/openings.h"
#include "tests/lib/case.h"
#include "tests/lib/state_search.h"

enum { SLOTS = 3, OPENINGS = 5, STORES = 2, NONE = -1 };

/* What a mount may do wrong. */
enum Fault {
    FAULT_NONE,
    FAULT_PASS_BESIDE,      /* an opening is passed beside others that are not */
    FAULT_NOT_ALL_PASSED,   /* one that may be cached is not passed beside others that are */
    FAULT_STORED_FORGOTTEN, /* what was mapped counts no longer than its descriptor */
    FAULT_CLOSED_IS_OVER,   /* an opening counts until the program closes it */
    FAULT_STRAIGHT_IS_NONE, /* an opening is passed beside one that goes straight */
};

enum Kind { READS, WRITES, READS_AND_WRITES, KINDS };

typedef struct Slot {
    int8_t kind;
    bool open;    /* for the kernel */
    bool counted; /* for the mount: open, or its release is on the way */
    Opening opening;
} Slot;

typedef struct World {
    Openings openings;
    Slot slots[SLOTS];
    int8_t version, page;
    int8_t opens_left, stores_left;
    bool mapped; /* a mapping of the file itself can be stored to, and has no descriptor */
} World;

/* ---- the kernel ---------------------------------------------------------------------------- */

static bool any_open(const World *w, bool (*is)(const Slot *))
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (w->slots[i].open && is(&w->slots[i]))
            return true;
    return false;
}
static bool is_passed(const Slot *s)
{
    return s->opening.passed;
}
static bool is_paged(const Slot *s)
{
    return opening_is_paged(&s->opening);
}
static bool writes(const Slot *s)
{
    return s->opening.writes;
}

/* EIO. */
static bool is_refused(const World *w, const Opening *opening)
{
    return opening->passed ? any_open(w, is_paged) : any_open(w, is_passed);
}

/* A lease is there unless somebody can write. */
static bool lease_comes(const World *w)
{
    return !w->mapped && !any_open(w, writes);
}

/* ---- the mount ----------------------------------------------------------------------------- */

static Opening mount_opens(const StateSearch *s, World *w, enum Kind kind)
{
    const OpeningAsk ask = {.reads = kind != WRITES, .writes = kind != READS, .cacheable = true};
    if (s->fault == FAULT_STORED_FORGOTTEN)
        w->openings.stored = false;
    if (!ask.writes && w->openings.stored && lease_comes(w))
        openings_leased(&w->openings);
    Openings seen = w->openings;
    if (s->fault == FAULT_PASS_BESIDE ||
        (s->fault == FAULT_STRAIGHT_IS_NONE && !any_open(w, is_paged)))
        seen.unpassed = 0;
    if (s->fault == FAULT_NOT_ALL_PASSED)
        seen.passed = 0;
    return openings_add(&w->openings, &ask, openings_want_passed(&seen, &ask));
}

static void mount_forgets(World *w, Slot *slot)
{
    openings_remove(&w->openings, &slot->opening);
    slot->counted = false;
    if (!slot->open)
        *slot = (Slot){.kind = 0};
}

/* ---- one step of everybody ----------------------------------------------------------------- */

static void steps_of_opening(StateSearch *s, const World *w)
{
    unsigned i = 0;
    while (i < SLOTS && (w->slots[i].open || w->slots[i].counted))
        i++;
    if (i == SLOTS || w->opens_left == 0)
        return;
    for (int8_t kind = 0; kind < KINDS; kind++) {
        World next = *w;
        Slot *slot = &next.slots[i];
        next.opens_left--;
        slot->kind = kind;
        slot->opening = mount_opens(s, &next, (enum Kind)kind);
        s->wrong |= is_refused(w, &slot->opening);
        slot->open = slot->counted = true;
        next.page = NONE;
        state_push(s, &next);
    }
}

static void step_store(StateSearch *s, const World *w, bool drops)
{
    World next = *w;
    if (w->stores_left == 0)
        return;
    next.version++;
    next.stores_left--;
    if (drops)
        next.page = NONE;
    state_push(s, &next);
}

/* Through a mapping, or by sendfile(2). */
static void step_look(StateSearch *s, const World *w)
{
    World next = *w;
    s->wrong |= w->page != NONE && w->page != w->version;
    next.page = w->version;
    state_push(s, &next);
}

static void step_close(StateSearch *s, const World *w, unsigned i, bool stays_mapped)
{
    World next = *w;
    Slot *slot = &next.slots[i];
    slot->open = false;
    next.mapped |= stays_mapped;
    if (!slot->counted)
        *slot = (Slot){.kind = 0};
    state_push(s, &next);
}

static void steps_of_slot(StateSearch *s, const World *w, unsigned i)
{
    const Slot *slot = &w->slots[i];
    World next = *w;
    if (slot->open) {
        const bool shares = slot->opening.passed && slot->kind == READS_AND_WRITES;
        step_close(s, w, i, false);
        if (shares)
            step_close(s, w, i, true);
        if (slot->opening.writes)
            step_store(s, w, !slot->opening.passed);
        if (!slot->opening.passed && slot->kind != WRITES)
            step_look(s, w);
    }
    if (slot->counted && (!slot->open || s->fault == FAULT_CLOSED_IS_OVER)) {
        mount_forgets(&next, &next.slots[i]);
        state_push(s, &next);
    }
}

static void steps(StateSearch *s, const void *state)
{
    World world, *w = &world;
    memcpy(w, state, sizeof *w);
    steps_of_opening(s, w);
    for (unsigned i = 0; i < SLOTS; i++)
        steps_of_slot(s, w, i);
    if (w->mapped) {
        World next = *w;
        step_store(s, w, false);
        next.mapped = false;
        state_push(s, &next);
    }
}

/* Whether some order of steps has an opening refused, or shows old content. */
static bool goes_wrong(enum Fault fault)
{
    World start;
    memset(&start, 0, sizeof start); /* with its padding: states are compared as bytes */
    start.page = NONE;
    start.opens_left = OPENINGS;
    start.stores_left = STORES;
    return state_search(&start, sizeof start, (int)fault, steps);
}

TEST(mount_openings__none_is_refused_or_shows_old_content)
{
    assert_false(goes_wrong(FAULT_NONE));
}

TEST(mount_openings__none_is_passed_beside_others_that_are_not)
{
    assert_true(goes_wrong(FAULT_PASS_BESIDE));
}

TEST(mount_openings__one_that_goes_straight_is_not_passed)
{
    assert_true(goes_wrong(FAULT_STRAIGHT_IS_NONE));
}

TEST(mount_openings__all_are_passed_beside_one_that_is)
{
    assert_true(goes_wrong(FAULT_NOT_ALL_PASSED));
}

TEST(mount_openings__a_mapping_counts_until_a_lease_shows_that_it_is_gone)
{
    assert_true(goes_wrong(FAULT_STORED_FORGOTTEN));
}

TEST(mount_openings__one_counts_until_the_kernel_has_released_it)
{
    assert_true(goes_wrong(FAULT_CLOSED_IS_OVER));
}

/* ---- who is served by whom --------------------------------------------------------------------
 */

static Opening opened(Openings *o, OpeningAsk ask, bool can)
{
    return openings_add(o, &ask, openings_want_passed(o, &ask) && can);
}

TEST(openings__what_is_not_cached_is_passed)
{
    Openings o = {.passed = 0};
    Opening first = opened(&o, (OpeningAsk){.reads = true}, true);
    assert_true(first.passed && !first.straight && !opening_may_be_cached(&first));
    Opening second = opened(&o, (OpeningAsk){.reads = true, .cacheable = true}, true);
    assert_true(second.passed);
    openings_remove(&o, &first);
    openings_remove(&o, &second);
    Opening third = opened(&o, (OpeningAsk){.reads = true, .cacheable = true}, true);
    assert_true(opening_is_paged(&third) && opening_may_be_cached(&third));
    assert_int_equal(o.readers, 1);
    openings_remove(&o, &third);
    assert_int_equal(o.passed + o.unpassed + o.readers, 0);
}

TEST(openings__flags_that_may_be_taken_away_are_served_here)
{
    Openings o = {.passed = 0};
    Opening opening = opened(&o, (OpeningAsk){.writes = true, .changeable = true}, true);
    assert_true(opening.passed && opening.straight);
}

TEST(openings__without_the_kernel_reading_and_writing_goes_straight)
{
    Openings o = {.passed = 0};
    Opening both = opened(&o, (OpeningAsk){.reads = true, .writes = true}, false);
    Opening appends = opened(&o, (OpeningAsk){.writes = true, .changeable = true}, false);
    Opening small = opened(&o, (OpeningAsk){.reads = true}, false);
    assert_true(both.straight && !both.passed);
    assert_true(opening_is_paged(&appends) && opening_is_paged(&small));
    assert_int_equal(o.unpassed, 3);
    assert_int_equal(o.readers, 1);
    assert_false(o.stored);
}
