/* SPDX-License-Identifier: MIT */
/* What rmd hears of its host: looks at it, pressure on its memory, its sleep, its users, and imd.
 */
#include <inttypes.h>

#include <glib.h>

#include "base/os.h"
#include "rmd/shell_private.h"

static void on_mail(void *ctx)
{
    Rmd *rmd = ctx;
    for (Letter *l = mailbox_take(&rmd->mailbox), *next; l; l = next) {
        next = l->next;
        g_free(rmd->seen);
        rmd->seen = (Observation *)(void *)l;
        rmd->explainer.seen = rmd->seen;
        owner_desk_step(&rmd->desk, rmd->node.monitor);
        const uint64_t now = os_now_ns();
        node_look(&rmd->node, &rmd->seen->look, now);
        if (rmd->survey)
            survey_note(rmd->survey, rmd->seen->real_ns, &rmd->seen->look.facts,
                        monitor_idle(rmd->node.monitor, now));
    }
    rmd_settle(rmd, os_now_ns());
}

static void on_desk(void *ctx)
{
    Rmd *rmd = ctx;
    const uint64_t from_ns = os_now_ns();
    owner_desk_take(&rmd->desk, rmd->node.monitor);
    rmd_settle(rmd, os_now_ns());
    loop_rest(rmd->loop, rmd->desk.fd, owner_turn_rest_ns(from_ns, os_now_ns()));
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

static void on_saves(void *ctx)
{
    Rmd *rmd = ctx;
    monitor_saves(rmd->node.monitor);
}

static void on_ended(void *ctx, const char *how)
{
    Rmd *rmd = ctx;
    log_event(LOG_LEVEL_INFO, "imd_ended", "how=\"%s\"", how);
    node_ended(&rmd->node, how, os_now_ns());
}

const ChildOps rmd_child_ops = {
    .ready = on_ready, .used = on_used, .saves = on_saves, .ended = on_ended};

int rmd_host_watch(Rmd *rmd)
{
    if (loop_watch(rmd->loop, rmd->mailbox.fd, on_mail, rmd) == 0 &&
        loop_watch(rmd->loop, rmd->child.fd, on_child, rmd) == 0 &&
        (!rmd->sleep || loop_watch(rmd->loop, sleep_watch_fd(rmd->sleep), on_sleep, rmd) == 0) &&
        (rmd->pressure.fd < 0 || loop_watch(rmd->loop, rmd->pressure.fd, on_pressure, rmd) == 0) &&
        (rmd->desk.fd < 0 || loop_watch(rmd->loop, rmd->desk.fd, on_desk, rmd) == 0))
        return 0;
    return -ENOMEM;
}
