/* SPDX-License-Identifier: MIT */
#include "cmd/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/lease_command.h"

#define FIELD(name) offsetof(CmdOptions, name)

static const ConfigKey keys[] = {
    {"cmd", "listen", "Address or interface of this host to serve at", "ADDR[:PORT]",
     FIELD(listen)},
    {"cmd", "lease", "Be active only while this command runs and has printed its lease's number",
     "COMMAND", FIELD(lease)},
    {"cmd", "client_dead", NULL, NULL, FIELD(client_dead_ns)},
    {"cmd", "host_dead", NULL, NULL, FIELD(host_dead_ns)},
    {"cmd", "distrust", NULL, NULL, FIELD(distrust_ns)},
    {"cmd", "placement", NULL, NULL, FIELD(placement)},
    {"cmd", "grace", NULL, NULL, FIELD(grace_ns)},
    {"cmd", "request_retry", NULL, NULL, FIELD(request_retry_ns)},
    {"cmd", "request_retry_max", NULL, NULL, FIELD(request_retry_max_ns)},
    {"cmd", "request_deadline", NULL, NULL, FIELD(request_deadline_ns)},
    {"cmd", "hosts_max", NULL, NULL, FIELD(hosts_max)},
    {"cmd", "clients_max", NULL, NULL, FIELD(clients_max)},
    {"cmd", "regions_max", NULL, NULL, FIELD(regions_max)},
    {"cmd", "opens_max", NULL, NULL, FIELD(opens_max)},
    {"cmd", "client_bytes", NULL, NULL, FIELD(client_bytes)},
    {"cmd", "client_regions", NULL, NULL, FIELD(client_regions)},
    {"cmd", "sessions_max", NULL, NULL, FIELD(sessions_max)},
    {"cmd", "receive_buffer", NULL, NULL, FIELD(receive_bytes)},
    {"cmd", "metrics", "Serve metrics for Prometheus, and a web page, at this address",
     "ADDR[:PORT]", FIELD(metrics.listen)},
    {"cmd", "metrics_token_file", NULL, NULL, FIELD(metrics.token_file)},
};
static const ConfigTable own = CONFIG_TABLE(keys);

/* Where the command stands is known while it is read. */
static int judge_lease(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    char wrong[CONFIG_ERROR_MAX];
    if (strcmp(k->name, "lease") != 0 || lease_command_check(v->text, wrong) == 0)
        return 0;
    (void)snprintf(error, cap, "%s", wrong);
    return -EINVAL;
}

const ConfigProgram cmd_program = {
    .name = "cmd",
    .reader = CONF_CMD,
    .summary = "The central manager of Dodo: knows the idle hosts and their regions.",
    .tables = {&own, &config_common, &config_manager_unused, &config_daemon},
    .judge = judge_lease,
};

void cmd_options_init(CmdOptions *o)
{
    *o = (CmdOptions){0};
    config_common_init(&o->common);
    config_defaults(&own, o);
}

int cmd_options_check(const CmdOptions *o, char error[CONFIG_ERROR_MAX])
{
    if (!listen_is_open(&o->listen))
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "--listen ADDR[:PORT] is needed, here or as [cmd] listen in the config file");
    return -EINVAL;
}
