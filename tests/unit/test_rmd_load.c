/* SPDX-License-Identifier: MIT */
/* The load less our own share. */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/load.h"
#include "tests/lib/case.h"

TEST(reads_the_load_average)
{
    static const char *const bad[] = {"", "x", "-1 0 0", "0.1x", "nan 0 0", "inf 0 0", "1e99 0"};
    double load;
    assert_int_equal(load_parse("2.50 2.65 2.48 7/112 19082\n", &load), 0);
    assert_true(load == 2.5);
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(load_parse(bad[i], &load), -EINVAL);
}

/* The kernel's own way: every five seconds, load = load * exp(-5/60) + running * (1 - exp(-5/60)).
 * One owner's task, and ours that runs all the time from the 100th second to the 400th. */
TEST(takes_out_what_is_ours)
{
    LoadShare share = {0};
    double average = 0, keep = exp(-5.0 / 60);
    uint64_t ours = 0, t = NS_PER_S;
    for (unsigned s = 1; s <= 900; s++) {
        bool mine = s > 100 && s <= 400, owners = s > 600;
        t += NS_PER_S;
        ours += mine ? 2 * NS_PER_S : 0; /* two threads */
        load_share_update(&share, ours, t);
        if (s % 5 == 0)
            average = average * keep + ((mine ? 2 : 0) + (owners ? 1 : 0)) * (1 - keep);
        double left = load_less(average, &share, 1);
        if (s <= 600) /* what steps of five seconds and of one differ by */
            assert_true(left < 0.17);
        if (s > 850)
            assert_true(left > 0.95);
    }
}

TEST(a_new_process_starts_over)
{
    LoadShare share = {0};
    uint64_t t = 1000 * NS_PER_S;
    load_share_update(&share, 500 * NS_PER_S, t); /* what it did before is not known */
    assert_true(share.share == 0);
    load_share_update(&share, 560 * NS_PER_S, t += 60 * NS_PER_S);
    assert_true(fabs(share.share - (1 - exp(-1))) < 1e-9);
    double before = share.share;
    load_share_update(&share, 1, t); /* at the same instant: another process, nothing happens */
    assert_true(share.share == before);
    load_share_update(&share, NS_PER_S, t += NS_PER_S); /* less than last time: another process */
    assert_true(share.share < before);
    load_share_gone(&share, t += 600 * NS_PER_S);
    assert_true(share.share < 1e-4);
    load_share_update(&share, NS_PER_S, t += NS_PER_S); /* its time counts from its beginning */
    assert_true(fabs(share.share - (1 - exp(-1.0 / 60))) < 1e-4);
    load_share_update(&share, 5 * NS_PER_S, t - 5 * NS_PER_S); /* a clock that goes back */
    assert_true(load_less(0.001, &share, 1) == 0);
}

/* Hours that ran while nobody looked are not of the last second, and would hide what others run. */
TEST(a_process_that_could_not_be_seen_starts_over)
{
    LoadShare share = {0};
    uint64_t t = 1000 * NS_PER_S;
    load_share_gone(&share, t);
    load_share_update(&share, NS_PER_S, t += NS_PER_S);
    const double before = share.share;
    load_share_lost(&share, t += NS_PER_S);
    assert_true(share.share < before);
    load_share_update(&share, 3600 * NS_PER_S, t += NS_PER_S);
    assert_true(share.share < before);
    load_share_update(&share, 3601 * NS_PER_S, t += NS_PER_S);
    assert_true(fabs(share.share - before * exp(-3.0 / 60) - (1 - exp(-1.0 / 60))) < 1e-3);
}
