/* SPDX-License-Identifier: MIT */
#include "rmd/node.h"

#include <errno.h>

/* ---- what the monitor does ------------------------------------------------------------------- */

static void on_judge(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim)
{
    Node *n = ctx;
    n->sink.judge(n->sink.ctx, facts, recruit, reclaim);
}

static void on_start(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes)
{
    Node *n = ctx;
    n->not_started = n->sink.start(n->sink.ctx, pool_bytes, limit_bytes) < 0;
    n->beat_ns = n->not_started ? TIME_NEVER : 0;
}

static void on_limit(void *ctx, uint64_t limit_bytes)
{
    Node *n = ctx;
    n->sink.limit(n->sink.ctx, limit_bytes);
}

static bool on_save(void *ctx, uint64_t bytes, uint64_t within_ns)
{
    Node *n = ctx;
    return n->sink.save(n->sink.ctx, bytes, within_ns);
}

static void on_terminate(void *ctx)
{
    Node *n = ctx;
    n->sink.terminate(n->sink.ctx);
}

static void on_kill(void *ctx)
{
    Node *n = ctx;
    n->sink.kill(n->sink.ctx);
}

static void on_changed(void *ctx)
{
    Node *n = ctx;
    n->changed = true;
}

/* ---- after anything that happened ------------------------------------------------------------ */

static void read_memory(Node *n, uint64_t now_ns)
{
    MemoryState m;
    uint64_t held_bytes = 0;
    if (now_ns < monitor_memory_due_ns(n->monitor))
        return;
    const bool known = n->sink.memory(n->sink.ctx, &m, &held_bytes, now_ns);
    monitor_memory(n->monitor, known ? &m : NULL, held_bytes, now_ns);
}

static void beat(Node *n, uint64_t now_ns)
{
    if (now_ns < n->beat_ns)
        return;
    n->beat_ns = time_add(now_ns, NODE_BEAT_NS);
    n->sink.beat(n->sink.ctx);
}

/* The monitor hears of it when it has done what it was about. */
static void hear_not_started(Node *n, uint64_t now_ns)
{
    if (!n->not_started)
        return;
    n->not_started = false;
    monitor_ended(n->monitor, "no start", now_ns);
}

static void tell(Node *n, uint64_t now_ns)
{
    ManagerLink *link = n->config.link;
    MonitorStatus s;
    bool changed = n->changed;
    if (!changed && !(link && manager_link_due(link, now_ns)))
        return;
    monitor_status(n->monitor, now_ns, &s);
    n->sink.status(n->sink.ctx, &s, s.state != n->state);
    n->state = s.state;
    n->changed = false;
    if (!link)
        return;
    if (!n->config.full)
        monitor_status_coarse(n->monitor, now_ns, &s);
    manager_link_report(link, &s, changed, now_ns);
}

void node_step(Node *n, uint64_t now_ns)
{
    read_memory(n, now_ns);
    monitor_expire(n->monitor, now_ns);
    beat(n, now_ns);
    hear_not_started(n, now_ns);
    tell(n, now_ns);
    if (n->config.link)
        manager_link_expire(n->config.link, now_ns);
}

void node_look(Node *n, const Look *look, uint64_t now_ns)
{
    read_memory(n, now_ns);
    monitor_look(n->monitor, look, now_ns);
}

void node_ended(Node *n, const char *how, uint64_t now_ns)
{
    n->beat_ns = TIME_NEVER;
    monitor_ended(n->monitor, how, now_ns);
}

void node_leave(Node *n, uint64_t now_ns)
{
    n->leaving = true;
    n->leave_ns = time_add(now_ns, n->config.monitor.leave_deadline_ns + NODE_LEAVE_NS);
    monitor_leave(n->monitor, now_ns);
}

uint64_t node_deadline(const Node *n)
{
    uint64_t t = min_u64(monitor_deadline(n->monitor), n->beat_ns);
    if (n->config.link)
        t = min_u64(t, manager_link_deadline(n->config.link));
    /* Until imd is gone that time ends nothing. */
    return n->leaving && monitor_finished(n->monitor) ? min_u64(t, n->leave_ns) : t;
}

bool node_finished(const Node *n, uint64_t now_ns)
{
    bool told = !n->config.link || manager_link_settled(n->config.link);
    return n->leaving && monitor_finished(n->monitor) && (told || now_ns >= n->leave_ns);
}

/* ---- life ------------------------------------------------------------------------------------ */

int node_init(Node *n, const NodeConfig *config, const NodeSink *sink, uint64_t now_ns)
{
    const MonitorSink monitor = {.judge = on_judge,
                                 .start = on_start,
                                 .limit = on_limit,
                                 .save = on_save,
                                 .terminate = on_terminate,
                                 .kill = on_kill,
                                 .changed = on_changed,
                                 .ctx = n};
    *n = (Node){.config = *config, .sink = *sink, .beat_ns = TIME_NEVER};
    n->monitor = monitor_new(&config->monitor, &monitor, now_ns);
    return n->monitor ? 0 : -ENOMEM;
}

void node_deinit(Node *n)
{
    n->monitor = monitor_free(n->monitor);
}
