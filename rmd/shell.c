/* SPDX-License-Identifier: MIT */
#include "rmd/shell.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "proto/conf/defaults.h"
#include "daemon/loop.h"
#include "daemon/member_place.h"
#include "daemon/port_log.h"
#include "daemon/start.h"
#include "rmd/child.h"
#include "rmd/explainer.h"
#include "rmd/looker.h"
#include "rmd/metrics.h"
#include "rmd/node.h"
#include "rmd/owner_desk.h"
#include "rmd/pressure.h"
#include "rmd/sleep_watch.h"
#include "rmd/survey_file.h"
#include "rmd/verdicts.h"

enum {
    SESSIONS_MAX = 64, /* cmd, and tools that ask */
    RECEIVE_BYTES = 256 << 10,
};
static const uint64_t SURVEY_EVERY_NS = 60 * NS_PER_S;

struct Rmd {
    RmdOptions *options; /* borrowed; a reload changes them */
    InputHelper *input;  /* likewise; NULL: none */
    Loop *loop;
    Mailbox mailbox;
    Looker *looker;
    Node node;
    Verdicts verdicts;
    Pressure pressure;
    Child child;
    Observation *seen; /* the last one, or NULL */
    SurveyFile *survey;
    SleepWatch *sleep; /* NULL: none */
    OwnerDesk desk;
    MetricsHttp *metrics; /* NULL: none */

    bool has_port; /* not when it only watches */
    Port port;
    ManagerLink link;
    Resolver resolver;
    AddressWatch address;
    Explainer explainer;
};

/* ---- what the node does ---------------------------------------------------------------------- */

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

/* ---- cmd and tools --------------------------------------------------------------------------- */

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

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Rmd *rmd = ctx;
    if (type == WIRE_PING)
        port_pong(&rmd->port, s, payload, len, 0);
    else if (type == WIRE_REQUEST)
        explainer_request(&rmd->explainer, &rmd->port, s, payload, len);
    else
        manager_link_message(&rmd->link, s, type, payload, len, now_ns);
}

static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    Rmd *rmd = ctx;
    manager_link_up(&rmd->link, s, now_ns);
}

static void on_closed(void *ctx, Session *s)
{
    Rmd *rmd = ctx;
    manager_link_closed(&rmd->link, s);
}

static const PortOps port_ops = {
    .message = on_message, .up = on_up, .closed = on_closed, .event = port_log};

/* ---- after anything that happened ------------------------------------------------------------ */

static void read_memory(Rmd *rmd, uint64_t now_ns)
{
    MemoryState m;
    if (!node_memory_due(&rmd->node, now_ns))
        return;
    child_remind(&rmd->child);
    bool known = pressure_memory(&rmd->pressure, &m, now_ns) == 0;
    monitor_memory(rmd->node.monitor, known ? &m : NULL, child_held_bytes(&rmd->child), now_ns);
}

static void settle(Rmd *rmd, uint64_t now_ns)
{
    read_memory(rmd, now_ns);
    node_step(&rmd->node, now_ns);
    if (rmd->sleep)
        sleep_watch_delay(rmd->sleep, monitor_delays_sleep(rmd->node.monitor));
    looker_set_imd(rmd->looker, (int)rmd->child.pid);
    if (rmd->has_port) {
        resolver_step(&rmd->resolver, &rmd->link.contact.finder);
        port_expire(&rmd->port, now_ns);
    }
    if (node_finished(&rmd->node, now_ns))
        loop_stop(rmd->loop);
}

/* ---- what comes in --------------------------------------------------------------------------- */

static void on_socket(void *ctx)
{
    Rmd *rmd = ctx;
    uint64_t now = os_now_ns();
    (void)port_receive(&rmd->port, now);
    settle(rmd, now);
}

static void on_resolver(void *ctx)
{
    Rmd *rmd = ctx;
    Resolved r;
    int res = resolver_take(&rmd->resolver, &r);
    if (res == 0) {
        manager_link_found(&rmd->link, r.found, r.count);
    } else if (res != -EAGAIN) {
        loop_unwatch(rmd->loop, rmd->resolver.fd);
        resolver_close(&rmd->resolver);
    }
    settle(rmd, os_now_ns());
}

static void on_mail(void *ctx)
{
    Rmd *rmd = ctx;
    for (Letter *l = mailbox_take(&rmd->mailbox), *next; l; l = next) {
        next = l->next;
        g_free(rmd->seen);
        rmd->seen = (Observation *)(void *)l;
        rmd->explainer.seen = rmd->seen;
        owner_desk_step(&rmd->desk, rmd->node.monitor);
        uint64_t now = os_now_ns();
        read_memory(rmd, now);
        monitor_look(rmd->node.monitor, &rmd->seen->look, now);
        if (rmd->survey)
            survey_note(rmd->survey, rmd->seen->real_ns, &rmd->seen->look.facts,
                        monitor_idle(rmd->node.monitor, now));
    }
    settle(rmd, os_now_ns());
}

static void on_desk(void *ctx)
{
    Rmd *rmd = ctx;
    owner_desk_take(&rmd->desk, rmd->node.monitor);
    settle(rmd, os_now_ns());
}

static void on_child(void *ctx)
{
    Rmd *rmd = ctx;
    child_take(&rmd->child);
    settle(rmd, os_now_ns());
}

static void on_pressure(void *ctx)
{
    Rmd *rmd = ctx;
    if (pressure_take(&rmd->pressure))
        monitor_pressure(rmd->node.monitor, os_now_ns());
    settle(rmd, os_now_ns());
}

static void on_sleep(void *ctx)
{
    Rmd *rmd = ctx;
    bool begins = sleep_watch_take(rmd->sleep);
    if (begins)
        log_event(LOG_LEVEL_INFO, "sleep", "imd=%s", rmd->child.pid ? "yes" : "no");
    monitor_sleep(rmd->node.monitor, begins, os_now_ns());
    settle(rmd, os_now_ns());
}

static void on_ready(void *ctx, uint64_t epoch, uint64_t pool_bytes)
{
    Rmd *rmd = ctx;
    monitor_ready(rmd->node.monitor, epoch, pool_bytes, os_now_ns());
}

static void on_used(void *ctx, uint64_t used_bytes, uint64_t limit_bytes)
{
    Rmd *rmd = ctx;
    log_event(LOG_LEVEL_DEBUG, "used", "used=%" PRIu64 " limit=%" PRIu64, used_bytes, limit_bytes);
    monitor_used(rmd->node.monitor, used_bytes, os_now_ns());
}

static void on_ended(void *ctx, const char *how)
{
    Rmd *rmd = ctx;
    log_event(LOG_LEVEL_INFO, "imd_ended", "how=\"%s\"", how);
    node_ended(&rmd->node, how, os_now_ns());
}

static const ChildOps child_ops = {.ready = on_ready, .used = on_used, .ended = on_ended};

static uint64_t on_deadline(void *ctx)
{
    Rmd *rmd = ctx;
    uint64_t t = node_deadline(&rmd->node);
    return rmd->has_port ? min_u64(t, port_deadline(&rmd->port)) : t;
}

static void on_expire(void *ctx, uint64_t now_ns)
{
    settle(ctx, now_ns);
}

static void leave(Rmd *rmd, uint64_t now_ns)
{
    log_event(LOG_LEVEL_INFO, "leaving", "imd=%s", rmd->child.pid ? "yes" : "no");
    start_stopping();
    node_leave(&rmd->node, now_ns);
    settle(rmd, now_ns);
}

static void on_signal(void *ctx, unsigned nth)
{
    Rmd *rmd = ctx;
    uint64_t now = os_now_ns();
    if (nth > 1) {
        log_event(LOG_LEVEL_WARN, "forced_end", "signals=%u", nth);
        child_kill(&rmd->child);
        _exit(EXIT_FAILURE);
    }
    leave(rmd, now);
}

static void on_address(void *ctx)
{
    leave(ctx, os_now_ns());
}

/* True: where the file says is where it is looked for now. */
static bool move_manager(Rmd *rmd, const char *manager)
{
    Places places;
    if (!rmd->has_port || strcmp(rmd->options->common.manager, manager) == 0)
        return true;
    if (!resolver_follow(&rmd->resolver, manager, &places))
        return false;
    manager_link_move(&rmd->link, &places);
    return true;
}

/* What can change while rmd runs; all else stays until the next start. */
static void take_options(Rmd *rmd, RmdOptions *read)
{
    RmdOptions *o = rmd->options;
    start_take_text(&o->common.key, &read->common.key);
    if (move_manager(rmd, read->common.manager))
        start_take_text(&o->common.manager, &read->common.manager);
    o->common.log_level = read->common.log_level;
    o->idle_after_ns = read->idle_after_ns;
    o->load_below = read->load_below;
    o->pool_max_bytes = read->pool_max_bytes;
    o->rate_bytes = read->rate_bytes;
    o->rate_packets = read->rate_packets;
    const MonitorConfig config = rmd_monitor_config(o);
    monitor_configure(rmd->node.monitor, &config, os_now_ns());
}

/* An imd that runs reads the key by itself. */
static void reloaded(Rmd *rmd, RmdOptions *read)
{
    const RmdOptions before = *rmd->options, wanted = *read;
    ConfigChanges changes;
    take_options(rmd, read);
    config_changes(&rmd_program, &before, rmd->options, &wanted, &changes);
    start_log_reload(&changes, !rmd->child.pid                           ? "imd=none"
                               : child_reload(&rmd->child, rmd->options) ? "imd=told"
                                                                         : "imd=deaf");
    settle(rmd, os_now_ns());
}

static void on_reload(void *ctx)
{
    Rmd *rmd = ctx;
    char error[CONFIG_ERROR_MAX] = "";
    RmdOptions o;
    rmd_options_init(&o);
    if (config_reload(&rmd_program, &o, error) != CONFIG_OK || rmd_options_check(&o, error) != 0 ||
        (rmd->has_port && start_reload(&o.common, rmd->port.endpoint, os_now_ns(), error) < 0))
        log_event(LOG_LEVEL_ERROR, "not_reloaded", "error=\"%s\"", error);
    else
        reloaded(rmd, &o);
    config_clear(&rmd_program, &o);
}

static const LoopOps loop_ops = {
    .deadline = on_deadline, .expire = on_expire, .signal = on_signal, .reload = on_reload};

static size_t on_scrape(void *ctx, const CommonMetrics *own, char *buf, size_t cap)
{
    const Rmd *rmd = ctx;
    RmdMetrics m = {.common = *own};
    rmd_metrics_read(&m, rmd->node.monitor, os_now_ns());
    if (rmd->has_port) {
        const Transport *t = rmd->port.transport;
        metrics_add_socket(&m.common, endpoint_counters(rmd->port.endpoint), t->sent, t->astray);
        m.manager_answers = rmd->link.heard;
    }
    return metrics_write(&rmd_metrics, &m, buf, cap);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int open_port(Rmd *rmd, char *error)
{
    RmdOptions *o = rmd->options;
    const Addr nowhere = {.kind = ADDR_NONE};
    const TransportOptions transport = {.receive_bytes = RECEIVE_BYTES};
    const ManagerLinkSink link_sink = {.message = on_output, .news = on_link_news, .ctx = rmd};
    EndpointConfig config;
    Places places;
    int res =
        member_place_start(&o->common, &o->listen, &rmd->address, &rmd->resolver, &places, error);
    o->at = rmd->address.at;
    if (res == 0)
        res = start_member_identity(&o->common, &o->at, &places, &config, error);
    if (res < 0)
        return res;
    config.role = ROLE_RMD;
    config.sessions_max = config.half_open_max = SESSIONS_MAX;
    os_random(NULL, &config.self, sizeof config.self);
    res = start_port(&rmd->port, &o->at, &transport, &config, &port_ops, rmd, error);
    explicit_bzero(&config, sizeof config);
    rmd->has_port = res == 0;
    if (res == 0) {
        manager_link_init(&rmd->link, rmd->port.endpoint, &link_sink, &nowhere, o->beat_ns,
                          os_now_ns());
        manager_link_move(&rmd->link, &places);
    }
    return res;
}

static int open_survey(Rmd *rmd, char *error)
{
    const SurveyFileConfig config = {
        .path = rmd->options->survey, .root = "", .every_ns = SURVEY_EVERY_NS};
    return survey_file_open(&config, &rmd->survey, error, CONFIG_ERROR_MAX);
}

static int open_node(Rmd *rmd, uint64_t now_ns)
{
    const NodeSink sink = {.judge = on_judge,
                           .start = on_start,
                           .limit = on_limit,
                           .terminate = on_terminate,
                           .kill = on_kill,
                           .beat = on_beat,
                           .status = on_status,
                           .ctx = rmd};
    const NodeConfig config = {.monitor = rmd_monitor_config(rmd->options),
                               .full = explainer_detail(rmd->options) == DETAIL_FULL,
                               .link = rmd->has_port ? &rmd->link : NULL};
    const int res = node_init(&rmd->node, &config, &sink, now_ns);
    rmd->explainer = (Explainer){
        .options = rmd->options, .monitor = rmd->node.monitor, .verdicts = &rmd->verdicts};
    return res;
}

static int open_monitor(Rmd *rmd, char *error)
{
    const RmdOptions *o = rmd->options;
    char wrong[RULE_ERROR_MAX];
    int res = verdicts_open(&rmd->verdicts, o->recruit_when, o->reclaim_when, wrong);
    if (res < 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s", wrong);
        return res;
    }
    pressure_open(&rmd->pressure);
    res = open_node(rmd, os_now_ns());
    rmd->looker = looker_new(o, rmd->input);
    rmd->sleep = o->survey ? NULL : sleep_watch_new(o->bus);
    if (res == 0)
        res = child_open(&rmd->child, o, &child_ops, rmd);
    if (rmd->looker && res == 0)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the monitor");
    return -ENOMEM;
}

static int open_loop(Rmd *rmd, char *error)
{
    rmd->loop = loop_new(&loop_ops, rmd);
    if (rmd->loop && loop_watch(rmd->loop, rmd->mailbox.fd, on_mail, rmd) == 0 &&
        loop_watch(rmd->loop, rmd->child.fd, on_child, rmd) == 0 &&
        (!rmd->sleep || loop_watch(rmd->loop, sleep_watch_fd(rmd->sleep), on_sleep, rmd) == 0) &&
        (rmd->pressure.fd < 0 || loop_watch(rmd->loop, rmd->pressure.fd, on_pressure, rmd) == 0) &&
        (rmd->desk.fd < 0 || loop_watch(rmd->loop, rmd->desk.fd, on_desk, rmd) == 0) &&
        address_watch_follow(&rmd->address, rmd->loop, on_address, rmd) == 0 &&
        (rmd->resolver.fd < 0 || loop_watch(rmd->loop, rmd->resolver.fd, on_resolver, rmd) == 0) &&
        (!rmd->has_port || loop_watch(rmd->loop, rmd->port.transport->ops->fd(rmd->port.transport),
                                      on_socket, rmd) == 0))
        return metrics_http_open(rmd->loop, &rmd->options->metrics,
                                 &(MetricsContent){.metrics = on_scrape, .ctx = rmd}, &rmd->metrics,
                                 error);
    (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the loop");
    return -ENOMEM;
}

Rmd *rmd_new(RmdOptions *options, InputHelper *input, char error[CONFIG_ERROR_MAX])
{
    Rmd *rmd = g_new0(Rmd, 1);
    rmd->options = options;
    rmd->input = input;
    rmd->child.fd = rmd->child.pidfd = rmd->child.channel = rmd->child.cgroup.procs = -1;
    rmd->pressure = (Pressure){
        .trigger = -1, .fd = -1, .meminfo = -1, .zones = -1, .vmstat = -1, .overcommit = -1};
    rmd->mailbox.fd = rmd->resolver.fd = rmd->address.fd = rmd->desk.fd = -1;
    int res = mailbox_init(&rmd->mailbox);
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot make an eventfd: %s", strerror(-res));
    if (res == 0)
        res = options->survey ? open_survey(rmd, error) : open_port(rmd, error);
    if (res == 0)
        res = open_monitor(rmd, error);
    if (res == 0 && !options->survey)
        owner_desk_open(&rmd->desk, options);
    if (res == 0)
        res = open_loop(rmd, error);
    return res == 0 ? rmd : rmd_free(rmd);
}

Rmd *rmd_free(Rmd *rmd)
{
    if (!rmd)
        return NULL;
    child_close(&rmd->child);
    owner_desk_close(&rmd->desk);
    rmd->metrics = metrics_http_free(rmd->metrics);
    rmd->loop = loop_free(rmd->loop);
    rmd->sleep = sleep_watch_free(rmd->sleep);
    node_deinit(&rmd->node);
    pressure_close(&rmd->pressure);
    verdicts_close(&rmd->verdicts);
    rmd->survey = survey_file_free(rmd->survey);
    if (rmd->has_port)
        port_close(&rmd->port);
    resolver_close(&rmd->resolver);
    address_watch_close(&rmd->address);
    rmd->looker = looker_free(rmd->looker);
    if (rmd->mailbox.fd >= 0)
        mailbox_drop(&rmd->mailbox, g_free);
    g_free(rmd->seen);
    explainer_clear(&rmd->explainer);
    g_free(rmd);
    return NULL;
}

static void say_ready(const Rmd *rmd)
{
    char listen[ADDR_TEXT_MAX], pool[32];
    const RmdOptions *o = rmd->options;
    const bool capped = o->pool_max_bytes != UINT64_MAX;
    if (!rmd->has_port) {
        start_ready("rmd ready: survey=%s", o->survey);
        return;
    }
    start_ready("rmd ready: listen=%s manager=%s pool=%s imd=%s sealed=%s",
                addr_format(&rmd->port.transport->local, listen, sizeof listen), o->common.manager,
                capped ? start_size(o->pool_max_bytes, pool, sizeof pool) : "auto",
                rmd->child.program, endpoint_is_sealed(rmd->port.endpoint) ? "yes" : "no");
}

int rmd_run(Rmd *rmd)
{
    int res = looker_start(rmd->looker, &rmd->mailbox);
    if (res < 0) {
        log_event(LOG_LEVEL_ERROR, "no_thread", "error=\"%s\"", strerror(-res));
        return EXIT_FAILURE;
    }
    say_ready(rmd);
    if (!rmd->options->dedicated)
        looker_warn(rmd->looker);
    settle(rmd, os_now_ns());
    res = loop_run(rmd->loop);
    child_close(&rmd->child);
    log_event(LOG_LEVEL_INFO, "end", "imd=gone");
    if (looker_stop(rmd->looker) < 0)
        _exit(res < 0 || rmd->address.moved
                  ? EXIT_FAILURE
                  : EXIT_SUCCESS); /* a source hangs; its memory is in use */
    return res < 0 || rmd->address.moved ? EXIT_FAILURE : EXIT_SUCCESS;
}
