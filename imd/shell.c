/* SPDX-License-Identifier: MIT */
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "daemon/start.h"
#include "imd/metrics.h"
#include "imd/owner_socket.h"
#include "imd/priority.h"
#include "imd/shell_private.h"

void imd_on_done(void *ctx)
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
    imd_ask_reloader(ctx);
}

static void on_expire(void *ctx, uint64_t now_ns)
{
    Imd *imd = ctx;
    imd_hear_owner(imd, now_ns); /* it may have spoken while we did not run ourselves */
    priority_expire(now_ns);
    imd_add_served(imd);
    member_expire(&imd->member, now_ns);
    imd_settle(imd, now_ns);
}

const LoopOps imd_loop_ops = {
    .deadline = on_deadline, .expire = on_expire, .signal = on_signal, .reload = on_reload};

size_t imd_scrape(void *ctx, const CommonMetrics *own, char *buf, size_t cap)
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
                imd->options->common.manager, endpoint_sealed_by(imd->port.endpoint),
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
