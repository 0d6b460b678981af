/* SPDX-License-Identifier: MIT */
/* The background asks for memory again, for regions and members that have none and that their file
 * serves meanwhile. One that shares its memory (sharing.c) first looks what the others do. */
#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/moves.h"
#include "libdodo/opening.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"
#include "libdodo/retain.h"
#include "libdodo/run.h"
#include "libdodo/sharing.h"
#include "libdodo/story.h"

static void reopen_step(Call *call, uint64_t now_ns);
static void reopen_end(Call *call, enum RunResult result, const OpOpenReply *reply,
                       uint64_t now_ns);
static const CallOps reopen_ops = {.step = reopen_step};

/* The first that still wants memory, or NULL. */
static Region *first_idle(ListNode *list)
{
    LIST_FOREACH(node, list) {
        Region *r = CONTAINER_OF(node, Region, reopen.link);
        if (region_wants_memory(r))
            return r;
        list_remove(&r->reopen.link); /* it is being closed, or its last member is lost: for good */
    }
    return NULL;
}

/* The inactive FALLBACK region or member whose time has come, or NULL; and the time of the next
 * one. Those that nothing remote serves go first, then those that a drain waits for. */
Region *reopen_due(Client *c, uint64_t now_ns, uint64_t *ret_next_ns)
{
    const struct {
        ListNode *of;
        uint64_t until_ns;
    } lists[] = {{&c->regions.idle, 0},
                 {&c->moves.wanting, c->moves.rest_until_ns},
                 {&c->copies.lone, c->copies.refraction_until_ns}};
    *ret_next_ns = TIME_NEVER;
    if (c->manager.finder.count == 0 && !c->manager.finder.named)
        return NULL;
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) {
        Region *r = first_idle(lists[i].of);
        if (!r)
            continue;
        uint64_t at_ns =
            max_u64(max_u64(r->reopen.at_ns, lists[i].until_ns), c->manager.refraction_until_ns);
        if (r->reopen.asked_id)
            at_ns = r->reopen.at_ns;
        *ret_next_ns = min_u64(*ret_next_ns, at_ns);
        if (at_ns <= now_ns)
            return r;
    }
    return NULL;
}

/* Asks the manager for memory for @r: what mopen asked for once more, if it has left that to us. A
 * manager that has done it answers with the same place. Under the lock. */
static uint64_t reopen_ask(Client *c, Region *r, CallOpen *open, uint64_t now_ns,
                           uint8_t body[WIRE_BODY_MAX], size_t *ret_len)
{
    uint64_t id = r->reopen.asked_id ? r->reopen.asked_id : numbers_take(&c->ids);
    r->reopen.asked_id = 0;
    if (!id)
        return 0;
    const Region *twin = mirror_other(r);
    open->apart = twin ? twin->memory.address.epoch : 0;
    open->fresh = move_target(c, r) && twin->retainable;
    /* A retained region only where it is proven that the file has not been written since. */
    uint32_t keep = region_shares(r) ? REGION_RETAIN
                    : open->fresh    ? REGION_RETAIN | REGION_FRESH
                                     : 0;
    *ret_len = open_body(c, &r->key, &r->stamp, r->file_offset, r->len, r->flags, keep, open->apart,
                         now_ns, body);
    return id;
}

/* ---- those who read the same ---------------------------------------------------------------- */

/* What others have filled is taken only if the file is proven unchanged just before: the region may
 * have given bytes of a changed file, and it does not go back to those of before. */
enum RejoinPhase { REJOIN_JOIN, REJOIN_PROVE, REJOIN_TAKE };

/* It waits for its file, or for the other processes. */
static void rejoin_step(Call *call, uint64_t now_ns)
{
    (void)call, (void)now_ns;
}

/* Under the lock. What it has shared does not count any more. */
static void rejoin_alone(Client *c, Region *r, uint64_t now_ns)
{
    share_leave(r);
    share_waits(c, r, now_ns);
}

/* Under the lock. The id of a request to the manager, or 0: none is needed. */
static uint64_t rejoin_go_on(Client *c, Region *r, CallOpen *open, bool *ret_back, uint64_t now_ns,
                             uint8_t body[WIRE_BODY_MAX], size_t *ret_len)
{
    OpOpenReply place;
    uint64_t id = 0;
    switch (share_turn(r->sharing.share, &r->memory.address, &place)) {
    case SHARE_OPEN:
        id = reopen_ask(c, r, open, now_ns, body, ret_len);
        break;
    case SHARE_GUEST:
        r->sharing.guest = true;
        client_region_activate(c, r, &place, true, now_ns);
        *ret_back = true;
        break;
    case SHARE_STALE:
        if (r->sharing.wait_ns >= c->config.reopen_ns)
            rejoin_alone(c, r, now_ns);
        else
            share_waits(c, r, now_ns);
        break;
    case SHARE_WAIT:
        share_waits(c, r, now_ns);
        break;
    case SHARE_ALONE:
        rejoin_alone(c, r, now_ns);
        break;
    }
    return id;
}

static void rejoin_joined(Call *call)
{
    call->phase = REJOIN_PROVE;
    call_need_file(call, NEED_FILE_STAMP, call->region->file, NULL, 0, 0);
}

static void rejoin_proven(Call *call, const FileResult *result, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    uint8_t body[WIRE_BODY_MAX];
    uint64_t id = 0;
    size_t n = 0;
    bool back = false;
    client_lock(c);
    r->sharing.share->opener |= st->open.share.opener;
    if (region_shares(r) && !retain_is_proven(r, result))
        rejoin_alone(c, r, now_ns);
    else if (region_wants_memory(r) && region_shares(r))
        id = rejoin_go_on(c, r, &st->open, &back, now_ns, body, &n);
    bool last = region_leave(c, region_top(r));
    client_unlock(c);
    call->region = NULL;
    if (back)
        story_back(c, st->rd, now_ns);
    if (last)
        c->hooks.wake(c->hooks.ctx);
    if (!id) {
        call_finish(call, 0, 0, NULL);
        return;
    }
    call->ops = &reopen_ops;
    run_request(call, id, OP_OPEN, body, n, &c->config.request, now_ns);
}

/* The manager gave what the former opener left. */
static void rejoin_take(Call *call, const FileResult *result, uint64_t now_ns)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    const OpOpenReply reply = call->state->open.reply;
    client_lock(c);
    if (region_shares(r) && !retain_is_proven(r, result))
        rejoin_alone(c, r, now_ns);
    bool last = region_leave(c, region_top(r));
    client_unlock(c);
    call->region = NULL;
    reopen_end(call, RUN_DONE, &reply, now_ns);
    if (last)
        c->hooks.wake(c->hooks.ctx);
}

static void rejoin_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    if (call->phase == REJOIN_JOIN)
        rejoin_joined(call);
    else if (call->phase == REJOIN_PROVE)
        rejoin_proven(call, result, now_ns);
    else
        rejoin_take(call, result, now_ns);
}

static const CallOps rejoin_ops = {.step = rejoin_step, .file = rejoin_file};

static void rejoin_begin(Call *call, Region *r)
{
    CallState *st = call->state;
    call->region = r;
    call->phase = REJOIN_JOIN;
    st->open.share = (ShareAsk){.name = r->sharing.share->map->name, .share = r->sharing.share};
    call_need_file(call, NEED_SHARE, r->file, (uint8_t *)&st->open.share, sizeof st->open.share, 0);
}

/* True: the reply waits for the file. */
static bool rejoin_takes(Call *call, const OpOpenReply *reply)
{
    Client *c = call->channel->client;
    client_lock(c);
    Region *r = client_region(c, call->state->rd);
    bool takes = r && reply->reused && region_wants_memory(r) && region_shares(r);
    if (takes)
        region_top(r)->refs++;
    client_unlock(c);
    if (!takes)
        return false;
    call->state->open.reply = *reply;
    call->ops = &rejoin_ops;
    call->region = r;
    call->phase = REJOIN_TAKE;
    call_need_file(call, NEED_FILE_STAMP, r->file, NULL, 0, 0);
    return true;
}

/* ---- the request ---------------------------------------------------------------------------- */

void reopen_start(Channel *ch, uint64_t now_ns)
{
    Client *c = ch->client;
    CallOpen open = {0};
    uint8_t body[WIRE_BODY_MAX];
    uint64_t next;
    size_t n = 0;
    client_lock(c);
    Region *r = reopen_due(c, now_ns, &next);
    bool shares = r && region_shares(r);
    uint64_t id = r && !shares ? reopen_ask(c, r, &open, now_ns, body, &n) : 0;
    int rd = r ? r->rd : -1;
    if (shares)
        region_top(r)->refs++;
    if (r) /* also when all ids are in use: its turn comes again */
        client_region_idle(c, r, now_ns);
    client_unlock(c);
    if (!id && !shares)
        return;
    Call *call = call_own(ch, OWN_REOPEN, shares ? &rejoin_ops : &reopen_ops);
    call->state->rd = rd;
    call->state->open = open;
    if (shares)
        rejoin_begin(call, r);
    else
        run_request(call, id, OP_OPEN, body, n, &c->config.request, now_ns);
}

/* Under the lock. A second copy that finds no room keeps nobody from asking for a first one, and
 * none of those that a drain waits for. */
static void reopen_refract(Client *c, bool got, bool copy, bool moves, uint64_t now_ns)
{
    if (got && moves)
        c->moves.rest_ns = 0;
    if (got)
        client_refract_end(c, copy);
    else if (moves)
        client_refract_moves(c, now_ns);
    else if (copy)
        client_refract_copies(c, now_ns);
    else
        client_refract(c, now_ns);
}

/* @reply: NULL: there is no memory. */
static void reopen_end(Call *call, enum RunResult result, const OpOpenReply *reply, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    bool got = reply;
    client_lock(c);
    Region *r = client_region(c, st->rd);
    bool together = got && r && mirror_together(r, reply->address.epoch);
    bool moves = r && move_wants(c, r);
    if (r)
        move_answered(c, r, got);
    /* What others left is of no use to who has left them meanwhile: the file has changed. */
    bool late = got && r && reply->reused && !region_shares(r);
    bool back = got && r && region_wants_memory(r) && !together && !late;
    if (back) {
        bool shares = region_shares(r);
        client_region_activate(c, r, reply, shares && reply->reused, now_ns);
        c->stats.inherited += shares && reply->reused;
        share_publish(r);
        r->retainable = shares || st->open.fresh; /* else it was not asked for as one */
    }
    reopen_refract(c, got && !together, st->open.apart, moves, now_ns);
    if (result == RUN_TIMED_OUT) /* nor would it answer those */
        LIST_FOREACH(node, &c->regions.idle)
            client_region_unask(c, CONTAINER_OF(node, Region, reopen.link));
    c->manager.late &= result != RUN_DONE && result != RUN_REFUSED;
    numbers_end(&c->ids, st->id);
    c->alive_due = true; /* what was not taken is not claimed, and so is freed */
    client_unlock(c);
    if (back)
        story_back(c, st->rd, now_ns);
    c->hooks.wake(c->hooks.ctx);
    call_finish(call, 0, 0, NULL);
}

static void reopen_step(Call *call, uint64_t now_ns)
{
    const Request *q = &call->state->u.request;
    OpOpenReply reply;
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    bool got =
        result == RUN_DONE && open_answer(call->channel->client, q, &reply) == OPEN_ANSWER_GOOD;
    if (!got || !rejoin_takes(call, &reply))
        reopen_end(call, result, got ? &reply : NULL, now_ns);
}
