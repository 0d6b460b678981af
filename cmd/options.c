/* SPDX-License-Identifier: MIT */
#include "cmd/options.h"

#include <errno.h>
#include <stdio.h>

#include "base/defaults.h"

#define FIELD(name) offsetof(CmdOptions, name)
#define DAY (24 * 3600 * NS_PER_S)

static const ConfigKey keys[] = {
    {"cmd", "listen", NULL, "Address of this host to serve at", "ADDR:PORT", CONFIG_ADDR,
     FIELD(listen), DEFAULT_CMD_PORT, 0},
    {"cmd", "client_dead", NULL, NULL, NULL, CONFIG_TIME, FIELD(client_dead_ns), NS_PER_MS, DAY},
    {"cmd", "host_dead", NULL, NULL, NULL, CONFIG_TIME, FIELD(host_dead_ns), NS_PER_MS, DAY},
    {"cmd", "distrust", NULL, NULL, NULL, CONFIG_TIME, FIELD(distrust_ns), 0, DAY},
    {"cmd", "grace", NULL, NULL, NULL, CONFIG_TIME, FIELD(grace_ns), NS_PER_MS, DAY},
    {"cmd", "request_retry", NULL, NULL, NULL, CONFIG_TIME, FIELD(request_retry_ns), NS_PER_MS,
     DAY},
    {"cmd", "request_retry_max", NULL, NULL, NULL, CONFIG_TIME, FIELD(request_retry_max_ns),
     NS_PER_MS, DAY},
    {"cmd", "request_deadline", NULL, NULL, NULL, CONFIG_TIME, FIELD(request_deadline_ns),
     NS_PER_MS, DAY},
    {"cmd", "hosts_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(hosts_max), 1, 1 << 20},
    {"cmd", "clients_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(clients_max), 1, 1 << 20},
    {"cmd", "regions_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(regions_max), 1, 1 << 28},
    {"cmd", "opens_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(opens_max), 1, 1 << 20},
    {"cmd", "client_bytes", NULL, NULL, NULL, CONFIG_SIZE, FIELD(client_bytes), 0, 1ull << 60},
    {"cmd", "client_regions", NULL, NULL, NULL, CONFIG_COUNT, FIELD(client_regions), 0, 1 << 28},
    {"cmd", "sessions_max", NULL, NULL, NULL, CONFIG_COUNT, FIELD(sessions_max), 1, 1 << 22},
    {"cmd", "receive_buffer", NULL, NULL, NULL, CONFIG_SIZE, FIELD(receive_bytes), 64 << 10,
     1 << 30},
};
static const ConfigTable own = CONFIG_TABLE(keys);

const ConfigProgram cmd_program = {
    .name = "cmd",
    .summary = "The central manager of Dodo: knows the idle hosts and their regions.",
    .tables = {&own, &config_common, &config_manager_unused, &config_daemon},
};

void cmd_options_init(CmdOptions *o)
{
    *o = (CmdOptions){
        .client_dead_ns = DEFAULT_CLIENT_DEAD_NS,
        .host_dead_ns = DEFAULT_HOST_DEAD_NS,
        .distrust_ns = DEFAULT_DISTRUST_NS,
        .grace_ns = DEFAULT_GRACE_NS,
        .request_retry_ns = DEFAULT_CMD_REQUEST_RETRY_NS,
        .request_retry_max_ns = DEFAULT_CMD_REQUEST_RETRY_MAX_NS,
        .request_deadline_ns = DEFAULT_CMD_REQUEST_DEADLINE_NS,
        .hosts_max = DEFAULT_CMD_HOSTS_MAX,
        .clients_max = DEFAULT_CMD_CLIENTS_MAX,
        .regions_max = DEFAULT_CMD_REGIONS_MAX,
        .opens_max = DEFAULT_CMD_OPENS_MAX,
        .sessions_max = DEFAULT_CMD_SESSIONS_MAX,
        .receive_bytes = DEFAULT_CMD_RECEIVE_BYTES,
    };
    config_common_init(&o->common);
}

int cmd_options_check(const CmdOptions *o, char error[CONFIG_ERROR_MAX])
{
    if (o->listen.kind != ADDR_NONE)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "--listen ADDR:PORT is needed, here or as [cmd] listen in the config file");
    return -EINVAL;
}
