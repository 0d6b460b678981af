/* SPDX-License-Identifier: MIT */
/* dodo regions: which regions there are, on which hosts, and whose. */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/parse.h"
#include "daemon/start.h"
#include "proto/conf/defaults.h"
#include "tools/client.h"
#include "tools/command.h"

enum {
    REGIONS_MAX = 1 << 25, /* more than any manager has: one that never ends its list */
    ID_DIGITS = 16,        /* of a program, as events and the page have it */
};

typedef struct RegionsOptions {
    ToolOptions tool; /* first */
    char *client, *host;
} RegionsOptions;

#define FIELD(name) offsetof(RegionsOptions, name)
static const ConfigKey keys[] = {
    {NULL, "host", "Only those on this host", "HOST[:PORT]", FIELD(host), CONFIG_TEXT},
    {NULL, "client", "Only those that this program has open", "ID", FIELD(client), CONFIG_TEXT},
    {NULL, "json", "Print JSON", NULL, FIELD(tool.json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo regions",
    .reader = CONF_TOOL,
    .summary = "Shows the regions of the cluster: where they are, and which program has them open.",
    .tables = {&own, &config_manager, &tool_timeout, &config_common},
};

/* ---- the list -------------------------------------------------------------------------------- */

/* Cursors grow, or the manager could keep us for ever. */
static int fetch_page(ToolClient *c, OpRegions *op, GArray *regions, char *error)
{
    OpRegionsReply reply;
    uint8_t body[WIRE_BODY_MAX];
    int res = tool_client_ask(c, OP_REGIONS, body, wire_regions_encode(op, body), error);
    if (res < 0)
        return res;
    if (wire_regions_reply_decode(c->request.answer, c->request.answer_len, &reply) != 0 ||
        (reply.next != 0 && reply.next <= op->cursor) || regions->len > REGIONS_MAX) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "the answer made no sense: is that a manager?");
        return -EPROTO;
    }
    g_array_append_vals(regions, reply.regions, reply.count);
    op->cursor = reply.next;
    return 0;
}

static int fetch(ToolClient *c, OpRegions op, GArray *regions, char *error)
{
    int res;
    op.cursor = 0;
    do
        res = fetch_page(c, &op, regions, error);
    while (res == 0 && op.cursor != 0);
    return res;
}

/* Of each address that the host's name has. */
static int fetch_all(const RegionsOptions *o, const OpRegions *op, const Resolved *hosts,
                     GArray *regions, char *error)
{
    ToolClient c;
    OpRegions one = *op;
    int res = tool_client_open_manager(&c, &o->tool, NULL, error);
    if (res < 0)
        return res;
    if (hosts->count == 0)
        res = fetch(&c, one, regions, error);
    for (unsigned i = 0; res == 0 && i < hosts->count; i++) {
        one.host = hosts->found[i];
        res = fetch(&c, one, regions, error);
    }
    tool_client_close(&c);
    return res;
}

/* By host, then as their imds count them. */
static int compare(const void *a, const void *b)
{
    const RegionStatus *x = a, *y = b;
    const int by_host = memcmp(x->host.host, y->host.host, sizeof x->host.host);
    const int by_port = (x->host.port > y->host.port) - (x->host.port < y->host.port);
    return by_host   ? by_host
           : by_port ? by_port
                     : (x->region > y->region) - (x->region < y->region);
}

/* ---- what is shown --------------------------------------------------------------------------- */

static const char *client_text(const RegionStatus *r, char buf[ID_DIGITS + 1])
{
    (void)snprintf(buf, ID_DIGITS + 1, "%016" PRIx64, get_u64(r->client.bytes));
    return id128_is_null(&r->client) ? "" : buf;
}

static void print_json(const GArray *regions)
{
    char host[ADDR_TEXT_MAX], client[ID_DIGITS + 1];
    (void)fputs("{\"regions\":[", stdout);
    for (guint i = 0; i < regions->len; i++) {
        const RegionStatus *r = &g_array_index(regions, RegionStatus, i);
        printf("%s{\"host\":\"%s\",\"region\":\"%" PRIu64 "\",\"opening\":%" PRIu32
               ",\"state\":\"%s\",\"client\":\"%s\",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64
               ",\"retain\":%s}",
               i ? "," : "", addr_format(&r->host, host, sizeof host), r->region, r->opening,
               region_use_text(r->use), client_text(r, client), r->offset, r->len,
               r->retain ? "true" : "false");
    }
    (void)fputs("]}\n", stdout);
}

static void print_table(const GArray *regions)
{
    char host[ADDR_TEXT_MAX], client[ID_DIGITS + 1], size[32];
    uint64_t bytes = 0;
    if (regions->len)
        printf("%-24s %10s %-8s %-16s %10s %18s\n", "HOST", "REGION", "STATE", "CLIENT", "SIZE",
               "OFFSET");
    for (guint i = 0; i < regions->len; i++) {
        const RegionStatus *r = &g_array_index(regions, RegionStatus, i);
        const char *whose = client_text(r, client);
        printf("%-24s %10" PRIu64 " %-8s %-16s %10s %18" PRIu64 "\n",
               addr_format(&r->host, host, sizeof host), r->region, region_use_text(r->use),
               *whose ? whose : "-", format_size(r->len, size, sizeof size), r->offset);
        bytes += r->len;
    }
    printf("%u region%s, %s\n", regions->len, regions->len == 1 ? "" : "s",
           format_size(bytes, size, sizeof size));
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum ConfigOutcome take_host(const char *text, Resolved *ret, char *error)
{
    const int res = tool_find(text, DEFAULT_IMD_PORT, ret, error);
    if (res == -EINVAL)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "--host: give its name or address, as dodo status lists it");
    return res == -EINVAL ? CONFIG_USAGE : res < 0 ? CONFIG_BAD : CONFIG_OK;
}

/* As dodo events has it. */
static enum ConfigOutcome take_client(const char *text, uint64_t *ret, char *error)
{
    char *end;
    *ret = strspn(text, "0123456789abcdefABCDEF") == strlen(text) && strlen(text) == ID_DIGITS
               ? strtoull(text, &end, 16)
               : 0;
    if (*ret != 0)
        return CONFIG_OK;
    (void)snprintf(
        error, CONFIG_ERROR_MAX,
        "--client: give its %d hexadecimal digits, as dodo events --json and this program "
        "print them",
        ID_DIGITS);
    return CONFIG_USAGE;
}

static int regions(const RegionsOptions *o, const OpRegions *op, const Resolved *hosts)
{
    char error[CONFIG_ERROR_MAX] = "";
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(RegionStatus));
    if (fetch_all(o, op, hosts, all, error) < 0)
        return start_failed(&program, EXIT_START, error);
    g_array_sort(all, compare);
    (o->tool.json ? print_json : print_table)(all);
    return EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    RegionsOptions o = {.client = NULL};
    OpRegions op = {.cursor = 0};
    Resolved hosts = {.count = 0};
    tool_options_init(&o.tool);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK && o.host)
        outcome = take_host(o.host, &hosts, error);
    if (outcome == CONFIG_OK && o.client)
        outcome = take_client(o.client, &op.client, error);
    const int status = outcome == CONFIG_OK ? regions(&o, &op, &hosts)
                                            : start_config_failed(&program, outcome, error);
    config_clear(&program, &o);
    return status;
}

const Command command_regions = {"regions", "Show which regions there are, and whose", run};
