/* SPDX-License-Identifier: MIT */
/* Regions that are made of others, their members, each an ordinary region on whatever host the
 * manager chose. To the user it is one region: one descriptor, one file with one lock.
 *
 * DODO_STRIPE: a region longer than a stripe is made of several contiguous pieces. Stripes are
 * whole blocks, so no block is in two of them, and the rules for writes and reads beside each other
 * in a region hold across stripes. DODO_MIRROR: of each stripe, or of a region that is no longer
 * than one, there are two copies (copies.c).
 *
 * A stripe without memory is served from the file. What is without memory is established again in
 * the background, as a DODO_FALLBACK region is. The region is lost only when its last member is. */
#include <errno.h>
#include <stdlib.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/region.h"
#include "libdodo/retain.h"
#include "libdodo/story.h"
#include "libdodo/stripe.h"

enum {
    STRIPES_MAX = 1024,   /* of a region */
    STRIPE_REQUESTS = 16, /* to the manager at once, for one region */
};

/* ---- geometry ------------------------------------------------------------------------------- */

static uint64_t whole_blocks(uint64_t bytes)
{
    return (bytes + WIRE_BLOCK_SIZE - 1) / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
}

static uint64_t stripe_len(const Client *c, uint64_t len)
{
    uint64_t least = (len + STRIPES_MAX - 1) / STRIPES_MAX, want = c->config.stripe_bytes;
    return whole_blocks(want > least ? want : least);
}

static bool is_long(const Client *c, unsigned flags, uint64_t len)
{
    return (flags & DODO_STRIPE) && len > stripe_len(c, len);
}

bool stripe_wanted(const Client *c, unsigned flags, uint64_t len)
{
    return (flags & DODO_MIRROR) || is_long(c, flags, len);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int member_new(Client *c, Region *r)
{
    Region *stripe;
    int result = client_region_new(c, &stripe);
    if (result < 0)
        return result;
    unsigned i = r->stripe.members, count = r->stripe.count;
    uint64_t at = i % count * r->stripe.len;
    stripe->stripe.parent = r;
    if (i >= count)
        mirror_pair(r->stripe.of[i - count], stripe);
    stripe->len = r->len - at < r->stripe.len ? r->len - at : r->stripe.len;
    stripe->file_offset = r->file_offset + at;
    stripe->flags = r->flags;
    stripe->file = r->file;
    stripe->key = r->key;
    stripe->stamp = r->stamp;
    stripe->retainable = r->retainable;
    stripe->sharing.may = r->sharing.may;
    r->stripe.of[r->stripe.members++] = stripe;
    return 0;
}

/* Under the lock. It is nobody's to use yet, so it counts as closing. */
static int striped_new(Client *c, const FileGiven *given, uint64_t len, uint64_t offset,
                       unsigned flags, Region **ret)
{
    Region *r;
    int result = client_region_new(c, &r);
    *ret = NULL;
    if (result < 0)
        return result;
    *ret = r;
    r->closing = true;
    client_region_given(c, r, given, len, offset, flags);
    r->sharing.may = given->shareable;
    r->stripe.len = is_long(c, flags, len) ? stripe_len(c, len) : len;
    r->stripe.count = (unsigned)((len + r->stripe.len - 1) / r->stripe.len);
    unsigned members = r->stripe.count * (flags & DODO_MIRROR ? 2 : 1);
    r->stripe.of = calloc(members, sizeof(Region *));
    if (!r->stripe.of)
        result = -ENOMEM;
    while (result == 0 && r->stripe.members < members)
        result = member_new(c, r);
    if (result < 0)
        client_region_remove(c, r);
    return result;
}

/* A member without memory asks for some in the background. */
static void member_wants(Client *c, Region *r, uint64_t now_ns)
{
    if (r->active)
        return;
    if (r->sharing.waits)
        client_region_soon(c, r, r->reopen.at_ns);
    else
        client_region_ask(c, r, now_ns);
}

static void open_end(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    client_lock(c);
    bool good = r->stripe.active > 0 || r->stripe.waiting > 0 || (r->flags & DODO_FALLBACK);
    if (good)
        r->closing = false;
    else
        client_region_remove(c, r);
    for (unsigned i = 0; good && i < r->stripe.members; i++)
        member_wants(c, r->stripe.of[i], now_ns);
    int rd = r->rd;
    client_unlock(c);
    const char *reason = call->group.reason ? call->group.reason : "its hosts were lost at once";
    if (good)
        story_opened(c, rd, reason);
    else
        story_refused(c, r->inode, r->file_offset, r->len, ENOMEM, reason, now_ns);
    call_finish(call, good ? rd : -1, good ? 0 : ENOMEM, good ? NULL : reason);
    if (!good)
        client_region_free(c, r);
    c->hooks.wake_background(c->hooks.ctx);
}

static void stripe_open_begin(Call *call, const Region *stripe)
{
    const FileGiven given = {.file = stripe->file,
                             .key = stripe->key,
                             .stamp = stripe->stamp,
                             .retainable = stripe->retainable,
                             .shareable = stripe->sharing.may};
    call_open_begin(call, &given, stripe->len, stripe->file_offset, stripe->flags);
}

/* May a second copy be asked for? */
static bool copy_may(Client *c, const Region *second, uint64_t now_ns)
{
    client_lock(c);
    bool may = mirror_other(second) && now_ns >= c->copies.refraction_until_ns;
    client_unlock(c);
    return may;
}

/* The next member that is asked for; NULL: none, or none before those under way are over. A second
 * copy is asked for when it is known where the first one is. The first stripe that finds no room is
 * the last one asked for, so is the first second copy. The others wait for the background, which
 * tries one after the other. */
static Region *open_next(Call *call, uint64_t now_ns)
{
    CallGroup *g = &call->group;
    const Region *r = call->region;
    if (g->error || g->running >= STRIPE_REQUESTS || !call_piece_free(call))
        return NULL;
    if (g->stripe == r->stripe.count && g->running > 0)
        return NULL;
    while (g->stripe >= r->stripe.count && g->stripe < r->stripe.members && !g->lone &&
           !copy_may(call->channel->client, r->stripe.of[g->stripe], now_ns))
        g->stripe++;
    bool is_over = g->stripe == r->stripe.members || (g->stripe >= r->stripe.count && g->lone);
    return is_over ? NULL : r->stripe.of[g->stripe++];
}

static void stripe_open_step(Call *call, uint64_t now_ns)
{
    Region *next;
    while ((next = open_next(call, now_ns))) {
        Call *piece = call_piece(call);
        piece->region = next;
        stripe_open_begin(piece, next);
    }
    if (call->group.running == 0)
        open_end(call, now_ns);
}

static void stripe_opened(Call *piece, ssize_t result, int error, const char *reason)
{
    CallGroup *g = &piece->parent->group;
    if (result >= 0)
        return;
    if (piece->region->mirror.second) {
        g->lone = true;
    } else if (!g->error || error == EHOSTUNREACH) {
        g->error = error;
        g->reason = reason;
    }
}

static void stripe_piece_over(Call *piece, ssize_t result, int error, const char *reason)
{
    CallGroup *g = &piece->parent->group;
    g->good += result >= 0;
    if (result < 0 && (!g->error || error == EHOSTUNREACH)) {
        g->error = error;
        g->reason = reason;
    }
}

static const CallOps stripes_open_ops = {.step = stripe_open_step, .piece_over = stripe_opened};

void stripe_open_start(Call *call, const FileGiven *given, uint64_t len, uint64_t offset,
                       unsigned flags)
{
    Client *c = call->channel->client;
    Region *r;
    client_lock(c);
    int result = striped_new(c, given, len, offset, flags, &r);
    client_unlock(c);
    if (result < 0) {
        call_finish(call, -1, -result, "too many regions are open");
        if (r)
            client_region_free(c, r); /* and the file */
        else
            c->hooks.file_release(c->hooks.ctx, given->file);
        return;
    }
    call->ops = &stripes_open_ops;
    call->region = r;
    call_attach_group(call);
}

/* ---- closing -------------------------------------------------------------------------------- */

enum StripeClosePhase { STRIPES_WAIT, STRIPES_SYNC, STRIPES_STAMP, STRIPES_SEND };

static void close_end(Call *call, int result, const char *reason)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    story_closed(c, r, call->group.good > 0, result == 0 && call->group.release, reason);
    client_lock(c);
    client_region_remove(c, r);
    client_unlock(c);
    call_finish(call, result, result < 0 ? EINVAL : 0, reason);
    client_region_free(c, r);
    c->hooks.wake(c->hooks.ctx);
}

/* Of two copies one is retained: the next opening makes another from it. */
static void retain_one(const Region *first)
{
    if (first->mirror.twin && !first->mirror.second && retain_may_release(first))
        first->mirror.twin->retainable = false;
}

/* One fdatasync and one stamp serve all stripes that may be retained. */
static void close_wait(Call *call)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    bool release = false;
    client_lock(c);
    bool busy = r->refs > 0, active = region_active(r);
    for (unsigned i = 0; i < region_units(r); i++)
        release |= retain_may_release(region_unit(r, i));
    for (unsigned i = 0; i < region_units(r); i++)
        retain_one(region_unit(r, i));
    client_unlock(c);
    call->need = busy ? NEED_BLOCKED : NEED_NETWORK;
    if (busy) {
        if (c->stopped) /* as one alone: see call_close.c */
            call_finish(call, -1, EINVAL, "the process ends");
        return;
    }
    if (!active) {
        bool fallback = region_file_serves(r);
        close_end(call, fallback ? 0 : -1,
                  fallback ? NULL : "the region had been reclaimed already");
    } else if (r->carried) {
        call->group.release = release;
        call->group.stamp = r->stamp;
        call->phase = STRIPES_SEND;
    } else if (release) {
        call->phase = STRIPES_SYNC;
        call_need_file(call, NEED_FILE_SYNC, r->file, NULL, 0, 0);
    } else {
        call->phase = STRIPES_SEND;
    }
}

static void stripe_close_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    (void)now_ns;
    CallGroup *g = &call->group;
    Region *r = call->region;
    if (call->phase == STRIPES_SYNC && result->count == 0) {
        call->phase = STRIPES_STAMP;
        call_need_file(call, NEED_FILE_STAMP, r->file, NULL, 0, 0);
        return;
    }
    if (call->phase == STRIPES_STAMP) {
        g->release = retain_is_fresh(call->channel->client, r, result);
        g->stamp = result->stamp;
    }
    call->phase = STRIPES_SEND;
}

static void close_stripe(Call *call, Region *stripe)
{
    Client *c = call->channel->client;
    CallGroup *g = &call->group;
    client_lock(c);
    bool active = stripe->active && !stripe->sharing.guest;
    bool release = g->release && retain_may_release(stripe);
    client_unlock(c);
    if (active)
        call_close_stripe(call_piece(call), stripe, release, &g->stamp);
}

/* A manager that left one request unanswered is not asked again for each of the others. */
static void close_send(Call *call)
{
    CallGroup *g = &call->group;
    Region *r = call->region;
    while (g->stripe < region_units(r) && g->error != EHOSTUNREACH &&
           g->running < STRIPE_REQUESTS && call_piece_free(call))
        close_stripe(call, region_unit(r, g->stripe++));
    if (g->running > 0)
        return;
    call->unanswered = g->error == EHOSTUNREACH;
    if (call->unanswered)
        close_end(call, -1, "the manager does not answer");
    else if (g->error && g->good == 0)
        close_end(call, -1, "the region had been reclaimed already");
    else
        close_end(call, 0, NULL);
}

static void stripe_close_step(Call *call, uint64_t now_ns)
{
    (void)now_ns;
    if (call->phase == STRIPES_WAIT)
        close_wait(call);
    if (call->need != NEED_NOTHING && call->phase == STRIPES_SEND)
        close_send(call);
}

static const CallOps stripes_close_ops = {
    .step = stripe_close_step, .file = stripe_close_file, .piece_over = stripe_piece_over};

void stripe_close_start(Call *call, Region *r)
{
    call->ops = &stripes_close_ops;
    call->region = r;
    call->phase = STRIPES_WAIT;
    call_attach_group(call);
}
