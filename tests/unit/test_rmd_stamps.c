/* SPDX-License-Identifier: MIT */
/* What time stamps tell, with clocks that jump. */
#include "base/time.h"
#include "rmd/stamps.h"
#include "tests/lib/case.h"

#define S NS_PER_S
#define NOW (1700000000 * S)
#define AWAKE (100000 * S)

/* A look at one file. */
static uint64_t look(Stamps *s, uint64_t now_ns, uint64_t awake_ns, uint64_t stamp_ns)
{
    stamps_begin(s, now_ns, awake_ns);
    stamps_add(s, "a", stamp_ns);
    return stamps_end(s);
}

TEST(stamps__first_look)
{
    static const struct {
        uint64_t stamp_ns, idle_ns;
    } cases[] = {
        {NOW - 300 * S, 300 * S},
        {NOW, 0},
        {NOW + 1, 0}, /* in the future */
        {NOW + 3600 * S, 0},
        {NOW - AWAKE, AWAKE},
        {NOW - AWAKE - 1, AWAKE}, /* before the host's start */
        {0, AWAKE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Stamps s = {.started = false};
        assert_int_equal(look(&s, NOW, AWAKE, cases[i].stamp_ns), cases[i].idle_ns);
    }
}

TEST(stamps__the_youngest_counts)
{
    Stamps s = {.started = false};
    stamps_begin(&s, NOW, AWAKE);
    stamps_add(&s, "a", NOW - 500 * S);
    stamps_add(&s, "b", NOW - 20 * S);
    stamps_add(&s, "c", NOW - 300 * S);
    assert_int_equal(stamps_end(&s), 20 * S);
}

TEST(stamps__activity)
{
    Stamps s = {.started = false};
    uint64_t stamp_ns = NOW - 300 * S;
    assert_int_equal(look(&s, NOW, AWAKE, stamp_ns), 300 * S);
    assert_int_equal(look(&s, NOW + S, AWAKE + S, stamp_ns), 301 * S);
    stamp_ns = NOW + S + S / 4; /* a quarter of a second after that look */
    assert_int_equal(look(&s, NOW + 2 * S, AWAKE + 2 * S, stamp_ns), S * 3 / 4);
    assert_int_equal(look(&s, NOW + 7 * S, AWAKE + 7 * S, stamp_ns), S * 3 / 4 + 5 * S);
}

/* The clock is set forward by a day: nobody has been idle for a day. And back. */
TEST(stamps__clock_jumps)
{
    uint64_t day = 86400 * S, stamp_ns = NOW - 10 * S;
    Stamps s = {.started = false};
    assert_int_equal(look(&s, NOW, AWAKE, stamp_ns), 10 * S);
    assert_int_equal(look(&s, NOW + day, AWAKE + S, stamp_ns), 11 * S);
    assert_int_equal(look(&s, NOW - day, AWAKE + 2 * S, stamp_ns), 12 * S);
    /* A touch by a clock that went back is one, though its stamp is older than the last. */
    assert_int_equal(look(&s, NOW - day + S, AWAKE + 3 * S, NOW - day + S), 0);
    assert_int_equal(look(&s, NOW - day + 2 * S, AWAKE + 4 * S, NOW - day + S), S);
    /* A touch after which the clock was set forward: within the last second all the same. */
    assert_int_equal(look(&s, NOW + day, AWAKE + 5 * S, NOW), S - 1);
}

TEST(stamps__from_the_future)
{
    Stamps s = {.started = false};
    assert_int_equal(look(&s, NOW, AWAKE, NOW + 3600 * S), 0);
    assert_int_equal(look(&s, NOW + 60 * S, AWAKE + 60 * S, NOW + 3600 * S), 60 * S);
}

/* That a terminal comes or goes is somebody's doing. */
TEST(stamps__files_come_and_go)
{
    Stamps s = {.started = false};
    assert_int_equal(look(&s, NOW, AWAKE, NOW - 900 * S), 900 * S);
    stamps_begin(&s, NOW + S, AWAKE + S);
    stamps_add(&s, "b", NOW - 800 * S);
    stamps_add(&s, "a", NOW - 900 * S);
    assert_int_equal(stamps_end(&s), S - 1); /* after the look before, at the earliest */
    stamps_begin(&s, NOW + 2 * S, AWAKE + 2 * S);
    stamps_add(&s, "a", NOW - 900 * S); /* in another order: the same */
    stamps_add(&s, "b", NOW - 800 * S);
    assert_int_equal(stamps_end(&s), 2 * S - 1);
    assert_int_equal(look(&s, NOW + 9 * S, AWAKE + 9 * S, NOW - 900 * S), 7 * S - 1);
}

/* Two files that change places in time are not the same as before. */
TEST(stamps__names_matter)
{
    Stamps s = {.started = false};
    stamps_begin(&s, NOW, AWAKE);
    stamps_add(&s, "a", NOW - 900 * S);
    stamps_add(&s, "b", NOW - 800 * S);
    assert_int_equal(stamps_end(&s), 800 * S);
    stamps_begin(&s, NOW + S, AWAKE + S);
    stamps_add(&s, "a", NOW - 800 * S);
    stamps_add(&s, "b", NOW - 900 * S);
    assert_int_equal(stamps_end(&s), S - 1);
}

/* Stamps go by a clock that moves in steps: a touch right after a look has the time before it. It
 * came after that look all the same. */
TEST(stamps__late_clock)
{
    Stamps s = {.started = false};
    assert_int_equal(look(&s, NOW, AWAKE, NOW - 300 * S), 300 * S);
    assert_int_equal(look(&s, NOW + S, AWAKE + S, NOW - S / 4), S - 1);
}
