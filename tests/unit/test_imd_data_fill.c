/* SPDX-License-Identifier: MIT */
/* The data core: fills, every rule that they keep by name; and all of it at random. */
#include "tests/lib/case.h"
#include "tests/unit/imd_data_fixture.h"

#define CASE(name) TEST_WITH(name, setup, teardown)

/* ---- fills ---------------------------------------------------------------------------------- */

CASE(fill__complete)
{
    Fixture *f = *state;
    WireWrite m = fill_of(7, 0, 0, 3 * BLOCK);
    for (unsigned i = 0; i < 11; i++) {
        assert_false(send_segment(f, m, i));
        expect_filled(f, "uuu");
    }
    assert_true(send_segment(f, m, 11));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "fffu");
    assert_memory_equal(memory_at(f, 0), f->pattern, 3 * BLOCK);
    /* late duplicates and polls of it */
    assert_true(send_segment(f, m, 3));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_true(send_segment(f, m, WIRE_INDEX_NONE));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_int_equal(imd_data_stats(f->d)->fills, 1);
    assert_int_equal(imd_data_stats(f->d)->fill_bytes, 3 * BLOCK);
}

CASE(fill__takes_only_whole_blocks)
{
    Fixture *f = *state;
    send_all(f, fill_of(1, 0, 100, 2 * BLOCK)); /* part of 0, all of 1, part of 2 */
    expect_filled(f, "ufu");
    assert_int_equal(*memory_at(f, 100), 0xee);
    assert_int_equal(*memory_at(f, 2 * BLOCK), 0xee);
    assert_memory_equal(memory_at(f, BLOCK), f->pattern + BLOCK - 100, BLOCK);
    send_all(f, fill_of(2, 0, 9 * BLOCK, BLOCK + 100)); /* to the region's end */
    assert_true(imd_data_block_filled(f->d, REGION, 10));
}

CASE(fill__skips_filled_blocks)
{
    Fixture *f = *state;
    uint8_t file[3 * BLOCK];
    memset(file, 0x77, sizeof file);
    send_all(f, write_of(1, BLOCK, BLOCK));
    WireWrite m = fill_of(1, 1, 0, 3 * BLOCK);
    for (unsigned i = 0; i < 12; i++)
        send_data(f, &sessions[SESSION_ONE], m, i, file);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "fff");
    assert_memory_equal(memory_at(f, 0), file, BLOCK);
    assert_memory_equal(memory_at(f, BLOCK), f->pattern, BLOCK);
    assert_memory_equal(memory_at(f, 2 * BLOCK), file, BLOCK);
}

CASE(fill__counter)
{
    Fixture *f = *state;
    send_all(f, write_of(1, BLOCK + 5, 10));
    expect_refused(f, fill_of(1, 0, 0, 3 * BLOCK), 0, STATUS_STALE);
    assert_int_equal(*memory_at(f, 0), 0xee);
    assert_int_equal(imd_data_stats(f->d)->fills_refused, 1);
    send_all(f, fill_of(2, 0, 2 * BLOCK, BLOCK)); /* not that block */
    send_all(f, fill_of(3, 1, 0, 2 * BLOCK));
    expect_filled(f, "fff");
}

/* What comes late of a write before the last makes no older fill good again. */
CASE(fill__counter_never_goes_back)
{
    Fixture *f = *state;
    send_all(f, write_of(3, 5, 10));
    send_all(f, write_of(2, BLOCK - 5, 10));
    expect_refused(f, fill_of(1, 2, 0, BLOCK), 0, STATUS_STALE);
    send_void(f, 1, 0, 2 * BLOCK);
    expect_refused(f, fill_of(2, 2, 0, BLOCK), 0, STATUS_STALE);
    expect_refused(f, fill_of(3, 1, BLOCK, BLOCK), 0, STATUS_STALE);
    send_all(f, fill_of(4, 3, 0, BLOCK));
    send_all(f, fill_of(5, 2, BLOCK, BLOCK));
    expect_filled(f, "ffu");
}

CASE(fill__overtaken_while_under_way)
{
    Fixture *f = *state;
    WireWrite m = fill_of(1, 0, 0, 2 * BLOCK);
    for (unsigned i = 0; i < 7; i++)
        assert_false(send_segment(f, m, i));
    send_all(f, write_of(1, 10, 10)); /* leaves block 0 unfilled */
    expect_refused(f, m, 7, STATUS_STALE);
    expect_filled(f, "uu");
    assert_int_equal(imd_data_awaited(f->d).bytes, 0); /* the rest of it is expected no more */
    expect_refused(f, m, WIRE_INDEX_NONE, STATUS_STALE);
}

CASE(fill__beside_a_write)
{
    Fixture *f = *state;
    WireWrite m = write_of(1, 2 * BLOCK, 2 * SEGMENT);
    assert_false(send_segment(f, m, 0));
    expect_refused(f, fill_of(1, 1, 0, 3 * BLOCK), 0, STATUS_STALE); /* even as new as it */
    send_all(f, fill_of(2, 1, 0, 2 * BLOCK));
    assert_true(send_segment(f, m, 1));
    send_all(f, fill_of(3, 1, 0, 3 * BLOCK));
    expect_filled(f, "fff");
}

/* A block that was filled when one of its segments came is not filled by this fill. */
CASE(fill__complete_after_a_void_between)
{
    Fixture *f = *state;
    send_all(f, write_of(1, BLOCK, BLOCK));
    WireWrite m = fill_of(1, 1, 0, 2 * BLOCK);
    for (unsigned i = 0; i < 6; i++)
        assert_false(send_segment(f, m, i)); /* two of block 1 are skipped */
    send_void(f, 1, BLOCK, BLOCK);
    assert_false(send_segment(f, m, 6));
    assert_true(send_segment(f, m, 7));
    expect_filled(f, "fu");
}

CASE(fill__oldest_gives_way)
{
    Fixture *f = *state;
    size_t bytes = 0;
    for (uint64_t t = 1; t <= 4; t++) {
        assert_false(send_segment(f, fill_of(t, 0, t * BLOCK, BLOCK), 0));
        if (t == 3)
            bytes = imd_data_bytes(f->d);
    }
    assert_int_equal(imd_data_bytes(f->d), bytes);
    assert_true(send_segment(f, fill_of(4, 0, 4 * BLOCK, BLOCK), WIRE_INDEX_NONE));
    assert_int_equal(f->ack.received, 1);
    /* the first is not known any more, and begins again */
    assert_true(send_segment(f, fill_of(1, 0, BLOCK, BLOCK), WIRE_INDEX_NONE));
    expect_ack(f, WRITE_OPEN, STATUS_OK);
    assert_int_equal(f->ack.received, 0);
}

CASE(fill__names_are_a_sessions_own)
{
    Fixture *f = *state;
    WireWrite m = fill_of(1, 0, 0, BLOCK);
    assert_false(send_data(f, &sessions[SESSION_ONE], m, 0, f->pattern));
    assert_false(send_data(f, &sessions[SESSION_ONE], m, 1, f->pattern));
    assert_true(send_data(f, &sessions[SESSION_TWO], m, 2, f->pattern));
    assert_int_equal(f->ack.received, 4);
    imd_data_session_closed(f->d, &sessions[SESSION_ONE]);
    assert_true(send_data(f, &sessions[SESSION_ONE], m, WIRE_INDEX_NONE, NULL));
    assert_int_equal(f->ack.received, 0);
    assert_true(send_data(f, &sessions[SESSION_TWO], m, WIRE_INDEX_NONE, NULL));
    assert_int_equal(f->ack.received, 4);
}

CASE(fill__other_chunk_of_the_same_name)
{
    Fixture *f = *state;
    WireWrite m = fill_of(1, 0, 0, BLOCK);
    assert_false(send_segment(f, m, 0));
    expect_refused(f, fill_of(1, 0, BLOCK, BLOCK), 0, STATUS_INVALID);
    expect_refused(f, fill_of(1, 5, 0, BLOCK), 0, STATUS_INVALID);
    for (unsigned i = 1; i < 4; i++)
        send_segment(f, m, i);
    expect_ack(f, WRITE_DONE, STATUS_OK);
}

/* ---- at random: one honest client, a lossy and repeating network, a file -----------------------
 */

typedef struct World {
    Fixture *f;
    uint64_t seed;
    uint8_t file[REGION_BYTES];
    uint64_t number, transfer;
    struct {
        WireWrite m;
        uint8_t data[WIRE_CHUNK_MAX];
    } past[8]; /* chunks sent before: duplicates of them come late */
    unsigned past_count;
} World;

static uint64_t draw(World *w, uint64_t below)
{
    w->seed += 0x9e3779b97f4a7c15ull;
    return mix64(w->seed) % below;
}

static void world_late_duplicate(World *w)
{
    if (w->past_count == 0)
        return;
    unsigned i = (unsigned)draw(w, w->past_count < 8 ? w->past_count : 8);
    const WireWrite *m = &w->past[i].m;
    unsigned count = wire_segment_count(m->len, m->segment);
    unsigned index = (unsigned)draw(w, count + 1);
    /* of finished ones only: a poll or part of an aborted write would rightly count */
    send_data(w->f, &sessions[SESSION_ONE], *m, index == count ? WIRE_INDEX_NONE : index,
              w->past[i].data);
}

static void world_remember(World *w, const WireWrite *m, const uint8_t *data)
{
    unsigned i = w->past_count++ % 8;
    w->past[i].m = *m;
    memcpy(w->past[i].data, data, m->len);
}

/* Sends a chunk until it is answered for good; segments are lost, repeated, out of order. */
static void world_send(World *w, WireWrite m, const uint8_t *data, unsigned tries)
{
    uint64_t missing = wire_segment_mask(wire_segment_count(m.len, m.segment));
    for (unsigned t = 0; t < tries; t++) {
        for (uint64_t left = missing; left; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctzll(left);
            if (draw(w, 10) < 3)
                continue;
            send_data(w->f, &sessions[SESSION_ONE], m, i, data);
            if (draw(w, 10) < 2)
                world_late_duplicate(w);
        }
        assert_true(send_data(w->f, &sessions[SESSION_ONE], m, WIRE_INDEX_NONE, NULL));
        if (w->f->ack.state != WRITE_OPEN)
            break;
        missing &= ~w->f->ack.received;
    }
    world_remember(w, &m, data);
}

/* A range that ends at a block's end, like a client's chunks. */
static void world_range(World *w, uint64_t *offset, uint32_t *len)
{
    *offset = draw(w, REGION_BYTES);
    uint64_t most = REGION_BYTES - *offset;
    *len = (uint32_t)(1 + draw(w, most < 3 * BLOCK ? most : 3 * BLOCK));
}

static void world_write(World *w)
{
    static uint8_t data[WIRE_CHUNK_MAX];
    uint64_t offset;
    uint32_t len;
    world_range(w, &offset, &len);
    memset(data, (int)draw(w, 256), len);
    data[0] = (uint8_t)draw(w, 256);
    WireWrite m = write_of(++w->number, offset, len);
    world_send(w, m, data, draw(w, 8) == 0 ? 1 : 100);
    bool done = w->f->ack.state == WRITE_DONE;
    if (done && draw(w, 8) != 0) {
        memcpy(w->file + offset, data, len);
        return;
    }
    /* the file half failed, perhaps half-way */
    memcpy(w->file + offset, data, draw(w, len + 1));
    send_void(w->f, w->number, offset, len);
    expect_ack(w->f, WRITE_DONE, STATUS_OK);
}

static void world_fill(World *w)
{
    static uint8_t data[WIRE_CHUNK_MAX];
    uint64_t offset;
    uint32_t len;
    world_range(w, &offset, &len);
    memcpy(data, w->file + offset, len);
    WireWrite m = fill_of(++w->transfer, w->number, offset, len);
    while (draw(w, 3) == 0)
        world_write(w); /* between the file read and the fill: it must not overtake */
    world_send(w, m, data, 100);
}

static void world_check(World *w)
{
    Fixture *f = w->f;
    read_at(f, 0, REGION_BYTES);
    for (uint64_t left = f->sent; left; left &= left - 1) {
        uint64_t at = (uint64_t)__builtin_ctzll(left) * SEGMENT;
        size_t n = REGION_BYTES - at < SEGMENT ? REGION_BYTES - at : SEGMENT;
        assert_memory_equal(f->got + at, w->file + at, n);
    }
}

CASE(data__random_against_a_file)
{
    World *w = calloc(1, sizeof *w);
    w->f = *state;
    w->seed = 42;
    for (unsigned i = 0; i < 3000; i++) {
        if (draw(w, 2))
            world_write(w);
        else
            world_fill(w);
        world_check(w);
    }
    const ImdDataStats *s = imd_data_stats(w->f->d);
    assert_true(s->fills > 100 && s->fills_refused > 100 && s->writes_repeated > 100);
    assert_true(s->voided > 100 && s->read_bytes > 3000 * BLOCK);
    assert_true(imd_data_idle(w->f->d));
    free(w);
}
