/* SPDX-License-Identifier: MIT */
/* Large datagrams are used only where a probe of their length has come back. */
#include "libdodo/path_probe.h"
#include "tests/lib/case.h"

static const Addr ip4 = {.kind = ADDR_IP4}, ip6 = {.kind = ADDR_IP6};

TEST(start__common_packets_whatever_the_route_promises)
{
    PathProbe p;
    assert_int_equal(path_probe_start(&p, &ip4, 8972), 1472);
    assert_int_equal(path_probe_start(&p, &ip6, 65487), 1452);
    assert_true(path_probe_due(&p, 7, 0));
}

TEST(start__nothing_to_find_out_on_a_common_or_narrow_path)
{
    PathProbe p;
    assert_int_equal(path_probe_start(&p, &ip4, 1472), 1472);
    assert_false(path_probe_due(&p, 7, 0));
    assert_int_equal(path_probe_start(&p, &ip4, 1300), 1300);
    assert_false(path_probe_due(&p, 7, 0));
    assert_int_equal(path_probe_answered(&p, 0, 1300), 0);
}

TEST(due__three_times_further_and_further_apart)
{
    PathProbe p;
    unsigned sent = 0;
    (void)path_probe_start(&p, &ip4, 8972);
    for (uint64_t now = 0; now < 1000000000; now += 1000000)
        sent += path_probe_due(&p, 1 + now, now);
    assert_int_equal(sent, PROBE_TRIES);
    assert_int_equal(p.nonce, 1 + 3 * (uint64_t)PROBE_FIRST_NS);
}

TEST(answered__only_the_last_probe_and_its_length)
{
    PathProbe p;
    (void)path_probe_start(&p, &ip4, 8972);
    assert_int_equal(path_probe_answered(&p, 0, 8972), 0); /* none was sent */
    assert_true(path_probe_due(&p, 0, 0));                 /* 0 would mean none */
    assert_int_equal(p.nonce, 1);
    assert_int_equal(path_probe_answered(&p, 2, 8972), 0);
    assert_int_equal(path_probe_answered(&p, 1, 1472), 0);
    assert_int_equal(path_probe_answered(&p, 1, 8972), 8972);
    assert_int_equal(path_probe_answered(&p, 1, 8972), 0); /* a late duplicate */
    assert_false(path_probe_due(&p, 3, UINT64_MAX));
}

TEST(end__no_more_probes_and_no_answer_counts)
{
    PathProbe p;
    (void)path_probe_start(&p, &ip4, 8972);
    assert_true(path_probe_due(&p, 5, 0));
    path_probe_end(&p);
    assert_false(path_probe_due(&p, 6, UINT64_MAX));
    assert_int_equal(path_probe_answered(&p, 5, 8972), 0);
}
