/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "base/os.h"
#include "cmd/shell_private.h"
#include "daemon/start.h"

void cmd_log_event(void *ctx, const ManagerEvent *e)
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

void cmd_log_cluster(Cmd *cmd, uint64_t now_ns)
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

/* ---- the loop -------------------------------------------------------------------------------- */

static uint64_t on_deadline(void *ctx)
{
    Cmd *cmd = ctx;
    uint64_t t = min_u64(port_deadline(&cmd->port), manager_deadline(cmd->manager));
    t = min_u64(t, cmd_lease_due(cmd));
    return min_u64(t, journal_deadline(&cmd->journal));
}

static void on_expire(void *ctx, uint64_t now_ns)
{
    Cmd *cmd = ctx;
    cmd_expire_lease(cmd, now_ns);
    manager_expire(cmd->manager, now_ns);
    port_expire(&cmd->port, now_ns);
    cmd_log_cluster(cmd, now_ns);
}

/* Soft state: there is nothing to save. Peers learn that they must ask another manager, or this one
 * when it has started again. */
void cmd_end(void *ctx)
{
    Cmd *cmd = ctx;
    start_stopping();
    cmd_end_lease(cmd);
    loop_stop(cmd->loop);
}

static void on_signal(void *ctx, unsigned nth)
{
    log_event(LOG_LEVEL_INFO, "end", "signals=%u", nth);
    cmd_end(ctx);
}

const LoopOps cmd_loop_ops = {
    .deadline = on_deadline, .expire = on_expire, .signal = on_signal, .reload = cmd_on_reload};

int cmd_run(Cmd *cmd)
{
    char listen[ADDR_TEXT_MAX];
    start_ready("cmd ready: listen=%s sealed=%s%s",
                addr_format(&cmd->port.transport->local, listen, sizeof listen),
                endpoint_sealed_by(cmd->port.endpoint),
                cmd->command->fd >= 0 ? " lease=waits" : "");
    return loop_run(cmd->loop) < 0 || cmd->failed || cmd->address.moved ? EXIT_FAILURE
                                                                        : EXIT_SUCCESS;
}
