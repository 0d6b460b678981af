/* SPDX-License-Identifier: MIT */
#include "cmd/shell.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "cmd/core.h"
#include "cmd/journal.h"
#include "cmd/lease.h"
#include "cmd/metrics.h"
#include "cmd/strangers.h"
#include "cmd/web.h"
#include "cmd/web_files.h"
#include "proto/conf/defaults.h"
#include "daemon/address_watch.h"
#include "daemon/loop.h"
#include "daemon/port_log.h"
#include "daemon/start.h"

struct Cmd {
    CmdOptions *options; /* borrowed; a reload changes them */
    Loop *loop;
    AddressWatch address; /* where it serves */
    Port port;
    Manager *manager;
    Lease lease;
    LeaseCommand *command; /* borrowed */
    Journal journal;
    MetricsHttp *metrics; /* NULL: none */
    bool failed;
};

/* ---- the core's effects, and what comes in --------------------------------------------------- */

static void send_message(void *ctx, Session *session, uint8_t type, const uint8_t *payload,
                         size_t len)
{
    Cmd *cmd = ctx;
    port_message(&cmd->port, session, type, payload, len);
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Cmd *cmd = ctx;
    if (type == WIRE_PING)
        port_pong(&cmd->port, s, payload, len, 0);
    else
        manager_input(cmd->manager, s, type, payload, len, now_ns);
}

static void on_closed(void *ctx, Session *s)
{
    Cmd *cmd = ctx;
    manager_session_closed(cmd->manager, s);
}

static void on_port_event(void *ctx, const PortEvent *e)
{
    Cmd *cmd = ctx;
    Reason reason;
    port_log(NULL, e);
    if (stranger_reason(e, &reason))
        manager_stranger(cmd->manager, &e->address, reason.text, os_now_ns());
}

static const PortOps port_ops = {
    .message = on_message, .closed = on_closed, .event = on_port_event};

static void on_event(void *ctx, const ManagerEvent *e)
{
    Cmd *cmd = ctx;
    char address[ADDR_TEXT_MAX];
    unsigned unnamed;
    bool named = journal_event(&cmd->journal, os_now_ns(), &unnamed);
    if (unnamed)
        log_event(LOG_LEVEL_INFO, "events_not_named", "count=%u", unnamed);
    if (!named)
        return;
    log_event(LOG_LEVEL_INFO, event_kind_text(e->kind),
              "id=%016" PRIx64 "%s%s regions=%" PRIu64 " why=\"%s\"", e->id,
              e->address.kind != ADDR_NONE ? " address=" : "",
              e->address.kind != ADDR_NONE ? addr_format(&e->address, address, sizeof address) : "",
              e->regions, e->reason.text);
}

static void report(Cmd *cmd, uint64_t now_ns)
{
    ManagerStats s;
    manager_stats(cmd->manager, &s);
    if (!journal_report(&cmd->journal, &s, now_ns))
        return;
    log_event(LOG_LEVEL_INFO, "cluster",
              "hosts=%" PRIu64 " clients=%" PRIu64 " regions=%" PRIu64 " lost_hosts=%" PRIu64
              " reclaimed_clients=%" PRIu64 " reclaimed_regions=%" PRIu64,
              s.hosts, s.clients, s.regions, s.lost_hosts, s.reclaimed_clients,
              s.reclaimed_regions);
}

/* ---- the lease ------------------------------------------------------------------------------- */

/* The active manager from now on, or not any more. */
static void follow_duty(Cmd *cmd, uint64_t now_ns)
{
    manager_duty(cmd->manager, cmd->port.endpoint, lease_epoch(&cmd->lease), now_ns);
    port_flush(&cmd->port);
}

static void lease_news(Cmd *cmd, enum LeaseNews news, uint64_t now_ns)
{
    switch (news) {
    case LEASE_NOTHING:
        break;
    case LEASE_GAINED:
        log_event(LOG_LEVEL_INFO, "lease_gained", "number=%" PRIu64, cmd->lease.number);
        follow_duty(cmd, now_ns);
        break;
    case LEASE_LOST:
        log_event(LOG_LEVEL_WARN, "lease_lost", "number=%" PRIu64, cmd->lease.number);
        follow_duty(cmd, now_ns);
        break;
    case LEASE_NONSENSE:
        log_event(LOG_LEVEL_ERROR, "not_a_lease",
                  "last_number=%" PRIu64
                  " fix=\"the command must print a line with a number, greater each time\"",
                  cmd->lease.number);
        lease_command_end(cmd->command);
        break;
    }
}

/* Before anything that has come by the network: nothing is done under a lease that is over. */
static void take_lease(Cmd *cmd)
{
    char text[LEASE_OUTPUT_MAX];
    size_t len = 0;
    enum LeaseEvent event = LEASE_EVENT_OUTPUT;
    while (cmd->command->fd >= 0 && event != LEASE_EVENT_NONE && !cmd->failed) {
        event = lease_command_take(cmd->command, text, &len);
        const uint64_t now = os_now_ns();
        if (event == LEASE_EVENT_OUTPUT)
            lease_news(cmd, lease_output(&cmd->lease, text, len), now);
        else if (event != LEASE_EVENT_NONE)
            lease_news(cmd, lease_ended(&cmd->lease, now), now);
        if (event == LEASE_EVENT_BROKEN) {
            log_event(LOG_LEVEL_ERROR, "lease_broken",
                      "error=\"the process that runs the command has ended\"");
            cmd->failed = true;
            loop_stop(cmd->loop);
        }
    }
}

static void on_lease(void *ctx)
{
    take_lease(ctx);
}

static void expire_lease(Cmd *cmd, uint64_t now_ns)
{
    take_lease(cmd);
    lease_command_tick(cmd->command, now_ns);
    if (lease_start(&cmd->lease, now_ns))
        lease_command_start(cmd->command);
}

static uint64_t lease_due(const Cmd *cmd)
{
    return cmd->command->fd >= 0 ? min_u64(lease_deadline(&cmd->lease), cmd->command->tick_ns)
                                 : TIME_NEVER;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_socket(void *ctx)
{
    Cmd *cmd = ctx;
    take_lease(cmd);
    uint64_t now = os_now_ns();
    (void)port_receive(&cmd->port, now);
    report(cmd, now);
}

static uint64_t on_deadline(void *ctx)
{
    Cmd *cmd = ctx;
    uint64_t t = min_u64(port_deadline(&cmd->port), manager_deadline(cmd->manager));
    t = min_u64(t, lease_due(cmd));
    return min_u64(t, journal_deadline(&cmd->journal));
}

static void on_expire(void *ctx, uint64_t now_ns)
{
    Cmd *cmd = ctx;
    expire_lease(cmd, now_ns);
    manager_expire(cmd->manager, now_ns);
    port_expire(&cmd->port, now_ns);
    report(cmd, now_ns);
}

/* Soft state: there is nothing to save. Peers that have another manager to ask learn that they
 * must. */
static void end(Cmd *cmd)
{
    start_stopping();
    if (lease_ended(&cmd->lease, os_now_ns()) == LEASE_LOST)
        follow_duty(cmd, os_now_ns());
    loop_stop(cmd->loop);
}

static void on_signal(void *ctx, unsigned nth)
{
    Cmd *cmd = ctx;
    log_event(LOG_LEVEL_INFO, "end", "signals=%u", nth);
    end(cmd);
}

static void on_address(void *ctx)
{
    end(ctx);
}

/* What can change while cmd runs; all else stays until the next start. */
static void take_options(Cmd *cmd, CmdOptions *read)
{
    CmdOptions *o = cmd->options;
    start_take_text(&o->common.key, &read->common.key);
    o->common.log_level = read->common.log_level;
    o->client_bytes = read->client_bytes;
    o->client_regions = read->client_regions;
    o->client_dead_ns = read->client_dead_ns;
    o->host_dead_ns = read->host_dead_ns;
    o->distrust_ns = read->distrust_ns;
    manager_quota(cmd->manager, o->client_bytes, o->client_regions);
    manager_patience(cmd->manager, o->client_dead_ns, o->host_dead_ns, o->distrust_ns);
}

static void on_reload(void *ctx)
{
    Cmd *cmd = ctx;
    char error[CONFIG_ERROR_MAX] = "";
    CmdOptions o;
    cmd_options_init(&o);
    if (config_reload(&cmd_program, &o, error) != CONFIG_OK ||
        start_reload(&o.common, cmd->port.endpoint, os_now_ns(), error) < 0) {
        log_event(LOG_LEVEL_ERROR, "not_reloaded", "error=\"%s\"", error);
    } else {
        const CmdOptions before = *cmd->options, wanted = o;
        ConfigChanges changes;
        take_options(cmd, &o);
        config_changes(&cmd_program, &before, cmd->options, &wanted, &changes);
        start_log_reload(&changes, "cmd=ready");
    }
    config_clear(&cmd_program, &o);
}

static const LoopOps loop_ops = {
    .deadline = on_deadline, .expire = on_expire, .signal = on_signal, .reload = on_reload};

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

/* ---- life ------------------------------------------------------------------------------------ */

static void trace(void *ctx, const char *text)
{
    log_event(LOG_LEVEL_DEBUG, "core", "%s", text);
}

static int open_port(Cmd *cmd, const Id128 *instance, char *error)
{
    const CmdOptions *o = cmd->options;
    const Addr *const addresses[] = {&cmd->address.at};
    const TransportOptions transport = {.receive_bytes = o->receive_bytes};
    EndpointConfig config;
    int res = address_watch_start(&cmd->address, &o->common, &o->listen, false, error);
    if (res == 0)
        res = start_identity(&o->common, addresses, 1, &config, error);
    if (res < 0)
        return res;
    config.role = ROLE_CMD;
    config.self = *instance;
    config.epoch = lease_epoch(&cmd->lease);
    config.sessions_max = (unsigned)o->sessions_max;
    res = start_port(&cmd->port, &cmd->address.at, &transport, &config, &port_ops, cmd, error);
    explicit_bzero(&config, sizeof config);
    return res;
}

static int open_core(Cmd *cmd, const Id128 *instance, char *error)
{
    const CmdOptions *o = cmd->options;
    const ManagerConfig config = {
        .client_dead_ns = o->client_dead_ns,
        .host_dead_ns = o->host_dead_ns,
        .distrust_ns = o->distrust_ns,
        .grace_ns = o->grace_ns,
        .request_first_retry_ns = o->request_retry_ns,
        .request_retry_max_ns = o->request_retry_max_ns,
        .request_deadline_ns = o->request_deadline_ns,
        .hosts_max = (unsigned)o->hosts_max,
        .clients_max = (unsigned)o->clients_max,
        .regions_max = (unsigned)o->regions_max,
        .opens_max = (unsigned)o->opens_max,
        .client_bytes = o->client_bytes,
        .client_regions = o->client_regions,
        .weighted = strcmp(o->placement, "weighted") == 0,
        .number = lease_epoch(&cmd->lease),
    };
    const ManagerSink sink = {.message = send_message, .ctx = cmd, .event = on_event};
    Env env = os_env();
    if (o->common.log_level >= LOG_LEVEL_DEBUG)
        env.trace = trace;
    cmd->manager = manager_new(&config, &env, &sink, instance, os_now_ns());
    cmd->loop = loop_new(&loop_ops, cmd);
    if (!cmd->manager || !cmd->loop ||
        loop_watch(cmd->loop, cmd->port.transport->ops->fd(cmd->port.transport), on_socket, cmd) ||
        address_watch_follow(&cmd->address, cmd->loop, on_address, cmd) ||
        (cmd->command->fd >= 0 && loop_watch(cmd->loop, cmd->command->fd, on_lease, cmd))) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the directories");
        return -ENOMEM;
    }
    const MetricsContent content = {
        .metrics = on_scrape, .ctx = cmd, .pages = pages, .pages_count = ARRAY_SIZE(pages)};
    return metrics_http_open(cmd->loop, &o->metrics, &content, &cmd->metrics, error);
}

Cmd *cmd_new(CmdOptions *options, LeaseCommand *lease, char error[CONFIG_ERROR_MAX])
{
    Cmd *cmd = g_new0(Cmd, 1);
    Id128 instance;
    cmd->options = options;
    cmd->address.fd = -1;
    cmd->command = lease;
    lease_init(&cmd->lease, lease->fd >= 0, os_now_ns());
    os_random(NULL, &instance, sizeof instance);
    if (open_port(cmd, &instance, error) < 0 || open_core(cmd, &instance, error) < 0)
        return cmd_free(cmd);
    return cmd;
}

Cmd *cmd_free(Cmd *cmd)
{
    if (!cmd)
        return NULL;
    cmd->metrics = metrics_http_free(cmd->metrics);
    cmd->loop = loop_free(cmd->loop);
    cmd->manager = manager_free(cmd->manager);
    port_close(&cmd->port);
    address_watch_close(&cmd->address);
    g_free(cmd);
    return NULL;
}

int cmd_run(Cmd *cmd)
{
    char listen[ADDR_TEXT_MAX];
    start_ready("cmd ready: listen=%s sealed=%s%s",
                addr_format(&cmd->port.transport->local, listen, sizeof listen),
                endpoint_is_sealed(cmd->port.endpoint) ? "yes" : "no",
                cmd->command->fd >= 0 ? " lease=waits" : "");
    return loop_run(cmd->loop) < 0 || cmd->failed || cmd->address.moved ? EXIT_FAILURE
                                                                        : EXIT_SUCCESS;
}
