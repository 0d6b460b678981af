/* SPDX-License-Identifier: MIT */
/* mopen: ask the manager for a region (the paper's alloc and checkAlloc in one request). A failed
 * allocation starts the refraction period (paper 3.1).
 *
 * A region that its file can serve (FALLBACK) does not wait for a manager that is away. If no
 * answer comes before the request would be sent again, the rest is left to the background; until
 * the manager is heard again, the next such region does not wait at all. A manager that is there
 * answers sooner, and the region is active when mopen returns. */
#include <errno.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/checks.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/opening.h"
#include "libdodo/region.h"
#include "libdodo/run.h"
#include "libdodo/sharing.h"
#include "libdodo/story.h"

enum OpenPhase { OPEN_ENTER, OPEN_JOINING, OPEN_LOADING };

size_t open_body(const Client *c, const FileKey *key, const Stamp *stamp, uint64_t offset,
                 uint64_t len, unsigned flags, uint32_t keep, uint64_t apart, uint64_t now_ns,
                 uint8_t *out)
{
    OpOpen open = {.key = *key, .offset = offset, .len = len, .flags = keep, .stamp = *stamp};
    if (flags & DODO_RDONLY)
        open.flags |= REGION_RDONLY;
    if (apart && RULE(MIRROR_APART))
        open.avoid[open.avoid_count++] = apart;
    for (unsigned i = 0; i < OPEN_AVOID_MAX && open.avoid_count < OPEN_AVOID_MAX; i++)
        if (now_ns < c->faults.lost[i].until_ns)
            open.avoid[open.avoid_count++] = c->faults.lost[i].epoch;
    return wire_open_encode(&open, out);
}

static void open_fail(Call *call, int error, const char *reason, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const CallState *st = call->state;
    void *file = call->parent ? NULL : st->open.given.file;
    if (!call->parent)
        story_refused(c, st->open.given.inode, st->open.offset, st->open.len, error, reason,
                      now_ns);
    Share *share = call->parent ? NULL : st->open.share.share;
    call_finish(call, -1, error, reason);
    if (share)
        c->hooks.share_end(c->hooks.ctx, share);
    if (file)
        c->hooks.file_release(c->hooks.ctx, file);
}

/* The checksums are those that other processes have found. */
static bool open_knows(const CallState *st)
{
    return st->open.share.share && !st->open.share.made;
}

/* The region has its memory. Blocks of a former opening are trusted as far as the record of them
 * was kept. */
static void open_activate(Call *call, Region *r, const OpOpenReply *reply, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const CallState *st = call->state;
    client_region_activate(c, r, reply, reply->reused, now_ns);
    if (r->reused && c->config.block_sum && !open_knows(st))
        r->reused = checks_restore(r, st->kept.record, st->kept.len);
    share_publish(r);
}

/* A member of a region that is being made. A host that has the other copy already is of no use. */
static void open_install_member(Call *call, const OpOpenReply *reply, uint64_t now_ns)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    client_lock(c);
    bool together = mirror_together(r, reply->address.epoch);
    if (together)
        client_refract_copies(c, now_ns);
    else
        open_activate(call, r, reply, now_ns);
    if (!r->sharing.guest) {
        if (!together)
            client_refract_end(c, r->mirror.second);
        numbers_end(&c->ids, call->state->id);
        c->alive_due = true;
    }
    client_unlock(c);
    call_finish(call, together ? -1 : 0, together ? ENOMEM : 0,
                together ? "the manager named the host of the other copy" : NULL);
}

/* Makes the region; @reply NULL: without remote memory, for now (FALLBACK), and why. */
static void open_install(Call *call, const OpOpenReply *reply, const char *reason, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = NULL;
    if (call->parent) {
        open_install_member(call, reply, now_ns);
        return;
    }
    client_lock(c);
    int result = client_region_new(c, &r);
    if (result == 0) {
        client_region_given(c, r, &st->open.given, st->open.len, st->open.offset, st->open.flags);
        share_join(c, r, &st->open, now_ns);
        r->reopen.asked_id = st->open.left ? st->id : 0;
        if (r->sharing.waits)
            reason = story_waiting;
        else
            client_region_ask(c, r, now_ns);
        if (reply)
            open_activate(call, r, reply, now_ns);
    } else if (st->open.left) {
        numbers_end(&c->ids, st->id);
    }
    if (reply && st->open.turn != SHARE_GUEST) {
        client_refract_end(c, false);
        /* the id is settled in the moment in which the region joins the claims */
        numbers_end(&c->ids, st->id);
        c->alive_due = true;
    }
    int rd = r ? r->rd : -1;
    client_unlock(c);
    if (result < 0) {
        open_fail(call, -result, "too many regions are open", now_ns);
    } else {
        story_opened(c, rd, reason);
        call_finish(call, rd, 0, NULL);
    }
    c->hooks.wake_background(c->hooks.ctx);
}

static void open_no_memory(Call *call, const char *reason, uint64_t now_ns)
{
    if (!call->parent && (call->state->open.flags & DODO_FALLBACK))
        open_install(call, NULL, reason, now_ns);
    else
        open_fail(call, ENOMEM, reason, now_ns);
}

/* A second copy may not: it must lie apart from the first one, which may be elsewhere by then. */
static bool open_may_leave(const Call *call, enum RunResult result)
{
    const CallOpen *open = &call->state->open;
    return result == RUN_TIMED_OUT && (open->flags & DODO_FALLBACK) && !open->apart;
}

/* The manager may still do what it was asked for, and would have no room for as much again. So the
 * background asks once more, under the same id. */
static void open_leave(Call *call)
{
    Client *c = call->channel->client;
    client_lock(c);
    call->state->open.left = true;
    if (call->parent)
        call->region->reopen.asked_id = call->state->id;
    client_unlock(c);
}

/* Settles the request: reconciliation frees whatever the manager still does for it. The first
 * stripe of a region that fails begins the refraction period. */
static void open_over(Call *call, bool refract, uint64_t now_ns)
{
    Client *c = call->channel->client;
    if (call->parent && call->parent->group.error)
        refract = false;
    client_lock(c);
    numbers_end(&c->ids, call->state->id);
    if (refract && call->state->open.apart)
        client_refract_copies(c, now_ns);
    else if (refract)
        client_refract(c, now_ns);
    client_unlock(c);
    c->hooks.wake(c->hooks.ctx);
}

/* What a former opening knew of a retained region's blocks. False: no memory for it. */
static bool open_load(Call *call, const OpOpenReply *reply)
{
    CallState *st = call->state;
    const CheckName name = {
        .key = st->open.given.key, .offset = st->open.offset, .len = st->open.len};
    st->kept.record = checks_record_new(&name, &st->kept.len);
    if (!st->kept.record)
        return false;
    st->open.reply = *reply;
    call->phase = OPEN_LOADING;
    call_need_file(call, NEED_CHECKS_LOAD, st->open.given.file, (uint8_t *)st->kept.record,
                   st->kept.len, 0);
    return true;
}

/* Without a key any program on this machine can pose as the manager, and send the program's data
 * where it likes. */
enum OpenAnswer open_answer(const Client *c, const Request *q, OpOpenReply *ret)
{
    if (wire_open_reply_decode(q->answer, q->answer_len, ret) < 0 || ret->address.region == 0)
        return OPEN_ANSWER_SENSELESS;
    return c->config.loopback_only && !addr_is_loopback(&ret->host) ? OPEN_ANSWER_ELSEWHERE
                                                                    : OPEN_ANSWER_GOOD;
}

static void open_note_manager(Client *c, bool late)
{
    client_lock(c);
    c->manager.late = late;
    client_unlock(c);
}

static void open_answered(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const Request *q = &call->state->u.request;
    OpOpenReply reply;
    enum OpenAnswer answer = open_answer(c, q, &reply);
    if (answer != OPEN_ANSWER_GOOD) {
        open_over(call, true, now_ns);
        open_no_memory(
            call,
            answer == OPEN_ANSWER_ELSEWHERE
                ? "the manager named a host on the network, and there is no cluster key: "
                  "name one with DODO_KEY=FILE (or set DODO_INSECURE=1)"
                : "the manager's answer made no sense",
            now_ns);
        return;
    }
    if (reply.reused && c->config.block_sum && !open_knows(call->state) && open_load(call, &reply))
        return;
    open_install(call, &reply, NULL, now_ns);
    c->hooks.wake(c->hooks.ctx);
}

static const char *open_refusal(uint16_t status)
{
    switch (status) {
    case STATUS_NO_MEMORY:
        return "no host has that much idle memory";
    case STATUS_BUSY:
        return "the manager is busy";
    case STATUS_QUOTA:
        return "this program has as much as the manager allows one: see client_bytes and "
               "client_regions in dodo.conf(5)";
    case STATUS_DENIED:
        return "the manager denied the request";
    default:
        return "the manager refused the request";
    }
}

/* Takes a request id and sends; false: the call waits, or is over. */
static bool open_begin(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    const Addr manager = client_manager(c);
    if (manager.kind == ADDR_NONE) {
        (void)client_manager_silent(c, &manager);
        open_no_memory(call,
                       c->manager.finder.named ? "the manager's name has no address: see the log"
                                               : "no manager is named: set DODO_MANAGER=HOST:PORT",
                       now_ns);
        return false;
    }
    if (c->stopped) {
        open_no_memory(call, "the process is ending", now_ns);
        return false;
    }
    client_lock(c);
    bool refracting = now_ns < c->manager.refraction_until_ns;
    const Region *twin = call->region ? mirror_other(call->region) : NULL;
    st->open.apart = twin ? twin->memory.address.epoch : 0;
    /* Nobody waits for a second copy either. */
    bool fallback = (st->open.flags & DODO_FALLBACK) || twin, late = fallback && c->manager.late;
    uint64_t id = refracting || late ? 0 : numbers_take(&c->ids);
    uint8_t body[WIRE_BODY_MAX];
    bool keep =
        ((st->open.flags & DODO_RETAIN) || st->open.share.share) && st->open.given.retainable;
    size_t n =
        open_body(c, &st->open.given.key, &st->open.given.stamp, st->open.offset, st->open.len,
                  st->open.flags, keep ? REGION_RETAIN : 0, st->open.apart, now_ns, body);
    client_unlock(c);
    if (refracting) {
        open_no_memory(call, story_refracting, now_ns);
        return false;
    }
    if (late) {
        open_no_memory(call, "the manager has not answered", now_ns);
        return false;
    }
    if (id == 0) {
        call->need = NEED_BLOCKED; /* sixty-four requests are under way */
        return false;
    }
    call->need = NEED_NETWORK;
    RequestTimes times = c->config.request;
    if (fallback)
        times.deadline_ns = min_u64(times.deadline_ns, times.first_retry_ns);
    run_request(call, id, OP_OPEN, body, n, &times, now_ns);
    return true;
}

/* ---- those who read the same --------------------------------------------------------------- */

/* True: the call waits for what it has asked for. */
static bool join_begin(Call *call)
{
    CallState *st = call->state;
    if (st->open.asked || !share_wanted(call->channel->client, &st->open.given, st->open.flags))
        return false;
    st->open.asked = true;
    st->open.share.name =
        share_name(&st->open.given.key, &st->open.given.stamp, st->open.offset, st->open.len);
    call->phase = OPEN_JOINING;
    call_need_file(call, NEED_SHARE, st->open.given.file, (uint8_t *)&st->open.share,
                   sizeof st->open.share, 0);
    return true;
}

/* A member that waits is no failure. */
static void join_wait(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    if (!call->parent) {
        open_install(call, NULL, NULL, now_ns);
        return;
    }
    call_finish(call, 0, 0, NULL);
    c->hooks.wake_background(c->hooks.ctx);
}

static void joined(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Share *share = st->open.share.share;
    OpOpenReply place = {0};
    call->phase = OPEN_ENTER;
    if (!share)
        return;
    share->opener = st->open.share.opener;
    st->open.turn = share_turn(share, NULL, &place);
    if (st->open.turn == SHARE_ALONE) {
        st->open.share = (ShareAsk){0};
        c->hooks.share_end(c->hooks.ctx, share);
        return;
    }
    if (call->parent) {
        client_lock(c);
        share_join(c, call->region, &st->open, now_ns);
        client_unlock(c);
    }
    place.reused = true;
    if (st->open.turn == SHARE_GUEST)
        open_install(call, &place, NULL, now_ns);
    else if (st->open.turn == SHARE_WAIT)
        join_wait(call, now_ns);
}

/* ---- events --------------------------------------------------------------------------------- */

static void call_open_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    if (call->phase != OPEN_ENTER || join_begin(call))
        return;
    if (st->run.kind == RUN_NONE && !open_begin(call, now_ns))
        return;
    Client *c = call->channel->client;
    enum RunResult result = run_step(call, now_ns);
    switch (result) {
    case RUN_RUNNING:
        break;
    case RUN_DONE:
        open_note_manager(c, false);
        open_answered(call, now_ns);
        break;
    case RUN_REFUSED: {
        open_note_manager(c, false);
        const char *reason = open_refusal(st->run.status);
        open_over(call, true, now_ns);
        open_no_memory(call, reason, now_ns);
        break;
    }
    case RUN_TIMED_OUT:
    case RUN_HOST_CHANGED:
        if (!st->open.apart) /* it answered for the first copy just now */
            open_note_manager(c, true);
        if (open_may_leave(call, result))
            open_leave(call);
        else
            open_over(call, !(st->open.flags & DODO_FALLBACK) || st->open.apart, now_ns);
        open_no_memory(call, "the manager does not answer", now_ns);
        break;
    }
}

static void call_open_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    const OpOpenReply reply = st->open.reply;
    if (call->phase == OPEN_JOINING) {
        joined(call, now_ns);
        return;
    }
    st->kept.len = result->count > 0 ? (size_t)result->count : 0;
    open_install(call, &reply, NULL, now_ns);
    c->hooks.wake(c->hooks.ctx);
}

static const CallOps open_ops = {.step = call_open_step, .file = call_open_file};

void call_open_begin(Call *call, const FileGiven *given, uint64_t len, uint64_t offset,
                     unsigned flags)
{
    CallState *st = call->state;
    call->ops = &open_ops;
    st->open.given = *given;
    st->open.len = len;
    st->open.offset = offset;
    st->open.flags = flags;
}
