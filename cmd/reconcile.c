/* SPDX-License-Identifier: MIT */
/* Reconciliation: the directory is rebuilt and corrected from what imds hold (LISTING) and what
 * clients claim (CLAIM). The manager asks for a list when digests differ. A list comes page by page
 * and counts only as a whole; its `before` says which requests it may not know of yet. */
#include "cmd/manager_private.h"

#include <string.h>

/* ---- lists in pages ------------------------------------------------------------------------ */

bool cmd_list_under_way(const Manager *m, const ListProgress *p)
{
    return p->running && !cmd_silent(m, p->heard_ns, m->config.request_deadline_ns);
}

bool cmd_list_wanted(const Manager *m, ListProgress *p, uint64_t theirs, uint64_t ours, bool quiet)
{
    if (theirs == ours) {
        p->differs = 0;
        return false;
    }
    /* The last list has said everything. A peer that still names what is gone here finds out when
     * it uses it; asking it again at every keep-alive would change nothing. */
    if (p->settled && p->settled_theirs == theirs && p->settled_ours == ours &&
        !(p->crowded && cmd_regions_room(m)))
        return false;
    p->differs++;
    if (cmd_list_under_way(m, p))
        return false;
    return quiet || p->differs >= DIFFERS_MAX;
}

static void list_start(ListProgress *p, uint32_t list, uint32_t pages)
{
    uint32_t mark = p->mark + 1;
    *p = (ListProgress){.list = list,
                        .mark = mark ? mark : 1,
                        .pages = pages,
                        .before = UINT64_MAX,
                        .running = true};
}

/* True: the page is new and counts. Pages come in any order, but near each other: the sender has no
 * more requests under way than the map has bits. */
static bool list_page(const Manager *m, ListProgress *p, const OpClaim *page)
{
    bool newer = p->mark == 0 || (int32_t)(page->list - p->list) > 0;

    if (newer)
        list_start(p, page->list, page->pages);
    uint32_t at = page->page - p->page_base;
    if (!p->running || page->list != p->list || page->pages != p->pages ||
        page->page < p->page_base || at >= 64 || p->page_map >> at & 1)
        return false;
    p->page_map |= (uint64_t)1 << at;
    while (p->page_map & 1) {
        p->page_map >>= 1;
        p->page_base++;
    }
    p->before = min_u64(p->before, page->before);
    p->heard_ns = m->now_ns;
    return true;
}

static bool list_whole(const ListProgress *p)
{
    return p->page_base == p->pages;
}

static void list_end(ListProgress *p, uint64_t ours)
{
    p->running = false;
    p->differs = 0;
    p->settled = !p->doubtful;
    p->settled_theirs = p->digest;
    p->settled_ours = ours;
}

/* ---- claims of a client -------------------------------------------------------------------- */

static void claim_name(Manager *m, CmdClient *c, const RegionName *name)
{
    const Host *h = cmd_host_find(m, name->epoch);
    Region *r = h ? cmd_region_find(m, h, name->region) : NULL;

    /* What is not here is no loss: its host's list will bring it, or it is gone. */
    if (r && r->state == REGION_OPENED && r->open.client == c && r->opening == name->opening)
        r->open.mark = c->list.mark;
}

/* The first list that this manager hears may have been sent to the one before it already, which
 * then opened the region. The next one is taken when the first has been answered. */
static bool maybe_newer(const CmdClient *c, const Region *r)
{
    return r->open.request >= c->list.before || (r->listed && c->list.mark == 1);
}

/* Opened before the list was taken and not in it: its reply was lost, or the client let it go. */
static void free_unclaimed(Manager *m, CmdClient *c)
{
    LIST_FOREACH(at, &c->regions) {
        Region *r = CONTAINER_OF(at, Region, open.of_client);
        if (r->open.mark == c->list.mark)
            continue;
        if (RULE(SETTLED) && maybe_newer(c, r)) {
            c->list.doubtful = true;
        } else if (RULE(RECONCILE)) {
            m->stats.reconciled++;
            cmd_region_doom(m, r);
        }
    }
}

uint16_t cmd_claim(Manager *m, CmdClient *c, const OpClaim *claim)
{
    if (!list_page(m, &c->list, claim))
        return STATUS_OK;
    for (uint32_t i = 0; i < claim->count; i++) {
        c->list.digest ^= region_digest(&claim->names[i]);
        claim_name(m, c, &claim->names[i]);
    }
    if (list_whole(&c->list)) {
        free_unclaimed(m, c);
        list_end(&c->list, c->digest);
    }
    return STATUS_OK;
}

/* ---- the list of an imd -------------------------------------------------------------------- */

/* Freed by a request that the list does not reflect. */
static bool freed_since(const Host *h, uint64_t region, uint64_t before)
{
    for (unsigned i = 0; i < FREED_REMEMBERED; i++)
        if (h->freed.of[i].region == region && h->freed.of[i].request >= before)
            return true;
    return false;
}

/* So many with the same piece of a file are kept already that nobody can use another one. */
static bool kept_often(const Manager *m, const Region *r)
{
    unsigned n = 0;
    const Region *k = cmd_kept_first(m, &r->key, r->offset, r->len);
    for (; k && n < ALIKE_MAX; k = cmd_kept_next(m, k))
        n++;
    return n == ALIKE_MAX;
}

/* @r, REGION_BUSY, becomes what the list says. Any request heard from its client so far may have
 * opened it: a claim that knows of fewer requests does not show that it is unclaimed. */
static void attach(Manager *m, Region *r, const RegionListing *l, CmdClient *c)
{
    const bool released = l->flags & REGION_RELEASED;
    if (released && !kept_often(m, r))
        cmd_region_keep(m, r, &l->stamp);
    else if (released || !c || c->left)
        cmd_region_doom(m, r);
    else {
        cmd_region_open(r, c, c->request_last);
        r->listed = true;
    }
}

/* A host has room for a limited number of regions, and each is open for one client at most. A host
 * that lists more, or always names other clients, takes directory room from the others. */
static uint64_t listed_most(const Host *h)
{
    return h->said.pool_bytes / LISTED_ALIGN + LISTED_SLACK;
}

static CmdClient *named_client(Manager *m, Host *h, const Id128 *id)
{
    CmdClient *c = cmd_client_find(m, id);
    if (c)
        return c;
    if (h->named >= listed_most(h))
        return NULL;
    c = cmd_client_get(m, id);
    if (c) {
        c->named_by = h->epoch;
        h->named++;
    }
    return c;
}

/* The client that a listed region is open for; NULL with true: nobody can have it. */
static bool listed_client(Manager *m, Host *h, const RegionListing *l, CmdClient **ret_client)
{
    *ret_client = NULL;
    if (l->flags & REGION_RELEASED || id128_is_null(&l->client))
        return true;
    *ret_client = named_client(m, h, &l->client);
    return *ret_client;
}

static void listed_new(Manager *m, Host *h, const RegionListing *l)
{
    CmdClient *c;

    if (h->regions_count >= listed_most(h))
        return;
    /* A full directory takes no more until there is room. A released region can stay known to the
     * imd alone so long. An open one must be known, so that it is freed: kept ones give way to
     * it. */
    if (!cmd_regions_room(m)) {
        h->list.crowded = true;
        if (!(l->flags & REGION_RELEASED))
            (void)cmd_regions_give_way(m);
        return;
    }
    Region *r = listed_client(m, h, l, &c) ? cmd_region_new(m) : NULL;
    if (!r) { /* no memory: the next list may find some */
        h->list.doubtful = true;
        return;
    }
    r->key = l->key;
    r->offset = l->offset;
    r->len = l->len;
    r->region = l->address.region;
    r->opening = l->address.opening;
    r->retain = l->flags & REGION_RETAIN;
    r->list_mark = h->list.mark;
    cmd_region_add(m, r, h);
    attach(m, r, l, c);
    m->stats.reconciled++;
}

/* Made what it is by a request that the list does not reflect. */
static bool newer_than(const Region *r, uint64_t before)
{
    return r->imd_request != 0 && r->imd_request >= before;
}

static bool entry_agrees(const Region *r, const RegionListing *l)
{
    if (r->opening != l->address.opening)
        return false;
    if (l->flags & REGION_RELEASED)
        return r->state == REGION_KEPT && stamp_equal(&r->kept.stamp, &l->stamp);
    return r->state == REGION_OPENED && id128_equal(&r->open.client->id, &l->client);
}

static void listed_known(Manager *m, Host *h, Region *r, const RegionListing *l, uint64_t before)
{
    CmdClient *c;

    r->list_mark = h->list.mark;
    if (r->state == REGION_BUSY || r->state == REGION_DOOMED || newer_than(r, before)) {
        h->list.doubtful = true;
        return;
    }
    if (entry_agrees(r, l))
        return;
    if (!listed_client(m, h, l, &c)) {
        h->list.doubtful = true;
        return;
    }
    cmd_region_detach(m, r);
    cmd_region_set_opening(r, l->address.opening);
    attach(m, r, l, c);
    m->stats.reconciled++;
}

static void listed(Manager *m, Host *h, const RegionListing *l, uint64_t before)
{
    RegionName name = {l->address.epoch, l->address.region, l->address.opening};
    Region *r = cmd_region_find(m, h, l->address.region);

    h->list.digest ^= region_digest(&name);
    if (r)
        listed_known(m, h, r, l, before);
    else if (freed_since(h, l->address.region, before))
        h->list.doubtful = true;
    else
        listed_new(m, h, l);
}

/* What the imd does not have is no region, unless it came after the list was taken. */
static void drop_unlisted(Manager *m, Host *h)
{
    ManagerEvent lost = {.kind = EVENT_REGIONS_LOST, .address = h->address, .id = h->epoch};
    LIST_FOREACH(at, &h->regions) {
        Region *r = CONTAINER_OF(at, Region, of_host);
        if (r->list_mark == h->list.mark)
            continue;
        if (r->state == REGION_BUSY || newer_than(r, h->list.before)) {
            h->list.doubtful = true;
            continue;
        }
        lost.regions += r->state == REGION_OPENED; /* others it may give up by itself */
        cmd_region_drop(m, r);
        m->stats.reconciled++;
    }
    if (lost.regions > 0)
        cmd_tell(m, &lost, "it does not have regions any more that programs have open");
}

uint16_t cmd_listing(Manager *m, Host *h, const OpListing *listing)
{
    OpClaim page = {.list = listing->list,
                    .page = listing->page,
                    .pages = listing->pages,
                    .before = listing->before};

    if (!list_page(m, &h->list, &page))
        return STATUS_OK;
    for (uint32_t i = 0; i < listing->count; i++)
        listed(m, h, &listing->regions[i], listing->before);
    if (list_whole(&h->list)) {
        drop_unlisted(m, h);
        list_end(&h->list, h->digest);
        h->listed = true;
    }
    return STATUS_OK;
}
