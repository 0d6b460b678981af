/* SPDX-License-Identifier: MIT */
/* dodo ping: round trips to cmd, or to any other socket of a daemon. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "base/printable.h"
#include "proto/conf/defaults.h"
#include "daemon/start.h"
#include "tools/client.h"
#include "tools/command.h"

static const ConfigKey keys[] = {
    {NULL, "count", "Round trips; 3 if not given", "N", offsetof(ToolOptions, count), CONFIG_COUNT,
     1, 1000000},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo ping",
    .reader = CONF_TOOL,
    .arguments = "[HOST:PORT]",
    .summary = "Shows whether a daemon answers, and how fast. Asks the manager if no host is "
               "given.",
    .tables = {&own, &config_manager, &tool_timeout, &config_common},
};

/* @peers: none: the manager. */
static int ping(const ToolOptions *o, const Resolved *peers, char *error)
{
    char text[ADDR_TEXT_MAX];
    ToolClient c;
    uint64_t started = os_now_ns();
    int res = peers->count > 0 ? tool_client_open_any(&c, o, peers, NULL, error)
                               : tool_client_open_manager(&c, o, NULL, error);
    if (res < 0)
        return res;
    printf("%s answers: hello %.1f us%s%s\n", addr_format(&c.peer, text, sizeof text),
           (double)(c.up_ns - started) / NS_PER_US,
           endpoint_is_sealed(c.port.endpoint) ? ", sealed" : "",
           tool_client_stands_by(&c) ? ", a manager that stands by" : "");
    for (uint64_t i = 1; i <= o->count && res == 0; i++) {
        uint64_t ns;
        res = tool_client_ping(&c, &ns, error);
        if (res == 0)
            printf("%" PRIu64 ": %.1f us\n", i, (double)ns / NS_PER_US);
    }
    tool_client_close(&c);
    return res;
}

static enum ConfigOutcome take_host(int argc, char **argv, Resolved *ret, char *error)
{
    char shown[128];
    if (argc > 2) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "one host is enough");
        return CONFIG_USAGE;
    }
    const int res = argc > 1 ? tool_find_host(argv[1], DEFAULT_CMD_PORT, ret, error) : 0;
    if (res == -EINVAL)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "%s: expected a name or an address such as host.example:7700, "
                       "10.0.0.1:7700 or [fd00::1]:7700",
                       printable_short(argv[1], shown, sizeof shown));
    return res == -EINVAL ? CONFIG_USAGE : res < 0 ? CONFIG_BAD : CONFIG_OK;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ToolOptions o;
    Resolved peers = {.count = 0};
    int status = EXIT_SUCCESS;
    tool_options_init(&o);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK)
        outcome = take_host(argc, argv, &peers, error);
    if (outcome != CONFIG_OK)
        status = start_config_failed(&program, outcome, error);
    else if (ping(&o, &peers, error) < 0)
        status = start_failed(&program, EXIT_START, error);
    config_clear(&program, &o);
    return status;
}

const Command command_ping = {"ping", "Show whether a daemon answers, and how fast", run};
