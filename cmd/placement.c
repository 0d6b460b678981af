/* SPDX-License-Identifier: MIT */
/* Placement (the paper's 4.3): a random host among those that are believed to have room. Each has
 * the same chance; or, if config.weighted, one that grows with its free space and falls with its
 * traffic. */
#include "cmd/manager_private.h"

static bool tried(const Task *t, unsigned slot)
{
    return t->tried[slot / 64] >> (slot % 64) & 1;
}

/* The client that opens could not reach it of late, or has the other copy there. */
static bool host_avoided(const Host *h, const OpOpen *open)
{
    for (uint32_t i = 0; i < open->avoid_count; i++)
        if (open->avoid[i] == h->epoch)
            return true;
    return false;
}

bool cmd_host_fit(const Manager *m, const Host *h, const OpOpen *open)
{
    return cmd_host_reachable(m, h) && m->now_ns >= h->avoid_until_ns &&
           m->now_ns >= h->distrust_until_ns && !host_avoided(h, open);
}

bool cmd_host_chosen(const Manager *m, const Host *h, const OpOpen *open)
{
    return !h->drain.on && cmd_host_fit(m, h, open);
}

static bool host_fits(const Manager *m, unsigned slot, const Task *t)
{
    if (m->hosts.rooms[t->evict].of_slot[slot] < t->open.len || tried(t, slot))
        return false;
    const Host *h =
        m->hosts.slots[slot]; /* it is there: its room is not 0, as no region's length is */
    return cmd_host_chosen(m, h, &t->open);
}

/* With this traffic, bytes a second, a host's weight is half of what its space makes it. */
#define HEAVY_TRAFFIC (64ull << 20)

static uint64_t weight(const Manager *m, const Host *h, const Task *t)
{
    if (!m->config.weighted)
        return 1;
    uint64_t pages = (t->evict ? h->said.hint.evictable_bytes : h->said.hint.free_bytes) / 4096;
    return 1 + min_u64(pages, UINT32_MAX) * HEAVY_TRAFFIC / (HEAVY_TRAFFIC + h->said.traffic);
}

/* All hosts with room are looked at; each that fits is taken with a chance of its weight. */
static Host *choose_among_all(Manager *m, const Task *t)
{
    const Rooms *rooms = &m->hosts.rooms[t->evict];
    Host *chosen = NULL;
    uint64_t fitting = 0; /* the sum of their weights */

    for (unsigned i = 0; i < m->hosts.slots_end; i++) {
        if (i % ROOM_BLOCK == 0 && rooms->of_block[i / ROOM_BLOCK] < t->open.len) {
            i += ROOM_BLOCK - 1;
        } else if (host_fits(m, i, t)) {
            uint64_t w = weight(m, m->hosts.slots[i], t);
            fitting += w;
            if (cmd_random_below(m, fitting) < w)
                chosen = m->hosts.slots[i];
        }
    }
    return chosen;
}

/* Random picks first: if many hosts have room, one is found without looking at thousands, and each
 * still has the same chance. */
static Host *choose_by_picks(Manager *m, const Task *t)
{
    for (unsigned i = 0; m->hosts.slots_end > HOST_PICKS_MAX && i < HOST_PICKS_MAX; i++) {
        unsigned slot = (unsigned)cmd_random_below(m, m->hosts.slots_end);
        if (host_fits(m, slot, t))
            return m->hosts.slots[slot];
    }
    return NULL;
}

Host *cmd_host_choose(Manager *m, Task *t)
{
    Host *h = choose_by_picks(m, t),
         *other = h && m->config.weighted ? choose_by_picks(m, t) : NULL;
    if (other && weight(m, other, t) > weight(m, h, t))
        h = other; /* of two, the better one: hosts are many */
    if (!h)
        h = choose_among_all(m, t);
    if (h)
        t->tried[h->slot / 64] |= (uint64_t)1 << (h->slot % 64);
    return h;
}
