/* SPDX-License-Identifier: MIT */
#include "base/listen_clock.h"
#include "tests/lib/case.h"

TEST(listen_clock__leaves_out_what_nobody_listened_to)
{
    ListenClock c = {.due_ns = TIME_NEVER};
    assert_int_equal(listen_clock_at(&c, 1000), 1000); /* nothing was promised: no gap */
    listen_clock_until(&c, 1500, 1000);
    assert_int_equal(listen_clock_at(&c, 1400), 1400);
    assert_int_equal(listen_clock_at(&c, 1500), 1500);
    assert_int_equal(listen_clock_at(&c, 9500), 1500); /* a timer of 1500 is due, exactly */
    assert_int_equal(listen_clock_at(&c, 9700), 1500); /* ... until somebody comes and goes again */
    listen_clock_until(&c, 9900, 9700);
    assert_int_equal(listen_clock_at(&c, 9800), 1600);
    assert_int_equal(listen_clock_monotonic(&c, 1600), 9800);
    assert_int_equal(listen_clock_monotonic(&c, TIME_NEVER), TIME_NEVER);
}

/* At once: what comes before the owner is back is its own doing. */
TEST(listen_clock__at_once_is_now)
{
    ListenClock c = {.due_ns = TIME_NEVER};
    listen_clock_until(&c, 0, 1000);
    assert_int_equal(listen_clock_at(&c, 1000), 1000);
    assert_int_equal(listen_clock_at(&c, 1200), 1000);
    assert_int_equal(c.missed_ns, 200);
}

/* However the owner comes and goes, the clock never goes back, nor faster than time. */
TEST(listen_clock__never_goes_back)
{
    uint64_t random = 4711;
    ListenClock c = {.due_ns = TIME_NEVER};
    uint64_t now = 0, last = 0;
    for (int i = 0; i < 10000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t step = random >> 54, ahead = random >> 20 & 0x3ff;
        uint64_t at = listen_clock_at(&c, now += step);
        assert_in_range(at, last, last + step);
        if (random & 1)
            listen_clock_until(&c, ahead == 0 ? TIME_NEVER : now + ahead, now);
        last = at;
    }
}
