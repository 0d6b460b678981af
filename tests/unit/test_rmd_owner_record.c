/* SPDX-License-Identifier: MIT */
/* What rmd keeps for the users of its host: pauses, and a week of hours. */
#include "rmd/owner_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/case.h"

#define NOW (490000ull * 3600 + 1800)
#define HOUR 490000ull
#define GIB (1ull << 30)

static OwnerRecord r;
static char text[OWNER_RECORD_TEXT_MAX];

static int set_up(void **state)
{
    (void)state;
    memset(&r, 0, sizeof r);
    return 0;
}
#define CASE(name) TEST_WITH(name, set_up, NULL)

static const char *written(uint64_t now_s)
{
    const size_t len = owner_record_write(&r, now_s, text, sizeof text);
    assert_int_equal(len, strlen(text));
    return text;
}

CASE(pause__the_last_one_counts)
{
    assert_int_equal(owner_record_paused_until(&r, NOW), 0);
    assert_int_equal(owner_record_pause(&r, 1000, NOW + 60, NOW), 0);
    assert_int_equal(owner_record_pause(&r, 1001, NOW + 30, NOW), 0);
    assert_int_equal(owner_record_paused_until(&r, NOW), NOW + 60);
    assert_int_equal(owner_record_pause(&r, 1000, NOW + 10, NOW), 0); /* his other word */
    assert_int_equal(owner_record_paused_until(&r, NOW), NOW + 30);
    assert_int_equal(owner_record_paused_until(&r, NOW + 30), 0);
}

/* What one user wants is not undone by another. */
CASE(resume__is_of_who_paused)
{
    (void)owner_record_pause(&r, 1000, NOW + 60, NOW);
    (void)owner_record_pause(&r, 1001, OWNER_FOREVER, NOW);
    assert_false(owner_record_resume(&r, 1002, NOW));
    assert_true(owner_record_resume(&r, 1001, NOW));
    assert_int_equal(owner_record_paused_until(&r, NOW), NOW + 60);
    assert_false(owner_record_resume(&r, 1001, NOW));
    (void)owner_record_pause(&r, 1001, OWNER_FOREVER, NOW);
    (void)owner_record_pause(&r, 0, NOW + 90, NOW);
    assert_true(owner_record_resume(&r, 0, NOW));  /* a script of root's may end its own */
    assert_false(owner_record_resume(&r, 0, NOW)); /* and end it again */
    assert_int_equal(owner_record_paused_until(&r, NOW), OWNER_FOREVER);
    owner_record_resume_all(&r);
    assert_int_equal(owner_record_paused_until(&r, NOW), 0);
}

/* A clock that is set right after a start, as where a host has none of its own, ends no pause. */
CASE(pause__takes_as_long_as_was_asked_for_whatever_the_clock)
{
    const uint64_t clock = NOW - 100, day = 24 * 3600;
    (void)owner_record_pause(&r, 1000, NOW + 600, NOW); /* as it was read: until then */
    assert_false(owner_record_clock(&r, clock));
    (void)owner_record_pause(&r, 1001, NOW + 60, NOW);
    (void)owner_record_pause(&r, 1002, OWNER_FOREVER, NOW);
    assert_false(owner_record_clock(&r, clock + 1));
    assert_false(owner_record_clock(&r, clock - 1));
    assert_true(owner_record_clock(&r, clock + day));
    assert_true(owner_record_resume(&r, 1002, NOW + day));
    assert_int_equal(owner_record_paused_until(&r, NOW + day), NOW + day + 60);
    assert_true(owner_record_clock(&r, clock - day)); /* and back */
    assert_true(owner_record_resume(&r, 1000, NOW - day) || true);
    assert_int_equal(owner_record_paused_until(&r, NOW - day), NOW - day + 60);
}

CASE(pause__is_bounded)
{
    for (uint32_t i = 1; i < OWNER_PAUSES_MAX; i++)
        assert_int_equal(owner_record_pause(&r, 999 + i, NOW + 59 + i, NOW), 0);
    assert_int_equal(owner_record_pause(&r, 5, NOW + 60, NOW), -ENOSPC);
    assert_int_equal(owner_record_pause(&r, 0, NOW + 999, NOW), 0); /* nobody locks root out */
    assert_int_equal(owner_record_pause(&r, 0, NOW + 998, NOW), 0);
    assert_int_equal(owner_record_pause(&r, 5, NOW + 60, NOW), -ENOSPC);
    assert_int_equal(owner_record_pause(&r, 1000, NOW + 99, NOW), 0);
    assert_int_equal(owner_record_pause(&r, 5, NOW + 90, NOW + 61), 0); /* one is over */
}

CASE(note__sums_up_in_its_hour)
{
    owner_record_note(&r, NOW, 1000, MONITOR_WHY_LENT, 2 * GIB);
    owner_record_note(&r, NOW + 1, 500, MONITOR_WHY_LENT, 4 * GIB);
    owner_record_note(&r, NOW + 2, 700, MONITOR_WHY_CONSOLE, 4 * GIB);
    owner_record_note(&r, NOW + 3600, 9, MONITOR_WHY_LOAD, 0);
    const OwnerHour *h = owner_record_hour(&r, HOUR, NOW + 3600);
    assert_int_equal(h->ms[MONITOR_WHY_LENT], 1500);
    assert_int_equal(h->ms[MONITOR_WHY_CONSOLE], 700);
    assert_int_equal(h->mib_ms, 2048 * 1000 + 4096 * 500);
    assert_int_equal(owner_record_hour(&r, HOUR + 1, NOW + 3600)->ms[MONITOR_WHY_LOAD], 9);
    assert_null(owner_record_hour(&r, HOUR - 1, NOW + 3600));
}

/* A clock that is set back does not make hours of more than an hour. */
CASE(note__an_hour_has_no_more)
{
    owner_record_note(&r, NOW, 3000000, MONITOR_WHY_LOAD, 0);
    owner_record_note(&r, NOW, 3000000, MONITOR_WHY_LENT, UINT64_MAX);
    const OwnerHour *h = owner_record_hour(&r, HOUR, NOW);
    assert_int_equal(h->ms[MONITOR_WHY_LENT], 600000);
    assert_int_equal(h->mib_ms, 600000ull << 24);
}

CASE(week__is_all_there_is)
{
    for (uint64_t i = 0; i < 2 * OWNER_HOURS; i++)
        owner_record_note(&r, NOW + i * 3600, 1 + i, MONITOR_WHY_LENT, GIB);
    const uint64_t now = NOW + (2 * OWNER_HOURS - 1) * 3600;
    const uint64_t last = HOUR + 2 * OWNER_HOURS - 1;
    assert_non_null(owner_record_hour(&r, last, now));
    assert_non_null(owner_record_hour(&r, last - OWNER_HOURS + 1, now));
    assert_null(owner_record_hour(&r, last - OWNER_HOURS, now));
    assert_null(owner_record_hour(&r, last + 1, now));
    assert_null(owner_record_hour(&r, last - 5, now + 3600 * OWNER_HOURS)); /* it slept */
}

CASE(text__comes_back_as_it_was)
{
    (void)owner_record_pause(&r, 1000, NOW + 60, NOW);
    (void)owner_record_pause(&r, UINT32_MAX, OWNER_FOREVER, NOW);
    for (unsigned i = 0; i < OWNER_HOURS; i++)
        for (unsigned why = 0; why < MONITOR_WHY_MAX; why++)
            owner_record_note(&r, NOW - 3600 * i, 400000 + why, (enum MonitorWhy)why, 1ull << 44);
    OwnerRecord back;
    static char again[OWNER_RECORD_TEXT_MAX];
    assert_true(owner_record_read(&back, written(NOW), NOW));
    (void)owner_record_write(&back, NOW, again, sizeof again);
    assert_string_equal(again, text);
    assert_true(strlen(text) < OWNER_RECORD_TEXT_MAX - 1);
    assert_true(owner_record_read(&back, text, NOW + 60)); /* later there is less of it */
    assert_int_equal(back.pauses_count, 1);
    assert_true(owner_record_read(&back, text, NOW - 3600));
    assert_null(owner_record_hour(&back, HOUR, NOW));
}

/* Of the last pauses nothing is known where some are missing. */
CASE(text__that_is_not_whole_is_known)
{
    static const struct {
        const char *text;
        bool whole;
    } rows[] = {
        {"", false},
        {"\n", false},
        {"pause 1000 forever\n", true}, /* of an older version */
        {"pause 1000 forever", false},
        {"pauses 0\n", true},
        {"pauses 1\npause 1000 5\n", true}, /* it is over */
        {"pauses 2\npause 1000 forever\n", false},
        {"pauses 0\npause 1000 forever\n", false},
        {"pauses \n", false},
        {"pauses 0 0\n", false},
        {"pauses 0\nunknown\n", true},
        {"hour 1 2 3\n", true}, /* of another version */
        {"hour 490001 0 1 2 3 4 5 6 7 8 9\n", true},
        {"hour 490000 0 1 2 3 4 5 6 x\n", false},
        {"hour\n", false},
        {"pause 0 forev\n", false},
        {"later 1\n", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (owner_record_read(&r, rows[i].text, NOW) != rows[i].whole)
            fail_msg("%s: %s", rows[i].whole ? "refused" : "taken", rows[i].text);
    text[0] = '\0';
    for (unsigned i = 0; i < OWNER_PAUSES_MAX; i++) /* one more than users may have */
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "pause %u forever\n",
                       i + 1);
    assert_false(owner_record_read(&r, text, NOW));
}

CASE(unknown__lasts_until_all_resume)
{
    r.unknown = true;
    OwnerRecord back;
    assert_true(owner_record_read(&back, written(NOW), NOW));
    assert_true(back.unknown);
    (void)owner_record_pause(&back, 0, OWNER_FOREVER, NOW);
    assert_true(owner_record_resume(&back, 0, NOW));
    assert_true(back.unknown);
    owner_record_resume_all(&back);
    assert_false(back.unknown);
}

CASE(text__what_is_not_understood_is_left_out)
{
    static const char *const lines[] = {
        "pause 1000\n",
        "pause x 5\n",
        "pause 4294967296 forever\n",
        "pause 1000 99999999999999999999999\n",
        "pause 1000 forever more\n",
        "hour 490000 0 1 2 3 4 5 6\n",
        "hour 490000 0 1 2 3 4 5 6 7 8\n",
        "hour 490000 0 3600000 1 0 0 0 0 0\n",
        "hour 490001 0 1 2 3 4 5 6 7\n",
        "hour 489832 0 1 2 3 4 5 6 7\n",
        "hour 0 0 1 2 3 4 5 6 7\n",
        "hour -1 0 1 2 3 4 5 6 7\n",
        "hours\n\n\nx",
    };
    const OwnerRecord none = {.pauses_count = 0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        (void)owner_record_read(&r, lines[i], NOW);
        if (memcmp(&r, &none, sizeof r) != 0)
            fail_msg("taken: %s", lines[i]);
    }
    memset(text, 'x', sizeof text);
    (void)strcpy(text + sizeof text - 40, "\nhour 490000 0 1 2 3 4 5 6 7");
    assert_false(owner_record_read(&r, text, NOW));
    assert_non_null(owner_record_hour(&r, HOUR, NOW));
}

CASE(turn__notes_what_was_watched_and_saves_now_and_then)
{
    const uint64_t gap = 10 * NS_PER_S, start = 5 * NS_PER_S;
    OwnerTurn t = {.noted_ns = start, .saved_ns = start};
    uint64_t ms = 7, now = start + NS_PER_MS - 1;
    assert_int_equal(owner_turn(&t, gap, now, &ms), 0);
    assert_int_equal(ms, 7);
    assert_int_equal(owner_turn(&t, gap, now += 1, &ms), OWNER_NOTES);
    assert_int_equal(ms, 1);
    assert_int_equal(owner_turn(&t, gap, now += gap - 1, &ms), OWNER_NOTES);
    assert_int_equal(ms, 9999);
    assert_int_equal(owner_turn(&t, gap, now += gap, &ms), 0); /* nobody watched */
    now = start + 15 * 60 * NS_PER_S;
    assert_int_equal(owner_turn(&t, gap, now - 1, &ms), 0);
    assert_int_equal(owner_turn(&t, gap, now + NS_PER_MS, &ms), OWNER_NOTES | OWNER_SAVES);
}

CASE(turn__rests_after_who_asked)
{
    assert_int_equal(owner_turn_rest_ns(5, 15), 90);
    assert_int_equal(owner_turn_rest_ns(15, 5), 0);
    assert_int_equal(owner_turn_rest_ns(0, 3600 * NS_PER_S), NS_PER_S); /* rmd stood still */
}
