/* SPDX-License-Identifier: MIT */
/* A monitor with the host that it looks at, for the tests of its decisions; time is what the test
 * says. A test file includes this once. */
#ifndef DODO_TESTS_MONITOR_FIXTURE_H
#define DODO_TESTS_MONITOR_FIXTURE_H

#include <string.h>

#include "rmd/monitor.h"
#include "tests/lib/case.h"

#define GIB (1ull << 30)
#define MINUTE (60 * NS_PER_S)
#define FIXTURE static inline __attribute__((unused))

/* The host as the sources see it, the imd as its owner sees it, and what the monitor has done. */
static struct Host {
    Monitor *monitor;
    uint64_t now_ns, slept_ns, clock_ns;
    double console_idle, load, battery; /* NAN: unknown */
    enum Verdict recruit, reclaim;
    Facts judged;
    uint64_t total, spare, aside, programs, held, pool, limit;
    bool memory_known, never_ready;
    unsigned starts, terminates, kills, limits, changes, saves;
    uint64_t save_bytes, save_within_ns;
    bool deaf;                    /* to that */
    enum MonitorState said_state; /* when it last said that there is something new */
    uint64_t said_epoch;
} h;

FIXTURE void on_judge(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim)
{
    (void)ctx;
    h.judged = *facts;
    *recruit = h.recruit;
    *reclaim = h.reclaim;
}

FIXTURE void on_start(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes)
{
    (void)ctx;
    h.starts++;
    h.pool = pool_bytes;
    h.limit = limit_bytes;
}

FIXTURE void on_limit(void *ctx, uint64_t limit_bytes)
{
    (void)ctx;
    h.limits++;
    h.limit = limit_bytes;
}

FIXTURE bool on_save(void *ctx, uint64_t bytes, uint64_t within_ns)
{
    (void)ctx;
    if (h.deaf)
        return false;
    h.saves++;
    h.save_bytes = bytes;
    h.save_within_ns = within_ns;
    return true;
}

FIXTURE void on_terminate(void *ctx)
{
    (void)ctx;
    h.terminates++;
}

FIXTURE void on_kill(void *ctx)
{
    (void)ctx;
    h.kills++;
}

FIXTURE void on_changed(void *ctx)
{
    MonitorStatus s;
    (void)ctx;
    h.changes++;
    if (!h.monitor)
        return;
    monitor_status(h.monitor, h.now_ns, &s);
    h.said_state = s.state;
    h.said_epoch = s.epoch;
}

/* Nobody asks for a state that was not said to be new. */
FIXTURE void all_is_said(void)
{
    MonitorStatus s;
    monitor_status(h.monitor, h.now_ns, &s);
    assert_int_equal(s.state, h.said_state);
    assert_int_equal(s.epoch, h.said_epoch);
}

static const MonitorConfig usual = {.idle_after_ns = 5 * MINUTE,
                                    .poll_ns = NS_PER_S,
                                    .leave_deadline_ns = NS_PER_S,
                                    .load_below = 0.3,
                                    .pool_max_bytes = UINT64_MAX};

FIXTURE void begin(const MonitorConfig *config)
{
    const MonitorSink sink = {.judge = on_judge,
                              .start = on_start,
                              .limit = on_limit,
                              .save = on_save,
                              .terminate = on_terminate,
                              .kill = on_kill,
                              .changed = on_changed};
    (void)monitor_free(h.monitor);
    h = (struct Host){.now_ns = 3600 * NS_PER_S,
                      .clock_ns = 3600 * NS_PER_S,
                      .console_idle = 7200,
                      .load = 0.05,
                      .battery = NAN,
                      .total = 100 * GIB,
                      .spare = 60 * GIB,
                      .memory_known = true};
    h.monitor = monitor_new(config, &sink, h.now_ns);
    assert_non_null(h.monitor);
}

FIXTURE int tear_down(void **state)
{
    (void)state;
    h.monitor = monitor_free(h.monitor);
    return 0;
}

FIXTURE void read_memory(void)
{
    const MemoryState m = {.total_bytes = h.total,
                           .spare_bytes = h.spare,
                           .aside_bytes = h.aside,
                           .programs_bytes = h.programs,
                           .reserve_bytes = h.total / 100};
    monitor_memory(h.monitor, h.memory_known ? &m : NULL, h.held, h.now_ns);
}

FIXTURE enum MonitorState state_now(void)
{
    MonitorStatus status;
    monitor_status(h.monitor, h.now_ns, &status);
    return status.state;
}

FIXTURE void ready(void)
{
    monitor_ready(h.monitor, 0xabc, h.pool, h.now_ns);
}

/* The host as it is now, seen @taken_ns. */
FIXTURE void look_taken(uint64_t taken_ns)
{
    Look l = {.taken_ns = taken_ns,
              .slept_ns = h.slept_ns,
              .clock_ns = h.clock_ns,
              .console_source = "terminals"};
    facts_init(&l.facts);
    l.facts.value[FACT_console_idle] = h.console_idle;
    l.facts.value[FACT_load] = h.load;
    l.facts.value[FACT_on_battery] = h.battery;
    monitor_look(h.monitor, &l, h.now_ns);
}

FIXTURE void look_now(void)
{
    look_taken(h.now_ns);
    if (state_now() == MONITOR_STARTING && !h.never_ready)
        ready();
    all_is_said();
}

FIXTURE void look(void)
{
    h.now_ns += NS_PER_MS;
    look_now();
}

/* As the shell does: a look each second, memory when it is due, time at the deadline. */
FIXTURE void pass(uint64_t ns)
{
    for (uint64_t end = h.now_ns + ns, next = h.now_ns + NS_PER_S; h.now_ns < end;) {
        uint64_t t = min_u64(min_u64(monitor_deadline(h.monitor), next), end);
        h.console_idle += (double)(t > h.now_ns ? t - h.now_ns : 0) / 1e9;
        h.now_ns = t > h.now_ns ? t : h.now_ns;
        if (monitor_memory_due_ns(h.monitor) <= h.now_ns)
            read_memory();
        if (h.now_ns == next) {
            look_now();
            next += NS_PER_S;
        }
        monitor_expire(h.monitor, h.now_ns);
        all_is_said();
    }
}

FIXTURE void lend(const MonitorConfig *config)
{
    begin(config);
    pass(config->idle_after_ns + 2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    assert_int_equal(state_now(), MONITOR_LENDING);
}

FIXTURE void ended(void)
{
    monitor_ended(h.monitor, "status 0", h.now_ns);
    all_is_said();
}

FIXTURE const char *reason(void)
{
    static MonitorStatus status;
    monitor_status(h.monitor, h.now_ns, &status);
    return status.reason;
}

#define CASE(name) TEST_WITH(name, NULL, tear_down)

#endif
