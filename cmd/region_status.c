/* SPDX-License-Identifier: MIT */
/* REGIONS: the region directory for operators, page by page. Nobody but a region's client learns
 * its capability, nor any tool the key of its file.
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

static void fill_page(const Manager *m, const OpRegions *op, OpRegionsReply *reply)
{
    unsigned looks = LOOKS_MAX;
    reply->next = op->cursor;
    while (reply->count < REGIONS_PAGE_MAX) {
        const HmapNode *n = hmap_scan(&m->regions, &reply->next, &looks);
        if (!n)
            break;
        const Region *r = CONTAINER_OF(n, Region, by_address);
        if (is_wanted(r, op))
            reply->regions[reply->count++] = status_of(r);
    }
}

/* It changes nothing, so that a repeat may as well be answered again. */
void cmd_regions(Manager *m, Session *session, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX];
    OpRegions op;
    OpRegionsReply reply = {0};
    uint16_t status = STATUS_OK;
    size_t n = 0;

    if (wire_regions_decode(request->body, request->body_len, &op) != 0)
        status = STATUS_INVALID;
    else if (m->number == MANAGER_STANDBY)
        status = STATUS_STANDBY;
    if (status == STATUS_OK) {
        fill_page(m, &op, &reply);
        n = wire_regions_reply_encode(&reply, body);
    }
    cmd_reply(m, NULL, session, request->id, request->op, status, body, n);
}
