/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "daemon/port_log.h"
#include "daemon/start.h"
#include "imd/metrics.h"
#include "imd/owner_socket.h"
#include "imd/priority.h"
#include "imd/shell_private.h"

/* ---- what comes in --------------------------------------------------------------------------- */

static void add_served(Imd *imd)
{
    Served sum;
    imd_threads_served(&imd->threads, &sum);
    member_served(&imd->member, &sum);
}

/* Call it after each event: it sends queued messages, and stops the loop once imd has to end. */
void imd_settle(Imd *imd, uint64_t now_ns)
{
    port_expire(&imd->port, now_ns);
    resolver_step(&imd->resolver, &imd->member.manager.finder);
    if (member_finished(&imd->member, now_ns))
        loop_stop(imd->loop);
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Imd *imd = ctx;
    if (type == WIRE_PING) {
        port_pong(&imd->port, s, payload, len, imd->epoch);
    } else {
        add_served(imd);
        member_message(&imd->member, s, type, payload, len, now_ns);
    }
}

static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    Imd *imd = ctx;
    add_served(imd);
    member_up(&imd->member, s, now_ns);
}

static void on_closed(void *ctx, Session *s)
{
    Imd *imd = ctx;
    member_closed(&imd->member, s);
}

const PortOps imd_port_ops = {
    .message = on_message, .up = on_up, .closed = on_closed, .event = port_log};

static void on_socket(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    (void)port_receive(&imd->port, now);
    imd_settle(imd, now);
}

static void on_done(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    for (Letter *l = mailbox_take(&imd->threads.done), *next; l; l = next) {
        ImdOrder *o = (ImdOrder *)l;
        next = l->next;
        member_done(&imd->member, &o->command, o->result, now);
        g_free(o);
    }
    imd_settle(imd, now);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static uint64_t on_deadline(void *ctx)
{
    Imd *imd = ctx;
    uint64_t t = min_u64(port_deadline(&imd->port), member_deadline(&imd->member));
    return min_u64(t, priority_due_ns());
}

static void on_signal(void *ctx, unsigned nth)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    if (nth > 1) {
        log_event(LOG_LEVEL_WARN, "forced_end", "signals=%u", nth);
        _exit(EXIT_FAILURE);
    }
    member_leave(&imd->member, now);
    imd_settle(imd, now);
}

static void on_reload(void *ctx)
{
    imd_ask_reloader(ctx, false);
}

static void on_resolver(void *ctx)
{
    Imd *imd = ctx;
    Resolved r;
    uint64_t now = os_now_ns();
    int res = resolver_take(&imd->resolver, &r);
    if (res == 0) {
        member_found(&imd->member, r.found, r.count);
        member_expire(&imd->member, now);
    } else if (res != -EAGAIN) {
        loop_unwatch(imd->loop, imd->resolver.fd);
        resolver_close(&imd->resolver);
    }
    imd_settle(imd, now);
}

/* The unit starts it again. */
static void on_address(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    member_leave(&imd->member, now);
    imd_settle(imd, now);
}

void imd_close_owner(Imd *imd)
{
    if (imd->owner >= 0)
        (void)close(imd->owner);
    imd->owner = -1;
}

/* ---- rmd ------------------------------------------------------------------------------------- */

static void take_word(Imd *imd, const char *text, size_t len, uint64_t now_ns)
{
    enum OwnerEvent event = member_heard(&imd->member, text, len, now_ns);
    if (event == OWNER_LIMIT && !imd->member.hurrying)
        priority_group(false, now_ns); /* rmd may have thought otherwise */
    if (event == OWNER_RELOAD)
        imd_ask_reloader(imd, true);
    if (event == OWNER_UNKNOWN)
        log_event(LOG_LEVEL_WARN, "owner_not_understood", "bytes=%zu", len);
}

static void hear_owner(Imd *imd, uint64_t now_ns)
{
    char text[OWNER_TEXT_MAX + 1];
    ssize_t len = -EAGAIN;
    while (imd->owner >= 0 && (len = owner_socket_receive(imd->owner, text)) > 0)
        take_word(imd, text, (size_t)len, now_ns);
    if (len == 0) {
        loop_unwatch(imd->loop, imd->owner);
        imd_close_owner(imd);
        member_owner_gone(&imd->member, now_ns);
    }
}

static void on_owner(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    hear_owner(imd, now);
    imd_settle(imd, now);
}

static void on_expire(void *ctx, uint64_t now_ns)
{
    Imd *imd = ctx;
    hear_owner(imd, now_ns); /* it may have spoken while we did not run ourselves */
    priority_expire(now_ns);
    add_served(imd);
    member_expire(&imd->member, now_ns);
    imd_settle(imd, now_ns);
}

static const LoopOps loop_ops = {
    .deadline = on_deadline, .expire = on_expire, .signal = on_signal, .reload = on_reload};

static size_t on_scrape(void *ctx, const CommonMetrics *own, char *buf, size_t cap)
{
    const Imd *imd = ctx;
    const Transport *control = imd->port.transport;
    ImdMetrics m = {.common = *own, .pool_bytes = imd->pool.bytes, .locked = imd->pool.locked};
    metrics_add_socket(&m.common, endpoint_counters(imd->port.endpoint), control->sent,
                       control->astray);
    imd_threads_counts(&imd->threads, &m);
    imd_metrics_read(&m, imd->member.control);
    return metrics_write(&imd_metrics, &m, buf, cap);
}

int imd_open_loop(Imd *imd, char *error)
{
    imd->loop = loop_new(&loop_ops, imd);
    if (!imd->loop ||
        loop_watch(imd->loop, imd->port.transport->ops->fd(imd->port.transport), on_socket, imd) ||
        loop_watch(imd->loop, imd->threads.done.fd, on_done, imd) ||
        loop_watch(imd->loop, imd->reloader.fd, imd_on_reloader, imd) ||
        address_watch_follow(&imd->address, imd->loop, on_address, imd) ||
        (imd->resolver.fd >= 0 && loop_watch(imd->loop, imd->resolver.fd, on_resolver, imd)) ||
        (imd->owner >= 0 && loop_watch(imd->loop, imd->owner, on_owner, imd))) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the control thread");
        return -ENOMEM;
    }
    const MetricsContent content = {.metrics = on_scrape, .ctx = imd};
    return metrics_http_open(imd->loop, &imd->options->metrics, &content, &imd->metrics, error);
}

static void say_ready(const Imd *imd)
{
    char listen[ADDR_TEXT_MAX], size[32];
    g_autoptr(GString) ports = g_string_new(NULL);
    for (unsigned i = 0; i < imd->threads.count; i++)
        g_string_append_printf(ports, "%s%u", i ? "," : "",
                               imd->threads.of[i].port.transport->local.port);
    if (!imd->pool.locked)
        log_event(LOG_LEVEL_WARN, "pool_not_locked",
                  "fix=\"raise ulimit -l (LimitMEMLOCK=) above the pool, or guests' pages may be "
                  "swapped out\"");
    start_ready("imd ready: listen=%s data_ports=%s pool=%s threads=%u manager=%s sealed=%s "
                "locked=%s epoch=%016" PRIx64,
                addr_format(&imd->port.transport->local, listen, sizeof listen), ports->str,
                start_size(imd->pool.bytes, size, sizeof size), imd->threads.count,
                imd->options->common.manager, endpoint_is_sealed(imd->port.endpoint) ? "yes" : "no",
                imd->pool.locked ? "yes" : "no", imd->epoch);
}

int imd_run(Imd *imd)
{
    uint64_t now = os_now_ns();
    say_ready(imd);
    if (imd->owner >= 0)
        owner_socket_ready(imd->owner, imd->epoch, imd->pool.bytes);
    member_expire(&imd->member, now);
    imd_settle(imd, now);
    int res = loop_run(imd->loop);
    log_event(LOG_LEVEL_INFO, "end", "writes_finished=%s",
              imd->member.threads_left == imd->threads.count ? "yes" : "no");
    return res < 0 || imd->address.moved ? EXIT_FAILURE : EXIT_SUCCESS;
}
