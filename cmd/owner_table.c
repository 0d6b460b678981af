/* SPDX-License-Identifier: MIT */
/* What the owners' resource monitors (rmd) reported last of their hosts. */
#include "cmd/manager_private.h"

#include <stdlib.h>

/* ---- finding ------------------------------------------------------------------------------- */

static uint64_t epoch_hash(const Manager *m, uint64_t epoch)
{
    return cmd_hash(m->owners.by_epoch.seed, &epoch, sizeof epoch);
}

static Owner *owner_find(const Manager *m, const Addr *address)
{
    HmapNode *n = hmap_first(&m->owners.by_address, addr_hash(address));
    for (; n; n = hmap_next(&m->owners.by_address, n)) {
        Owner *o = CONTAINER_OF(n, Owner, by_address);
        if (addr_equal(&o->address, address))
            return o;
    }
    return NULL;
}

const Owner *cmd_owner_of(const Manager *m, uint64_t epoch, const Addr *imd)
{
    HmapNode *n = hmap_first(&m->owners.by_epoch, epoch_hash(m, epoch));
    for (; n; n = hmap_next(&m->owners.by_epoch, n)) {
        const Owner *o = CONTAINER_OF(n, Owner, by_epoch);
        if (o->epoch == epoch && addr_same_host(&o->address, imd))
            return o;
    }
    return NULL;
}

bool manager_owner(const Manager *m, const Addr *address, OpHost *ret)
{
    const Owner *o = owner_find(m, address);
    if (o)
        *ret = (OpHost){.state = o->state, .epoch = o->epoch, .lendable_bytes = o->lendable_bytes};
    return o;
}

/* ---- coming and going ---------------------------------------------------------------------- */

void cmd_owner_set_epoch(Manager *m, Owner *o, uint64_t epoch)
{
    if (o->epoch)
        (void)hmap_remove(&m->owners.by_epoch, &o->by_epoch);
    o->epoch = epoch;
    if (epoch)
        hmap_insert(&m->owners.by_epoch, &o->by_epoch, epoch_hash(m, epoch));
}

static void owner_forget(Manager *m, Owner *o)
{
    cmd_owner_set_epoch(m, o, 0);
    (void)hmap_remove(&m->owners.by_address, &o->by_address);
    list_remove(&o->in_order);
    free(o);
}

/* The monitor at that address, as it is now: one that started again counts its requests from 1.
 * NULL: too many, or no memory. */
Owner *cmd_owner_get(Manager *m, const Session *session)
{
    Owner *o = owner_find(m, &session->peer);
    if (!o && m->owners.by_address.count < m->config.hosts_max &&
        (o = calloc(1, sizeof *o)) != NULL) {
        o->address = session->peer;
        o->sequence = ++m->hosts.sequence;
        hmap_insert(&m->owners.by_address, &o->by_address, addr_hash(&o->address));
        list_push_back(&m->owners.order, &o->in_order);
    }
    if (o && !id128_equal(&o->id, &session->peer_id)) {
        o->id = session->peer_id;
        o->request_last = 0;
    }
    return o;
}

void cmd_owners_tick(Manager *m)
{
    uint64_t dead_ns = m->config.host_dead_ns;
    LIST_FOREACH(at, &m->owners.order) {
        Owner *o = CONTAINER_OF(at, Owner, in_order);
        if (!cmd_silent(m, o->heard_ns, time_add(dead_ns, dead_ns)))
            continue;
        cmd_tell_owner(m, o, EVENT_MONITOR_LOST, "its monitor was silent for too long");
        owner_forget(m, o);
    }
}

void cmd_owners_postpone(Manager *m, uint64_t gap_ns)
{
    LIST_FOREACH(at, &m->owners.order) {
        CONTAINER_OF(at, Owner, in_order)->heard_ns += gap_ns;
    }
}

void cmd_owners_free(Manager *m)
{
    LIST_FOREACH(at, &m->owners.order) {
        owner_forget(m, CONTAINER_OF(at, Owner, in_order));
    }
}
