/* SPDX-License-Identifier: MIT */
/* The settings of cmd: command line, environment, config file. */
#ifndef DODO_CMD_OPTIONS_H
#define DODO_CMD_OPTIONS_H

#include "daemon/config.h"
#include "daemon/metrics_http.h"

typedef struct CmdOptions {
    CommonOptions common; /* first */
    Listen listen;
    char *lease; /* the command that holds it; NULL: always active */
    uint64_t client_dead_ns, host_dead_ns, distrust_ns, grace_ns;
    uint64_t request_retry_ns, request_retry_max_ns, request_deadline_ns;
    uint64_t hosts_max, clients_max, regions_max, opens_max, sessions_max;
    uint64_t client_bytes, client_regions; /* a client may have open; 0: no limit */
    uint64_t receive_bytes;
    char *placement; /* "random" or "weighted" */
    MetricsOptions metrics;
} CmdOptions;

extern const ConfigProgram cmd_program;
void cmd_options_init(CmdOptions *o); /* defaults */
/* After config_load(): what must be given is. 0, -EINVAL. */
int cmd_options_check(const CmdOptions *o, char error[CONFIG_ERROR_MAX]);

#endif
