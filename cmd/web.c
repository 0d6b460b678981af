/* SPDX-License-Identifier: MIT */
#include "cmd/web.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/json.h"
#include "cmd/manager_private.h"
#include "cmd/metrics.h"

/* Numbers of all 64 bits are strings: readers of JSON keep 53. */
static void add_instance(Json *j, const Manager *m)
{
    json_add(j, "{\"instance\":\"%016" PRIx64 "\"", get_u64(m->instance.bytes));
}

static uint64_t ms_since(const Manager *m, uint64_t at_ns)
{
    return (m->now_ns - at_ns) / NS_PER_MS;
}

static void add_address(Json *j, const Addr *a)
{
    char text[ADDR_TEXT_MAX] = "";
    if (a->kind != ADDR_NONE)
        (void)addr_format(a, text, sizeof text);
    json_add(j, "\"address\":");
    json_string(j, text);
}

/* ---- status -------------------------------------------------------------------------------- */

static void add_cluster(Json *j, const Manager *m)
{
    CmdMetrics c = {.pool_bytes = 0};
    cmd_metrics_read(&c, m);
    json_add(j,
             ",\"version\":\"" DODO_VERSION "\",\"uptime_ms\":%" PRIu64
             ",\"active\":%s,\"lease\":\"%" PRIu64 "\",\"cluster\":{"
             "\"idle\":%" PRIu64 ",\"silent\":%" PRIu64 ",\"leaving\":%" PRIu64
             ",\"monitors\":%" PRIu64 ",\"busy\":%" PRIu64,
             ms_since(m, m->start_ns), c.active ? "true" : "false", c.lease, c.idle, c.silent,
             c.leaving, c.monitors, c.busy);
    json_add(j,
             ",\"pool_bytes\":%" PRIu64 ",\"free_bytes\":%" PRIu64 ",\"regions\":%" PRIu64
             ",\"retained_regions\":%" PRIu64 ",\"clients\":%" PRIu64 ",\"opens\":%" PRIu64
             ",\"opens_failed\":%" PRIu64 ",\"opens_refused\":%" PRIu64 "}",
             c.pool_bytes, c.free_bytes, c.stats.regions, c.retained, c.stats.clients,
             c.stats.opens, c.stats.opens_failed, c.stats.opens_refused);
}

static void add_host(Json *j, const HostStatus *s)
{
    add_address(j, &s->address);
    json_add(j, ",\"state\":\"%s\",\"reason\":", host_state_text(s->state));
    json_string(j, s->reason.text);
}

static void add_lent(Json *j, const Manager *m, const Host *h, const HostStatus *s)
{
    json_add(j,
             ",\"epoch\":\"%016" PRIx64 "\",\"pool_bytes\":%" PRIu64 ",\"free_bytes\":%" PRIu64
             ",\"largest_free_bytes\":%" PRIu64 ",\"regions\":%" PRIu64,
             s->epoch, s->pool_bytes, s->free_bytes, s->largest_free_bytes, s->regions);
    json_add(j,
             ",\"read_bytes\":%" PRIu64 ",\"write_bytes\":%" PRIu64 ",\"fill_bytes\":%" PRIu64
             ",\"reads\":%" PRIu64 ",\"reads_unfilled\":%" PRIu64 ",\"set_aside\":%s",
             h->said.served.read_bytes, h->said.served.write_bytes, h->said.served.fill_bytes,
             h->said.served.reads, h->said.served.reads_unfilled,
             m->now_ns < h->distrust_until_ns ? "true" : "false");
    json_add(j, ",\"draining\":%s", h->drain.on ? "true" : "false");
}

typedef struct HostsPage {
    Json *json;
    const Manager *manager;
    unsigned count;
} HostsPage;

static void add_listed(void *ctx, const Listed *listed)
{
    HostsPage *page = ctx;
    Json *j = page->json;
    json_add(j, "%s{", page->count++ ? "," : "");
    add_host(j, &listed->status);
    if (listed->host)
        add_lent(j, page->manager, listed->host, &listed->status);
    else
        json_add(j, ",\"lendable_bytes\":%" PRIu64, listed->owner->lendable_bytes);
    json_add(j, "}");
}

static uint64_t add_hosts(Json *j, const Manager *m, uint64_t cursor)
{
    HostsPage page = {.json = j, .manager = m};
    json_add(j, ",\"hosts\":[");
    uint64_t next = cmd_list_hosts(m, cursor, WEB_HOSTS_MAX, add_listed, &page);
    json_add(j, "]");
    return next;
}

static void add_clients(Json *j, const Manager *m)
{
    bool first = true;
    json_add(j, ",\"clients\":[");
    for (HmapNode *n = hmap_walk(&m->clients, NULL); n; n = hmap_walk(&m->clients, n)) {
        const CmdClient *c = CONTAINER_OF(n, CmdClient, by_id);
        if (c->left)
            continue;
        json_add(j,
                 "%s{\"id\":\"%016" PRIx64 "\",\"regions\":%" PRIu64 ",\"bytes\":%" PRIu64
                 ",\"heard_ms\":%" PRIu64 "}",
                 first ? "" : ",", get_u64(c->id.bytes), c->regions_count, c->bytes,
                 ms_since(m, c->heard_ns));
        first = false;
    }
    json_add(j, "]");
}

size_t web_status(const Manager *m, uint64_t cursor, char *buf, size_t cap)
{
    Json j = {.buf = buf, .cap = cap};
    add_instance(&j, m);
    add_cluster(&j, m);
    uint64_t next = add_hosts(&j, m, cursor);
    if (cursor == 0 && m->clients.count - m->left.count <= WEB_CLIENTS_MAX)
        add_clients(&j, m);
    json_add(&j, ",\"next\":\"%" PRIu64 "\"}\n", next);
    return json_end(&j);
}

/* ---- events -------------------------------------------------------------------------------- */

static void add_event(Json *j, const Manager *m, const ManagerEvent *e)
{
    json_add(j, "{\"number\":%" PRIu64 ",\"age_ms\":%" PRIu64 ",\"kind\":\"%s\",", e->number,
             ms_since(m, e->at_ns), event_kind_text(e->kind));
    add_address(j, &e->address);
    json_add(j, ",\"id\":\"%016" PRIx64 "\",\"regions\":%" PRIu64 ",\"reason\":", e->id,
             e->regions);
    json_string(j, e->reason.text);
    json_add(j, "}");
}

size_t web_events(const Manager *m, uint64_t after, char *buf, size_t cap)
{
    Json j = {.buf = buf, .cap = cap};
    const ManagerEvent *e;
    add_instance(&j, m);
    json_add(&j, ",\"last\":%" PRIu64 ",\"events\":[", m->events.last);
    for (unsigned i = 0; i < WEB_EVENTS_MAX && (e = events_after(&m->events, after)) != NULL; i++) {
        json_add(&j, "%s", i ? "," : "");
        add_event(&j, m, e);
        after = e->number;
    }
    json_add(&j, "]}\n");
    return json_end(&j);
}
