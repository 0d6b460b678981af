/* SPDX-License-Identifier: MIT */
/* Which hosts are being drained, and how many regions each client has open on them. Each keep-alive
 * of a client asks that, and a client may have a million regions. So nothing is searched: a region
 * of a host that is being drained is counted when it is opened and when it is closed, and all those
 * of a host once, when its drain begins or is cancelled. The counts are in the client's entry, with
 * a place for each of the few hosts that are drained at a time: counting cannot fail, and a
 * keep-alive looks at one word. */
#include "cmd/manager_private.h"

#include <assert.h>

static uint64_t bit_of(const Host *h)
{
    return (uint64_t)1 << h->drain.place;
}

static void count_in(const Region *r)
{
    Host *h = r->host;
    ClientMoves *v = &r->open.client->moves;
    if (v->regions[h->drain.place]++ == 0) {
        v->hosts |= bit_of(h);
        h->drain.clients++;
    }
    v->count++;
    v->bytes += r->len;
}

static void count_out(const Region *r)
{
    Host *h = r->host;
    ClientMoves *v = &r->open.client->moves;
    assert(v->regions[h->drain.place] > 0);
    if (--v->regions[h->drain.place] == 0) {
        v->hosts &= ~bit_of(h);
        h->drain.clients--;
    }
    v->count--;
    v->bytes -= r->len;
    if (v->hosts == 0) /* what it said was of drains that are over for it */
        v->asked_ns = 0;
}

void cmd_drain_opened(const Region *r)
{
    r->host->has.open++;
    r->host->has.open_bytes += r->len;
    if (r->host->drain.on)
        count_in(r);
}

void cmd_drain_unopened(const Region *r)
{
    r->host->has.open--;
    r->host->has.open_bytes -= r->len;
    if (r->host->drain.on)
        count_out(r);
}

bool cmd_drain_on(Manager *m, Host *h)
{
    unsigned place = 0;
    while (place < DRAINS_MAX && m->drains.hosts[place])
        place++;
    if (place == DRAINS_MAX)
        return false;
    m->drains.hosts[place] = h;
    m->drains.paces[place] = (DrainPace){.taken = 0};
    h->drain = (HostDrain){.on = true, .place = (uint8_t)place};
    LIST_FOREACH(at, &h->regions) {
        const Region *r = CONTAINER_OF(at, Region, of_host);
        if (r->state == REGION_OPENED)
            count_in(r);
    }
    return true;
}

/* One that does not hear it has a keep-alive that tells it. So has an older one, which does nothing
 * with a PING. */
void cmd_drain_hurry(const Manager *m, const Host *h)
{
    static const WirePing ping = {.nonce = 1};
    uint8_t out[WIRE_PAYLOAD_MAX];
    const size_t len = wire_ping_encode(&ping, out);
    for (HmapNode *n = hmap_walk(&m->clients, NULL); n; n = hmap_walk(&m->clients, n)) {
        const CmdClient *c = CONTAINER_OF(n, CmdClient, by_id);
        if (c->session && (c->moves.hosts & bit_of(h)))
            m->sink.message(m->sink.ctx, c->session, WIRE_PING, out, len);
    }
}

void cmd_drain_off(Manager *m, Host *h)
{
    if (!h->drain.on)
        return;
    LIST_FOREACH(at, &h->regions) {
        const Region *r = CONTAINER_OF(at, Region, of_host);
        if (r->state == REGION_OPENED)
            count_out(r);
    }
    m->drains.hosts[h->drain.place] = NULL;
    h->drain = (HostDrain){.on = false};
}

bool cmd_client_asks(const Manager *m, const CmdClient *c)
{
    return c->moves.asked_ns != 0 && !cmd_silent(m, c->moves.asked_ns, m->config.client_dead_ns);
}

/* ---- invariants, for tests ------------------------------------------------------------------- */

bool cmd_drain_check_host(const Manager *m, const Host *h)
{
    HostHas has = {0};
    uint64_t clients = 0;
    LIST_FOREACH(at, &h->regions) {
        const Region *r = CONTAINER_OF(at, Region, of_host);
        has.open += r->state == REGION_OPENED;
        has.open_bytes += r->state == REGION_OPENED ? r->len : 0;
        has.kept += r->state == REGION_KEPT;
        has.kept_bytes += r->state == REGION_KEPT ? r->len : 0;
    }
    for (HmapNode *n = hmap_walk(&m->clients, NULL); h->drain.on && n;
         n = hmap_walk(&m->clients, n))
        clients += CONTAINER_OF(n, CmdClient, by_id)->moves.hosts >> h->drain.place & 1;
    return has.open == h->has.open && has.open_bytes == h->has.open_bytes &&
           has.kept == h->has.kept && has.kept_bytes == h->has.kept_bytes &&
           clients == h->drain.clients && (!h->drain.on || m->drains.hosts[h->drain.place] == h);
}

bool cmd_drain_check_client(const Manager *m, const CmdClient *c)
{
    uint32_t regions[DRAINS_MAX] = {0};
    uint64_t hosts = 0, count = 0, bytes = 0;
    LIST_FOREACH(at, &c->regions) {
        const Region *r = CONTAINER_OF(at, Region, open.of_client);
        if (!r->host->drain.on)
            continue;
        regions[r->host->drain.place]++;
        hosts |= bit_of(r->host);
        count++;
        bytes += r->len;
    }
    for (unsigned i = 0; i < DRAINS_MAX; i++)
        if (regions[i] != c->moves.regions[i] || (regions[i] > 0 && !m->drains.hosts[i]))
            return false;
    return hosts == c->moves.hosts && count == c->moves.count && bytes == c->moves.bytes &&
           (hosts != 0 || c->moves.asked_ns == 0);
}
