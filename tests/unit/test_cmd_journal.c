/* SPDX-License-Identifier: MIT */
/* What the manager's log names, and when. */
#include "base/time.h"
#include "cmd/journal.h"
#include "tests/lib/case.h"

static const uint64_t NOW_NS = 1000 * NS_PER_S;

TEST(events__of_a_crowd_are_counted)
{
    Journal j = {0};
    unsigned unnamed;
    for (unsigned i = 0; i < JOURNAL_EVENTS_MAX; i++) {
        assert_true(journal_event(&j, NOW_NS + i, &unnamed));
        assert_int_equal(unnamed, 0);
    }
    for (unsigned i = 0; i < 7; i++)
        assert_false(journal_event(&j, NOW_NS + NS_PER_S, &unnamed));
    assert_true(journal_event(&j, NOW_NS + 10 * NS_PER_S, &unnamed));
    assert_int_equal(unnamed, 7);
    assert_true(journal_event(&j, NOW_NS + 20 * NS_PER_S, &unnamed));
    assert_int_equal(unnamed, 0);
}

TEST(directories__are_reported_when_they_changed)
{
    Journal j = {0};
    ManagerStats s = {0};
    assert_false(journal_report(&j, &s, NOW_NS));
    assert_int_equal(journal_deadline(&j), TIME_NEVER);
    s.hosts = 1;
    assert_true(journal_report(&j, &s, NOW_NS));
    assert_false(journal_report(&j, &s, NOW_NS));
    s.regions = 5; /* that alone is no news */
    assert_false(journal_report(&j, &s, NOW_NS + NS_PER_S));
    assert_int_equal(journal_deadline(&j), TIME_NEVER);
}

TEST(directories__are_reported_once_a_second)
{
    Journal j = {0};
    ManagerStats s = {.hosts = 1};
    assert_true(journal_report(&j, &s, NOW_NS));
    s.lost_hosts = 1;
    assert_false(journal_report(&j, &s, NOW_NS + 1));
    assert_int_equal(journal_deadline(&j), NOW_NS + NS_PER_S);
    s.reclaimed_clients = s.reclaimed_regions = 2;
    assert_true(journal_report(&j, &s, NOW_NS + NS_PER_S));
    assert_int_equal(journal_deadline(&j), TIME_NEVER);
}

TEST(directories__each_count_is_news)
{
    static const ManagerStats changed[] = {
        {.hosts = 1}, {.lost_hosts = 1}, {.reclaimed_clients = 1}, {.reclaimed_regions = 1}};
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++) {
        Journal j = {0};
        assert_true(journal_report(&j, &changed[i], NOW_NS));
        assert_false(journal_report(&j, &changed[i], NOW_NS + NS_PER_S));
    }
}
