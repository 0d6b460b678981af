/* SPDX-License-Identifier: MIT */
/* What cmd takes at its start, in order, and gives back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "base/os.h"
#include "cmd/shell_private.h"

static void trace(void *ctx, const char *text)
{
    log_event(LOG_LEVEL_DEBUG, "core", "%s", text);
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
    const ManagerSink sink = {.message = cmd_message, .ctx = cmd, .event = cmd_log_event};
    Env env = os_env();
    if (o->common.log_level >= LOG_LEVEL_DEBUG)
        env.trace = trace;
    cmd->loop = loop_new(&cmd_loop_ops, cmd); /* ignores SIGPIPE: before anything is logged */
    cmd->manager = manager_new(&config, &env, &sink, instance, os_now_ns());
    if (cmd->manager && cmd->loop && cmd_network_watch(cmd) == 0 && cmd_lease_watch(cmd) == 0)
        return cmd_open_pages(cmd, error);
    (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the directories");
    return -ENOMEM;
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
    if (cmd_network_open(cmd, &instance, error) < 0 || open_core(cmd, &instance, error) < 0)
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
