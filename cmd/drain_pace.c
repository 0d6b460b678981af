/* SPDX-License-Identifier: MIT */
/* How fast drains get on. The bytes left to move away from a host are summed at intervals. The pace
 * is the rate at which they fell within client_dead: by then each living client has reported. */
#include "cmd/manager_private.h"

/* Of those that say it, by host. All clients are looked at once. */
static void add_left(const Manager *m, uint64_t left_bytes[DRAINS_MAX])
{
    for (HmapNode *n = hmap_walk(&m->clients, NULL); n; n = hmap_walk(&m->clients, n)) {
        const CmdClient *c = CONTAINER_OF(n, CmdClient, by_id);
        if (c->moves.hosts == 0 || !cmd_client_asks(m, c))
            continue;
        for (unsigned i = 0; i < DRAINS_MAX; i++)
            if (c->moves.hosts >> i & 1)
                left_bytes[i] += c->moves.said.left_bytes;
    }
}

static bool any_due(const Manager *m)
{
    for (unsigned i = 0; i < DRAINS_MAX; i++)
        if (m->drains.hosts[i] && m->now_ns >= m->drains.paces[i].next_ns)
            return true;
    return false;
}

uint64_t cmd_drain_kept(const Host *h)
{
    return h->drain.drop ? 0 : h->has.kept_bytes;
}

void cmd_drain_paces_tick(Manager *m)
{
    uint64_t left_bytes[DRAINS_MAX] = {0};
    if (!any_due(m))
        return;
    add_left(m, left_bytes);
    for (unsigned i = 0; i < DRAINS_MAX; i++) {
        const Host *h = m->drains.hosts[i];
        DrainPace *p = &m->drains.paces[i];
        if (!h || m->now_ns < p->next_ns)
            continue;
        p->next_ns = time_add(m->now_ns, m->config.client_dead_ns / PACE_SAMPLES);
        p->of[p->taken++ % PACE_SAMPLES] =
            (DrainSample){m->now_ns, left_bytes[i] + cmd_drain_kept(h)};
    }
}

/* Since what is left was most: it grows when a client has just found what it has there. */
uint64_t cmd_drain_pace(const Manager *m, const Host *h)
{
    const DrainPace *p = &m->drains.paces[h->drain.place];
    const unsigned first = p->taken > PACE_SAMPLES ? p->taken - PACE_SAMPLES : 0;
    if (!h->drain.on || p->taken == 0)
        return 0;
    const DrainSample *peak = &p->of[first % PACE_SAMPLES];
    const DrainSample *last = &p->of[(p->taken - 1) % PACE_SAMPLES];
    for (unsigned i = first; i < p->taken; i++)
        if (p->of[i % PACE_SAMPLES].left_bytes >= peak->left_bytes)
            peak = &p->of[i % PACE_SAMPLES];
    const uint64_t ms = (last->at_ns - peak->at_ns) / NS_PER_MS;
    if (ms == 0)
        return 0;
    const double pace = (double)(peak->left_bytes - last->left_bytes) * 1000 / (double)ms;
    return pace < (double)INT64_MAX ? (uint64_t)pace : INT64_MAX;
}

uint64_t cmd_drain_ahead(const Manager *m, const Host *h)
{
    const DrainPace *p = &m->drains.paces[h->drain.place];
    return h->drain.on && p->taken > 0 ? p->of[(p->taken - 1) % PACE_SAMPLES].left_bytes : 0;
}

uint64_t cmd_drain_seconds(uint64_t bytes, uint64_t pace)
{
    return pace > 0 ? bytes / pace + (bytes % pace > 0) : 0;
}
