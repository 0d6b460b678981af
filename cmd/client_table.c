/* SPDX-License-Identifier: MIT */
/* The table of clients. One that left stays in it for a while. */
#include "cmd/manager_private.h"

#include <stdlib.h>

static uint64_t client_hash(const Manager *m, const Id128 *id)
{
    return cmd_hash(m->clients.seed, id->bytes, sizeof id->bytes);
}

CmdClient *cmd_client_find(const Manager *m, const Id128 *id)
{
    HmapNode *n = hmap_first(&m->clients, client_hash(m, id));
    for (; n; n = hmap_next(&m->clients, n)) {
        CmdClient *c = CONTAINER_OF(n, CmdClient, by_id);
        if (id128_equal(&c->id, id))
            return c;
    }
    return NULL;
}

void cmd_client_free(CmdClient *c)
{
    reply_cache_deinit(&c->replies);
    free(c);
}

void cmd_client_unleave(Manager *m, CmdClient *c)
{
    if (!c->left)
        return;
    c->left = false;
    list_remove(&c->of_left);
    m->left.count--;
}

/* Nobody claims its regions any more; what is under way for it ends without a reply. */
void cmd_client_abandon(Manager *m, CmdClient *c)
{
    m->stats.reclaimed_regions += c->regions_count;
    LIST_FOREACH(at, &c->regions) {
        cmd_region_doom(m, CONTAINER_OF(at, Region, open.of_client));
    }
    LIST_FOREACH(at, &c->tasks) {
        Task *t = CONTAINER_OF(at, Task, of_client);
        list_remove(&t->of_client);
        t->client = NULL;
        t->session = NULL;
    }
}

void cmd_client_unname(Manager *m, CmdClient *c)
{
    Host *h = c->named_by ? cmd_host_find(m, c->named_by) : NULL;
    if (h && h->named > 0)
        h->named--;
    c->named_by = 0;
}

void cmd_client_remove(Manager *m, CmdClient *c)
{
    cmd_client_unname(m, c);
    cmd_client_abandon(m, c);
    cmd_client_unleave(m, c);
    hmap_remove(&m->clients, &c->by_id);
    cmd_client_free(c);
}

CmdClient *cmd_client_get(Manager *m, const Id128 *id)
{
    CmdClient *c = cmd_client_find(m, id);
    if (c)
        return c;
    if (m->clients.count >= m->config.clients_max && !list_empty(&m->left.all))
        cmd_client_remove(m, CONTAINER_OF(m->left.all.next, CmdClient, of_left));
    if (m->clients.count >= m->config.clients_max)
        return NULL;
    c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->id = *id;
    c->heard_ns = m->now_ns;
    list_init(&c->regions);
    list_init(&c->tasks);
    list_init(&c->of_left);
    reply_cache_init(&c->replies);
    hmap_insert(&m->clients, &c->by_id, client_hash(m, id));
    return c;
}
