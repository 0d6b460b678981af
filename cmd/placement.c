/* SPDX-License-Identifier: MIT */
/* Placement (the paper's 4.3): a random host among those that are believed to have room. The room
 * of all hosts is kept apart from the hosts, so that a full cluster of thousands costs an OPEN next
 * to nothing. */
#include "cmd/manager_private.h"

#include <errno.h>
#include <stdlib.h>

/* ---- room ---------------------------------------------------------------------------------- */

static size_t room_blocks(const Manager *m)
{
    return ((size_t)m->config.hosts_max + ROOM_BLOCK - 1) / ROOM_BLOCK;
}

int cmd_rooms_init(Manager *m)
{
    for (int i = 0; i < 2; i++) {
        Rooms *rooms = &m->rooms[i];
        rooms->of_slot = calloc(room_blocks(m) * ROOM_BLOCK, sizeof *rooms->of_slot);
        rooms->of_block = calloc(room_blocks(m), sizeof *rooms->of_block);
        if (!rooms->of_slot || !rooms->of_block)
            return -ENOMEM;
    }
    return 0;
}

void cmd_rooms_deinit(Manager *m)
{
    for (int i = 0; i < 2; i++) {
        free(m->rooms[i].of_slot);
        free(m->rooms[i].of_block);
    }
}

size_t cmd_rooms_bytes(const Manager *m)
{
    return 2 * room_blocks(m) * (ROOM_BLOCK + 1) * sizeof(uint64_t);
}

static uint64_t block_max(const Rooms *rooms, size_t block)
{
    uint64_t most = 0;
    for (size_t i = 0; i < ROOM_BLOCK; i++)
        if (rooms->of_slot[block * ROOM_BLOCK + i] > most)
            most = rooms->of_slot[block * ROOM_BLOCK + i];
    return most;
}

static void room_set(Rooms *rooms, unsigned slot, uint64_t room)
{
    uint64_t *most = &rooms->of_block[slot / ROOM_BLOCK];
    uint64_t before = rooms->of_slot[slot];

    rooms->of_slot[slot] = room;
    if (room >= *most)
        *most = room;
    else if (before == *most)
        *most = block_max(rooms, slot / ROOM_BLOCK);
}

void cmd_rooms_set(Manager *m, unsigned slot, const ImdHint *hint)
{
    room_set(&m->rooms[false], slot, hint->largest_free_bytes);
    room_set(&m->rooms[true], slot, hint->evictable_bytes);
}

bool cmd_rooms_check(const Manager *m)
{
    static const ImdHint none;
    for (unsigned i = 0; i < m->config.hosts_max; i++) {
        const ImdHint *hint = m->slots[i] ? &m->slots[i]->hint : &none;
        if (m->rooms[false].of_slot[i] != hint->largest_free_bytes ||
            m->rooms[true].of_slot[i] != hint->evictable_bytes)
            return false;
    }
    for (size_t i = 0; i < room_blocks(m); i++)
        for (int k = 0; k < 2; k++)
            if (m->rooms[k].of_block[i] != block_max(&m->rooms[k], i))
                return false;
    return true;
}

/* ---- choosing ------------------------------------------------------------------------------ */

static bool tried(const Task *t, unsigned slot)
{
    return t->tried[slot / 64] >> (slot % 64) & 1;
}

/* The client that opens could not reach it of late. */
static bool host_avoided(const Host *h, const OpOpen *open)
{
    for (uint32_t i = 0; i < open->avoid_count; i++)
        if (open->avoid[i] == h->epoch)
            return true;
    return false;
}

bool cmd_host_chosen(const Manager *m, const Host *h, const OpOpen *open)
{
    return cmd_host_reachable(m, h) && m->now_ns >= h->avoid_until_ns &&
           m->now_ns >= h->distrust_until_ns && !host_avoided(h, open);
}

static bool host_fits(const Manager *m, unsigned slot, const Task *t)
{
    if (m->rooms[t->evict].of_slot[slot] < t->open.len || tried(t, slot))
        return false;
    const Host *h = m->slots[slot]; /* it is there: its room is not 0, as no region's length is */
    return cmd_host_chosen(m, h, &t->open);
}

/* All hosts with room are looked at; each that fits is taken with the same chance. */
static Host *choose_among_all(Manager *m, const Task *t)
{
    const Rooms *rooms = &m->rooms[t->evict];
    Host *chosen = NULL;
    uint64_t fitting = 0;

    for (unsigned i = 0; i < m->slots_end; i++) {
        if (i % ROOM_BLOCK == 0 && rooms->of_block[i / ROOM_BLOCK] < t->open.len)
            i += ROOM_BLOCK - 1;
        else if (host_fits(m, i, t) && cmd_random_below(m, ++fitting) == 0)
            chosen = m->slots[i];
    }
    return chosen;
}

/* Random picks first: if many hosts have room, one is found without looking at thousands, and each
 * still has the same chance. */
static Host *choose_by_picks(Manager *m, const Task *t)
{
    for (unsigned i = 0; m->slots_end > HOST_PICKS_MAX && i < HOST_PICKS_MAX; i++) {
        unsigned slot = (unsigned)cmd_random_below(m, m->slots_end);
        if (host_fits(m, slot, t))
            return m->slots[slot];
    }
    return NULL;
}

Host *cmd_host_choose(Manager *m, Task *t)
{
    Host *h = choose_by_picks(m, t);
    if (!h)
        h = choose_among_all(m, t);
    if (h)
        t->tried[h->slot / 64] |= (uint64_t)1 << (h->slot % 64);
    return h;
}
