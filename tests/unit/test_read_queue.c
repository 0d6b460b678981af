/* SPDX-License-Identifier: MIT */
/* Whose READ is answered next. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "imd/read_queue.h"
#include "tests/lib/case.h"

enum { SEGMENT = 1024, SMALL = 8 * SEGMENT, LARGE = 56 * SEGMENT };

static ReadQueue *queue;
static int sessions[8]; /* their addresses are the sessions */

static int set_up(void **state)
{
    (void)state;
    queue = calloc(1, sizeof *queue);
    return queue ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(queue);
    return 0;
}

static void put_from(void *session, uint64_t ask, uint32_t bytes)
{
    const WireRead m = {.ask = ask,
                        .address = {.epoch = 1, .region = 2, .opening = 3, .capability = {{4}}},
                        .len = bytes,
                        .segment = SEGMENT,
                        .want = wire_segment_mask(wire_segment_count(bytes, SEGMENT))};
    assert_true(read_queue_put(queue, session, &m) >= bytes);
}

static void put(unsigned session, uint64_t ask, uint32_t bytes)
{
    put_from(&sessions[session], ask, bytes);
}

/* The next one's number; its session and size in @ret, if not NULL. */
static uint64_t take(QueuedRead *ret)
{
    QueuedRead ask;
    assert_true(read_queue_take(queue, &ask));
    assert_int_equal(ask.read.len, ask.bytes);
    if (ret)
        *ret = ask;
    return ask.read.ask;
}

static void assert_empty(void)
{
    QueuedRead ask;
    assert_int_equal(queue->count, 0);
    assert_false(read_queue_take(queue, &ask));
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(queue__keeps_the_order_of_one_session)
{
    assert_empty();
    for (unsigned i = 1; i <= 50; i++)
        put(0, i, i % 3 ? LARGE : SMALL);
    for (unsigned i = 1; i <= 50; i++)
        assert_int_equal(take(NULL), i);
    assert_empty();
}

CASE(queue__answers_who_asks_for_little_next)
{
    for (unsigned s = 0; s < 4; s++)
        for (unsigned i = 0; i < 20; i++)
            put(s, 100 * s + i + 1, LARGE);
    (void)take(NULL); /* under way when the others come */
    put(5, 1000, SMALL);
    put(6, 2000, SMALL);
    assert_int_equal(take(NULL), 1000);
    assert_int_equal(take(NULL), 2000);
    for (unsigned i = 0; i < 79; i++)
        (void)take(NULL);
    assert_empty();
}

/* Sessions that always have something waiting get as many bytes each, whatever the size of their
 * asks and however many wait; but for the cost of an ask. */
CASE(queue__is_fair)
{
    uint64_t bytes[3] = {0}, asks[3] = {0};
    for (unsigned i = 0; i < 100; i++)
        put(0, 1, LARGE);
    for (unsigned i = 0; i < 3; i++)
        put(1, 1, LARGE);
    for (unsigned i = 0; i < 10; i++)
        put(2, 1, SMALL);
    for (unsigned i = 0; i < 5000; i++) {
        QueuedRead a;
        (void)take(&a);
        unsigned s = (unsigned)((int *)a.session - sessions);
        bytes[s] += a.bytes;
        asks[s]++;
        put(s, 1, a.bytes);
    }
    for (unsigned s = 0; s < 3; s++)
        bytes[s] += asks[s] * READ_COST_BYTES;
    assert_in_range(bytes[0], bytes[1] - 2 * (uint64_t)LARGE, bytes[1] + 2 * (uint64_t)LARGE);
    assert_in_range(bytes[2], bytes[1] - 2 * (uint64_t)LARGE, bytes[1] + 2 * (uint64_t)LARGE);
}

/* Many that come again and again, each with one ask at a time, do not hold up one that waits. */
CASE(queue__starves_nobody)
{
    unsigned others = 0;
    put(0, 777, LARGE);
    for (unsigned s = 1; s < 8; s++)
        put(s, s, SMALL);
    for (uint64_t ask; (ask = take(NULL)) != 777; others++) {
        assert_true(others < 10);
        put((unsigned)ask, ask, SMALL);
    }
}

/* Who has asked for nothing for a while has not saved that up: he takes turns with the others. */
CASE(queue__saves_up_nothing)
{
    unsigned first = 0;
    put(0, 1, LARGE);
    (void)take(NULL);
    for (unsigned i = 0; i < 100; i++) { /* the other one alone */
        put(1, 1, LARGE);
        (void)take(NULL);
    }
    for (unsigned i = 0; i < 20; i++) {
        put(0, 2, LARGE);
        put(1, 3, LARGE);
    }
    for (unsigned i = 0; i < 20; i++)
        first += take(NULL) == 2;
    assert_in_range(first, 9, 11);
}

CASE(queue__forgets_a_session)
{
    for (unsigned i = 3; i < 33; i++)
        put(i % 3, i, i % 2 ? LARGE : SMALL);
    read_queue_forget(queue, &sessions[1]);
    read_queue_forget(queue, &sessions[7]);
    assert_int_equal(queue->count, 20);
    uint64_t last[3] = {0};
    for (unsigned i = 0; i < 20; i++) {
        uint64_t ask = take(NULL);
        assert_int_not_equal(ask % 3, 1);
        assert_true(ask >= last[ask % 3]);
        last[ask % 3] = ask;
    }
    assert_empty();
}

/* Who is there instead has asked for nothing yet. */
CASE(queue__forgets_what_a_session_has_had)
{
    for (unsigned i = 0; i < 10; i++)
        put(0, i, LARGE);
    read_queue_forget(queue, &sessions[0]);
    put(1, 20, LARGE);
    put(1, 21, LARGE);
    put(0, 22, LARGE);
    assert_int_equal(take(NULL), 20);
    assert_int_equal(take(NULL), 22);
    assert_int_equal(take(NULL), 21);
}

/* More of them than shares are kept for. */
CASE(queue__serves_many_sessions)
{
    static int many[3 * READ_QUEUE_SESSIONS];
    for (unsigned round = 0; round < 2; round++)
        for (unsigned s = 0; s < ARRAY_SIZE(many); s++)
            put_from(&many[s], round + 1, LARGE);
    uint64_t seen[ARRAY_SIZE(many)] = {0};
    for (unsigned i = 0; i < 2 * ARRAY_SIZE(many); i++) {
        QueuedRead a;
        uint64_t ask = take(&a);
        unsigned s = (unsigned)((int *)a.session - many);
        seen[s] |= (uint64_t)1 << ask;
    }
    for (unsigned s = 0; s < ARRAY_SIZE(many); s++)
        assert_int_equal(seen[s], 2 | 4);
    assert_empty();
}

CASE(queue__is_full_at_its_limit)
{
    for (unsigned i = 0; i < READ_QUEUE_MAX; i++) {
        assert_false(read_queue_full(queue));
        put(i % 8, i + 1, SMALL);
    }
    assert_true(read_queue_full(queue));
    (void)take(NULL);
    assert_false(read_queue_full(queue));
}
