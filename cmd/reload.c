/* SPDX-License-Identifier: MIT */
/* Settings that change while cmd runs. */
#include "base/os.h"
#include "cmd/shell_private.h"
#include "daemon/start.h"

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

void cmd_on_reload(void *ctx)
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
