/* SPDX-License-Identifier: MIT */
/* How much room each host is believed to have, kept apart from the hosts: a full cluster of
 * thousands costs an OPEN next to nothing. */
#include "cmd/manager_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t room_blocks(const Manager *m)
{
    return ((size_t)m->config.hosts_max + ROOM_BLOCK - 1) / ROOM_BLOCK;
}

int cmd_rooms_init(Manager *m)
{
    for (int i = 0; i < 2; i++) {
        Rooms *rooms = &m->hosts.rooms[i];
        rooms->of_slot = calloc(room_blocks(m) * ROOM_BLOCK, sizeof *rooms->of_slot);
        rooms->of_block = calloc(room_blocks(m), sizeof *rooms->of_block);
        if (!rooms->of_slot || !rooms->of_block)
            return -ENOMEM;
    }
    return 0;
}

void cmd_rooms_clear(Manager *m)
{
    for (int i = 0; i < 2; i++) {
        memset(m->hosts.rooms[i].of_slot, 0, room_blocks(m) * ROOM_BLOCK * sizeof(uint64_t));
        memset(m->hosts.rooms[i].of_block, 0, room_blocks(m) * sizeof(uint64_t));
    }
}

void cmd_rooms_deinit(Manager *m)
{
    for (int i = 0; i < 2; i++) {
        free(m->hosts.rooms[i].of_slot);
        free(m->hosts.rooms[i].of_block);
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
    room_set(&m->hosts.rooms[false], slot, hint->largest_free_bytes);
    room_set(&m->hosts.rooms[true], slot, hint->evictable_bytes);
}

bool cmd_rooms_check(const Manager *m)
{
    static const ImdHint none;
    for (unsigned i = 0; i < m->config.hosts_max; i++) {
        const ImdHint *hint = m->hosts.slots[i] ? &m->hosts.slots[i]->said.hint : &none;
        if (m->hosts.rooms[false].of_slot[i] != hint->largest_free_bytes ||
            m->hosts.rooms[true].of_slot[i] != hint->evictable_bytes)
            return false;
    }
    for (size_t i = 0; i < room_blocks(m); i++)
        for (int k = 0; k < 2; k++)
            if (m->hosts.rooms[k].of_block[i] != block_max(&m->hosts.rooms[k], i))
                return false;
    return true;
}
