/* SPDX-License-Identifier: MIT */
/* The resource monitor's core, fed with anything in any order at any time, and the kernel's texts
 * that it goes by. Whatever comes: one imd at a time, no more than the cap, none is lent that is
 * not known to be idle, none is started while it leaves. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "rmd/load.h"
#include "rmd/monitor.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_BYTES = 4096 };

typedef struct Input {
    const uint8_t *at;
    size_t left;
} Input;

static struct Shell {
    Monitor *monitor;
    uint64_t now_ns, cap, looked_ns;
    bool runs, lends, saves, leaves, fresh;
    Look look;
    MonitorConfig config;
    enum Verdict recruit, reclaim;
} s;

static uint64_t take(Input *in, size_t bytes)
{
    uint64_t v = 0;
    for (; bytes > 0; bytes--) {
        v = v << 8 | (in->left ? *in->at : 0);
        in->at += in->left > 0;
        in->left -= in->left > 0;
    }
    return v;
}

/* Of all sizes alike. */
static uint64_t take_spread(Input *in)
{
    return take(in, 8) >> (take(in, 1) & 63);
}

static double take_double(Input *in)
{
    uint64_t bits = take(in, 8);
    double d;
    memcpy(&d, &bits, sizeof d);
    return bits & 1 ? d : (double)(bits >> 40);
}

static void on_judge(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim)
{
    *recruit = s.recruit;
    *reclaim = s.reclaim;
}

static bool looks_idle(void)
{
    double load = s.look.facts.value[FACT_load];
    double idle = s.look.facts.value[FACT_console_idle];
    if (s.config.has_recruit_rule && s.recruit == VERDICT_UNKNOWN)
        return false;
    if (s.config.has_reclaim_rule)
        return s.reclaim == VERDICT_NO;
    return load < s.config.load_below &&
           (s.config.dedicated || idle >= (double)s.config.idle_after_ns / 1e9);
}

static void on_start(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes)
{
    FUZZ_CHECK(!s.runs && !s.leaves && s.fresh && looks_idle());
    FUZZ_CHECK(limit_bytes <= s.cap && pool_bytes <= s.cap && limit_bytes <= pool_bytes);
    s.runs = s.lends = true;
}

static void on_limit(void *ctx, uint64_t limit_bytes)
{
    FUZZ_CHECK(s.lends && limit_bytes <= s.cap);
}

static bool on_save(void *ctx, uint64_t bytes, uint64_t within_ns)
{
    FUZZ_CHECK(s.lends && bytes <= s.cap && bytes <= s.config.save_bytes);
    FUZZ_CHECK(within_ns > 0 && within_ns <= s.config.save_within_ns);
    s.lends = false;
    s.saves = true;
    return true;
}

static void on_terminate(void *ctx)
{
    FUZZ_CHECK(s.lends || s.saves);
    s.lends = s.saves = false;
}

static void on_kill(void *ctx)
{
    FUZZ_CHECK(s.runs && !s.lends && !s.saves);
}

static void on_changed(void *ctx)
{
}

static void look(Input *in)
{
    s.look = (Look){.taken_ns = s.now_ns - (take(in, 1) & 1 ? take_spread(in) % (s.now_ns + 1) : 0),
                    .slept_ns = take(in, 1) & 15 ? 0 : take_spread(in),
                    .clock_ns = take(in, 1) & 15 ? 0 : take_spread(in)};
    facts_init(&s.look.facts);
    s.look.facts.value[FACT_console_idle] = take_double(in);
    s.look.facts.value[FACT_load] = take_double(in);
    s.recruit = (enum Verdict)(take(in, 1) % 3);
    s.reclaim = (enum Verdict)(take(in, 1) % 3);
    s.fresh = s.look.taken_ns > s.looked_ns; /* older ones are not believed */
    s.looked_ns = s.fresh ? s.look.taken_ns : s.looked_ns;
    monitor_look(s.monitor, &s.look, s.now_ns);
    if (s.fresh && s.lends)
        FUZZ_CHECK(looks_idle());
    if (s.fresh && s.saves)
        FUZZ_CHECK(s.look.facts.value[FACT_load] < s.config.load_below);
    s.fresh = false;
}

static void memory(Input *in)
{
    uint64_t total = take_spread(in) >> 8;
    const MemoryState m = {.total_bytes = total,
                           .spare_bytes = take_spread(in) % (total + 1),
                           .reserve_bytes = take_spread(in) % (total + 1)};
    bool known = take(in, 1) & 7;
    monitor_memory(s.monitor, known ? &m : NULL, take_spread(in) >> 8, s.now_ns);
    if (s.lends)
        FUZZ_CHECK(known);
}

static void tell(void)
{
    static char text[TEXT_BYTES];
    MonitorStatus status;
    monitor_status(s.monitor, s.now_ns, &status);
    FUZZ_CHECK((status.state == MONITOR_BUSY) == !(s.lends || s.saves));
    FUZZ_CHECK((status.state == MONITOR_SAVING) == s.saves);
    FUZZ_CHECK(memchr(status.reason, 0, sizeof status.reason) && status.reason[0]);
    FUZZ_CHECK(strlen(monitor_explain(s.monitor, s.now_ns, text, sizeof text)) < sizeof text);
}

static void step(Input *in)
{
    switch (take(in, 1) % 10) {
    case 0:
    case 1:
        look(in);
        break;
    case 2:
        memory(in);
        break;
    case 3:
        monitor_pressure(s.monitor, s.now_ns);
        FUZZ_CHECK(!s.lends && !s.saves);
        break;
    case 4:
        monitor_ready(s.monitor, take(in, 8), take_spread(in), s.now_ns);
        monitor_saves(s.monitor);
        break;
    case 5:
        monitor_used(s.monitor, take_spread(in), s.now_ns);
        break;
    case 6:
        monitor_ended(s.monitor, "signal 9", s.now_ns);
        s.runs = s.lends = s.saves = false;
        break;
    case 7:
        s.now_ns += take_spread(in) >> 12;
        break;
    case 8: /* as the shell does */
        s.now_ns = min_u64(monitor_deadline(s.monitor), s.now_ns + NS_PER_S);
        break;
    default:
        if (take(in, 1) == 7) {
            monitor_leave(s.monitor, s.now_ns);
            s.leaves = true;
            FUZZ_CHECK(!s.lends && !s.saves && monitor_finished(s.monitor) == !s.runs);
        }
    }
    monitor_expire(s.monitor, s.now_ns);
    tell();
}

static void try_texts(const uint8_t *data, size_t size)
{
    char text[TEXT_BYTES];
    MemoryState m;
    double load;
    size_t len = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, len);
    text[len] = '\0';
    if (memory_state_parse(text, text, 4096, &m) == 0) {
        FUZZ_CHECK(m.spare_bytes <= m.total_bytes && m.reserve_bytes <= m.total_bytes);
        FUZZ_CHECK(memory_lendable_bytes(&m, 0) <= memory_ceiling_bytes(&m, 0));
    }
    FUZZ_CHECK(load_parse(text, &load) != 0 || (load >= 0 && !isinf(load)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in = {data, size};
    const MonitorSink sink = {on_judge,     on_start, on_limit,   on_save,
                              on_terminate, on_kill,  on_changed, NULL};
    s = (struct Shell){.now_ns = NS_PER_S};
    uint64_t flags = take(&in, 1);
    s.config = (MonitorConfig){.idle_after_ns = NS_PER_MS + take_spread(&in) % (3600 * NS_PER_S),
                               .poll_ns = 10 * NS_PER_MS + take_spread(&in) % (60 * NS_PER_S),
                               .leave_deadline_ns = NS_PER_MS + take_spread(&in) % (60 * NS_PER_S),
                               .load_below = (double)take(&in, 1),
                               .dedicated = flags & 1,
                               .has_recruit_rule = flags & 2,
                               .has_reclaim_rule = flags & 4,
                               .pool_max_bytes = flags & 8 ? UINT64_MAX : 65536 + take_spread(&in),
                               .save_bytes = flags & 16 ? take_spread(&in) : 0,
                               .save_within_ns = take_spread(&in) % (60 * NS_PER_S)};
    s.cap = s.config.pool_max_bytes;
    s.monitor = monitor_new(&s.config, &sink, s.now_ns);
    FUZZ_CHECK(s.monitor);
    while (in.left > 0)
        step(&in);
    s.monitor = monitor_free(s.monitor);
    try_texts(data, size);
    return 0;
}
