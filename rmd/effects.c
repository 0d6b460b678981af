/* SPDX-License-Identifier: MIT */
/* What the node and the link to the manager decide takes effect. */
#include <string.h>

#include "daemon/start.h"
#include "rmd/shell_private.h"

/* ---- the node -------------------------------------------------------------------------------- */

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
                      .terminate = on_terminate,
                      .kill = on_kill,
                      .beat = on_beat,
                      .status = on_status,
                      .ctx = rmd};
}

/* ---- the link -------------------------------------------------------------------------------- */

static void on_output(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    Rmd *rmd = ctx;
    port_message(&rmd->port, s, type, payload, len);
}

static void on_link_news(void *ctx, enum LinkNews news)
{
    static const struct {
        enum LogLevel level;
        const char *event, *fix;
    } lines[LINK_NEWS_MAX] = {
        [LINK_ANSWERS] = {LOG_LEVEL_INFO, "manager_answers", ""},
        [LINK_REFUSES] = {LOG_LEVEL_WARN, "manager_refuses", ""},
        [LINK_LOST] = {LOG_LEVEL_WARN, "manager_lost", " fix=\"see whether cmd runs there\""},
        [LINK_UNHEARD] = {LOG_LEVEL_WARN, "manager_silent",
                          " fix=\"is cmd running there, with the same key and cluster name?\""},
        [LINK_NO_MANAGER] = {LOG_LEVEL_ERROR, "not_a_manager",
                             " fix=\"give --manager the address of cmd\""},
        [LINK_NONE_ACTIVE] = {LOG_LEVEL_WARN, "no_active_manager",
                              " fix=\"see there why no lease is held\""},
    };
    const Rmd *rmd = ctx;
    char text[ADDR_TEXT_MAX];
    log_event(lines[news].level, lines[news].event, "manager=%s%s",
              start_manager_text(&rmd->options->common, &rmd->link.contact.peer, text),
              lines[news].fix);
}

ManagerLinkSink rmd_link_sink(Rmd *rmd)
{
    return (ManagerLinkSink){.message = on_output, .news = on_link_news, .ctx = rmd};
}
