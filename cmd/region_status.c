/* SPDX-License-Identifier: MIT */
/* REGIONS, COPIES: the region directory for operators, page by page. Nobody but a region's client
 * learns its capability, nor any tool the key of its file.
 *
 * Regions are shown in the order of their hashes, which is theirs for good: those that come and go
 * between pages neither repeat nor hide others. A request costs as much at most, however many
 * regions there are and however few of them are wanted: then its page is empty, and not the last.
 */
#include "base/bytes.h"
#include "cmd/manager_private.h"

enum { LOOKS_MAX = 512 }; /* at regions, and at places where none is, for one page */

static uint8_t use_of(const Region *r)
{
    static const uint8_t uses[] = {[REGION_OPENED] = REGION_USE_OPEN,
                                   [REGION_KEPT] = REGION_USE_KEPT,
                                   [REGION_BUSY] = REGION_USE_BUSY,
                                   [REGION_DOOMED] = REGION_USE_FREEING};
    return uses[r->state];
}

static RegionStatus status_of(const Region *r)
{
    return (RegionStatus){
        .host = r->host->address,
        .region = r->region,
        .opening = r->opening,
        .use = use_of(r),
        .retain = r->retain,
        .client = r->state == REGION_OPENED ? r->open.client->id : (Id128){{0}},
        .offset = r->offset,
        .len = r->len,
    };
}

static bool is_wanted(const Region *r, const OpRegions *op)
{
    if (op->host.kind != ADDR_NONE && !addr_equal(&op->host, &r->host->address))
        return false;
    return op->client == 0 ||
           (r->state == REGION_OPENED && get_u64(r->open.client->id.bytes) == op->client);
}

/* At most @max, and where it goes on; how many. */
static uint32_t find_page(const Manager *m, const OpRegions *op, unsigned max, const Region **ret,
                          uint64_t *ret_next)
{
    unsigned looks = LOOKS_MAX;
    uint32_t count = 0;
    *ret_next = op->cursor;
    while (count < max) {
        const HmapNode *n = hmap_scan(&m->regions.by_address, ret_next, &looks);
        if (!n)
            break;
        const Region *r = CONTAINER_OF(n, Region, by_address);
        if (is_wanted(r, op))
            ret[count++] = r;
    }
    return count;
}

static size_t regions_page(const Manager *m, const OpRegions *op, uint8_t *body)
{
    const Region *found[REGIONS_PAGE_MAX];
    OpRegionsReply reply = {.count = 0};
    reply.count = find_page(m, op, REGIONS_PAGE_MAX, found, &reply.next);
    for (uint32_t i = 0; i < reply.count; i++)
        reply.regions[i] = status_of(found[i]);
    return wire_regions_reply_encode(&reply, body);
}

static size_t copies_page(const Manager *m, const OpRegions *op, uint8_t *body)
{
    const Region *found[COPIES_PAGE_MAX];
    OpCopiesReply reply = {.count = 0};
    reply.count = find_page(m, op, COPIES_PAGE_MAX, found, &reply.next);
    for (uint32_t i = 0; i < reply.count; i++)
        reply.copies[i] = (RegionCopy){.region = status_of(found[i]),
                                       .leaves = found[i]->host->drain.on,
                                       .piece = cmd_region_piece(m, found[i])};
    return wire_copies_reply_encode(&reply, body);
}

/* It changes nothing, so that a repeat may as well be answered again. */
static void answer(Manager *m, Session *session, const WireRequest *request,
                   size_t (*page)(const Manager *m, const OpRegions *op, uint8_t *body))
{
    uint8_t body[WIRE_BODY_MAX];
    OpRegions op;
    uint16_t status = STATUS_OK;
    size_t n = 0;

    if (wire_regions_decode(request->body, request->body_len, &op) != 0)
        status = STATUS_INVALID;
    else if (m->number == MANAGER_STANDBY)
        status = STATUS_STANDBY;
    else
        n = page(m, &op, body);
    cmd_reply(m, NULL, session, request->id, request->op, status, body, n);
}

void cmd_regions(Manager *m, Session *session, const WireRequest *request)
{
    answer(m, session, request, regions_page);
}

void cmd_copies(Manager *m, Session *session, const WireRequest *request)
{
    answer(m, session, request, copies_page);
}
