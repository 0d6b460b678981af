/* SPDX-License-Identifier: MIT */
/* Calls over several buffers, or several stripes of a region: they are made of others. Such a call
 * holds no state of its channel; its pieces are ordinary calls and do. Its reads run beside each
 * other, as many as there are states for pieces. Its writes run one after the other, so that the
 * file always has the beginning of what was to be written, and nothing behind a gap. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"

enum {
    VECTOR_SMALL_BYTES = 4 * WIRE_BLOCK_SIZE, /* shorter buffers are gathered, up to a chunk */
};

/* ---- buffers -------------------------------------------------------------------------------- */

static bool vector_sum(const struct iovec *iov, int count, size_t *ret)
{
    *ret = 0;
    if (count < 0 || count > IOV_MAX || (count > 0 && !iov))
        return false;
    for (int i = 0; i < count; i++) {
        if (iov[i].iov_len > SSIZE_MAX - *ret || (iov[i].iov_len > 0 && !iov[i].iov_base))
            return false;
        *ret += iov[i].iov_len;
    }
    return true;
}

/* The next piece begins so much later. */
static void vector_advance(CallGroup *g, size_t bytes)
{
    g->iov_skip += bytes;
    while (g->iov_at < g->iov_count && g->iov_skip >= g->iov[g->iov_at].iov_len) {
        g->iov_skip -= g->iov[g->iov_at].iov_len;
        g->iov_at++;
    }
}

/* Small buffers that follow one another, gathered: at most a chunk, and not beyond the end of a
 * block of the region, so that no block is in two pieces. */
static size_t vector_gather(const CallGroup *g, uint64_t inner, size_t room)
{
    size_t most = WIRE_CHUNK_MAX - inner % WIRE_BLOCK_SIZE, sum = 0, skip = g->iov_skip;
    if (most > room)
        most = room;
    for (int i = g->iov_at; i < g->iov_count && sum < most; i++, skip = 0) {
        size_t n = g->iov[i].iov_len - skip;
        if (n >= VECTOR_SMALL_BYTES)
            break;
        sum += n < most - sum ? n : most - sum;
    }
    return sum;
}

/* Between the gathered bytes and the caller's buffers from (@at, @skip) on. */
static void vector_copy(const struct iovec *iov, int at, size_t skip, uint8_t *stage, size_t len,
                        bool out)
{
    for (; len > 0; at++, skip = 0) {
        if (iov[at].iov_len == 0) /* of no buffer at all, perhaps */
            continue;
        uint8_t *buf = (uint8_t *)iov[at].iov_base + skip;
        size_t n = iov[at].iov_len - skip;
        if (n > len)
            n = len;
        if (n > 0 && out)
            memcpy(buf, stage, n);
        else if (n > 0)
            memcpy(stage, buf, n);
        stage += n;
        len -= n;
    }
}

/* ---- pieces --------------------------------------------------------------------------------- */

static void piece_begin(Call *call, enum VectorKind kind, Region *r, uint64_t offset, void *buf,
                        size_t len, uint64_t now_ns)
{
    if (kind == VECTOR_READ)
        call_read_begin(call, r, offset, buf, len, now_ns);
    else if (kind == VECTOR_WRITE)
        call_write_begin(call, r, offset, buf, len);
    else
        call_offer_begin(call, mirror_fuller(r), offset, buf, len);
}

static void vector_piece(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallGroup *g = &call->group;
    uint64_t inner;
    Region *part = region_part(call->region, g->offset + g->begun, &inner);
    size_t left = g->len - g->begun;
    size_t room = left < part->len - inner ? left : (size_t)(part->len - inner);
    const struct iovec *v = &g->iov[g->iov_at];
    size_t n = v->iov_len - g->iov_skip < room ? v->iov_len - g->iov_skip : room;
    uint8_t *buf = (uint8_t *)v->iov_base + g->iov_skip;
    CallState *st = call_piece(call)->state;
    size_t gathered = vector_gather(g, inner, room);
    if (gathered > n)
        st->part.stage = malloc(gathered); /* without it, this one buffer */
    if (st->part.stage) {
        st->part.stage_iov = g->iov_at;
        st->part.stage_skip = g->iov_skip;
        buf = st->part.stage;
        n = gathered;
        if (g->kind != VECTOR_READ)
            vector_copy(g->iov, g->iov_at, g->iov_skip, buf, n, false);
    }
    st->part.at = g->begun;
    st->part.len = n;
    g->begun += n;
    vector_advance(g, n);
    client_lock(c);
    call->region->refs++;
    piece_begin(&st->piece, g->kind, part, inner, buf, n, now_ns);
    client_unlock(c);
}

static void vector_piece_over(Call *piece, ssize_t result, int error, const char *reason)
{
    const CallState *st = piece->state;
    CallGroup *g = &piece->parent->group;
    size_t count = result > 0 ? (size_t)result : 0;
    if (st->part.stage && g->kind == VECTOR_READ)
        vector_copy(g->iov, st->part.stage_iov, st->part.stage_skip, st->part.stage, count, true);
    bool ends = result < 0 || (RULE(FIRST_END) && count < st->part.len);
    if (ends && st->part.at + count < g->end) {
        g->end = st->part.at + count;
        g->error = result < 0 ? error : 0;
        g->reason = reason;
    }
}

static void vector_end(Call *call)
{
    Client *c = call->channel->client;
    const CallGroup *g = &call->group;
    Region *r = call->region;
    size_t done = g->end < g->len ? g->end : g->len;
    bool failed = g->error && (g->kind != VECTOR_WRITE || done == 0);
    client_lock(c);
    if (g->kind == VECTOR_OFFER)
        offer_leave(call, r);
    (void)region_leave(c, r);
    client_unlock(c);
    call_finish(call, failed ? -1 : (ssize_t)done, failed ? g->error : 0,
                failed ? g->reason : NULL);
    c->hooks.wake(c->hooks.ctx);
}

static void vector_step(Call *call, uint64_t now_ns)
{
    CallGroup *g = &call->group;
    while (g->begun < g->len && g->end == SIZE_MAX && call_piece_free(call) &&
           (g->kind != VECTOR_WRITE || !RULE(WRITE_IN_TURN) || g->running == 0))
        vector_piece(call, now_ns);
    if (g->running == 0)
        vector_end(call);
}

/* Before its first piece. */
static bool vector_cancel(Call *call)
{
    CallGroup *g = &call->group;
    if (g->begun > 0)
        return false;
    g->end = 0;
    g->error = ECANCELED;
    g->reason = "the request was cancelled";
    vector_end(call);
    return true;
}

static const CallOps vector_ops = {
    .step = vector_step, .piece_over = vector_piece_over, .cancel = vector_cancel};

/* ---- starting ------------------------------------------------------------------------------- */

static const char *vector_wrong(const Region *r, enum VectorKind kind, off_t offset, bool sane)
{
    if (kind == VECTOR_WRITE && (r->flags & DODO_RDONLY))
        return "the region is read-only";
    if (offset < 0 || (uint64_t)offset > r->len || !sane)
        return "offset outside the region, too much, or no buffer";
    return NULL;
}

/* Under the lock. In one piece if one buffer and one region hold it all, else as a group. */
static void vector_begin(Call *call, enum VectorKind kind, Region *r, uint64_t offset,
                         const struct iovec *iov, int count, size_t len, uint64_t now_ns)
{
    uint64_t inner;
    Region *part = region_part(r, offset, &inner);
    CallGroup *g = &call->group;
    call->region = r;
    *g = (CallGroup){.kind = kind,
                     .iov = iov,
                     .iov_count = count,
                     .offset = offset,
                     .len = len,
                     .end = SIZE_MAX};
    if (count == 1) {
        g->one = iov[0];
        g->iov = &g->one;
    }
    vector_advance(g, 0);
    iov = &g->iov[g->iov_at];
    if (iov->iov_len < len || part->len - inner < len) {
        call->ops = &vector_ops;
        call_attach_group(call);
        return;
    }
    call_attach(call);
    piece_begin(call, kind, part, inner, iov->iov_base, len, now_ns);
}

/* Argument checks in the paper's order: the region first, then the arguments. */
static void vector_start(Call *call, Channel *ch, enum VectorKind kind, int rd, off_t offset,
                         const struct iovec *iov, int count, uint64_t now_ns)
{
    Client *c = ch->client;
    size_t len;
    bool sane = vector_sum(iov, count, &len), alive = false;
    const char *wrong = NULL;
    call_init(call, ch, NULL);
    client_lock(c);
    Region *r = client_user_region(c, rd);
    if (r) {
        alive =
            region_active(r) || region_waits(r) || (region_file_serves(r) && kind != VECTOR_OFFER);
        wrong = vector_wrong(r, kind, offset, sane);
        if (!wrong && len > r->len - (uint64_t)offset)
            len = r->len - (uint64_t)offset;
        if (alive && !wrong && len > 0) {
            r->refs++;
            if (kind == VECTOR_OFFER)
                offer_enter(call, r, (uint64_t)offset, (uint64_t)offset + len);
            vector_begin(call, kind, r, (uint64_t)offset, iov, count, len, now_ns);
        }
        c->stats.reads += alive && kind == VECTOR_READ;
    }
    client_unlock(c);
    if (!alive)
        call_finish(call, -1, ENOMEM, r ? "the region's host is lost" : "no such region");
    else if (wrong)
        call_finish(call, -1, EINVAL, wrong);
    else if (len == 0)
        call_finish(call, 0, 0, NULL);
}

void call_read_start(Call *call, Channel *ch, int rd, off_t offset, void *buf, size_t len,
                     uint64_t now_ns)
{
    struct iovec one = {buf, len};
    vector_start(call, ch, VECTOR_READ, rd, offset, &one, 1, now_ns);
}

void call_write_start(Call *call, Channel *ch, int rd, off_t offset, const void *buf, size_t len,
                      uint64_t now_ns)
{
    struct iovec one = {(void *)(uintptr_t)buf, len}; /* only read */
    vector_start(call, ch, VECTOR_WRITE, rd, offset, &one, 1, now_ns);
}

void call_readv_start(Call *call, Channel *ch, int rd, off_t offset, const struct iovec *iov,
                      int count, uint64_t now_ns)
{
    vector_start(call, ch, VECTOR_READ, rd, offset, iov, count, now_ns);
}

void call_writev_start(Call *call, Channel *ch, int rd, off_t offset, const struct iovec *iov,
                       int count, uint64_t now_ns)
{
    vector_start(call, ch, VECTOR_WRITE, rd, offset, iov, count, now_ns);
}

void call_offerv_start(Call *call, Channel *ch, int rd, off_t offset, const struct iovec *iov,
                       int count, uint64_t now_ns)
{
    vector_start(call, ch, VECTOR_OFFER, rd, offset, iov, count, now_ns);
}
