/* SPDX-License-Identifier: MIT */
/* The thread that gives pages back: what it is given, in that order, and who hears of it. */
#include <glib.h>
#include <poll.h>
#include <string.h>

#include "imd/purger.h"
#include "tests/lib/case.h"

enum { POOL = 1 << 20, HALF = POOL / 2, PATIENCE_MS = 150000 };

static void order(Purger *p, uint64_t id, uint64_t offset, bool unasked)
{
    ImdOrder *o = g_new0(ImdOrder, 1);
    o->command =
        (ImdCommand){.id = id, .kind = IMD_PURGE, .region = {.pool_offset = offset, .len = HALF}};
    o->unasked = unasked;
    purger_order(p, o);
}

/* The next one that was asked for is done: it has this id. */
static void assert_done(Mailbox *done, uint64_t id)
{
    struct pollfd at = {.fd = done->fd, .events = POLLIN};
    assert_int_equal(poll(&at, 1, PATIENCE_MS), 1);
    Letter *l = mailbox_take(done);
    assert_non_null(l);
    assert_null(l->next);
    assert_int_equal(((ImdOrder *)l)->command.id, id);
    g_free(l);
}

TEST(gives_back_and_says_so_if_asked)
{
    Purger p = {.running = false};
    PoolMemory pool;
    Mailbox done;
    char error[512];
    assert_int_equal(mailbox_init(&done), 0);
    assert_int_equal(pool_memory_map(&pool, POOL, false, error, sizeof error), 0);
    memset(pool.base, 1, POOL);
    assert_int_equal(purger_start(&p, &pool, &done), 0);
    order(&p, 0, 0, true);
    order(&p, 7, HALF, false);
    assert_done(&done, 7); /* nobody asked for the other */
    for (size_t i = 0; i < POOL; i++)
        assert_int_equal(pool.base[i], 0);
    for (unsigned i = 0; i < 3; i++) { /* each when the one before is done */
        memset(pool.base, 1, HALF);
        order(&p, 8 + i, 0, false);
        assert_done(&done, 8 + i);
        assert_int_equal(pool.base[0], 0);
    }
    order(&p, 0, 0, true); /* carried out before the end, or lost: no leak */
    purger_stop(&p);
    assert_false(mailbox_waiting(&done));
    pool_memory_unmap(&pool);
    mailbox_deinit(&done);
}

/* What was taken at once stays, whatever leaves it. */
TEST(keeps_what_is_to_be_kept)
{
    Purger p = {.running = false};
    PoolMemory pool;
    Mailbox done;
    char error[512];
    assert_int_equal(mailbox_init(&done), 0);
    assert_int_equal(pool_memory_map(&pool, POOL, true, error, sizeof error), 0);
    memset(pool.base, 1, POOL);
    assert_int_equal(purger_start(&p, &pool, &done), 0);
    order(&p, 7, 0, false);
    assert_done(&done, 7);
    purger_stop(&p);
    assert_int_equal(pool.base[0], 1);
    assert_int_equal(pool.base[HALF - 1], 1);
    pool_memory_unmap(&pool);
    mailbox_deinit(&done);
}
