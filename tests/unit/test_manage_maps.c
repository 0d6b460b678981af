/* SPDX-License-Identifier: MIT */
/* What is noted of remote memory's blocks: by hand, and of an earlier run. */
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"
#include "tests/lib/case.h"

enum { PIECES = 3 * LEAF_PIECES + 5, BLOCKS = 2, LAST = PIECES - 1 };

static Cache *c;
static Region *r;
static char file;

static void begin(void)
{
    CacheConfig cfg;
    cache_config_init(&cfg, 16ull * BLOCKS * CACHE_BLOCK);
    cfg.piece_bytes = BLOCKS * CACHE_BLOCK;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.extent_bytes = cfg.bypass_factor = 0;
    c = cache_new(&cfg, &(CacheHooks){0});
    assert_non_null(c);
    uint64_t len = (uint64_t)PIECES * BLOCKS * CACHE_BLOCK - 3 * CACHE_BLOCK / 2; /* half a block */
    int rd = cache_open(c, len, len, &file, 0);
    assert_int_equal(rd, 0);
    r = region_find(c, rd);
}

static void end(void)
{
    r->remote.state = REMOTE_NONE;
    free(r->remote.held_blocks);
    r->remote.held_blocks = NULL;
    remote_map_forget(r);
    c = cache_free(c);
}

/* An earlier run has left what is in @mask, of each 64 blocks, and the other ones of each second
 * leaf. */
static void held(uint64_t mask)
{
    size_t words = PIECES * BLOCKS / 64 + 1;
    r->remote.state = REMOTE_OPEN;
    r->remote.held = true;
    r->remote.held_blocks = malloc(words * sizeof *r->remote.held_blocks);
    assert_non_null(r->remote.held_blocks);
    for (size_t i = 0; i < words; i++)
        r->remote.held_blocks[i] = i * 64 / (BLOCKS * LEAF_PIECES) % 2 ? ~mask : mask;
}

TEST(map__notes_each_piece_by_itself)
{
    begin();
    r->remote.state = REMOTE_OPEN;
    for (unsigned i = 0; i < PIECES; i += 3)
        remote_map_add(c, r, i, 1 + i % 2);
    for (unsigned i = 0; i < PIECES; i++)
        assert_int_equal(remote_held(c, r, i), i % 3 ? 0 : 1 + i % 2);
    for (unsigned i = 0; i < PIECES; i += 6)
        remote_map_remove(c, r, i, 3);
    for (unsigned i = 0; i < PIECES; i++)
        assert_int_equal(remote_held(c, r, i), i % 3 || i % 6 == 0 ? 0 : 1 + i % 2);
    end();
}

/* Each in its place: what is freed is the one that says nothing. */
TEST(map__is_freed_when_it_says_nothing)
{
    begin();
    for (unsigned leaf = 0; leaf < 3; leaf++)
        remote_map_add(c, r, leaf * LEAF_PIECES + leaf, 1);
    brought_add(c, r, 2 * LEAF_PIECES + 9, 2);
    for (unsigned leaf = 0; leaf < 3; leaf++)
        remote_map_remove(c, r, leaf * LEAF_PIECES + leaf, 1);
    remote_map_release(c, r, LEAF_PIECES + 20);
    remote_map_release(c, r, 2 * LEAF_PIECES);
    assert_true(remote_map_exists(r, 0) && remote_map_exists(r, LEAF_PIECES - 1));
    assert_false(remote_map_exists(r, LEAF_PIECES) || remote_map_exists(r, 2 * LEAF_PIECES - 1));
    assert_true(remote_map_exists(r, 2 * LEAF_PIECES)); /* a part has brought something */
    assert_int_equal(brought_take(c, r, 2 * LEAF_PIECES + 9, 3), 2);
    remote_map_release(c, r, 2 * LEAF_PIECES);
    assert_false(remote_map_exists(r, 2 * LEAF_PIECES));
    end();
}

TEST(map__forgets_all)
{
    begin();
    r->remote.state = REMOTE_OPEN;
    for (unsigned i = 0; i < PIECES; i += LEAF_PIECES)
        remote_map_add(c, r, i, 3);
    assert_true(remote_map_check(c, r));
    r->remote.state = REMOTE_NONE;
    assert_false(remote_map_check(c, r));
    remote_map_forget(r);
    assert_true(remote_map_check(c, r));
    for (unsigned i = 0; i < PIECES; i++)
        assert_false(remote_map_exists(r, i) || remote_held(c, r, i));
    end();
}

TEST(map__of_what_was_brought)
{
    begin();
    remote_map_add(c, r, LAST, 1);
    brought_add(c, r, LAST, 3);
    assert_int_equal(brought_take(c, r, LAST, 1), 0); /* that was there before */
    assert_int_equal(brought_take(c, r, LAST, 3), 2);
    assert_int_equal(brought_take(c, r, LAST, 3), 0); /* once */
    assert_int_equal(brought_take(c, r, 0, 3), 0);
    assert_int_equal(remote_held(c, r, LAST), 1);
    end();
}

/* ---- of an earlier run ---------------------------------------------------------------------- */

TEST(map__begins_with_what_an_earlier_run_has_left)
{
    begin();
    held(0x6666666666666666);
    for (unsigned i = 0; i < PIECES; i++)
        assert_int_equal(remote_held(c, r, i), (i + i / LEAF_PIECES) % 2 ? 1 : 2);
    for (unsigned i = LEAF_PIECES; i < PIECES; i += LEAF_PIECES)
        assert_true(remote_map_make(c, r, i));
    for (unsigned i = 0; i < PIECES; i++)
        assert_int_equal(remote_held(c, r, i), (i + i / LEAF_PIECES) % 2 ? 1 : 2);
    assert_true(remote_holds_at(c, r, CACHE_BLOCK));
    assert_false(remote_holds_at(c, r, 0));
    r->remote.state = REMOTE_CLOSING;
    assert_false(remote_holds_at(c, r, CACHE_BLOCK));
    end();
}

/* Without a list of its blocks all may be there. */
TEST(map__of_a_run_that_nobody_has_a_list_of)
{
    begin();
    r->remote.held = true;
    assert_int_equal(remote_held(c, r, LAST), 3);
    assert_true(remote_map_make(c, r, LAST));
    assert_int_equal(remote_held(c, r, LAST), 3);
    assert_int_equal(remote_held(c, r, 0), 3);
    end();
}

/* What a write has made stale stays so, also where the map says nothing else. */
TEST(map__stays_where_an_earlier_run_has_left_something)
{
    begin();
    held(1); /* so much of the first leaf, and all else of the second */
    assert_true(remote_map_make(c, r, LEAF_PIECES));
    for (unsigned i = LEAF_PIECES; i < 2 * LEAF_PIECES; i++)
        remote_map_remove(c, r, i, 3);
    remote_map_release(c, r, LEAF_PIECES);
    for (unsigned i = LEAF_PIECES; i < 2 * LEAF_PIECES; i++)
        assert_int_equal(remote_held(c, r, i), 0);
    assert_int_equal(remote_held(c, r, 0), 1);
    end();
}

/* Pieces that are here when an earlier run's memory comes: what is dirty is not there. What was
 * noted before says nothing of it. */
TEST(map__of_an_earlier_run_but_for_what_is_dirty)
{
    begin();
    int other = cache_open(c, BLOCKS * CACHE_BLOCK, BLOCKS * CACHE_BLOCK, &file, 0);
    assert_int_equal(other, 1);
    Piece *clean = piece_new(c, r, 1), *dirty = piece_new(c, r, LAST - 1);
    Piece *others = piece_new(c, region_find(c, other), 0);
    assert_true(clean && dirty && others);
    brought_add(c, r, 2 * LEAF_PIECES, 3);
    clean->valid = dirty->valid = 3;
    piece_dirty(c, dirty, 2);
    held(UINT64_MAX);
    r->remote.held_blocks[(LAST - 1) * BLOCKS / 64] = UINT64_MAX;
    assert_true(remote_map_restore(c, r));
    assert_int_equal(brought_take(c, r, 2 * LEAF_PIECES, 3), 0);
    assert_int_equal(remote_held(c, r, 1), 3);
    assert_int_equal(remote_held(c, r, LAST - 1), 1);
    assert_true(remote_map_exists(r, 1) &&
                remote_map_exists(r, LAST - 1)); /* they may become dirty */
    piece_dirty(c, clean, 1);
    assert_int_equal(remote_held(c, r, 1), 2);
    assert_false(remote_map_exists(r, 2 * LEAF_PIECES));
    assert_false(remote_map_exists(region_find(c, other), 0));
    piece_drop(c, clean);
    piece_drop(c, dirty);
    piece_drop(c, others);
    assert_int_equal(remote_held(c, r, 1), 2);
    end();
}
