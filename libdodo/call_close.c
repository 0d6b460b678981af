/* SPDX-License-Identifier: MIT */
/* mclose, msync, and leaving the cluster. */
#include <errno.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/checks.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"
#include "libdodo/retain.h"
#include "libdodo/run.h"
#include "libdodo/sharing.h"
#include "libdodo/story.h"

/* ---- mclose --------------------------------------------------------------------------------- */

enum ClosePhase {
    CLOSE_ENTER,
    CLOSE_WAIT,
    CLOSE_SYNC,
    CLOSE_STAMP,
    CLOSE_KEEP,
    CLOSE_SEND,
    CLOSE_RUNNING
};

/* The descriptor goes whatever the result; the file's lock goes last. */
static void close_end(Call *call, int result, int error, const char *reason)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    bool piece = call->parent; /* a member goes with its region */
    if (!piece)
        story_closed(c, r, false, result == 0 && st->kept.release, reason);
    client_lock(c);
    if (st->id)
        numbers_end(&c->ids, st->id);
    if (piece)
        client_region_unclaim(c, r);
    else
        client_region_remove(c, r);
    client_unlock(c);
    call_finish(call, result, error, reason);
    if (!piece)
        client_region_free(c, r);
    c->hooks.wake(c->hooks.ctx);
}

/* A FALLBACK region does not fail because it lost its memory. */
static void close_reclaimed(Call *call, const char *reason)
{
    if ((call->region->flags & DODO_FALLBACK) || call->region->sharing.waits)
        close_end(call, 0, 0, NULL);
    else
        close_end(call, -1, EINVAL, reason);
}

/* Calls in progress on the region end by their deadlines; then the close goes on. When the process
 * ends, the thread of such a call may have ended before it, as the background has: the close ends
 * without it, and the region stays, as other threads' calls may go on. */
static void close_wait(Call *call)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    client_lock(c);
    bool busy = r->refs > 0, release = retain_may_release(r), active = r->active;
    bool guest = r->sharing.guest;
    client_unlock(c);
    call->need = busy ? NEED_BLOCKED : NEED_NETWORK;
    if (busy) {
        if (c->stopped)
            call_finish(call, -1, EINVAL, "the process ends");
        return;
    }
    if (!active)
        close_reclaimed(call, "the region had been reclaimed already");
    else if (guest) {
        close_end(call, 0, 0, NULL); /* the other process claims it */
    } else if (release) {
        call->phase = CLOSE_SYNC;
        call_need_file(call, NEED_FILE_SYNC, r->file, NULL, 0, 0);
    } else
        call->phase = CLOSE_SEND;
}

/* The record of a retained region's blocks is written before the region is released: without it the
 * next opening trusts none of them. */
static void close_keep(Call *call)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    call->phase = CLOSE_SEND;
    if (!st->kept.release || !c->config.block_sum || call->region->carried ||
        !share_retains(call->region)) /* those who share it know */
        return;
    client_lock(c);
    st->kept.record = checks_record(c, call->region, &st->kept.stamp, &st->kept.len);
    client_unlock(c);
    st->kept.release = st->kept.record;
    if (!st->kept.record)
        return;
    call->phase = CLOSE_KEEP;
    call_need_file(call, NEED_CHECKS_SAVE, call->region->file, (uint8_t *)st->kept.record,
                   st->kept.len, 0);
}

/* As nobody claims the region any more, the manager frees it when it is back. */
static void close_unanswered(Call *call)
{
    call->unanswered = true;
    close_end(call, -1, call->parent ? EHOSTUNREACH : EINVAL, "the manager does not answer");
}

/* A manager that has left a request unanswered is not asked for each of many regions. */
static void close_send(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    client_lock(c);
    bool active = r->active;
    OpClose close = {.address = r->memory.address,
                     .mode = st->kept.release ? CLOSE_RELEASE : CLOSE_FREE,
                     .stamp = st->kept.stamp};
    bool silent = active && c->manager.silent;
    uint64_t id = active && !silent ? numbers_take(&c->ids) : 0;
    if (id || silent)
        share_withdraw(r);
    RequestTimes times = c->config.request;
    if (c->manager.patience_ns > 0)
        times.deadline_ns = min_u64(times.deadline_ns, c->manager.patience_ns);
    client_unlock(c);
    if (!active) {
        close_reclaimed(call, "the region was reclaimed just now");
        return;
    }
    if (silent) {
        close_unanswered(call);
        return;
    }
    if (id == 0) {
        call->need = NEED_BLOCKED;
        return;
    }
    uint8_t body[WIRE_BODY_MAX];
    size_t n = wire_close_encode(&close, body);
    call->need = NEED_NETWORK;
    call->phase = CLOSE_RUNNING;
    run_request(call, id, OP_CLOSE, body, n, &times, now_ns);
}

static void close_running(Call *call, uint64_t now_ns)
{
    switch (run_step(call, now_ns)) {
    case RUN_RUNNING:
        break;
    case RUN_DONE:
        close_end(call, 0, 0, NULL);
        break;
    case RUN_REFUSED:
        close_reclaimed(call, "the region had been reclaimed already");
        break;
    case RUN_TIMED_OUT:
    case RUN_HOST_CHANGED:
        client_manager_gone(call->channel->client);
        close_unanswered(call);
        break;
    }
}

static void call_close_step(Call *call, uint64_t now_ns)
{
    if (call->phase == CLOSE_WAIT)
        close_wait(call);
    if (call->need == NEED_NOTHING)
        return;
    if (call->phase == CLOSE_SEND)
        close_send(call, now_ns);
    if (call->need == NEED_NOTHING)
        return;
    if (call->phase == CLOSE_RUNNING)
        close_running(call, now_ns);
}

static void call_close_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    (void)now_ns;
    CallState *st = call->state;
    Region *r = call->region;
    if (call->phase == CLOSE_SYNC && result->count == 0) {
        call->phase = CLOSE_STAMP;
        call_need_file(call, NEED_FILE_STAMP, r->file, NULL, 0, 0);
        return;
    }
    if (call->phase == CLOSE_STAMP) {
        st->kept.stamp = result->stamp;
        st->kept.release = retain_is_fresh(call->channel->client, r, result);
        close_keep(call);
        return;
    }
    if (call->phase == CLOSE_KEEP)
        st->kept.release = result->count >= 0;
    call->phase = CLOSE_SEND; /* free it if the file gave no answer */
}

static const CallOps close_ops = {.step = call_close_step, .file = call_close_file};

void call_close_begin(Call *call, Region *r)
{
    call->ops = &close_ops;
    call->region = r;
    call->phase = CLOSE_WAIT;
}

void call_close_stripe(Call *call, Region *stripe, bool release, const Stamp *stamp)
{
    CallState *st = call->state;
    call->ops = &close_ops;
    call->region = stripe;
    st->kept.release = release;
    st->kept.stamp = *stamp;
    close_keep(call);
}

/* ---- msync ---------------------------------------------------------------------------------- */

static void sync_end(Call *call, int result, int error, const char *reason)
{
    Client *c = call->channel->client;
    client_lock(c);
    (void)region_leave(c, call->region);
    client_unlock(c);
    call_finish(call, result, error, reason);
    c->hooks.wake(c->hooks.ctx);
}

enum SyncPhase { SYNC_ENTER, SYNC_RUNNING };

static void call_sync_step(Call *call, uint64_t now_ns)
{
    (void)now_ns;
    if (call->phase != SYNC_ENTER)
        return; /* it waits for the file only */
    call->phase = SYNC_RUNNING;
    call_need_file(call, NEED_FILE_SYNC, call->region->file, NULL, 0, 0);
}

static bool call_sync_cancel(Call *call)
{
    if (call->phase != SYNC_ENTER)
        return false;
    sync_end(call, -1, ECANCELED, "the request was cancelled");
    return true;
}

/* Under the lock. */
static void sync_poison(Client *c, Region *r, StoryLoss *story, uint64_t now_ns)
{
    for (unsigned i = 0; i < region_units(r); i++) {
        Region *unit = region_unit(r, i);
        if (!unit->active)
            continue;
        c->stats.poisoned++;
        client_region_deactivate(c, unit, now_ns);
        story_loss_add(story, unit);
    }
}

/* After a failed fsync nobody knows what the disk holds: the copy is not read again. */
static void call_sync_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    if (result->count == 0) {
        sync_end(call, 0, 0, NULL);
        return;
    }
    if (RULE(POISON)) {
        StoryLoss story = {.loss = LOSS_SYNC};
        client_lock(c);
        sync_poison(c, r, &story, now_ns);
        story_loss_end(&story);
        client_unlock(c);
        if (story.regions > 0)
            story_region_lost(c, &story, now_ns);
    }
    sync_end(call, -1, result->error, "writing the file to disk failed");
}

static const CallOps sync_ops = {
    .step = call_sync_step, .file = call_sync_file, .cancel = call_sync_cancel};

void call_sync_start(Call *call, Channel *ch, int rd, uint64_t now_ns)
{
    Client *c = ch->client;
    (void)now_ns;
    call_init(call, ch, &sync_ops);
    client_lock(c);
    Region *r = client_user_region(c, rd);
    if (r)
        r->refs++;
    client_unlock(c);
    if (!r) {
        call_finish(call, -1, EINVAL, "no such region");
        return;
    }
    call_attach(call);
    call->region = r;
}

/* ---- leaving -------------------------------------------------------------------------------- */

static void call_leave_step(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    client_lock(c);
    numbers_end(&c->ids, call->state->id);
    client_unlock(c);
    bool told = result == RUN_DONE;
    call_finish(call, told ? 0 : -1, told ? 0 : EINVAL,
                told ? NULL : "the manager does not answer");
}

static const CallOps leave_ops = {.step = call_leave_step};

void call_leave_start(Call *call, Channel *ch, uint64_t deadline_ns, uint64_t now_ns)
{
    Client *c = ch->client;
    RequestTimes times = c->config.request;
    times.deadline_ns = deadline_ns;
    uint64_t id = call_request(call, ch, &leave_ops);
    if (id)
        run_request(call, id, OP_LEAVE, NULL, 0, &times, now_ns);
}
