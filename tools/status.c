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
#include "tools/drain_words.h"
#include "tools/duty_words.h"

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

typedef struct StatusView {
    ClusterStatus cluster;
    GArray *drains; /* of DrainStatus */
    bool drains_known;
    Addr manager;
} StatusView;

static int fetch(const ToolOptions *o, StatusView *r, char *error)
{
    ToolClient c;
    int res = tool_client_open_manager(&c, o, NULL, error);
    if (res < 0)
        return res;
    r->manager = c.peer;
    res = cluster_status_fetch(&r->cluster, &c, error);
    if (res == 0)
        res = cluster_drains_fetch(r->drains, &c, error);
    r->drains_known = res == 0;
    tool_client_close(&c);
    return res < 0 ? res : 0;
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
static void print_hosts_json(const ClusterStatus *r)
{
    char text[ADDR_TEXT_MAX];
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
}

static void print_drains_json(const StatusView *s)
{
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; i < s->drains->len; i++) {
        g_string_append(out, i ? "," : "");
        drain_status_say_json(&g_array_index(s->drains, DrainStatus, i), out);
    }
    if (s->drains_known)
        printf(",\"drains\":[%s]", out->str);
}

static void print_json(const StatusView *s)
{
    char text[ADDR_TEXT_MAX];
    const ClusterStatus *r = &s->cluster;
    (void)fputs("{\"hosts\":[", stdout);
    print_hosts_json(r);
    (void)putchar(']');
    print_drains_json(s);
    printf(",\"regions\":%" PRIu64 ",\"clients\":%" PRIu64
           ",\"manager\":\"%s\",\"active\":%s,\"lease\":\"%" PRIu64 "\",\"uptime_ms\":%" PRIu64
           "}\n",
           r->last.regions, r->last.clients, addr_format(&s->manager, text, sizeof text),
           stands_by(r) ? "false" : "true", stands_by(r) ? 0 : r->number, r->last.uptime_ms);
}

static void print_head(const StatusView *s)
{
    char text[ADDR_TEXT_MAX], uptime[32], duty[DUTY_TEXT_MAX];
    const ClusterStatus *r = &s->cluster;
    g_autoptr(GString) counts = g_string_new(NULL);
    drain_say_count(counts, r->hosts->len, "host, ", "hosts, ");
    drain_say_count(counts, r->last.regions, "region, ", "regions, ");
    drain_say_count(counts, r->last.clients, "client", "clients");
    printf("manager %s, %s %s: %s\n", addr_format(&s->manager, text, sizeof text),
           duty_format(r->number, duty),
           format_time(r->last.uptime_ms / 1000 * NS_PER_S, uptime, sizeof uptime), counts->str);
}

/* It has a line of its own, below the table. */
static bool is_drained(const StatusView *s, const HostStatus *h)
{
    for (guint i = 0; i < s->drains->len; i++)
        if (g_array_index(s->drains, DrainStatus, i).progress.epoch == h->epoch)
            return true;
    return false;
}

static void print_host(const StatusView *s, const HostStatus *h)
{
    char text[ADDR_TEXT_MAX], size[5][32];
    const uint64_t bytes[5] = {h->pool_bytes, h->free_bytes, h->largest_free_bytes, h->read_bytes,
                               h->write_bytes};
    for (unsigned k = 0; k < 5; k++)
        (void)format_size(bytes[k], size[k], sizeof size[k]);
    const bool why = h->state == HOST_LEAVING && *h->reason.text && !is_drained(s, h);
    printf("%-24s %-8s %10s %10s %10s %9" PRIu64 " %10s %10s%s%s\n",
           addr_format(&h->address, text, sizeof text), host_state_text(h->state), size[0], size[1],
           size[2], h->regions, size[3], size[4], why ? "  " : "", why ? h->reason.text : "");
}

static void print_drains(const StatusView *s)
{
    for (guint i = 0; i < s->drains->len; i++) {
        g_autoptr(GString) line = g_string_new(NULL);
        drain_status_say(&g_array_index(s->drains, DrainStatus, i), line);
        (void)puts(line->str);
    }
}

static void print_table(const StatusView *s)
{
    char text[ADDR_TEXT_MAX];
    const GArray *hosts = s->cluster.hosts;
    print_head(s);
    if (hosts->len)
        printf("%-24s %-8s %10s %10s %10s %9s %10s %10s\n", "HOST", "STATE", "POOL", "FREE",
               "LARGEST", "REGIONS", "READ", "WRITTEN");
    for (guint i = 0; i < hosts->len; i++) {
        const HostStatus *h = &g_array_index(hosts, HostStatus, i);
        if (h->state == HOST_BUSY)
            printf("%-24s %-8s %s\n", addr_format(&h->address, text, sizeof text),
                   host_state_text(h->state), h->reason.text);
        else
            print_host(s, h);
    }
    print_drains(s);
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ToolOptions o;
    StatusView s = {.drains = g_array_new(FALSE, FALSE, sizeof(DrainStatus))};
    int status = EXIT_SUCCESS;
    cluster_status_init(&s.cluster);
    tool_options_init(&o);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome != CONFIG_OK)
        status = start_config_failed(&program, outcome, error);
    else if (fetch(&o, &s, error) < 0)
        status = start_failed(&program, EXIT_START, error);
    else
        (o.json ? print_json : print_table)(&s);
    config_clear(&program, &o);
    cluster_status_deinit(&s.cluster);
    g_array_unref(s.drains);
    return status;
}

const Command command_status = {"status", "Show the hosts and what they hold", run};
