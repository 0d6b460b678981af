/* SPDX-License-Identifier: MIT */
/* The idle-workstation directory (the paper's IWD, 4.3): which hosts there are, how much each is
 * believed to have free, and which are silent. What imds report are hints, verified on use. */
#include "cmd/manager_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ------------------------------------------------------------------------------- */

static uint64_t epoch_hash(const Manager *m, uint64_t epoch)
{
    return cmd_hash(m->hosts.by_epoch.seed, &epoch, sizeof epoch);
}

Host *cmd_host_find(const Manager *m, uint64_t epoch)
{
    HmapNode *n = hmap_first(&m->hosts.by_epoch, epoch_hash(m, epoch));
    for (; n; n = hmap_next(&m->hosts.by_epoch, n)) {
        Host *h = CONTAINER_OF(n, Host, by_epoch);
        if (h->epoch == epoch)
            return h;
    }
    return NULL;
}

Host *cmd_host_at(const Manager *m, const Addr *address)
{
    HmapNode *n = hmap_first(&m->hosts.by_address, addr_hash(address));
    for (; n; n = hmap_next(&m->hosts.by_address, n)) {
        Host *h = CONTAINER_OF(n, Host, by_address);
        if (addr_equal(&h->address, address))
            return h;
    }
    return NULL;
}

Host *cmd_host_of(const Manager *m, const Session *session)
{
    Host *h = cmd_host_find(m, session->peer_epoch);
    return h && id128_equal(&h->id, &session->peer_id) ? h : NULL;
}

bool cmd_host_silent(const Manager *m, const Host *h)
{
    return cmd_silent(m, h->heard_ns, m->config.host_dead_ns);
}

bool cmd_host_reachable(const Manager *m, const Host *h)
{
    return !h->lost && !h->leaving && h->session && !cmd_host_silent(m, h);
}

void cmd_host_hint(Manager *m, Host *h, const ImdHint *hint)
{
    if (hint->epoch != h->epoch)
        return;
    h->said.hint = *hint;
    if (!h->lost)
        cmd_rooms_set(m, h->slot, hint);
}

/* ---- coming and going ---------------------------------------------------------------------- */

static void slot_take(Manager *m, Host *h)
{
    unsigned slot = 0;
    while (m->hosts.slots[slot])
        slot++;
    m->hosts.slots[slot] = h;
    h->slot = slot;
    if (slot >= m->hosts.slots_end)
        m->hosts.slots_end = slot + 1;
}

static void slot_leave(Manager *m, const Host *h)
{
    static const ImdHint none;

    m->hosts.slots[h->slot] = NULL;
    cmd_rooms_set(m, h->slot, &none);
    while (m->hosts.slots_end > 0 && !m->hosts.slots[m->hosts.slots_end - 1])
        m->hosts.slots_end--;
}

void cmd_host_set_address(Manager *m, Host *h, const Addr *address)
{
    if (addr_equal(&h->address, address))
        return;
    if (h->address.kind != ADDR_NONE)
        hmap_remove(&m->hosts.by_address, &h->by_address);
    h->address = *address;
    hmap_insert(&m->hosts.by_address, &h->by_address, addr_hash(address));
}

/* NULL: too many, or no memory. */
Host *cmd_host_add(Manager *m, Session *session)
{
    if (m->hosts.by_epoch.count >= m->config.hosts_max)
        return NULL;
    Host *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->epoch = session->peer_epoch;
    h->id = session->peer_id;
    h->session = session;
    cmd_host_set_address(m, h, &session->peer);
    h->sequence = ++m->hosts.sequence;
    list_init(&h->regions);
    list_init(&h->doomed);
    list_init(&h->stirred);
    list_init(&h->calls.running);
    list_init(&h->calls.waiting);
    numbers_init(&h->calls.ids, m->hosts.ids_base);
    reply_cache_init(&h->replies);
    slot_take(m, h);
    hmap_insert(&m->hosts.by_epoch, &h->by_epoch, epoch_hash(m, h->epoch));
    list_push_back(&m->hosts.order, &h->in_order);
    return h;
}

void cmd_host_withdraw(Manager *m, Host *h)
{
    h->lost = true;
    slot_leave(m, h);
}

void cmd_host_free(Host *h)
{
    reply_cache_deinit(&h->replies);
    free(h);
}

void cmd_host_remove(Manager *m, Host *h)
{
    cmd_drain_off(m, h);
    hmap_remove(&m->hosts.by_epoch, &h->by_epoch);
    hmap_remove(&m->hosts.by_address, &h->by_address);
    list_remove(&h->in_order);
    list_remove(&h->stirred);
    /* If it comes back it still knows which ids it has seen from us. */
    if (h->calls.ids.next > m->hosts.ids_base)
        m->hosts.ids_base = h->calls.ids.next;
    cmd_host_free(h);
}

void cmd_freed_remember(Host *h, uint64_t region, uint64_t request)
{
    h->freed.of[h->freed.next++ % FREED_REMEMBERED] = (Freed){region, request};
}
