/* SPDX-License-Identifier: MIT */
/* Settings that change while cmd runs. */
#include <errno.h>
#include <stdio.h>

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

static void reloaded(Cmd *cmd, CmdOptions *read, bool other_keys)
{
    char text[64];
    const CmdOptions before = *cmd->options, wanted = *read;
    ConfigChanges changes;
    take_options(cmd, read);
    config_changes(&cmd_program, &before, cmd->options, &wanted, &changes);
    if (other_keys)
        config_changes_key(&changes);
    (void)snprintf(text, sizeof text, "cmd=ready keys=%u", endpoint_keys_count(cmd->port.endpoint));
    start_log_reload(&changes, text);
}

void cmd_on_reload(void *ctx)
{
    Cmd *cmd = ctx;
    char error[CONFIG_ERROR_MAX] = "";
    CmdOptions o;
    cmd_options_init(&o);
    int res = config_reload(&cmd_program, &o, error) == CONFIG_OK
                  ? start_reload(&o.common, cmd->port.endpoint, os_now_ns(), error)
                  : -EINVAL;
    if (res < 0)
        start_log_not_reloaded(error);
    else
        reloaded(cmd, &o, res > 0);
    config_clear(&cmd_program, &o);
}
