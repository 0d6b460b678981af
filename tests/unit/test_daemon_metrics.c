/* SPDX-License-Identifier: MIT */
/* Tables and snapshots as text, byte by byte; and that the daemons' own fit. */
#include <string.h>

#include "base/cleanup.h"
#include "cmd/metrics.h"
#include "imd/metrics.h"
#include "tests/lib/case.h"

typedef struct Snapshot {
    uint64_t reads, writes, bytes, wait_ns, on, off;
} Snapshot;

#define AT(field) offsetof(Snapshot, field)
static const Metric rows[] = {
    {"a_build", METRIC_INFO, NULL, "the program", "version", "0.1", 0},
    {"a_calls", METRIC_COUNTER, NULL, "calls, by kind", "kind", "read", AT(reads)},
    {"a_calls", METRIC_COUNTER, NULL, NULL, "kind", "write", AT(writes)},
    {"a_used_bytes", METRIC_GAUGE, "bytes", "memory", NULL, NULL, AT(bytes)},
    {"a_wait_seconds", METRIC_GAUGE, "seconds", "a wait", NULL, NULL, AT(wait_ns)},
    {"a_state", METRIC_STATES, NULL, "what it does", "a_state", "on", AT(on)},
    {"a_state", METRIC_STATES, NULL, NULL, "a_state", "off", AT(off)},
};
static const MetricTable table = {rows, ARRAY_SIZE(rows)};
static const Snapshot snapshot = {1, UINT64_MAX, 4096, 61000000005, 0, 1};
static const char wanted[] = "# TYPE a_build info\n"
                             "# HELP a_build the program\n"
                             "a_build_info{version=\"0.1\"} 1\n"
                             "# TYPE a_calls counter\n"
                             "# HELP a_calls calls, by kind\n"
                             "a_calls_total{kind=\"read\"} 1\n"
                             "a_calls_total{kind=\"write\"} 18446744073709551615\n"
                             "# TYPE a_used_bytes gauge\n"
                             "# UNIT a_used_bytes bytes\n"
                             "# HELP a_used_bytes memory\n"
                             "a_used_bytes 4096\n"
                             "# TYPE a_wait_seconds gauge\n"
                             "# UNIT a_wait_seconds seconds\n"
                             "# HELP a_wait_seconds a wait\n"
                             "a_wait_seconds 61.000000005\n"
                             "# TYPE a_state stateset\n"
                             "# HELP a_state what it does\n"
                             "a_state{a_state=\"on\"} 0\n"
                             "a_state{a_state=\"off\"} 1\n"
                             "# EOF\n";

TEST(text__is_open_metrics)
{
    char buf[2048];
    assert_int_equal(metrics_write(&table, &snapshot, buf, sizeof buf), sizeof wanted - 1);
    assert_string_equal(buf, wanted);
}

/* Nothing beyond the room, and no part of a text. */
TEST(text__has_room_or_is_none)
{
    char buf[sizeof wanted + 1];
    for (size_t cap = 0; cap < sizeof wanted; cap++) {
        memset(buf, '#', sizeof buf);
        assert_int_equal(metrics_write(&table, &snapshot, buf, cap), 0);
        assert_int_equal(buf[cap], '#');
    }
    assert_int_equal(metrics_write(&table, &snapshot, buf, sizeof wanted), sizeof wanted - 1);
}

/* With all values as long as they can be. */
static void assert_fits(const MetricTable *t, const void *full)
{
    char buf[METRICS_TEXT_MAX];
    size_t len = metrics_write(t, full, buf, sizeof buf);
    assert_true(len > 1000);
    assert_true(len < sizeof buf / 2);
}

TEST(text__of_the_daemons_fits)
{
    CmdMetrics c;
    ImdMetrics i;
    memset(&c, 0xff, sizeof c);
    memset(&i, 0xff, sizeof i);
    assert_fits(&cmd_metrics, &c);
    assert_fits(&imd_metrics, &i);
}

/* Each count of each thread reaches the sum; none is left out, none comes twice. */
TEST(imd__adds_up_its_threads)
{
    ImdCounts counts;
    ImdMetrics m = {.threads = 0};
    uint64_t words[IMD_COUNTS_WORDS], sum[IMD_COUNTS_WORDS];
    for (unsigned i = 0; i < IMD_COUNTS_WORDS; i++)
        words[i] = 1 + i * i;
    memcpy(&counts, words, sizeof counts);
    imd_metrics_add(&m, &counts);
    imd_metrics_add(&m, &counts);
    const ImdCounts added = {.data = m.data,
                             .refused = m.common.refused,
                             .sent = m.common.sent,
                             .astray = m.common.astray,
                             .frames_sent = m.frames_sent,
                             .frames_received = m.frames_received,
                             .frames_refused = m.frames_refused,
                             .reads_waiting = m.reads_waiting};
    memcpy(sum, &added, sizeof sum);
    for (unsigned i = 0; i < IMD_COUNTS_WORDS; i++)
        assert_int_equal(sum[i], 2 * words[i]);
    assert_int_equal(m.threads, 2);
}
