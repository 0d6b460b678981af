/* SPDX-License-Identifier: MIT */
/* Which requests of a queue wait for which. */
#include "tests/lib/case.h"

#include "libdodo/order.h"

enum { BLOCK = 4096, MANY = 24 };

static Order order;
static Ordered all[MANY];

static int set_up(void **state)
{
    (void)state;
    order_init(&order);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, NULL)

static bool enter(unsigned i, enum OrderKind kind, int rd, off_t offset, size_t len)
{
    return order_enter(&order, &all[i], kind, rd, offset, len);
}

CASE(order__reads_wait_for_nobody)
{
    for (unsigned i = 0; i < MANY; i++)
        assert_false(enter(i, ORDER_READ, 1, 0, BLOCK));
    assert_null(order_next(&order));
}

CASE(order__what_has_a_block_in_common_with_a_write_waits)
{
    static const struct {
        enum OrderKind first, second;
        off_t at, next;
        size_t len, next_len;
        bool waits;
    } rows[] = {
        {ORDER_WRITE, ORDER_WRITE, 0, 0, 1, 1, true},
        {ORDER_WRITE, ORDER_READ, 0, BLOCK - 1, 1, 1, true},
        {ORDER_WRITE, ORDER_READ, 0, BLOCK, 1, 1, false},
        {ORDER_WRITE, ORDER_READ, 0, BLOCK, BLOCK, 1, false},
        {ORDER_WRITE, ORDER_READ, 0, BLOCK, BLOCK + 1, 1, true},
        {ORDER_READ, ORDER_WRITE, 3 * BLOCK, 0, 1, 3 * BLOCK, false},
        {ORDER_READ, ORDER_WRITE, 3 * BLOCK, 0, 1, 3 * BLOCK + 1, true},
        {ORDER_READ, ORDER_WRITE, 3 * BLOCK, 4 * BLOCK, BLOCK, 9, false},
        {ORDER_READ, ORDER_READ, 0, 0, BLOCK, BLOCK, false},
        {ORDER_WRITE, ORDER_SYNC, 9 * BLOCK, 0, 1, 0, true},
        {ORDER_READ, ORDER_SYNC, 9 * BLOCK, 0, 1, 0, false},
        {ORDER_SYNC, ORDER_SYNC, 0, 0, 0, 0, false},
        {ORDER_SYNC, ORDER_WRITE, 0, 0, 0, 1, false},
        {ORDER_SYNC, ORDER_READ, 0, 0, 0, 1, false},
        {ORDER_WRITE, ORDER_WRITE, -1, 0, 1, BLOCK, false}, /* no call takes these */
        {ORDER_WRITE, ORDER_READ, 0, 0, 0, 1, false},
        {ORDER_WRITE, ORDER_READ, 0, 0, (size_t)1 << 63, 1, false},
        {ORDER_WRITE, ORDER_READ, (off_t)(((uint64_t)1 << 63) - 1), 0, 9, BLOCK, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        order_init(&order);
        assert_false(enter(0, rows[i].first, 7, rows[i].at, rows[i].len));
        assert_int_equal(enter(1, rows[i].second, 7, rows[i].next, rows[i].next_len),
                         rows[i].waits);
        assert_false(enter(2, rows[i].second, 8, rows[i].next, rows[i].next_len));
        assert_null(order_next(&order));
        order_leave(&order, &all[0]);
        assert_ptr_equal(order_next(&order), rows[i].waits ? &all[1] : NULL);
        assert_null(order_next(&order));
    }
}

/* A, then B behind it, then C behind B alone; B goes, whether it began or not. */
CASE(order__waits_for_one_that_waits)
{
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        order_init(&order);
        assert_false(enter(0, ORDER_WRITE, 1, 0, BLOCK));
        assert_true(enter(1, ORDER_WRITE, 1, 0, 2 * BLOCK));
        assert_true(enter(2, ORDER_READ, 1, BLOCK, BLOCK));
        assert_null(order_next(&order));
        if (!cancelled) {
            order_leave(&order, &all[0]);
            assert_ptr_equal(order_next(&order), &all[1]);
            assert_null(order_next(&order));
        }
        order_leave(&order, &all[1]);
        assert_ptr_equal(order_next(&order), &all[2]);
        assert_null(order_next(&order));
    }
}

CASE(order__a_sync_waits_for_all_writes_before_it)
{
    for (unsigned i = 0; i < 4; i++)
        assert_false(enter(i, ORDER_WRITE, 1, (off_t)i * BLOCK, BLOCK));
    assert_true(enter(4, ORDER_SYNC, 1, 0, 0));
    assert_false(enter(5, ORDER_WRITE, 1, 9 * BLOCK, BLOCK)); /* behind it */
    for (unsigned i = 0; i < 4; i++) {
        assert_null(order_next(&order));
        order_leave(&order, &all[i]);
    }
    assert_ptr_equal(order_next(&order), &all[4]);
}

/* One that is cancelled while it waits: nobody waits any more. */
CASE(order__what_waits_may_leave)
{
    assert_false(enter(0, ORDER_WRITE, 1, 0, BLOCK));
    assert_true(enter(1, ORDER_WRITE, 1, 0, BLOCK));
    assert_true(enter(2, ORDER_READ, 1, 0, BLOCK));
    assert_int_equal(order.held, 2);
    order_leave(&order, &all[1]);
    assert_int_equal(order.held, 1);
    order_leave(&order, &all[0]);
    assert_ptr_equal(order_next(&order), &all[2]);
    assert_int_equal(order.held, 0);
    assert_null(order_next(&order));
}

/* Everything at random: no two that conflict run at once, in the wrong order, or never. */
CASE(order__of_many)
{
    enum { STEPS = 20000 };
    uint32_t draw = 1;
    unsigned submitted[MANY] = {0}, count = 0, begun = 0;
    bool used[MANY] = {false}, runs[MANY] = {false};
    for (unsigned step = 0; step < STEPS; step++) {
        draw = draw * 1664525u + 1013904223u;
        unsigned i = draw >> 8 & 31;
        if (i >= MANY)
            continue;
        if (!used[i]) {
            used[i] = true;
            submitted[i] = count++;
            runs[i] = !enter(i, (enum OrderKind)(draw >> 16 & 3) % 3, (int)(draw >> 14 & 1),
                             (off_t)(draw >> 20 & 7) * BLOCK, (draw >> 24 & 3) * BLOCK);
        } else if (runs[i]) {
            used[i] = runs[i] = false;
            order_leave(&order, &all[i]);
            for (Ordered *next; (next = order_next(&order)); begun++)
                runs[next - all] = true;
        }
        bool any = false, some = false;
        for (unsigned a = 0; a < MANY; a++) {
            some |= used[a];
            any |= runs[a];
            for (unsigned b = 0; b < MANY; b++) {
                if (a == b || !runs[a] || !used[b] || submitted[b] > submitted[a] ||
                    all[a].rd != all[b].rd)
                    continue;
                bool common =
                    all[a].first_block < all[b].end_block && all[b].first_block < all[a].end_block;
                bool writes = all[a].kind == ORDER_WRITE || all[b].kind == ORDER_WRITE;
                bool data = all[a].kind != ORDER_SYNC && all[b].kind != ORDER_SYNC;
                assert_false(data && common && writes);
                assert_false(all[a].kind == ORDER_SYNC && all[b].kind == ORDER_WRITE);
            }
        }
        assert_int_equal(any, some);
    }
    assert_true(begun > 1000);
}

int main(void)
{
    return cases_run(NULL, NULL);
}
