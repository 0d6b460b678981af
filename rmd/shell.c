/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>

#include "base/os.h"
#include "daemon/port_log.h"
#include "daemon/start.h"
#include "rmd/metrics.h"
#include "rmd/shell_private.h"

/* ---- cmd and tools --------------------------------------------------------------------------- */

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

const PortOps rmd_port_ops = {
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

void rmd_settle(Rmd *rmd, uint64_t now_ns)
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
    rmd_settle(rmd, now);
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
    rmd_settle(rmd, os_now_ns());
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
    rmd_settle(rmd, os_now_ns());
}

static void on_desk(void *ctx)
{
    Rmd *rmd = ctx;
    owner_desk_take(&rmd->desk, rmd->node.monitor);
    rmd_settle(rmd, os_now_ns());
}

static void on_child(void *ctx)
{
    Rmd *rmd = ctx;
    child_take(&rmd->child);
    rmd_settle(rmd, os_now_ns());
}

static void on_pressure(void *ctx)
{
    Rmd *rmd = ctx;
    if (pressure_take(&rmd->pressure))
        monitor_pressure(rmd->node.monitor, os_now_ns());
    rmd_settle(rmd, os_now_ns());
}

static void on_sleep(void *ctx)
{
    Rmd *rmd = ctx;
    bool begins = sleep_watch_take(rmd->sleep);
    if (begins)
        log_event(LOG_LEVEL_INFO, "sleep", "imd=%s", rmd->child.pid ? "yes" : "no");
    monitor_sleep(rmd->node.monitor, begins, os_now_ns());
    rmd_settle(rmd, os_now_ns());
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

const ChildOps rmd_child_ops = {.ready = on_ready, .used = on_used, .ended = on_ended};

static uint64_t on_deadline(void *ctx)
{
    Rmd *rmd = ctx;
    uint64_t t = node_deadline(&rmd->node);
    return rmd->has_port ? min_u64(t, port_deadline(&rmd->port)) : t;
}

static void on_expire(void *ctx, uint64_t now_ns)
{
    rmd_settle(ctx, now_ns);
}

static void leave(Rmd *rmd, uint64_t now_ns)
{
    log_event(LOG_LEVEL_INFO, "leaving", "imd=%s", rmd->child.pid ? "yes" : "no");
    start_stopping();
    node_leave(&rmd->node, now_ns);
    rmd_settle(rmd, now_ns);
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

static const LoopOps loop_ops = {
    .deadline = on_deadline, .expire = on_expire, .signal = on_signal, .reload = rmd_on_reload};

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

int rmd_open_loop(Rmd *rmd, char *error)
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
    rmd_settle(rmd, os_now_ns());
    res = loop_run(rmd->loop);
    child_close(&rmd->child);
    log_event(LOG_LEVEL_INFO, "end", "imd=gone");
    if (looker_stop(rmd->looker) < 0)
        _exit(res < 0 || rmd->address.moved
                  ? EXIT_FAILURE
                  : EXIT_SUCCESS); /* a source hangs; its memory is in use */
    return res < 0 || rmd->address.moved ? EXIT_FAILURE : EXIT_SUCCESS;
}
