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
#include "base/printable.h"
#include "daemon/start.h"
#include "proto/conf/defaults.h"
#include "tools/client.h"
#include "tools/cluster_status.h"
#include "tools/command.h"
#include "tools/copies.h"

enum {
    REGIONS_MAX = 1 << 25, /* more than any manager has: one that never ends its list */
    ID_DIGITS = 16,        /* of a program, as events and the page have it */
};

typedef struct RegionsOptions {
    ToolOptions tool; /* first */
    char *client, *host;
} RegionsOptions;

typedef struct RegionList {
    GArray *rows; /* of RegionRow */
    bool copies_known;
} RegionList;

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

/* A page of COPIES, or of REGIONS: older managers know that alone. */
static int decode(const Request *answer, bool copies, GArray *rows, uint64_t *ret_next)
{
    OpCopiesReply c = {.count = 0};
    OpRegionsReply r = {.count = 0};
    const int res = copies ? wire_copies_reply_decode(answer->answer, answer->answer_len, &c)
                           : wire_regions_reply_decode(answer->answer, answer->answer_len, &r);
    for (uint32_t i = 0; res == 0 && i < c.count; i++) {
        const RegionRow row = {
            .region = c.copies[i].region, .leaves = c.copies[i].leaves, .piece = c.copies[i].piece};
        g_array_append_val(rows, row);
    }
    for (uint32_t i = 0; res == 0 && i < r.count; i++) {
        const RegionRow row = {.region = r.regions[i]};
        g_array_append_val(rows, row);
    }
    *ret_next = copies ? c.next : r.next;
    return res;
}

/* Cursors grow, or the manager could keep us for ever. 1: it knows no COPIES. */
static int fetch_page(ToolClient *c, OpRegions *op, bool copies, GArray *rows, char *error)
{
    uint64_t next;
    uint8_t body[WIRE_BODY_MAX];
    int res = tool_client_ask_page(c, copies ? OP_COPIES : OP_REGIONS, op->cursor == 0, body,
                                   wire_regions_encode(op, body), error);
    if (res == -EPROTO && copies && c->request.status == STATUS_DENIED)
        return 1;
    if (res < 0)
        return res;
    if (decode(&c->request, copies, rows, &next) != 0 || (next != 0 && next <= op->cursor) ||
        rows->len > REGIONS_MAX) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "the answer made no sense: is that a manager?");
        return -EPROTO;
    }
    op->cursor = next;
    return 0;
}

static int fetch(ToolClient *c, OpRegions op, bool copies, GArray *rows, char *error)
{
    int res;
    op.cursor = 0;
    do
        res = fetch_page(c, &op, copies, rows, error);
    while (res == 0 && op.cursor != 0);
    return res;
}

static bool is_among(const Addr *host, const Resolved *hosts)
{
    bool is = false;
    for (unsigned i = 0; i < hosts->count; i++)
        is |= addr_equal(host, &hosts->found[i]);
    return is;
}

/* Leaves out what is on others. */
static void keep_those_on(const Resolved *hosts, GArray *rows)
{
    for (guint i = rows->len; i-- > 0 && hosts->count > 0;)
        if (!is_among(&g_array_index(rows, RegionRow, i).region.host, hosts))
            g_array_remove_index_fast(rows, i);
}

/* No region is there: so it is of a host, not of one that nobody knows. 0, -errno. */
static int must_be_known(ToolClient *c, const RegionsOptions *o, const Resolved *hosts, char *error)
{
    ClusterStatus s;
    bool known = false;
    cluster_status_init(&s);
    int res = cluster_status_fetch(&s, c, error);
    for (guint i = 0; res == 0 && i < s.hosts->len; i++)
        known |= is_among(&g_array_index(s.hosts, HostStatus, i).address, hosts);
    cluster_status_deinit(&s);
    if (res < 0 || known)
        return res;
    char shown[128];
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "the manager knows no host %s that lends memory: dodo status lists them",
                   printable_short(o->host, shown, sizeof shown));
    return -ENOENT;
}

/* Of each address that the host's name has. Copies of what is there are elsewhere: all are looked
 * at, and then those that nobody wants to see are left out. */
static int fetch_all(const RegionsOptions *o, const OpRegions *op, const Resolved *hosts,
                     RegionList *ret, char *error)
{
    ToolClient c;
    OpRegions one = *op;
    int res = tool_client_open_manager(&c, &o->tool, NULL, error);
    if (res < 0)
        return res;
    res = fetch(&c, one, true, ret->rows, error);
    ret->copies_known = res == 0;
    if (res == 1 && hosts->count == 0)
        res = fetch(&c, one, false, ret->rows, error);
    for (unsigned i = 0; !ret->copies_known && res >= 0 && i < hosts->count; i++) {
        one.host = hosts->found[i];
        res = fetch(&c, one, false, ret->rows, error);
    }
    copies_count((RegionRow *)(void *)ret->rows->data, ret->rows->len);
    keep_those_on(hosts, ret->rows);
    if (res >= 0 && hosts->count > 0 && ret->rows->len == 0)
        res = must_be_known(&c, o, hosts, error);
    tool_client_close(&c);
    return res;
}

/* By host, then as their imds count them. */
static int compare(const void *a, const void *b)
{
    const RegionStatus *x = &((const RegionRow *)a)->region, *y = &((const RegionRow *)b)->region;
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

static void print_json(const RegionList *l)
{
    char host[ADDR_TEXT_MAX], client[ID_DIGITS + 1];
    (void)fputs("{\"regions\":[", stdout);
    for (guint i = 0; i < l->rows->len; i++) {
        const RegionRow *row = &g_array_index(l->rows, RegionRow, i);
        const RegionStatus *r = &row->region;
        printf("%s{\"host\":\"%s\",\"region\":\"%" PRIu64 "\",\"opening\":%" PRIu32
               ",\"state\":\"%s\",\"client\":\"%s\",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64
               ",\"retain\":%s",
               i ? "," : "", addr_format(&r->host, host, sizeof host), r->region, r->opening,
               region_use_text(r->use), client_text(r, client), r->offset, r->len,
               r->retain ? "true" : "false");
        if (l->copies_known)
            printf(",\"copies\":%u,\"leaves\":%s", row->copies, row->leaves ? "true" : "false");
        (void)putchar('}');
    }
    (void)fputs("]}\n", stdout);
}

static void print_row(const RegionRow *row)
{
    char host[ADDR_TEXT_MAX], client[ID_DIGITS + 1], size[32], copies[16] = "-";
    const RegionStatus *r = &row->region;
    const char *whose = client_text(r, client), *mark = copies_mark(row);
    if (row->copies > 0)
        (void)snprintf(copies, sizeof copies, "%u", row->copies);
    printf("%-24s %10" PRIu64 " %-8s %-16s %10s %18" PRIu64 " %6s%s%s\n",
           addr_format(&r->host, host, sizeof host), r->region, region_use_text(r->use),
           *whose ? whose : "-", format_size(r->len, size, sizeof size), r->offset, copies,
           *mark ? "  " : "", mark);
}

static void print_table(const RegionList *l)
{
    char size[32];
    uint64_t bytes = 0;
    unsigned leave = 0, doubled = 0;
    if (l->rows->len)
        printf("%-24s %10s %-8s %-16s %10s %18s %6s\n", "HOST", "REGION", "STATE", "CLIENT", "SIZE",
               "OFFSET", "COPIES");
    for (guint i = 0; i < l->rows->len; i++) {
        const RegionRow *row = &g_array_index(l->rows, RegionRow, i);
        print_row(row);
        bytes += row->region.len;
        leave += *copies_mark(row) != '\0';
        doubled += row->copies > 1;
    }
    printf("%u region%s, %s", l->rows->len, l->rows->len == 1 ? "" : "s",
           format_size(bytes, size, sizeof size));
    if (doubled > 0)
        printf("; %u with another copy", doubled);
    if (leave > 0)
        printf("; %u to move", leave);
    (void)putchar('\n');
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum ConfigOutcome take_host(const char *text, Resolved *ret, char *error)
{
    const int res = tool_find_host(text, DEFAULT_IMD_PORT, ret, error);
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
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RegionRow));
    RegionList all = {.rows = rows};
    if (fetch_all(o, op, hosts, &all, error) < 0)
        return start_failed(&program, EXIT_START, error);
    g_array_sort(rows, compare);
    (o->tool.json ? print_json : print_table)(&all);
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
