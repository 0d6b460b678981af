/* SPDX-License-Identifier: MIT */
/* What cmd shows by HTTP: its metrics, and the page for people. */
#include "base/cleanup.h"
#include "cmd/metrics.h"
#include "cmd/shell_private.h"
#include "cmd/web.h"
#include "cmd/web_files.h"

static size_t on_scrape(void *ctx, const CommonMetrics *own, char *buf, size_t cap)
{
    const Cmd *cmd = ctx;
    const Transport *t = cmd->port.transport;
    CmdMetrics m = {.common = *own};
    metrics_add_socket(&m.common, endpoint_counters(cmd->port.endpoint), t->sent, t->astray);
    cmd_metrics_read(&m, cmd->manager);
    return metrics_write(&cmd_metrics, &m, buf, cap);
}

static size_t on_status(void *ctx, uint64_t since, char *buf, size_t cap)
{
    return web_status(((const Cmd *)ctx)->manager, since, buf, cap);
}

static size_t on_events(void *ctx, uint64_t since, char *buf, size_t cap)
{
    return web_events(((const Cmd *)ctx)->manager, since, buf, cap);
}

#define FILE_PAGE(url, kind, name)                                                       \
    {                                                                                    \
        .path = (url), .type = kind, .bytes = (const char *)(name), .len = sizeof(name), \
    }
#define MADE_PAGE(url, function)                                                         \
    {                                                                                    \
        .path = (url), .type = "application/json", .write = (function), .room = WEB_ROOM \
    }
static const MetricsPage pages[] = {
    FILE_PAGE("/", "text/html; charset=utf-8", web_index_html),
    FILE_PAGE("/app.css", "text/css; charset=utf-8", web_app_css),
    FILE_PAGE("/app.js", "text/javascript; charset=utf-8", web_app_js),
    FILE_PAGE("/model.js", "text/javascript; charset=utf-8", web_model_js),
    FILE_PAGE("/icon.svg", "image/svg+xml", web_icon_svg),
    MADE_PAGE("/status", on_status),
    MADE_PAGE("/events", on_events),
};

int cmd_open_pages(Cmd *cmd, char *error)
{
    const MetricsContent content = {
        .metrics = on_scrape, .ctx = cmd, .pages = pages, .pages_count = ARRAY_SIZE(pages)};
    return metrics_http_open(cmd->loop, &cmd->options->metrics, &content, &cmd->metrics, error);
}
