/* SPDX-License-Identifier: MIT */
/* What no caller waits for: keep-alives, claims, fills, establishing FALLBACK regions again,
 * prefetches, reports of hosts, healing second copies, and looking at them.
 * Each is a call of its own on the background channel. */
#include <stdlib.h>
#include <string.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/fills.h"
#include "libdodo/loss.h"
#include "libdodo/mirror.h"
#include "libdodo/moves.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"
#include "libdodo/run.h"
#include "libdodo/story.h"

static void alive_step(Call *call, uint64_t now_ns);
static void claim_step(Call *call, uint64_t now_ns);
static void fill_step(Call *call, uint64_t now_ns);
static void report_step(Call *call, uint64_t now_ns);
static const CallOps alive_ops = {.step = alive_step};
static const CallOps claim_ops = {.step = claim_step};
static const CallOps fill_ops = {.step = fill_step};
static const CallOps report_ops = {.step = report_step};

static void manager_heard(Client *c)
{
    client_lock(c);
    c->manager.late = false;
    client_unlock(c);
}

/* ---- a look at other managers --------------------------------------------------------------- */

static void end_look(Channel *ch)
{
    if (ch->scout.session)
        channel_forget(ch, ch->scout.session);
    ch->scout.over = false;
}

/* With each keep-alive at one of them: the manager that we have may not know yet that its lease is
 * over, and another one would take our regions for unclaimed. */
static void look_around(Channel *ch, uint64_t now_ns)
{
    Client *c = ch->client;
    Addr peer = {.kind = ADDR_NONE};
    end_look(ch);
    client_lock(c);
    const Finder *f = &c->manager.finder;
    ch->scout.at = finder_other(f, ch->scout.at);
    if (ch->scout.at != f->at)
        peer = f->found[ch->scout.at];
    client_unlock(c);
    if (peer.kind != ADDR_NONE)
        ch->scout.session = endpoint_connect(ch->endpoint, &peer, now_ns);
    ch->scout.over = ch->scout.session && ch->scout.session->up; /* of a call that was there */
}

void background_up(Channel *ch, const Session *s, uint64_t now_ns)
{
    if (!ch->scout.session || s != ch->scout.session)
        return;
    client_manager_scouted(ch->client, s, now_ns);
    ch->scout.over = true;
}

/* ---- keep-alives and claims ----------------------------------------------------------------- */

static void alive_start(Channel *ch, uint64_t now_ns)
{
    Client *c = ch->client;
    client_lock(c);
    bool silent =
        c->regions.claimed == 0 && !c->alive_due; /* nothing that cmd should keep for us */
    OpAlive alive = {.regions = c->regions.claimed, .digest = c->regions.digest};
    uint64_t id = silent ? 0 : numbers_take(&c->ids);
    if (id)
        c->alive_due = false;
    client_unlock(c);
    ch->alive_at_ns = time_add(now_ns, c->config.alive_ns);
    if (id == 0)
        return;
    look_around(ch, now_ns);
    uint8_t body[WIRE_BODY_MAX];
    size_t n = wire_alive_encode(&alive, body);
    run_request(call_own(ch, OWN_ALIVE, &alive_ops), id, OP_ALIVE, body, n, &c->config.request,
                now_ns);
}

static void alive_answered(Channel *ch, uint32_t flags)
{
    Client *c = ch->client;
    ch->want_list |= flags & ALIVE_WANT_LIST;
    client_lock(c);
    c->moves.wanted = flags & ALIVE_MOVE;
    client_unlock(c);
}

static void alive_step(Call *call, uint64_t now_ns)
{
    Channel *ch = call->channel;
    OpAliveReply reply;
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    const Request *q = &call->state->u.request;
    if (result == RUN_DONE && wire_alive_reply_decode(q->answer, q->answer_len, &reply) == 0)
        alive_answered(ch, reply.flags);
    if (result == RUN_DONE)
        manager_heard(ch->client);
    client_settle(ch->client, call->state->id);
    call_finish(call, 0, 0, NULL);
}

/* The claims of one moment: with the lowest opening still in flight at it. */
static bool claim_snapshot(Client *c, CallState *st)
{
    client_lock(c);
    st->claim.names =
        malloc((c->regions.claimed ? c->regions.claimed : 1) * sizeof *st->claim.names);
    if (st->claim.names) {
        LIST_FOREACH(node, &c->regions.all) {
            const Region *r = CONTAINER_OF(node, Region, link);
            if (r->claimed)
                st->claim.names[st->claim.names_count++] = (RegionName){
                    r->memory.address.epoch, r->memory.address.region, r->memory.address.opening};
        }
        st->claim.before = numbers_lowest(&c->ids);
    }
    client_unlock(c);
    return st->claim.names != NULL;
}

static bool claim_page(Call *call, uint64_t now_ns)
{
    Channel *ch = call->channel;
    Client *c = ch->client;
    CallState *st = call->state;
    OpClaim claim = {.list = ch->lists, .page = st->claim.page, .before = st->claim.before};
    claim.pages =
        st->claim.names_count ? (st->claim.names_count + CLAIM_NAMES_MAX - 1) / CLAIM_NAMES_MAX : 1;
    if (st->claim.page == claim.pages)
        return false;
    uint32_t first = st->claim.page * CLAIM_NAMES_MAX, left = st->claim.names_count - first;
    claim.count = left < CLAIM_NAMES_MAX ? left : CLAIM_NAMES_MAX;
    memcpy(claim.names, st->claim.names + first, claim.count * sizeof *claim.names);
    client_lock(c);
    uint64_t id = numbers_take(&c->ids);
    client_unlock(c);
    if (id == 0)
        return false; /* very busy: the next keep-alive asks again */
    uint8_t body[WIRE_BODY_MAX];
    size_t n = wire_claim_encode(&claim, body);
    run_request(call, id, OP_CLAIM, body, n, &c->config.request, now_ns);
    return true;
}

static void claim_start(Channel *ch, uint64_t now_ns)
{
    Call *call = call_own(ch, OWN_CLAIM, &claim_ops);
    ch->want_list = false;
    ch->lists++;
    if (!claim_snapshot(ch->client, call->state) || !claim_page(call, now_ns))
        call_finish(call, -1, 0, NULL);
}

static void claim_step(Call *call, uint64_t now_ns)
{
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    client_settle(call->channel->client, call->state->id);
    call->state->claim.page++;
    if (result != RUN_DONE || !claim_page(call, now_ns))
        call_finish(call, 0, 0, NULL);
}

/* ---- fills ---------------------------------------------------------------------------------- */

/* So long a host that has no memory for a fill is spared others of this region. */
#define FILL_REST_NS (500 * NS_PER_MS)

static void fill_start(Channel *ch, uint64_t now_ns)
{
    Client *c = ch->client;
    FillItem *item = NULL;
    bool wanted = false, wake = false;
    client_lock(c);
    while (!list_empty(&c->fills.all) && !wanted) {
        item = CONTAINER_OF(c->fills.all.next, FillItem, link);
        list_remove(&item->link);
        do {
            Region *r = client_region(c, item->to.rd);
            wanted = r && !r->closing && !(r->stripe.parent && r->stripe.parent->closing) &&
                     r->active && region_address_equal(&r->memory.address, &item->to.address);
            if (wanted && now_ns < r->memory.blocks.rest_ns) {
                mirror_rests(c, r);
                wanted = false;
            }
        } while (!wanted && fill_item_next(item));
        if (!wanted) {
            wake |= client_fill_gone(c, item);
            c->stats.fills_dropped++;
            free(item);
        }
    }
    client_unlock(c);
    if (wake)
        c->hooks.wake(c->hooks.ctx);
    if (!wanted)
        return;
    Call *call = call_own(ch, OWN_FILL, &fill_ops);
    call->state->read.fill = item;
    run_write(call, &item->to.host, &item->to.address, WRITE_FILL, item->offset, item->data,
              item->len, item->to.counter, now_ns);
}

/* No write has made the fill old: its host has no memory for it now. */
static bool fill_had_no_room(const Region *r, const FillItem *item)
{
    return item->to.counter == numbers_last(&r->memory.numbers) &&
           !region_write_overlaps(r, block_of(item->offset),
                                  block_of(item->offset + item->len - 1));
}

/* Under the lock. */
static void fill_made(Client *c, Region *r, const FillItem *item, uint64_t now_ns)
{
    uint64_t last = block_of(item->offset + item->len - 1);
    r->mirror.heal_wait_ns = 0;
    mirror_heard(c, r, now_ns);
    if (!region_answer_counts(r, item->to.counter)) {
        mirror_uneven(c, r); /* what of it is there is not known */
        return;
    }
    for (uint64_t b = block_of(item->offset); b <= last; b++)
        if (!region_write_overlaps(r, b, b))
            region_saw_filled(c, r, b, true);
}

static void fill_saw(Client *c, const FillItem *item, unsigned refused, uint64_t now_ns)
{
    client_lock(c);
    Region *r = client_region(c, item->to.rd);
    bool same = r && r->active && region_address_equal(&r->memory.address, &item->to.address);
    if (refused) {
        c->stats.fills_refused++;
        if (same && fill_had_no_room(r, item))
            r->memory.blocks.rest_ns = time_add(now_ns, FILL_REST_NS);
        if (same)
            mirror_refused(c, r, now_ns);
    } else {
        if (same)
            fill_made(c, r, item, now_ns);
        c->stats.fills_done++;
    }
    client_unlock(c);
}

/* Its next copy's turn comes at once: the bytes are there. */
static void fill_over(Client *c, CallState *st)
{
    FillItem *item = st->read.fill;
    bool wake = false;
    client_lock(c);
    if (fill_item_next(item)) {
        list_push_front(&c->fills.all, &item->link);
        st->read.fill = NULL;
    } else {
        wake = client_fill_gone(c, item);
    }
    client_unlock(c);
    if (wake)
        c->hooks.wake(c->hooks.ctx);
}

static void fill_step(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    FillItem *item = st->read.fill;
    fill_saw(c, item, result == RUN_DONE ? st->u.write.refused_chunks : 1, now_ns);
    if (result != RUN_DONE)
        client_blame(c, item->to.rd, &item->to.address, loss_of(result, st->run.status), now_ns);
    fill_over(c, st);
    call_finish(call, 0, 0, NULL); /* frees the item */
}

/* ---- second copies -------------------------------------------------------------------------- */

static void heal_begin(Channel *ch, uint64_t now_ns)
{
    FillTarget from;
    FillItem *item;
    if (!heal_start(ch->client, now_ns, &from, &item))
        return;
    Call *call = call_own(ch, OWN_HEAL, &heal_ops);
    CallState *st = call->state;
    st->rd = from.rd;
    st->read.counter = from.counter;
    st->read.seed = from.seed;
    st->read.fill = item;
    st->read.asked_ns = now_ns;
    run_read(call, &from.host, &from.address, item->offset, item->data, item->len, now_ns);
}

static void look_begin(Channel *ch, uint64_t now_ns)
{
    FillTarget copy;
    size_t len;
    uint8_t *buf = NULL;
    if (mirror_look_start(ch->client, now_ns, &copy, &len))
        buf = malloc(len);
    if (!buf)
        return;
    Call *call = call_own(ch, OWN_LOOK, &look_ops);
    call->state->rd = copy.rd;
    call->state->read.edges = buf;
    call->state->read.asked_ns = now_ns;
    run_read(call, &copy.host, &copy.address, 0, buf, len, now_ns);
}

/* ---- reports ----------------------------------------------------------------------------------
 */

static void report_start(Channel *ch, uint64_t now_ns)
{
    Client *c = ch->client;
    uint8_t body[WIRE_BODY_MAX];
    uint64_t id = 0;
    size_t n = 0;
    client_lock(c);
    if (c->faults.reports_count > 0 && (id = numbers_take(&c->ids)) != 0)
        n = wire_report_encode(&c->faults.reports[--c->faults.reports_count], body);
    client_unlock(c);
    if (id)
        run_request(call_own(ch, OWN_REPORT, &report_ops), id, OP_REPORT, body, n,
                    &c->config.request, now_ns);
}

/* A report that the manager did not hear of is not repeated: other clients find out, too. */
static void report_step(Call *call, uint64_t now_ns)
{
    if (run_step(call, now_ns) == RUN_RUNNING)
        return;
    client_settle(call->channel->client, call->state->id);
    call_finish(call, 0, 0, NULL);
}

/* ---- prefetches ----------------------------------------------------------------------------- */

static void prefetch_begin(Channel *ch)
{
    Region *r;
    FillItem *item;
    if (!prefetch_start(ch->client, &r, &item))
        return;
    Call *call = call_own(ch, OWN_PREFETCH, &prefetch_ops);
    call->region = r;
    call->state->read.fill = item;
    call_need_file(call, NEED_FILE_READ, r->file, item->data, item->len,
                   r->file_offset + item->offset);
}

/* ---- stepping ------------------------------------------------------------------------------- */

void background_step(Channel *ch, uint64_t now_ns)
{
    story_step(ch->client, now_ns);
    if (ch->scout.over)
        end_look(ch);
    moves_step(ch, now_ns);
    if (!ch->own_busy[OWN_REPORT])
        report_start(ch, now_ns);
    if (!ch->own_busy[OWN_ALIVE] && now_ns >= ch->alive_at_ns)
        alive_start(ch, now_ns);
    if (!ch->own_busy[OWN_CLAIM] && ch->want_list)
        claim_start(ch, now_ns);
    if (!ch->own_busy[OWN_FILL])
        fill_start(ch, now_ns);
    if (!ch->own_busy[OWN_REOPEN])
        reopen_start(ch, now_ns);
    if (!ch->own_busy[OWN_PREFETCH])
        prefetch_begin(ch);
    if (!ch->own_busy[OWN_HEAL])
        heal_begin(ch, now_ns);
    if (!ch->own_busy[OWN_LOOK])
        look_begin(ch, now_ns);
    /* What was begun just now sends its first datagrams now. */
    Call *next;
    for (Call *call = ch->calls; call; call = next) {
        next = call->next;
        if (call >= ch->own && call < ch->own + BACKGROUND_CALLS)
            call->ops->step(call, now_ns);
    }
}

uint64_t background_deadline(Channel *ch)
{
    Client *c = ch->client;
    uint64_t reopen = TIME_NEVER, heal = TIME_NEVER, look = TIME_NEVER;
    client_lock(c);
    uint64_t deadline = story_due(c);
    bool keep = c->regions.claimed > 0 || c->alive_due;
    bool fills = !list_empty(&c->fills.all), prefetches = prefetch_due(c);
    bool reports = c->faults.reports_count > 0 && numbers_have(&c->ids, 1);
    deadline = min_u64(deadline, moves_due(ch));
    Region *due = ch->own_busy[OWN_REOPEN] ? NULL : reopen_due(c, 0, &reopen);
    if (!ch->own_busy[OWN_HEAL])
        heal = heal_due(c);
    if (!ch->own_busy[OWN_LOOK])
        look = mirror_look_due(c);
    client_unlock(c);
    (void)due;
    if (!ch->own_busy[OWN_ALIVE] && keep)
        deadline = min_u64(deadline, ch->alive_at_ns);
    if ((fills && !ch->own_busy[OWN_FILL]) || (ch->want_list && !ch->own_busy[OWN_CLAIM]))
        deadline = 0;
    if ((prefetches && !ch->own_busy[OWN_PREFETCH]) || (reports && !ch->own_busy[OWN_REPORT]))
        deadline = 0;
    if (!ch->own_busy[OWN_REOPEN])
        deadline = min_u64(deadline, reopen);
    return min_u64(deadline, min_u64(heal, look));
}
