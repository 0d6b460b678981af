/* SPDX-License-Identifier: MIT */
/* The manager's invariants, for tests: directories, counts, digests, lists and timers agree. */
#include "cmd/manager_private.h"

static uint64_t digest_of(const Region *r)
{
    RegionName name = cmd_region_name(r);
    return region_digest(&name);
}

static size_t list_length(const ListNode *head)
{
    size_t n = 0;
    LIST_FOREACH(at, head) {
        n++;
    }
    return n;
}

static bool region_check(const Manager *m, const Region *r)
{
    if (cmd_host_find(m, r->host->epoch) != r->host || cmd_region_find(m, r->host, r->region) != r)
        return false;
    if (r->state == REGION_OPENED)
        return cmd_client_find(m, &r->open.client->id) == r->open.client;
    if (r->state != REGION_KEPT)
        return true;
    const Region *k = cmd_kept_first(m, &r->key, r->offset, r->len);
    while (k && k != r)
        k = cmd_kept_next(m, k);
    return k == r;
}

static bool regions_check(const Manager *m)
{
    size_t kept = 0, n = 0;
    for (HmapNode *at = hmap_walk(&m->regions.by_address, NULL); at;
         at = hmap_walk(&m->regions.by_address, at)) {
        const Region *r = CONTAINER_OF(at, Region, by_address);
        if (!region_check(m, r))
            return false;
        kept += r->state == REGION_KEPT;
        n++;
    }
    return n == m->regions.by_address.count && kept == m->regions.kept.count &&
           n <= m->config.regions_max;
}

/* All regions of a host, the doomed, and those that calls are about. */
static bool host_regions_check(const Host *h, size_t *busy)
{
    uint64_t digest = 0;
    size_t doomed = 0;
    LIST_FOREACH(at, &h->regions) {
        const Region *r = CONTAINER_OF(at, Region, of_host);
        if (r->host != h)
            return false;
        digest ^= digest_of(r);
        doomed += r->state == REGION_DOOMED;
        *busy += r->state == REGION_BUSY;
    }
    return digest == h->digest && list_length(&h->regions) == h->regions_count &&
           list_length(&h->doomed) == doomed;
}

static bool call_check(const Manager *m, const Host *h, const Call *call, bool running)
{
    return call->host == h && call->timer.at < m->timers.count &&
           m->timers.heap[call->timer.at] == &call->timer && (call->request != NULL) == running &&
           (!call->ask.region ||
            (call->ask.region->state == REGION_BUSY && call->ask.region->host == h));
}

static bool host_calls_check(const Manager *m, const Host *h, size_t *calls, size_t *about)
{
    unsigned unwatched = 0;
    const ListNode *lists[] = {&h->calls.running, &h->calls.waiting};
    for (int i = 0; i < 2; i++) {
        LIST_FOREACH(at, lists[i]) {
            const Call *call = CONTAINER_OF(at, Call, of_host);
            if (!call_check(m, h, call, i == 0))
                return false;
            unwatched += !call->ask.task;
            *about += call->ask.region != NULL;
            ++*calls;
        }
    }
    return list_length(&h->calls.running) == h->calls.running_count &&
           list_length(&h->calls.waiting) == h->calls.waiting_count &&
           unwatched == h->calls.doomed_running && h->calls.running_count <= NUMBERS_WINDOW &&
           h->calls.waiting_count <= CALLS_WAITING_MAX;
}

static bool hosts_check(const Manager *m, size_t *calls)
{
    size_t n = 0, regions = 0;
    uint64_t sequence = 0;
    LIST_FOREACH(at, &m->hosts.order) {
        const Host *h = CONTAINER_OF(at, Host, in_order);
        size_t busy = 0, about = 0;
        if (h->lost || m->hosts.slots[h->slot] != h || h->slot >= m->hosts.slots_end ||
            h->sequence <= sequence || cmd_host_find(m, h->epoch) != h ||
            !host_regions_check(h, &busy) || !cmd_drain_check_host(m, h) ||
            !host_calls_check(m, h, calls, &about) || busy != about)
            return false;
        sequence = h->sequence;
        regions += h->regions_count;
        n++;
    }
    return n == m->hosts.by_epoch.count && n == m->hosts.by_address.count &&
           n <= m->config.hosts_max && regions == m->regions.by_address.count;
}

static bool owners_check(const Manager *m)
{
    size_t n = 0, with_epoch = 0;
    uint64_t sequence = 0;
    LIST_FOREACH(at, &m->owners.order) {
        const Owner *o = CONTAINER_OF(at, Owner, in_order);
        const Host *h = o->epoch ? cmd_host_find(m, o->epoch) : NULL;
        /* What its monitor says is gone is not in the directory. */
        if (o->sequence <= sequence || (o->epoch && !cmd_owner_of(m, o->epoch, &o->address)) ||
            (h && o->state == HOST_OWNER_BUSY && addr_same_host(&h->address, &o->address)))
            return false;
        sequence = o->sequence;
        with_epoch += o->epoch != 0;
        n++;
    }
    return n == m->owners.by_address.count && n <= m->config.hosts_max &&
           with_epoch == m->owners.by_epoch.count;
}

static bool client_check(const Manager *m, const CmdClient *c, size_t *tasks)
{
    uint64_t digest = 0, bytes = 0;
    LIST_FOREACH(at, &c->regions) {
        const Region *r = CONTAINER_OF(at, Region, open.of_client);
        bytes += r->len;
        if (r->state != REGION_OPENED || r->open.client != c)
            return false;
        digest ^= digest_of(r);
    }
    LIST_FOREACH(at, &c->tasks) {
        if (CONTAINER_OF(at, Task, of_client)->client != c)
            return false;
        ++*tasks;
    }
    return cmd_drain_check_client(m, c) && digest == c->digest && bytes == c->bytes &&
           !(c->confirmed && c->named_by) && list_length(&c->regions) == c->regions_count &&
           c->left == !list_empty(&c->of_left) && (!c->left || c->regions_count == 0);
}

static bool clients_check(const Manager *m)
{
    size_t n = 0, left = 0, tasks = 0, orphans = 0, opens = 0, reserved = 0, waiting = 0;
    for (HmapNode *at = hmap_walk(&m->clients, NULL); at; at = hmap_walk(&m->clients, at)) {
        const CmdClient *c = CONTAINER_OF(at, CmdClient, by_id);
        if (!client_check(m, c, &tasks))
            return false;
        left += c->left;
        n++;
    }
    LIST_FOREACH(at, &m->tasks.all) {
        const Task *t = CONTAINER_OF(at, Task, of_manager);
        orphans += !t->client;
        opens += t->op == OP_OPEN || t->op == OP_TAKE;
        reserved += t->fresh != NULL;
        waiting += t->waits;
        if (t->waits && (t->op != OP_OPEN || !t->client || t->fresh))
            return false;
    }
    return n == m->clients.count && n <= m->config.clients_max && left == m->left.count &&
           left == list_length(&m->left.all) && tasks + orphans == list_length(&m->tasks.all) &&
           opens == m->tasks.opens && opens <= m->config.opens_max &&
           reserved == m->tasks.reserved && waiting == m->tasks.waiting;
}

bool manager_check(const Manager *m)
{
    size_t calls = 0;
    return regions_check(m) && hosts_check(m, &calls) && owners_check(m) && cmd_rooms_check(m) &&
           clients_check(m) && timers_check(&m->timers) && calls == m->timers.count &&
           calls == m->calls;
}
