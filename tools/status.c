/* SPDX-License-Identifier: MIT */
/* dodo status: the hosts that lend memory, what they hold, and what they served. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/parse.h"
#include "base/time.h"
#include "daemon/start.h"
#include "tools/cluster_status.h"
#include "tools/command.h"

static const ConfigKey keys[] = {
    {NULL, "json", "Print JSON", NULL, offsetof(ToolOptions, json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo status",
    .reader = CONF_TOOL,
    .summary = "Shows the cluster as its manager sees it.",
    .tables = {&own, &config_manager, &tool_timeout, &config_common},
};

static int fetch(const ToolOptions *o, ClusterStatus *r, Addr *ret_manager, char *error)
{
    ToolClient c;
    int res = tool_client_open_manager(&c, o, NULL, error);
    if (res < 0)
        return res;
    *ret_manager = c.peer;
    res = cluster_status_fetch(r, &c, error);
    tool_client_close(&c);
    return res;
}

static bool stands_by(const ClusterStatus *r)
{
    return r->number == MANAGER_STANDBY;
}

static void print_string(const char *text)
{
    char buf[6 * REASON_MAX + 3];
    Json j = {.buf = buf, .cap = sizeof buf};
    json_string(&j, text);
    (void)fputs(buf, stdout);
}

/* Addresses and states have no character that JSON would want escaped. The epoch is a string:
 * many readers of JSON keep only 53 bits of a number. */
static void print_json(const ClusterStatus *r, const Addr *manager)
{
    char text[ADDR_TEXT_MAX];
    (void)fputs("{\"hosts\":[", stdout);
    for (guint i = 0; i < r->hosts->len; i++) {
        const HostStatus *h = &g_array_index(r->hosts, HostStatus, i);
        printf("%s{\"address\":\"%s\",\"state\":\"%s\",\"epoch\":\"%016" PRIx64 "\","
               "\"pool_bytes\":%" PRIu64 ",\"free_bytes\":%" PRIu64
               ",\"largest_free_bytes\":%" PRIu64 ",\"regions\":%" PRIu64 ",\"read_bytes\":%" PRIu64
               ",\"write_bytes\":%" PRIu64 ",\"reason\":",
               i ? "," : "", addr_format(&h->address, text, sizeof text), host_state_text(h->state),
               h->epoch, h->pool_bytes, h->free_bytes, h->largest_free_bytes, h->regions,
               h->read_bytes, h->write_bytes);
        print_string(h->reason.text);
        (void)putchar('}');
    }
    printf("],\"regions\":%" PRIu64 ",\"clients\":%" PRIu64
           ",\"manager\":\"%s\",\"active\":%s,\"lease\":\"%" PRIu64 "\",\"uptime_ms\":%" PRIu64
           "}\n",
           r->last.regions, r->last.clients, addr_format(manager, text, sizeof text),
           stands_by(r) ? "false" : "true", stands_by(r) ? 0 : r->number, r->last.uptime_ms);
}

static void print_table(const ClusterStatus *r, const Addr *manager)
{
    char text[ADDR_TEXT_MAX], size[5][32];
    char duty[32] = "up";
    if (stands_by(r))
        (void)snprintf(duty, sizeof duty, "stands by for");
    else if (r->number != MANAGER_UNLEASED)
        (void)snprintf(duty, sizeof duty, "lease %" PRIu64 " for", r->number);
    printf("manager %s, %s %s: %u hosts, %" PRIu64 " regions, %" PRIu64 " clients\n",
           addr_format(manager, text, sizeof text), duty,
           format_time(r->last.uptime_ms / 1000 * NS_PER_S, size[0], sizeof size[0]), r->hosts->len,
           r->last.regions, r->last.clients);
    if (r->hosts->len)
        printf("%-24s %-8s %10s %10s %10s %9s %10s %10s\n", "HOST", "STATE", "POOL", "FREE",
               "LARGEST", "REGIONS", "READ", "WRITTEN");
    for (guint i = 0; i < r->hosts->len; i++) {
        const HostStatus *h = &g_array_index(r->hosts, HostStatus, i);
        if (h->state == HOST_BUSY) {
            printf("%-24s %-8s %s\n", addr_format(&h->address, text, sizeof text),
                   host_state_text(h->state), h->reason.text);
            continue;
        }
        const uint64_t bytes[5] = {h->pool_bytes, h->free_bytes, h->largest_free_bytes,
                                   h->read_bytes, h->write_bytes};
        for (unsigned k = 0; k < 5; k++)
            (void)format_size(bytes[k], size[k], sizeof size[k]);
        const bool why = h->state == HOST_LEAVING && *h->reason.text;
        printf("%-24s %-8s %10s %10s %10s %9" PRIu64 " %10s %10s%s%s\n",
               addr_format(&h->address, text, sizeof text), host_state_text(h->state), size[0],
               size[1], size[2], h->regions, size[3], size[4], why ? "  " : "",
               why ? h->reason.text : "");
    }
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ToolOptions o;
    ClusterStatus r;
    Addr manager;
    int status = EXIT_SUCCESS;
    cluster_status_init(&r);
    tool_options_init(&o);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome != CONFIG_OK)
        status = start_config_failed(&program, outcome, error);
    else if (fetch(&o, &r, &manager, error) < 0)
        status = start_failed(&program, EXIT_START, error);
    else
        (o.json ? print_json : print_table)(&r, &manager);
    config_clear(&program, &o);
    cluster_status_deinit(&r);
    return status;
}

const Command command_status = {"status", "Show the hosts and what they hold", run};
