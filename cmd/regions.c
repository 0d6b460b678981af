/* SPDX-License-Identifier: MIT */
/* The region directory (the paper's RD, 4.3): every region by its address, and released ones also
 * by the piece of a file that they hold. Keeps the counts and digests of hosts and clients with
 * it. */
#include "cmd/manager_private.h"

#include <string.h>

/* ---- finding ------------------------------------------------------------------------------- */

static uint64_t address_hash(const Manager *m, uint64_t epoch, uint64_t region)
{
    uint64_t words[] = {epoch, region};
    return cmd_hash(m->regions.by_address.seed, words, sizeof words);
}

static uint64_t piece_hash(uint64_t seed, const FileKey *key, uint64_t offset, uint64_t len)
{
    uint64_t words[] = {offset, len};
    return cmd_hash(cmd_hash(seed, words, sizeof words), key->bytes, sizeof key->bytes);
}

static uint64_t file_hash(const Manager *m, const FileKey *key, uint64_t offset, uint64_t len)
{
    return piece_hash(m->regions.kept.seed, key, offset, len);
}

uint64_t cmd_region_piece(const Manager *m, const Region *r)
{
    return piece_hash(mix64(m->regions.kept.seed ^ mix64(m->regions.by_address.seed)), &r->key,
                      r->offset, r->len);
}

Region *cmd_region_find(const Manager *m, const Host *h, uint64_t region)
{
    HmapNode *n = hmap_first(&m->regions.by_address, address_hash(m, h->epoch, region));
    for (; n; n = hmap_next(&m->regions.by_address, n)) {
        Region *r = CONTAINER_OF(n, Region, by_address);
        if (r->host == h && r->region == region)
            return r;
    }
    return NULL;
}

static Region *kept_match(const Manager *m, HmapNode *n, const FileKey *key, uint64_t offset,
                          uint64_t len)
{
    for (; n; n = hmap_next(&m->regions.kept, n)) {
        Region *r = CONTAINER_OF(n, Region, kept.by_file);
        if (r->offset == offset && r->len == len && memcmp(&r->key, key, sizeof *key) == 0)
            return r;
    }
    return NULL;
}

Region *cmd_kept_first(const Manager *m, const FileKey *key, uint64_t offset, uint64_t len)
{
    return kept_match(m, hmap_first(&m->regions.kept, file_hash(m, key, offset, len)), key, offset,
                      len);
}

Region *cmd_kept_next(const Manager *m, const Region *r)
{
    return kept_match(m, hmap_next(&m->regions.kept, &r->kept.by_file), &r->key, r->offset, r->len);
}

RegionName cmd_region_name(const Region *r)
{
    return (RegionName){.epoch = r->host->epoch, .region = r->region, .opening = r->opening};
}

static uint64_t digest_of(const Region *r)
{
    RegionName name = cmd_region_name(r);
    return region_digest(&name);
}

bool cmd_regions_room(const Manager *m)
{
    return m->regions.by_address.count + m->tasks.reserved < m->config.regions_max;
}

bool cmd_regions_scarce(const Manager *m)
{
    const unsigned spare = m->config.regions_max / SPARE_PART;
    return m->regions.by_address.count + m->tasks.reserved + spare >= m->config.regions_max;
}

bool cmd_regions_give_way(Manager *m)
{
    HmapNode *n = NULL;

    if (m->regions.kept.count > 0) {
        n = hmap_walk(&m->regions.kept, &m->regions.kept_hand);
        if (!n)
            n = hmap_walk(&m->regions.kept, NULL);
    }
    if (!n)
        return false;
    /* On from there the next time: what is before has just been emptied. Only the place is kept. */
    m->regions.kept_hand.hash = n->hash;
    cmd_region_doom(m, CONTAINER_OF(n, Region, kept.by_file));
    return true;
}

/* ---- changing ------------------------------------------------------------------------------ */

void cmd_region_add(Manager *m, Region *r, Host *h)
{
    r->host = h;
    r->state = REGION_BUSY;
    hmap_insert(&m->regions.by_address, &r->by_address, address_hash(m, h->epoch, r->region));
    list_push_back(&h->regions, &r->of_host);
    h->regions_count++;
    h->digest ^= digest_of(r);
}

void cmd_region_detach(Manager *m, Region *r)
{
    switch ((enum RegionState)r->state) {
    case REGION_OPENED:
        cmd_drain_unopened(r);
        list_remove(&r->open.of_client);
        r->open.client->regions_count--;
        r->open.client->bytes -= r->len;
        r->open.client->digest ^= digest_of(r);
        break;
    case REGION_KEPT:
        r->host->has.kept--;
        r->host->has.kept_bytes -= r->len;
        hmap_remove(&m->regions.kept, &r->kept.by_file);
        break;
    case REGION_DOOMED:
        list_remove(&r->doomed);
        break;
    case REGION_BUSY:
        break;
    }
    r->state = REGION_BUSY;
}

void cmd_region_open(Region *r, CmdClient *c, uint64_t request)
{
    r->state = REGION_OPENED;
    r->listed = false;
    r->open.client = c;
    r->open.request = request;
    r->open.mark = 0;
    list_push_back(&c->regions, &r->open.of_client);
    c->regions_count++;
    c->bytes += r->len;
    c->digest ^= digest_of(r);
    cmd_drain_opened(r);
}

void cmd_region_keep(Manager *m, Region *r, const Stamp *stamp)
{
    r->state = REGION_KEPT;
    r->kept.stamp = *stamp;
    r->host->has.kept++;
    r->host->has.kept_bytes += r->len;
    hmap_insert(&m->regions.kept, &r->kept.by_file, file_hash(m, &r->key, r->offset, r->len));
}

void cmd_region_doom(Manager *m, Region *r)
{
    cmd_region_detach(m, r);
    r->state = REGION_DOOMED;
    list_push_back(&r->host->doomed, &r->doomed);
    if (list_empty(&r->host->stirred))
        list_push_back(&m->hosts.stirred, &r->host->stirred);
}

void cmd_region_drop(Manager *m, Region *r)
{
    Host *h = r->host;

    cmd_region_detach(m, r);
    h->digest ^= digest_of(r);
    h->regions_count--;
    list_remove(&r->of_host);
    hmap_remove(&m->regions.by_address, &r->by_address);
    cmd_region_free(m, r);
}

/* Of a REGION_BUSY one: no client's digest has it. */
void cmd_region_set_opening(Region *r, uint32_t opening)
{
    r->host->digest ^= digest_of(r);
    r->opening = opening;
    r->host->digest ^= digest_of(r);
}

void cmd_regions_of_host_drop(Manager *m, Host *h)
{
    LIST_FOREACH(at, &h->regions) {
        cmd_region_drop(m, CONTAINER_OF(at, Region, of_host));
    }
}
