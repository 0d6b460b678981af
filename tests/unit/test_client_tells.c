/* SPDX-License-Identifier: MIT */
/* What the client's core says of itself: to the manager when it opens and claims, and to the
 * program in descriptors, figures and what is known of a region. */
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- to the manager ---------------------------------------------------------------------------
 */

CASE(open__says_how_it_is_opened)
{
    static const struct {
        unsigned flags;
        uint32_t wire;
    } cases[] = {{0, 0},
                 {DODO_RDONLY, REGION_RDONLY},
                 {DODO_RETAIN, REGION_RETAIN},
                 {DODO_RETAIN | DODO_RDONLY, REGION_RETAIN | REGION_RDONLY}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int rd = open_at(12288, 4096 * i, cases[i].flags);
        assert_true(rd >= 0);
        assert_int_equal(w.heard.open.flags, cases[i].wire);
        assert_int_equal(w.heard.open.len, 12288);
        assert_int_equal(w.heard.open.offset, 4096 * i);
        assert_int_equal(w.heard.open.stamp.size, FILE_BYTES);
    }
}

/* Each list of what is open has a number of its own. */
CASE(claim__lists_are_counted)
{
    uint32_t last = 0;
    assert_true(open_at(4096, 0, 0) >= 0);
    for (unsigned i = 0; i < 3; i++) {
        unsigned claims = w.heard.claims;
        w.cmd.want_list = true;
        run_until(w.now + 10 * NS_PER_S);
        assert_int_equal(w.heard.claims, claims + 1);
        assert_true(w.heard.claim.list > last);
        assert_int_equal(w.heard.claim.count, 1);
        assert_int_equal(w.heard.claim.pages, 1);
        last = w.heard.claim.list;
    }
}

/* ---- to the program ---------------------------------------------------------------------------
 */

/* The descriptor of a region that was closed is nobody's: the next one has another. */
CASE(descriptor__of_a_closed_region_is_not_used_again)
{
    enum { ROUNDS = 20 };
    int seen[ROUNDS];
    uint8_t byte;
    for (unsigned i = 0; i < ROUNDS; i++) {
        seen[i] = open_at(4096, 0, 0);
        for (unsigned k = 0; k < i; k++) {
            ClientRegionInfo none;
            assert_int_not_equal(seen[k], seen[i]);
            assert_int_equal(client_region_info(w.client, seen[k], &none), -EINVAL);
            assert_int_equal(read_at(seen[k], 0, &byte, 1), -1);
        }
        assert_int_equal(close_rd(seen[i]), 0);
    }
}

/* A place that was given back is the next one's, so that many open and close without end. */
CASE(descriptor__places_are_used_again)
{
    int one = open_at(4096, 0, 0), two = open_at(4096, 4096, 0), three = open_at(4096, 8192, 0);
    assert_int_equal(close_rd(one), 0);
    assert_int_equal(close_rd(two), 0);
    int again = open_at(4096, 0, 0), more = open_at(4096, 4096, 0);
    assert_true(again != three && more != three && again != more);
    assert_int_equal(info(three).len, 4096);
    assert_int_equal(info(again).active, true);
    assert_int_equal(stats().regions, 3);
}

CASE(region__what_is_known_of_it)
{
    static const uint8_t bytes[100];
    uint8_t buf[8192];
    int rd = open_at(8192 * 2 + 100, 0, DODO_FALLBACK);
    ClientRegionInfo i = info(rd), part;
    assert_int_equal(i.flags, DODO_FALLBACK);
    assert_int_equal(i.len, 8192 * 2 + 100);
    assert_true(i.active);
    assert_false(i.reused);
    assert_int_equal(i.stripes, 0);
    assert_int_equal(i.host.host[0], HOST_IMD);
    assert_int_equal(i.named.port, CONTROL_PORT);
    assert_int_equal(i.address.region, w.cmd.last.region);
    assert_int_equal(i.filled_bytes + i.hits + i.misses + i.written, 0);
    assert_int_equal(write_at(rd, 5, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(info(rd).written, sizeof bytes);
    assert_int_equal(read_at(rd, 8192, buf, sizeof buf), sizeof buf);
    settle();
    assert_int_equal(info(rd).misses, sizeof buf);
    assert_int_equal(read_at(rd, 8192, buf, sizeof buf), sizeof buf);
    assert_int_equal(info(rd).hits, sizeof buf);
    assert_int_equal(read_at(rd, 8192 * 2, buf, 100), 100); /* the last, short block */
    settle();
    assert_int_equal(info(rd).filled_bytes, 8192 + WIRE_BLOCK_SIZE);
    assert_int_equal(client_stripe_info(w.client, rd, 0, &part), 0);
    assert_int_equal(part.flags, DODO_FALLBACK);
    assert_int_equal(part.len, 8192 * 2 + 100);
    assert_int_equal(client_stripe_info(w.client, rd, 1, &part), -EINVAL);
    assert_int_equal(client_stripe_info(w.client, rd + 1, 0, &part), -EINVAL);
    assert_int_equal(close_rd(rd), 0);
}

CASE(figures__count_what_happened)
{
    static const uint8_t bytes[100];
    uint8_t buf[8192];
    ClientStats before = stats();
    assert_int_equal(before.regions + before.active + before.reads + before.writes, 0);
    int rd = open_at(8192 * 4, 0, 0);
    assert_int_equal(stats().regions, 1);
    assert_int_equal(stats().active, 1);
    uint64_t requests = stats().requests;
    assert_true(requests >= 1);
    assert_int_equal(read_at(rd, 0, buf, sizeof buf), sizeof buf);
    assert_int_equal(read_at(rd, 8192, buf, sizeof buf), sizeof buf);
    assert_int_equal(stats().reads, 2);
    assert_int_equal(write_at(rd, 0, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(stats().writes, 1);
    settle();
    assert_int_equal(stats().fills_offered, 2);
    assert_int_equal(stats().fills_done + stats().fills_refused, 2);
    assert_int_equal(stats().fills_dropped, 0);
    assert_int_equal(stats().blocked, 0);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(stats().requests, requests + 1);
    w.cmd.open_status = STATUS_NO_MEMORY;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(stats().refractions, 1);
    assert_int_equal(stats().regions + stats().active, 0);
}
