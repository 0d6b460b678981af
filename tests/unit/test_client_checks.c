/* SPDX-License-Identifier: MIT */
/* What a host returns is used only if it is what the host was given. The host's memory is the
 * test's to change; after a fill the file is changed behind Dodo's back, which shows where bytes
 * come from. */
#include "base/cleanup.h"
#include "libdodo/checks.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum { LEN = 300000, BLOCK = 4096 };

static uint8_t original[FILE_BYTES];

/* A region of which all is in remote memory, and a file that holds something else. */
static int open_filled(unsigned flags)
{
    int rd = open_at(LEN, 0, flags);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_int_equal(info(rd).filled_bytes, LEN);
    memcpy(original, w.disk.bytes, sizeof original);
    memset(w.disk.bytes, 0xEE, sizeof w.disk.bytes);
    return rd;
}

static void assert_reads_remote(int rd, off_t offset, size_t len)
{
    static uint8_t buf[LEN + 2];
    uint64_t misses = info(rd).misses;
    memset(buf, 0x11, sizeof buf);
    assert_int_equal(read_at(rd, offset, buf + 1, len), len);
    assert_memory_equal(buf + 1, original + offset, len);
    assert_int_equal(buf[0], 0x11); /* nothing before or behind it is touched */
    assert_int_equal(buf[len + 1], 0x11);
    assert_int_equal(info(rd).misses, misses);
}

static void file_restore(void)
{
    memcpy(w.disk.bytes, original, sizeof original);
}

/* ---- reads of parts of blocks --------------------------------------------------------------- */

static int set_up_checked(void **state)
{
    (void)state;
    set_up_with(FILE_BYTES, blocksum);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up_checked, tear_down)

/* The checksums of a write are made while the host has the last word: nothing waits for them. */
static unsigned sums_made;

static uint32_t counting_sum(const void *bytes, size_t len, uint64_t seed)
{
    sums_made++;
    return blocksum(bytes, len, seed);
}

static int set_up_counted(void **state)
{
    (void)state;
    set_up_with(FILE_BYTES, counting_sum);
    return 0;
}

TEST_WITH(checks__of_a_write_are_made_before_its_answer, set_up_counted, tear_down)
{
    static uint8_t data[5 * BLOCK];
    Call call;
    int rd = open_at(LEN, 0, 0);
    memset(data, 0x42, sizeof data);
    assert_int_equal(write_at(rd, 0, data, sizeof data), sizeof data);
    settle();
    sums_made = 0;
    call_write_start(&call, w.channels[1], rd, 0, data, sizeof data, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(call.need, NEED_FILE_WRITE); /* no datagram has come */
    assert_int_equal(sums_made, 5);
    assert_int_equal(finish(&call), sizeof data);
    assert_int_equal(sums_made, 5); /* once each */
    memset(w.disk.bytes, 0xEE, 5 * BLOCK);
    memset(original, 0x42, 5 * BLOCK);
    assert_reads_remote(rd, 0, 5 * BLOCK);
    assert_int_equal(sums_made, 10); /* they are what the host must return */
}

/* Whole blocks are asked for: wherever it begins, a read of small buffers asks for each block once,
 * as a read of one buffer does. */
CASE(checks__small_buffers_ask_for_each_block_once)
{
    enum { COUNT = 500, EACH = 390, SUM = COUNT * EACH };
    static uint8_t buf[SUM];
    struct iovec iov[COUNT];
    Call call;
    int rd = open_filled(0);
    unsigned before = w.net.datagrams;
    assert_reads_remote(rd, 5000, SUM);
    unsigned one = w.net.datagrams - before;
    for (unsigned i = 0; i < COUNT; i++)
        iov[i] = (struct iovec){buf + i * EACH, EACH};
    before = w.net.datagrams;
    call_readv_start(&call, w.channels[1], rd, 5000, iov, COUNT, w.now);
    assert_int_equal(done(&call), SUM);
    assert_memory_equal(buf, original + 5000, SUM);
    assert_in_range(w.net.datagrams - before, one / 2, one + 2);
    file_restore();
}

CASE(checks__any_part_of_a_block_is_read_remotely)
{
    static const struct {
        off_t at;
        size_t len;
    } parts[] = {{0, 1},
                 {1, 1},
                 {4095, 1},
                 {4095, 2},
                 {100, 3000},
                 {0, 4096},
                 {0, 4095},
                 {1, 4095},
                 {1, 4096},
                 {4096, 4097},
                 {4000, 5000},
                 {4000, 100000},
                 {8192, 57345},
                 {57343, 2},
                 {1, LEN - 2},
                 {0, LEN},
                 {LEN - 1, 1},
                 {LEN - 992, 992},
                 {LEN - 993, 992},
                 {LEN - 5000, 4999},
                 {LEN - 5000, 5000}};
    int rd = open_filled(0);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        assert_reads_remote(rd, parts[i].at, parts[i].len);
    assert_int_equal(stats().corrupt, 0);
}

CASE(checks__parts_of_blocks_beside_unfilled_ones)
{
    int rd = open_at(LEN, 0, 0);
    assert_reads_file(rd, 0, 2 * BLOCK, 3 * BLOCK); /* blocks 2, 3, 4 */
    settle();
    assert_reads_file(rd, 0, BLOCK + 7, 5 * BLOCK - 9);
    settle();
    assert_int_equal(info(rd).filled_bytes, 5 * BLOCK);
    assert_reads_file(rd, 0, 3, 7 * BLOCK);
    assert_int_equal(stats().corrupt, 0);
}

/* ---- a host that returns something else ----------------------------------------------------- */

CASE(checks__a_flipped_bit_is_never_returned)
{
    int rd = open_filled(0);
    file_restore();
    w.pool[20 * BLOCK + 77] ^= 4;
    assert_reads_file(rd, 0, 10 * BLOCK, 5 * BLOCK); /* far from it */
    assert_int_equal(stats().corrupt, 0);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(stats().corrupt, 1);
    assert_false(info(rd).active); /* the copy is not read again */
    uint8_t byte;
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_int_equal(fail_error, ENOMEM);
}

CASE(checks__a_flipped_bit_beside_the_bytes_that_are_read)
{
    int rd = open_filled(DODO_FALLBACK);
    file_restore();
    w.pool[20 * BLOCK + 77] ^= 4;
    assert_reads_file(rd, 0, 20 * BLOCK + 2000, 10);
    assert_int_equal(stats().corrupt, 1);
    assert_reads_file(rd, 0, 0, LEN); /* from the file */
    run_until(w.now + 10 * NS_PER_S);
    assert_int_equal(w.heard.avoided, 1);
    assert_true(info(rd).active);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(stats().corrupt, 1);
}

/* Another thread writes into the buffer of the read, which nobody forbids, as the sums are made. */
static struct {
    const uint8_t *buf;
    size_t len;
    unsigned times;
} scribble;

static uint32_t scribbling_sum(const void *bytes, size_t len, uint64_t seed)
{
    const uint8_t *at = bytes;
    if (scribble.times > 0 && at >= scribble.buf && at < scribble.buf + scribble.len) {
        scribble.times--;
        ((uint8_t *)(uintptr_t)at)[len / 2] ^= 1;
    }
    return blocksum(bytes, len, seed);
}

static int set_up_scribbled(void **state)
{
    (void)state;
    scribble.times = 0;
    set_up_with(FILE_BYTES, scribbling_sum);
    return 0;
}

/* Reads [@offset, @offset + @len) of a region that is in remote memory, and whose buffer somebody
 * writes into @times times. */
static void read_scribbled(int rd, off_t offset, size_t len, unsigned times)
{
    static uint8_t buf[LEN];
    memset(buf, 0x11, sizeof buf);
    scribble.buf = buf;
    scribble.len = sizeof buf;
    scribble.times = times;
    assert_int_equal(read_at(rd, offset, buf, len), len);
    assert_memory_equal(buf, original + offset, len);
    assert_int_equal(scribble.times, 0);
}

/* The host is not to blame: what it returns is looked at where nobody else writes. */
TEST_WITH(checks__of_a_buffer_that_somebody_writes_to, set_up_scribbled, tear_down)
{
    int rd = open_filled(0);
    uint64_t misses = info(rd).misses;
    read_scribbled(rd, 0, LEN, 3);
    read_scribbled(rd, 10 * BLOCK, BLOCK, 1);
    read_scribbled(rd, 10 * BLOCK + 3, 3 * BLOCK, 1); /* parts of the first and last block */
    assert_int_equal(stats().corrupt, 0);
    assert_true(info(rd).active);
    assert_int_equal(info(rd).misses, misses);
    assert_reads_remote(rd, 0, LEN);
    assert_int_equal(close_rd(rd), 0);
}

/* ... and is all the same where it is to blame. */
TEST_WITH(checks__of_a_buffer_that_somebody_writes_to_and_a_host_that_lies, set_up_scribbled,
          tear_down)
{
    int rd = open_filled(DODO_FALLBACK);
    file_restore();
    w.pool[20 * BLOCK + 77] ^= 4;
    read_scribbled(rd, 18 * BLOCK, 4 * BLOCK, 1);
    assert_int_equal(stats().corrupt, 1);
    assert_false(info(rd).active);
}

CASE(checks__new_regions_avoid_the_host)
{
    int rd = open_filled(0);
    file_restore();
    memset(w.pool, 0xFF, sizeof w.pool);
    assert_reads_file(rd, 0, 0, LEN);
    assert_true(open_at(LEN, 0, 0) >= 0);
    assert_int_equal(w.heard.avoided, 1);
    settle(); /* ... and the manager learns why */
    assert_int_equal(w.heard.reports, 1);
    assert_true(w.heard.report.epoch == w.epoch);
    assert_int_equal(w.heard.report.fault, HOST_FAULT_CORRUPT);
}

/* All request ids are in use: the report waits for one. */
CASE(checks__a_report_waits_for_a_request_id)
{
    static Call opens[64];
    FileGiven given = {.file = &the_file, .stamp = file_stamp_now()};
    int rd = open_filled(0);
    file_restore();
    w.cmd.dead = true;
    for (size_t i = 0; i < ARRAY_SIZE(opens); i++)
        call_open_start(&opens[i], w.channels[2], &given, BLOCK, i * BLOCK, 0, w.now);
    settle();
    memset(w.pool, 0xFF, sizeof w.pool);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    w.cmd.dead = false;
    for (size_t i = 0; i < ARRAY_SIZE(opens); i++)
        (void)finish(&opens[i]);
    run_until(w.now + 10 * NS_PER_S);
    assert_int_equal(w.heard.reports, 1);
    assert_true(w.heard.report.epoch == w.epoch);
}

/* ---- writes --------------------------------------------------------------------------------- */

CASE(checks__what_was_written_is_checked)
{
    static uint8_t data[50000];
    memset(data, 0x5A, sizeof data);
    int rd = open_filled(0);
    file_restore();
    assert_int_equal(write_at(rd, 2 * BLOCK, data, sizeof data), sizeof data);
    memcpy(original, w.disk.bytes, sizeof original);
    memset(w.disk.bytes, 0xEE, sizeof w.disk.bytes);
    assert_reads_remote(rd, 0, 14 * BLOCK); /* block 14 was written in part */
    file_restore();
    w.pool[3 * BLOCK] ^= 1;
    assert_reads_file(rd, 0, 3 * BLOCK + 1, 1);
    assert_int_equal(stats().corrupt, 1);
}

/* A block that was written in part stays known: the write reads it from the file once more. */
CASE(checks__a_partial_write_leaves_a_block_known)
{
    static const struct {
        off_t at;
        size_t len;
    } writes[] = {
        {5 * BLOCK + 1, 3},          {7 * BLOCK, 3}, {9 * BLOCK - 3, 3}, {11 * BLOCK - 1, 2},
        {13 * BLOCK + 5, 3 * BLOCK}, {LEN - 2, 1},   {LEN - 5, 5}};
    static uint8_t data[3 * BLOCK];
    memset(data, 0x21, sizeof data);
    int rd = open_filled(0);
    file_restore();
    for (size_t i = 0; i < ARRAY_SIZE(writes); i++)
        assert_int_equal(write_at(rd, writes[i].at, data, writes[i].len), writes[i].len);
    memcpy(original, w.disk.bytes, sizeof original);
    memset(w.disk.bytes, 0xEE, sizeof w.disk.bytes);
    assert_reads_remote(rd, 0, LEN);
    assert_int_equal(stats().corrupt, 0);
    assert_int_equal(close_rd(rd), 0);
}

/* Where the file cannot tell, the block is unknown until the next read has it from the file. */
CASE(checks__a_partial_write_makes_a_block_unknown)
{
    int rd = open_filled(0);
    file_restore();
    w.disk.read_error = EIO;
    assert_int_equal(write_at(rd, 5 * BLOCK + 1, "abc", 3), 3);
    w.disk.read_error = 0;
    uint64_t misses = info(rd).misses;
    assert_reads_file(rd, 0, 4 * BLOCK, 3 * BLOCK);
    assert_int_equal(info(rd).misses, misses + BLOCK);
    settle();
    memcpy(original, w.disk.bytes, sizeof original);
    memset(w.disk.bytes, 0xEE, sizeof w.disk.bytes);
    assert_reads_remote(rd, 4 * BLOCK, 3 * BLOCK);
    assert_int_equal(stats().corrupt, 0);
    assert_int_equal(close_rd(rd), 0);
}

CASE(checks__a_failed_write_makes_blocks_unknown)
{
    static uint8_t data[3 * BLOCK];
    int rd = open_filled(0);
    file_restore();
    w.disk.write_error = EIO;
    assert_int_equal(write_at(rd, 5 * BLOCK, data, sizeof data), -1);
    w.disk.write_error = 0;
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(stats().corrupt, 0);
    assert_true(info(rd).active);
}

/* What was read from the file before a write, and comes to be known after it, is not of the file.
 */
static void overtake_a_read(int rd)
{
    static uint8_t buf[BLOCK], data[BLOCK];
    Call slow;
    call_read_start(&slow, w.channels[2], rd, 0, buf, sizeof buf, w.now);
    Call *needs = run_to_file(&slow);
    assert_non_null(needs);
    assert_int_equal(needs->need, NEED_FILE_READ);
    memcpy(needs->file_buf, w.disk.bytes, BLOCK); /* it has read, and is held up */
    w.asleep = 2;
    memset(data, 0x77, sizeof data);
    assert_int_equal(write_at(rd, 0, data, sizeof data), sizeof data);
    w.asleep = 0;
    FileResult r = {.count = BLOCK};
    call_file_done(needs, &r, w.now);
    assert_int_equal(finish(&slow), BLOCK);
    settle();
    assert_reads_file(rd, 0, 0, BLOCK); /* what was written */
    assert_int_equal(stats().corrupt, 0);
    assert_true(info(rd).active);
}

CASE(checks__a_read_that_a_write_overtakes)
{
    overtake_a_read(open_at(LEN, 0, 0));
}

/* There was no memory for checksums until after the write. */
CASE(checks__that_come_late_know_of_the_write_before)
{
    int rd = open_at(LEN, 0, 0);
    checks_end(client_region(w.client, rd));
    overtake_a_read(rd);
}

/* What a host sent before a write changed the block is no lie. */
CASE(checks__an_answer_that_a_write_overtakes)
{
    static uint8_t buf[BLOCK], data[BLOCK];
    int rd = open_filled(0);
    file_restore();
    Call slow;
    call_read_start(&slow, w.channels[2], rd, BLOCK, buf, sizeof buf, w.now);
    assert_int_equal(finish(&slow), BLOCK); /* its session is up */
    settle();
    call_read_start(&slow, w.channels[2], rd, 0, buf, sizeof buf, w.now);
    channel_step(w.channels[2], w.now); /* the READ is on its way */
    memset(data, 0x77, sizeof data);
    for (int i = 0; i < 8; i++) /* the host answers; its answer stays on the wire */
        if (w.net.head != w.net.tail &&
            w.net.queue[w.net.head % QUEUE_MAX].to.host[0] != HOST_CLIENT + 2)
            pump();
    w.asleep = 2;
    Datagram kept[8];
    unsigned count = 0;
    for (unsigned n = w.net.tail - w.net.head; n > 0; n--) {
        Datagram d = w.net.queue[w.net.head++ % QUEUE_MAX];
        assert_true(count < ARRAY_SIZE(kept));
        kept[count++] = d;
    }
    assert_int_equal(count, (BLOCK + w.net.segment - 1) / w.net.segment); /* the block's data */
    assert_int_equal(write_at(rd, 0, data, sizeof data), sizeof data);
    for (unsigned i = 0; i < count; i++)
        deliver(&kept[i]);
    w.asleep = 0;
    assert_int_equal(finish(&slow), BLOCK);
    assert_memory_equal(buf, data, BLOCK);
    assert_int_equal(stats().corrupt, 0);
    assert_true(info(rd).active);
}

static int losing = -1; /* the region that is lost while sums are made, and comes back */

static uint32_t blocksum_while_lost(const void *data, size_t len, uint64_t seed)
{
    int rd = losing;
    losing = -1;
    if (rd >= 0) {
        const ClientRegionInfo was = info(rd);
        client_region_lost(w.client, rd, &was.address, LOSS_DROPPED, w.now);
        w.asleep = 1;
        run_until(w.now + 10 * (uint64_t)NS_PER_S);
        w.asleep = 0;
        assert_true(info(rd).active);
        assert_int_not_equal(info(rd).address.region, was.address.region);
    }
    return blocksum(data, len, seed);
}

static int set_up_losing(void **state)
{
    (void)state;
    set_up_with(FILE_BYTES, blocksum_while_lost);
    return 0;
}

/* Sums are made without the lock. Another thread may find meanwhile that the region is lost, and it
 * may have new memory by then: they are of no use for that, and its host is not to blame. */
TEST_WITH(offer__of_a_region_that_is_lost_and_comes_back, set_up_losing, tear_down)
{
    Call giver;
    struct iovec one = {w.disk.bytes, LEN};
    int rd = open_at(LEN, 0, DODO_FALLBACK);
    losing = rd;
    call_offerv_start(&giver, w.channels[1], rd, 0, &one, 1, w.now);
    assert_int_equal(done(&giver), LEN);
    assert_int_equal(losing, -1);
    settle();
    for (unsigned i = 0; i < 2; i++)
        assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(stats().corrupt, 0);
    assert_true(info(rd).active);
}

/* ---- retained regions ----------------------------------------------------------------------- */

/* The file has not changed: what its blocks must be is known from the opening before. */
CASE(retained__what_was_known_is_known_again)
{
    int rd = open_filled(DODO_RETAIN | DODO_RDONLY);
    file_restore();
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
    w.cmd.reuse = true;
    rd = open_at(LEN, 0, DODO_RETAIN | DODO_RDONLY);
    assert_true(info(rd).reused);
    memset(w.disk.bytes, 0xEE, sizeof w.disk.bytes);
    assert_reads_remote(rd, 0, LEN);
    assert_int_equal(stats().corrupt, 0);
    w.pool[20 * BLOCK + 77] ^= 4;
    file_restore();
    assert_reads_file(rd, 0, 20 * BLOCK, BLOCK);
    assert_int_equal(stats().corrupt, 1);
}

/* Of a retained region the blocks that have checksums. */
static void assert_held(int rd, uint64_t from, uint64_t to)
{
    enum { BLOCKS = (LEN + BLOCK - 1) / BLOCK };
    uint64_t map[BLOCKS / 64 + 1] = {0};
    assert_int_equal(client_region_held(w.client, rd, map), 0);
    for (uint64_t b = 0; b < 64 * ARRAY_SIZE(map); b++)
        assert_int_equal(map[b / 64] >> b % 64 & 1, b >= from && b < to);
}

CASE(retained__what_may_be_held)
{
    int rd = open_at(LEN, 0, DODO_RETAIN | DODO_RDONLY);
    assert_reads_file(rd, 0, 3 * BLOCK, 20 * BLOCK);
    settle();
    assert_held(rd, 0, 0); /* that is not of an earlier run */
    assert_int_equal(close_rd(rd), 0);
    w.cmd.reuse = true;
    rd = open_at(LEN, 0, DODO_RETAIN | DODO_RDONLY);
    assert_true(info(rd).reused);
    assert_held(rd, 3, 23);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(client_region_held(w.client, rd, NULL), -EINVAL);
}

/* What another version of the library kept means something else. */
CASE(retained__what_is_known_in_another_form_does_not_count)
{
    int rd = open_filled(DODO_RETAIN | DODO_RDONLY);
    file_restore();
    assert_int_equal(close_rd(rd), 0);
    CheckRecord head;
    memcpy(&head, w.record, sizeof head);
    head.version++;
    memcpy(w.record, &head, sizeof head);
    w.cmd.reuse = true;
    rd = open_at(LEN, 0, DODO_RETAIN | DODO_RDONLY);
    assert_false(info(rd).reused);
    assert_reads_file(rd, 0, 0, LEN);
}

/* What is known of another state of the file says nothing of this one: nobody is accused. */
CASE(retained__what_is_known_of_an_older_file_does_not_count)
{
    int rd = open_filled(DODO_RETAIN | DODO_RDONLY);
    file_restore();
    assert_int_equal(close_rd(rd), 0);
    memset(w.disk.bytes, 0xEE, LEN); /* the file changed, and another process retained that */
    memset(w.pool, 0xEE, LEN);
    w.disk.stamp_moved = true;
    w.cmd.reuse = true;
    rd = open_at(LEN, 0, DODO_RETAIN | DODO_RDONLY);
    assert_false(info(rd).reused);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(stats().corrupt, 0);
    assert_true(info(rd).active);
}
