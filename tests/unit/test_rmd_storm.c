/* SPDX-License-Identifier: MIT */
/* An owner's program that takes memory steadily while all that may be lent is lent and filled: how
 * soon rmd asks for it, how much, and that what comes back does not look as if still more were
 * taken. Time goes by in milliseconds; memory is read when the monitor wants it. */
#include "tests/lib/case.h"
#include "tests/unit/monitor_fixture.h"

#define MB 1000000ull
#define MIB (1ull << 20)

enum {
    OBEY_MS = 8,              /* until imd has heard of a new limit */
    GIVE_BACK_MB_PER_MS = 10, /* as huge pages go */
    LATE_MAX_MS = 1000,
};

/* How the kernel tells of what imd gives back. */
typedef struct Kernel {
    unsigned late_ms; /* so much later than imd's resident memory falls */
    bool lists;       /* it stays on the processors' lists, for good */
    bool unnamed;     /* ... of which we do not know */
} Kernel;

static struct {
    Kernel kernel;
    uint64_t owner, given[LATE_MAX_MS]; /* bytes; what imd gave back in each of the last ms */
    uint64_t ms, heard_ms, heard;
    uint64_t asked_ms, least; /* when the limit first fell, and how low it went */
} s;

static const MonitorConfig quick = {.idle_after_ns = 2 * NS_PER_S,
                                    .poll_ns = NS_PER_S,
                                    .leave_deadline_ns = NS_PER_S,
                                    .load_below = 0.3,
                                    .pool_max_bytes = UINT64_MAX};

/* A host of 24 GiB, of which 1.5 GiB are lent; imd is filled. */
static void lent_and_filled(Kernel kernel)
{
    begin(&quick);
    memset(&s, 0, sizeof s);
    s.kernel = kernel;
    h.total = 24 * GIB;
    h.spare = h.total / 100 * (15 + 1 + 1) + 1536 * MIB; /* headroom, reserve, slack */
    pass(quick.idle_after_ns + 2 * NS_PER_S);
    assert_int_equal(state_now(), MONITOR_LENDING);
    assert_true(h.limit > 1500 * MIB && h.limit <= 1536 * MIB);
    h.held = h.limit;
    h.spare -= h.held;
    pass(10 * NS_PER_S);
    s.least = s.heard = h.limit;
}

/* What imd gave back @late_ms ago is counted as free now, if ever. */
static void imd_runs(void)
{
    uint64_t most = GIVE_BACK_MB_PER_MS * MB, *now = &s.given[s.ms % LATE_MAX_MS];
    if (h.limit != s.heard && s.ms >= s.heard_ms)
        s.heard = h.limit;
    *now = h.held > s.heard ? h.held - s.heard : 0;
    *now = *now < most ? *now : most;
    h.held -= *now;
    if (s.kernel.lists && !s.kernel.unnamed)
        h.aside += *now;
    else if (!s.kernel.lists && s.ms >= s.kernel.late_ms)
        h.spare += s.given[(s.ms - s.kernel.late_ms) % LATE_MAX_MS];
}

static void rmd_runs(void)
{
    uint64_t before = h.limit;
    h.now_ns += NS_PER_MS;
    h.programs = s.owner + h.held;
    if (monitor_memory_due_ns(h.monitor) <= h.now_ns)
        read_memory();
    if (s.ms % 1000 == 999)
        look_now();
    monitor_expire(h.monitor, h.now_ns);
    if (h.limit < before && !s.asked_ms)
        s.asked_ms = s.ms;
    if (h.limit != before)
        s.heard_ms = s.ms + OBEY_MS;
    s.least = h.limit < s.least ? h.limit : s.least;
}

/* The owner's programs take so much a second, for so long. */
static void take(uint64_t mb_per_s, unsigned ms)
{
    for (unsigned i = 0; i < ms; i++) {
        s.ms++;
        h.spare -= mb_per_s * MB / 1000;
        s.owner += mb_per_s * MB / 1000;
        imd_runs();
        rmd_runs();
    }
}

/* ---- how soon -------------------------------------------------------------------------------- */

/* Of the 250 ms in which the first page should be back imd has some. */
CASE(a_slow_storm_is_noticed_soon)
{
    static const uint64_t rates[] = {100, 200, 300, 600, 1200};
    for (unsigned i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        lent_and_filled((Kernel){0});
        take(rates[i], 2000);
        print_message("# %u MB/s: asked for the first page after %u ms\n", (unsigned)rates[i],
                      (unsigned)s.asked_ms);
        assert_in_range(s.asked_ms, 1, 200);
    }
}

/* All the while what the kernel counts as free is more than the headroom and its own reserve. */
CASE(the_headroom_is_not_touched)
{
    static const uint64_t rates[] = {100, 300, 1200};
    for (unsigned i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        lent_and_filled((Kernel){0});
        while (s.owner < 1200 * MIB) {
            take(rates[i], 1);
            assert_true(h.spare > h.total / 100 * 16);
        }
    }
}

/* ---- how much -------------------------------------------------------------------------------- */

/* What the owner took, what would be gone half a second later, and a slack. */
static void takes_back_no_more_than_that(Kernel kernel, uint64_t mb_per_s)
{
    lent_and_filled(kernel);
    uint64_t limit = h.limit, slack = h.total / 100;
    take(mb_per_s, 400);
    take(0, 3000);
    uint64_t most = s.owner + mb_per_s * MB / 2 + slack;
    print_message("# %u MB/s, told after %u ms%s: taken %u, asked for %u MB\n", (unsigned)mb_per_s,
                  kernel.late_ms,
                  !kernel.lists    ? ""
                  : kernel.unnamed ? ", unknown lists"
                                   : ", lists",
                  (unsigned)(s.owner / MB), (unsigned)((limit - s.least) / MB));
    assert_in_range(limit - s.least, 1, most);
    assert_int_equal(state_now(), MONITOR_LENDING);
}

CASE(giving_back_does_not_feed_on_itself)
{
    static const unsigned late_ms[] = {0, 20, 60, 200, 500};
    for (unsigned i = 0; i < sizeof late_ms / sizeof late_ms[0]; i++) {
        takes_back_no_more_than_that((Kernel){.late_ms = late_ms[i]}, 300);
        takes_back_no_more_than_that((Kernel){.late_ms = late_ms[i]}, 900);
    }
}

CASE(nor_where_it_stays_on_the_processors_lists)
{
    takes_back_no_more_than_that((Kernel){.lists = true}, 300);
    takes_back_no_more_than_that((Kernel){.lists = true}, 900);
}

/* That is not lent a second time: who takes memory next may run on another processor. */
CASE(what_is_on_those_lists_is_not_lent)
{
    lent_and_filled((Kernel){.lists = true});
    take(300, 1000);
    take(0, 500);
    uint64_t limit = h.limit;
    take(0, 20000);
    assert_int_equal(h.limit, limit);
    h.spare += h.aside; /* until it comes off them */
    h.aside = 0;
    take(0, 20000);
    assert_true(h.limit + s.owner > 1500 * MIB);
}

/* ---- what is no storm -------------------------------------------------------------------------
 */

/* A program starts, takes 50 MB as fast as it can, and ends; again and again. */
CASE(programs_that_come_and_go_move_nothing)
{
    lent_and_filled((Kernel){0});
    for (unsigned i = 0; i < 20; i++) {
        take(2000, 25);
        take(0, 300);
        h.spare += s.owner;
        s.owner = 0;
        take(0, 300);
    }
    assert_int_equal(s.asked_ms, 0);
}

/* Less than a 3200th of all memory in 100 ms is no storm, however long it goes on: the slack is for
 * that. Nor does one program that starts meanwhile make it one. */
CASE(what_trickles_away_has_the_slack)
{
    lent_and_filled((Kernel){0});
    take(50, 4000);
    assert_int_equal(s.asked_ms, 0);
    lent_and_filled((Kernel){0});
    take(50, 1000);
    take(2000, 25);
    take(50, 1000);
    assert_int_equal(s.asked_ms, 0);
}
