/* SPDX-License-Identifier: MIT */
/* What the node decides takes effect. */
#include <string.h>

#include "daemon/start.h"
#include "rmd/shell_private.h"

static void on_judge(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim)
{
    Rmd *rmd = ctx;
    verdicts_judge(&rmd->verdicts, facts, recruit, reclaim);
}

static int on_start(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes)
{
    Rmd *rmd = ctx;
    int res = child_start(&rmd->child, pool_bytes, limit_bytes);
    if (res < 0)
        log_event(LOG_LEVEL_ERROR, "imd_not_started", "program=%s error=\"%s\"", rmd->child.program,
                  strerror(-res));
    return res;
}

static void on_limit(void *ctx, uint64_t limit_bytes)
{
    Rmd *rmd = ctx;
    child_limit(&rmd->child, limit_bytes);
}

static bool on_save(void *ctx, uint64_t bytes, uint64_t within_ns)
{
    Rmd *rmd = ctx;
    return child_save(&rmd->child, bytes, within_ns);
}

static void on_terminate(void *ctx)
{
    Rmd *rmd = ctx;
    child_terminate(&rmd->child);
}

static void on_kill(void *ctx)
{
    Rmd *rmd = ctx;
    if (rmd->child.pid)
        log_event(LOG_LEVEL_WARN, "imd_killed", "pid=%d", (int)rmd->child.pid);
    child_kill(&rmd->child);
}

static void on_beat(void *ctx)
{
    Rmd *rmd = ctx;
    child_beat(&rmd->child);
}

static bool on_memory(void *ctx, MemoryState *ret, uint64_t *ret_held_bytes, uint64_t now_ns)
{
    Rmd *rmd = ctx;
    child_remind(&rmd->child);
    const bool known = pressure_memory(&rmd->pressure, ret, now_ns) == 0;
    *ret_held_bytes = child_held_bytes(&rmd->child);
    return known;
}

static void on_status(void *ctx, const MonitorStatus *status, bool other)
{
    (void)ctx;
    if (other)
        log_event(LOG_LEVEL_INFO, monitor_state_word(status->state), "why=\"%s\"", status->reason);
}

NodeSink rmd_node_sink(Rmd *rmd)
{
    return (NodeSink){.judge = on_judge,
                      .start = on_start,
                      .limit = on_limit,
                      .save = on_save,
                      .terminate = on_terminate,
                      .kill = on_kill,
                      .beat = on_beat,
                      .memory = on_memory,
                      .status = on_status,
                      .ctx = rmd};
}
