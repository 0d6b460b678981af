/* SPDX-License-Identifier: MIT */
/*
 * The whole protocol of a mount, on a model of the kernel: all orders in which two readers through
 * the mount, a writer behind it, the kernel and the threads of the mount can take their steps. A
 * read gives what the file had at some moment of the call. Each rule of the protocol is needed: a
 * mount that breaks it gives something else.
 *
 * The file has two pages, and their content is how often it was written. What the kernel does is
 * what Linux does: attributes that are valid save a question; an answer is ignored if the
 * attributes were invalidated since it was asked for; a page that is being read is not dropped
 * before the answer.
 */
#include <stdint.h>
#include <string.h>

#include "adapters/mount/trust.h"
#include "tests/lib/case.h"
#include "tests/lib/state_search.h"

enum { READERS = 2, PAGES = 2, READS = 5, OPENINGS = 2, WRITES = 1, NONE = -1 };

/* What a mount may do wrong. */
enum Fault {
    FAULT_NONE,
    FAULT_ATTRS_STAY,    /* a break leaves the attributes valid */
    FAULT_RELEASE_FIRST, /* a lease goes back before the file is plain */
    FAULT_NO_DROP,       /* attributes of a plain file are answered without dropping pages */
    FAULT_SETTLE_ANY,    /* a drop for an older lease settles the present one */
    FAULT_PLAIN_ATTRS,   /* attributes of a plain file may be kept */
    FAULT_NO_SETTLING,   /* a file is held at once, whatever pages the kernel has */
    FAULT_REGION_STAYS,  /* what is cached outlives the lease */
};

enum Phase {
    IDLE,
    ASKS,    /* for attributes; the mount has not looked yet */
    WAITS,   /* its job will drop the pages */
    DROPPED, /* and has */
    LOOKS,   /* for the page */
    SENT,    /* a READ */
    READS_FILE,
    HAS_DATA,
};
enum Break { NOT_BROKEN, BROKEN, PLAIN, NO_ATTRS, RELEASED };

typedef struct Reader {
    int8_t phase, page, low, data;
    int8_t fresh; /* no attributes were invalidated since it asked */
    int8_t take;  /* the lease that its read may be cached for; 0: none */
} Reader;

typedef struct World {
    Trust trust;
    Reader readers[READERS];
    int8_t version, pages[PAGES], region[PAGES], attrs_valid, lease, breaking;
    int8_t reads_left, openings_left, writes_left;
    int8_t writer_waits, writer_open;
    int8_t drops;      /* jobs that drop pages */
    int8_t take_drops; /* the same, for the leases of these numbers: a bit each */
    int8_t settles;    /* which is then said to be done */
} World;

/* ---- the kernel ---------------------------------------------------------------------------- */

static void invalidate_attrs(World *w)
{
    w->attrs_valid = false;
    for (unsigned i = 0; i < READERS; i++)
        w->readers[i].fresh = false;
}

/* @page: NONE for any. */
static bool page_is_locked(const World *w, int page)
{
    for (unsigned i = 0; i < READERS; i++)
        if (w->readers[i].phase >= SENT && w->readers[i].phase <= HAS_DATA &&
            (page == NONE || w->readers[i].page == page))
            return true;
    return false;
}

static void drop_pages(World *w)
{
    invalidate_attrs(w);
    memset(w->pages, NONE, sizeof w->pages);
}

static void give(StateSearch *s, World *w, Reader *r, int data)
{
    s->wrong |= data < r->low || data > w->version;
}

/* ---- the mount ----------------------------------------------------------------------------- */

static void answer_attrs(const StateSearch *s, World *w, Reader *r)
{
    bool keep = trust_is_held(&w->trust) || s->fault == FAULT_PLAIN_ATTRS;
    w->attrs_valid |= keep && r->fresh;
    r->phase = LOOKS;
}

static void try_lease(const StateSearch *s, World *w)
{
    uint64_t number;
    if (w->lease || w->writer_open || !trust_wants_lease(&w->trust, TRUST_AGAIN_NS))
        return;
    w->lease = true;
    if (s->fault == FAULT_NO_SETTLING)
        w->trust.pages = false;
    if (trust_take(&w->trust, &number))
        w->take_drops |= (int8_t)(1 << number);
}

static void begin_read(const StateSearch *s, World *w, Reader *r)
{
    try_lease(s, w);
    r->take = trust_read_begin(&w->trust) ? (int8_t)w->trust.takes : 0;
    r->data = r->take ? w->region[r->page] : NONE;
    r->phase = r->data == NONE ? READS_FILE : HAS_DATA;
}

static void read_file(World *w, Reader *r)
{
    r->data = w->version;
    if (r->take && w->trust.state != TRUST_PLAIN && (int8_t)w->trust.takes == r->take)
        w->region[r->page] = r->data;
    r->phase = HAS_DATA;
}

static void become_plain(const StateSearch *s, World *w)
{
    (void)trust_give_up(&w->trust, true, 0);
    if (s->fault != FAULT_REGION_STAYS)
        memset(w->region, NONE, sizeof w->region);
}

static void release(World *w)
{
    w->lease = false;
    w->writer_waits = false;
    w->writer_open = true;
}

/* The thread that hears of breaks takes one step. */
static void step_break(const StateSearch *s, World *w)
{
    bool swapped = s->fault == FAULT_RELEASE_FIRST;
    switch ((enum Break)w->breaking) {
    case BROKEN:
        if (swapped)
            release(w);
        else
            become_plain(s, w);
        w->breaking = PLAIN;
        break;
    case PLAIN:
        if (s->fault != FAULT_ATTRS_STAY)
            invalidate_attrs(w);
        w->breaking = NO_ATTRS;
        break;
    case NO_ATTRS:
        if (swapped)
            become_plain(s, w);
        else
            release(w);
        w->breaking = RELEASED;
        break;
    case RELEASED:
        w->drops++;
        w->breaking = NOT_BROKEN;
        break;
    case NOT_BROKEN:
        break;
    }
}

/* ---- one step of everybody ----------------------------------------------------------------- */

/* @page: of a read that begins. */
static void step_reader(StateSearch *s, World *w, Reader *r, int page)
{
    switch ((enum Phase)r->phase) {
    case IDLE:
        w->reads_left--;
        *r = (Reader){.phase = w->attrs_valid ? LOOKS : ASKS,
                      .page = (int8_t)page,
                      .low = w->version,
                      .fresh = true};
        break;
    case ASKS:
        if (trust_must_drop(&w->trust) && s->fault != FAULT_NO_DROP)
            r->phase = WAITS;
        else
            answer_attrs(s, w, r);
        break;
    case WAITS:
        drop_pages(w);
        r->phase = DROPPED;
        break;
    case DROPPED:
        answer_attrs(s, w, r);
        break;
    case LOOKS:
        if (w->pages[r->page] != NONE)
            give(s, w, r, w->pages[r->page]);
        r->phase = w->pages[r->page] != NONE ? IDLE : SENT;
        break;
    case SENT:
        begin_read(s, w, r);
        break;
    case READS_FILE:
        read_file(w, r);
        break;
    case HAS_DATA:
        w->pages[r->page] = r->data;
        give(s, w, r, r->data);
        r->phase = IDLE;
        break;
    }
    if (r->phase == IDLE)
        *r = (Reader){.phase = IDLE};
}

static bool reader_can(const World *w, const Reader *r)
{
    if (r->phase == IDLE)
        return w->reads_left > 0;
    if (r->phase == WAITS)
        return !page_is_locked(w, NONE);
    return r->phase != LOOKS || !page_is_locked(w, r->page);
}

static void steps_of_readers(StateSearch *s, const World *w)
{
    for (unsigned i = 0; i < READERS; i++) {
        const Reader *r = &w->readers[i];
        /* The first reader reads the first page, which is as good as either. */
        unsigned choices = r->phase == IDLE ? i + 1 : 1;
        for (unsigned page = 0; page < choices && reader_can(w, r); page++) {
            World next = *w;
            step_reader(s, &next, &next.readers[i], (int)page);
            state_push(s, &next);
        }
    }
}

static void steps_of_writer(StateSearch *s, const World *w)
{
    World next = *w;
    if (w->writer_open) {
        next.writer_open = false;
        state_push(s, &next);
        if (w->writes_left == 0)
            return;
        next = *w;
        next.version++;
        next.writes_left--;
        state_push(s, &next);
    } else if (!w->writer_waits && w->openings_left > 0) {
        next.openings_left--;
        next.writer_open = !w->lease;
        next.writer_waits = w->lease;
        next.breaking = w->lease ? BROKEN : w->breaking;
        state_push(s, &next);
    }
}

static void steps_of_jobs(StateSearch *s, const World *w)
{
    World next = *w;
    if (page_is_locked(w, NONE))
        return;
    if (w->drops > 0) {
        drop_pages(&next);
        next.drops--;
        state_push(s, &next);
    }
    for (int number = 1; number < 7; number++) {
        if (!(w->take_drops & 1 << number))
            continue;
        next = *w;
        drop_pages(&next);
        next.take_drops &= (int8_t) ~(1 << number);
        next.settles |= (int8_t)(1 << number);
        state_push(s, &next);
    }
}

/* After the drop, and perhaps long after it. */
static void steps_that_settle(StateSearch *s, const World *w)
{
    for (int number = 1; number < 7; number++) {
        World next = *w;
        if (!(w->settles & 1 << number))
            continue;
        next.settles &= (int8_t) ~(1 << number);
        trust_settle(&next.trust,
                     s->fault == FAULT_SETTLE_ANY ? next.trust.takes : (uint64_t)number);
        state_push(s, &next);
    }
}

static void steps(StateSearch *s, const void *state)
{
    World world, next, *w = &world;
    memcpy(w, state, sizeof *w);
    next = *w;
    steps_of_readers(s, w);
    steps_of_writer(s, w);
    steps_of_jobs(s, w);
    steps_that_settle(s, w);
    if (w->breaking != NOT_BROKEN) {
        step_break(s, &next);
        state_push(s, &next);
    }
    if (w->attrs_valid) { /* for a second at most */
        next = *w;
        next.attrs_valid = false;
        state_push(s, &next);
    }
}

/* Whether some order of steps makes a read wrong. */
static bool goes_wrong(enum Fault fault)
{
    World start;
    memset(&start, 0, sizeof start); /* with its padding: states are compared as bytes */
    memset(start.pages, NONE, sizeof start.pages);
    memset(start.region, NONE, sizeof start.region);
    start.reads_left = READS;
    start.openings_left = OPENINGS;
    start.writes_left = WRITES;
    return state_search(&start, sizeof start, (int)fault, steps);
}

TEST(mount_model__no_read_is_wrong_in_any_order)
{
    assert_false(goes_wrong(FAULT_NONE));
}

TEST(mount_model__a_break_invalidates_attributes)
{
    assert_true(goes_wrong(FAULT_ATTRS_STAY));
}

TEST(mount_model__the_file_is_plain_before_the_lease_goes_back)
{
    assert_true(goes_wrong(FAULT_RELEASE_FIRST));
}

TEST(mount_model__pages_of_a_plain_file_are_dropped_before_they_are_read)
{
    assert_true(goes_wrong(FAULT_NO_DROP));
}

TEST(mount_model__a_drop_settles_its_own_lease_alone)
{
    assert_true(goes_wrong(FAULT_SETTLE_ANY));
}

TEST(mount_model__attributes_of_a_plain_file_are_not_kept)
{
    assert_true(goes_wrong(FAULT_PLAIN_ATTRS));
}

TEST(mount_model__old_pages_go_before_a_file_is_held)
{
    assert_true(goes_wrong(FAULT_NO_SETTLING));
}

TEST(mount_model__what_is_cached_goes_with_the_lease)
{
    assert_true(goes_wrong(FAULT_REGION_STAYS));
}
