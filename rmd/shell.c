/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "daemon/start.h"
#include "rmd/metrics.h"
#include "rmd/shell_private.h"

/* ---- after anything that happened ------------------------------------------------------------ */

void rmd_settle(Rmd *rmd, uint64_t now_ns)
{
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

/* ---- the loop -------------------------------------------------------------------------------- */

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

void rmd_leave(void *ctx)
{
    Rmd *rmd = ctx;
    const uint64_t now = os_now_ns();
    log_event(LOG_LEVEL_INFO, "leaving", "imd=%s", rmd->child.pid ? "yes" : "no");
    start_stopping();
    node_leave(&rmd->node, now);
    rmd_settle(rmd, now);
}

static void on_signal(void *ctx, unsigned nth)
{
    Rmd *rmd = ctx;
    if (nth > 1) {
        log_event(LOG_LEVEL_WARN, "forced_end", "signals=%u", nth);
        child_kill(&rmd->child);
        _exit(EXIT_FAILURE);
    }
    rmd_leave(rmd);
}

const LoopOps rmd_loop_ops = {
    .deadline = on_deadline, .expire = on_expire, .signal = on_signal, .reload = rmd_on_reload};

size_t rmd_scrape(void *ctx, const CommonMetrics *own, char *buf, size_t cap)
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
                rmd->child.program, endpoint_sealed_by(rmd->port.endpoint));
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
    const int status = res < 0 || rmd->address.moved ? EXIT_FAILURE : EXIT_SUCCESS;
    if (looker_stop(rmd->looker) < 0)
        _exit(status); /* a source hangs; its memory is in use */
    return status;
}
