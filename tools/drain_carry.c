/* SPDX-License-Identifier: MIT */
#define DODO_NO_SHORT_NAMES
#include "tools/drain_carry.h"

#include <errno.h>

#include "base/time.h"
#include "libdodo/carried.h"

static const uint64_t REST_NS = 10 * NS_PER_S;

static void end_those_that_left(DrainCarry *k, uint64_t epoch)
{
    unsigned left = 0;
    for (unsigned i = 0; i < k->count; i++) {
        if (dodo_carried(k->rds[i], epoch) == 0)
            k->rds[left++] = k->rds[i];
        else
            (void)dodo_mclose(k->rds[i]);
    }
    k->count = left;
}

static void begin_one(DrainCarry *k, uint64_t epoch, const RegionStatus *r)
{
    int rd = r->use == REGION_USE_KEPT ? dodo_carry(epoch, r->region) : -1;
    if (rd >= 0)
        k->rds[k->count++] = rd;
    k->begun |= rd >= 0;
    k->failed |= rd < 0 && r->use == REGION_USE_KEPT && errno != ENOENT; /* it is open, or gone */
}

/* All was gone through. One that finds no room keeps no smaller one from being tried. */
static void begin_again(DrainCarry *k, uint64_t now_ns)
{
    if (k->failed && !k->begun)
        k->rest_ns = time_add(now_ns, REST_NS);
    k->begun = k->failed = false;
}

/* One page, or the rest of it: what is on its way is not kept there any more. */
static void begin_others(DrainCarry *k, ToolClient *client, const Addr *host, uint64_t epoch,
                         uint64_t now_ns)
{
    char error[CONFIG_ERROR_MAX];
    uint8_t body[WIRE_BODY_MAX];
    const OpRegions op = {.cursor = k->cursor, .host = *host};
    OpRegionsReply page;
    const Request *answer = &client->request;
    if (tool_client_ask(client, OP_REGIONS, body, wire_regions_encode(&op, body), error) != 0 ||
        wire_regions_reply_decode(answer->answer, answer->answer_len, &page) != 0)
        return; /* the next question of the drain itself says why */
    for (uint32_t i = 0; i < page.count && k->count < CARRY_AT_ONCE; i++)
        begin_one(k, epoch, &page.regions[i]);
    if (k->count == CARRY_AT_ONCE)
        return;
    k->cursor = page.next;
    if (k->cursor == 0)
        begin_again(k, now_ns);
}

void drain_carry_step(DrainCarry *k, ToolClient *client, const Addr *host, const OpDrainReply *r,
                      uint64_t now_ns)
{
    end_those_that_left(k, r->epoch);
    if (r->kept_regions > 0 && k->count < CARRY_AT_ONCE && now_ns >= k->rest_ns)
        begin_others(k, client, host, r->epoch, now_ns);
}

bool drain_carry_rests(const DrainCarry *k, uint64_t now_ns)
{
    return k->count == 0 && now_ns < k->rest_ns;
}

void drain_carry_end(DrainCarry *k)
{
    for (unsigned i = 0; i < k->count; i++)
        (void)dodo_mclose(k->rds[i]);
    k->count = 0;
}
