/* SPDX-License-Identifier: MIT */
/* One run of days: the shell around the monitor, on a clock that runs as fast as it can. */
#include "tests/sim/days.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

uint64_t rmd_broken_guards;

void story(const Days *d, const char *format, ...)
{
    va_list args;
    if (!d->options->trace)
        return;
    va_start(args, format);
    printf("[%10.3f] ", (double)d->now_ns / 1e9);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

/* ---- what the monitor does ------------------------------------------------------------------- */

static void on_judge(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim)
{
    Days *d = ctx;
    *recruit = d->seen.recruit;
    *reclaim = d->seen.reclaim;
}

static int on_start(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes)
{
    Days *d = ctx;
    story(d, "start pool=%" PRIu64 "M limit=%" PRIu64 "M", pool_bytes >> 20, limit_bytes >> 20);
    oracle_start(d, pool_bytes, limit_bytes);
    imd_start(d, limit_bytes);
    return 0;
}

static void on_limit(void *ctx, uint64_t limit_bytes)
{
    Days *d = ctx;
    oracle_limit(d, limit_bytes);
    imd_limit(d, limit_bytes);
}

static bool on_save(void *ctx, uint64_t bytes, uint64_t within_ns)
{
    Days *d = ctx;
    story(d, "save %" PRIu64 "M", bytes >> 20);
    oracle_save(d, bytes, within_ns);
    imd_limit(d, bytes);
    imd_save(d);
    return true;
}

static void on_terminate(void *ctx)
{
    Days *d = ctx;
    oracle_terminate(d);
    imd_terminate(d);
}

static void on_kill(void *ctx)
{
    Days *d = ctx;
    story(d, "kill");
    oracle_kill(d);
    imd_kill(d);
}

static void on_beat(void *ctx)
{
    oracle_beat(ctx);
}

static void on_status(void *ctx, const MonitorStatus *status, bool other)
{
    story(ctx, "state %d%s: %s", (int)status->state, other ? "" : " still", status->reason);
}

static bool on_memory(void *ctx, MemoryState *ret, uint64_t *ret_held_bytes, uint64_t now_ns)
{
    Days *d = ctx;
    (void)now_ns;
    *ret_held_bytes = d->imd.alive ? d->imd.held : 0;
    host_memory(d, ret);
    bool fails = !d->healed && sim_rng_chance(&d->memory_rng, 20);
    d->result->readings++;
    oracle_memory(d, fails ? NULL : ret, *ret_held_bytes);
    return !fails;
}

/* ---- what happens to it ---------------------------------------------------------------------- */

static void deliver_look(Days *d)
{
    Seen *s = &d->seen;
    s->pending = false;
    if (d->now_ns > s->taken_ns + LOOK_LATENCY_MS_MAX * NS_PER_MS)
        d->excused_ns += d->now_ns - s->taken_ns;
    if (s->any && s->look.slept_ns > d->slept_ns + NS_PER_S)
        oracle_reset(d); /* the host has slept: now it can know */
    s->any = true;
    d->slept_ns = s->look.slept_ns;
    d->looked_ns = s->taken_ns;
    d->result->looks++;
    node_look(&d->node, &s->look, d->now_ns);
    oracle_look(d);
    d->next_look_ns = s->taken_ns + d->config.poll_ns;
    if (d->next_look_ns < d->now_ns)
        d->next_look_ns = d->now_ns;
}

static void imd_events(Days *d)
{
    Imd *i = &d->imd;
    uint64_t now = d->now_ns;
    if (i->alive && now >= min_u64(i->crash_ns, i->end_ns)) {
        node_step(&d->node, now); /* should it not have run: that comes first */
        bool by_itself = d->oracle.lends;
        i->alive = false;
        story(d, by_itself ? "imd crashed" : "imd ended");
        oracle_ended(d, by_itself);
        node_ended(&d->node, "signal 9", now);
    } else if (i->alive && now >= i->ready_ns) {
        i->ready_ns = TIME_NEVER;
        i->ready = true;
        if (d->oracle.lends)
            d->oracle.ready_ns = now;
        monitor_ready(d->node.monitor, 1, UINT64_MAX, now);
        if (!d->old_imd)
            monitor_saves(d->node.monitor);
    }
}

/* Once a second, and when a limit is reached. */
static void imd_tells(Days *d)
{
    Imd *i = &d->imd;
    const bool obeyed = i->answers && i->obey_ns == TIME_NEVER && i->held <= i->limit;
    if (!i->alive || !i->ready || (i->deaf && d->oracle.saves.on) ||
        (!obeyed && i->held == i->told) ||
        (!obeyed && i->held >= i->told && d->now_ns < i->told_ns + NS_PER_S))
        return;
    i->told = i->held;
    i->told_ns = d->now_ns;
    i->answers = i->answers && !obeyed;
    i->answered = true;
    monitor_used(d->node.monitor, i->held, d->now_ns);
}

/* Nobody runs for a while but the owner and imd. */
static void gap(Days *d)
{
    Machine *m = &d->machine;
    uint64_t len = sim_rng_spread(&d->machine_rng, NS_PER_MS, DAY_NS / 24);
    uint64_t threshold =
        5 * d->config.poll_ns > 2 * NS_PER_S ? 5 * d->config.poll_ns : 2 * NS_PER_S;
    m->times.gap_ns = d->now_ns + len + sim_rng_spread(&d->machine_rng, MINUTE_NS, 3 * DAY_NS);
    node_step(&d->node, d->now_ns); /* the last thing it did */
    oracle_check(d);
    d->now_ns += len;
    host_advance(d, d->now_ns);
    d->excused_ns += len;
    story(d, "did not run for %.3f s", (double)len / 1e9);
    d->result->gaps++;
    if (len >= threshold)
        oracle_reset(d);
}

static void fall_asleep(Days *d)
{
    Machine *m = &d->machine;
    uint64_t len = sim_rng_spread(&d->machine_rng, 2 * NS_PER_S, DAY_NS);
    if (sim_rng_chance(&d->power_rng, 500000)) { /* it is said before */
        d->oracle.must_end |= d->oracle.lends || d->oracle.saves.on;
        monitor_sleep(d->node.monitor, true, d->now_ns);
        monitor_sleep(d->node.monitor, false, d->now_ns);
    }
    m->times.sleep_ns = d->now_ns + sim_rng_spread(&d->machine_rng, MINUTE_NS, 5 * DAY_NS);
    m->times.slept_ns += len;
    m->clock_offset_s += (double)len / 1e9;
    d->result->sleeps++;
    story(d, "slept");
}

static void leap(Days *d)
{
    Machine *m = &d->machine;
    double s = (double)sim_rng_spread(&d->machine_rng, 1, 100000);
    m->times.leap_ns = d->now_ns + sim_rng_spread(&d->machine_rng, MINUTE_NS, 3 * DAY_NS);
    m->clock_offset_s += sim_rng_chance(&d->machine_rng, 500000) ? s : -s;
    d->result->leaps++;
    story(d, "the clock leapt");
}

static void pressure(Days *d)
{
    d->machine.times.pressure_ns =
        d->now_ns + sim_rng_spread(&d->machine_rng, NS_PER_S, 3 * DAY_NS);
    oracle_pressure(d);
    monitor_pressure(d->node.monitor, d->now_ns);
}

static void events(Days *d)
{
    Machine *m = &d->machine;
    if (d->now_ns >= m->times.gap_ns)
        gap(d);
    if (d->now_ns >= m->times.sleep_ns)
        fall_asleep(d);
    if (d->now_ns >= m->times.leap_ns)
        leap(d);
    if (d->now_ns >= m->times.pressure_ns)
        pressure(d);
    imd_events(d);
    imd_tells(d);
    if (d->seen.pending && d->now_ns >= d->seen.deliver_ns) {
        deliver_look(d);
    } else if (!d->seen.pending && d->now_ns >= d->next_look_ns) {
        host_look(d);
    }
}

static void step(Days *d, uint64_t end_ns)
{
    uint64_t deadline = node_deadline(&d->node);
    if (deadline <= d->now_ns)
        deadline = d->now_ns + NS_PER_MS; /* as the loop has it */
    uint64_t t = min_u64(min_u64(host_next(d), deadline), end_ns);
    if (t > d->now_ns)
        d->now_ns = t;
    host_advance(d, d->now_ns);
    events(d);
    node_step(&d->node, d->now_ns);
    oracle_check(d);
}

static void run_until(Days *d, uint64_t end_ns)
{
    while (d->now_ns < end_ns && !d->result->violation[0])
        step(d, end_ns);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void configure(Days *d)
{
    static const uint64_t polls[] = {NS_PER_S, NS_PER_S, NS_PER_S, 100 * NS_PER_MS, 5 * NS_PER_S};
    static const uint64_t idle[] = {NS_PER_S, 10 * NS_PER_S, MINUTE_NS, 5 * MINUTE_NS,
                                    15 * MINUTE_NS}; /* less than a poll, too */
    SimRng *rng = &d->monitor_rng;
    d->config = (MonitorConfig){
        .idle_after_ns = idle[sim_rng_below(rng, 5)],
        .poll_ns = polls[sim_rng_below(rng, 5)],
        .leave_deadline_ns = sim_rng_spread(rng, 100 * NS_PER_MS, 2 * NS_PER_S),
        .load_below = 0.3,
        .dedicated = sim_rng_chance(rng, 200000),
        .has_recruit_rule = sim_rng_chance(rng, 250000),
        .has_reclaim_rule = sim_rng_chance(rng, 250000),
        .pool_max_bytes =
            sim_rng_chance(rng, 500000) ? UINT64_MAX : sim_rng_spread(rng, 16 << 20, 16ull << 30),
    };
    d->dedicated_crashes = sim_rng_chance(rng, 100000);
    rng = &d->save_rng;
    d->old_imd = sim_rng_chance(rng, 100000);
    if (sim_rng_chance(rng, 800000))
        d->config.save_bytes = sim_rng_spread(rng, 1 << 20, 1 << 30);
    d->config.save_within_ns = sim_rng_spread(rng, 10 * NS_PER_MS, MINUTE_NS);
}

static void run(Days *d)
{
    uint64_t begin = d->now_ns, poll = d->config.poll_ns;
    uint64_t days = sim_rng_between(&d->monitor_rng, 1, 14) * DAY_NS;
    if (poll < NS_PER_S)
        days /= 10;
    run_until(d, begin + days);
    host_heal(d);
    run_until(d, d->now_ns + 2 * DAY_NS / 24 + 3 * MONITOR_PAUSE_MAX_NS);
    d->result->awake_ns = d->now_ns - begin;
    if (!d->result->violation[0] && !d->oracle.lends)
        violation(d, "all is well and quiet, but the host is not lent");
    d->oracle.left = true;
    node_leave(&d->node, d->now_ns);
    run_until(d, d->now_ns + MINUTE_NS);
    if (!d->result->violation[0] && !node_finished(&d->node, d->now_ns))
        violation(d, "the monitor does not come to its end");
}

void days_run(const DaysOptions *options, DaysResult *ret)
{
    *ret = (DaysResult){0};
    rmd_broken_guards = options->broken_guards;
    Days d = {.options = options, .result = ret, .now_ns = 1000 * NS_PER_S};
    d.next_look_ns = d.now_ns;
    sim_rng_init(&d.monitor_rng, options->seed, 1);
    sim_rng_init(&d.owner_rng, options->seed, 2);
    sim_rng_init(&d.machine_rng, options->seed, 3);
    sim_rng_init(&d.imd_rng, options->seed, 4);
    sim_rng_init(&d.memory_rng, options->seed, 5);
    sim_rng_init(&d.power_rng, options->seed, 6);
    sim_rng_init(&d.evict_rng, options->seed, 7);
    sim_rng_init(&d.save_rng, options->seed, 8);
    sim_rng_init(&d.deaf_rng, options->seed, 9);
    configure(&d);
    const NodeSink sink = {.judge = on_judge,
                           .start = on_start,
                           .limit = on_limit,
                           .save = on_save,
                           .terminate = on_terminate,
                           .kill = on_kill,
                           .beat = on_beat,
                           .memory = on_memory,
                           .status = on_status,
                           .ctx = &d};
    const NodeConfig config = {.monitor = d.config};
    if (node_init(&d.node, &config, &sink, d.now_ns) < 0) {
        violation(&d, "no memory");
        return;
    }
    host_begin(&d);
    oracle_begin(&d);
    run(&d);
    node_deinit(&d.node);
}
