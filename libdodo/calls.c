/* SPDX-License-Identifier: MIT */
/* A call's place on its channel: its state, its pieces, what it needs of the shell, its end. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/run.h"

/* One is free: the caller keeps to the number of calls, the pieces to theirs. */
static CallState *state_find(Channel *ch)
{
    unsigned word = 0;
    while (!ch->states_free[word]) {
        word++;
        assert(word * 64 < ch->states_count);
    }
    CallState *st = &ch->states[word * 64 + (unsigned)__builtin_ctzll(ch->states_free[word])];
    ch->states_free[word] &= ch->states_free[word] - 1;
    memset(st, 0, offsetof(CallState, next_ask));
    list_init(&st->write.record.link);
    return st;
}

static void call_list(Call *call)
{
    Channel *ch = call->channel;
    if (!ch->calls) /* nobody had to come while there was none */
        ch->clock.due_ns = TIME_NEVER;
    call->next = NULL;
    call->prev = ch->calls_last;
    *(call->prev ? &call->prev->next : &ch->calls) = call;
    ch->calls_last = call;
    call_stir(call);
}

/* Also of one that was never listed: its arguments were wrong. */
static void call_unlist(Call *call)
{
    Channel *ch = call->channel;
    if (!call->prev && ch->calls != call)
        return;
    *(call->prev ? &call->prev->next : &ch->calls) = call->next;
    *(call->next ? &call->next->prev : &ch->calls_last) = call->prev;
    call->prev = NULL; /* who walks may be about to go on from here */
}

void call_init(Call *call, Channel *ch, const CallOps *ops)
{
    *call = (Call){.need = NEED_NETWORK, .ops = ops, .channel = ch, .turn = ++ch->turns};
}

void call_attach(Call *call)
{
    call->state = state_find(call->channel);
    call->state->call = call;
    call_list(call);
}

void call_attach_group(Call *call)
{
    call->group.on = true;
    call_list(call);
}

/* A call made of others has room for one piece in any case: it has no state itself. */
static bool piece_is_extra(const Call *call)
{
    return call->group.running > 0 || call->state;
}

bool call_piece_free(const Call *call)
{
    return !piece_is_extra(call) || call->channel->extra < PIECES_EXTRA;
}

Call *call_piece(Call *call)
{
    Channel *ch = call->channel;
    CallState *st = state_find(ch);
    Call *piece = &st->piece;
    call_init(piece, ch, NULL);
    piece->turn = call->turn;
    piece->parent = call;
    piece->state = st;
    st->call = piece;
    call_list(piece);
    ch->extra += piece_is_extra(call);
    call->group.running++;
    ch->again = true;
    return piece;
}

static void call_piece_over(Call *piece, ssize_t result, int error, const char *reason)
{
    Channel *ch = piece->channel;
    piece->parent->ops->piece_over(piece, result, error, reason);
    piece->parent->group.running--;
    ch->extra -= piece_is_extra(piece->parent);
    ch->again = true;
}

static void call_drop_state(Call *call)
{
    CallState *st = call->state;
    run_end(call);
    free(st->read.fill);
    free(st->claim.names);
    free(st->part.stage);
    free(st->read.edges);
    free(st->kept.record);
    st->call = NULL;
    call->state = NULL;
    unsigned i = (unsigned)(st - call->channel->states);
    call->channel->states_free[i / 64] |= (uint64_t)1 << i % 64;
}

Call *call_own(Channel *ch, enum OwnCall which, const CallOps *ops)
{
    Call *call = &ch->own[which];
    call_init(call, ch, ops);
    call_attach(call);
    ch->own_busy[which] = true;
    return call;
}

void call_finish(Call *call, ssize_t result, int error, const char *reason)
{
    Channel *ch = call->channel;
    if (call->parent)
        call_piece_over(call, result, error, reason);
    if (call->state)
        call_drop_state(call);
    call_unlist(call);
    ch->news = true;
    call->need = NEED_NOTHING;
    call->result = result;
    call->error = error;
    call->reason = reason;
    if (ch->background && call >= ch->own && call < ch->own + BACKGROUND_CALLS)
        ch->own_busy[call - ch->own] = false;
}

uint64_t call_request(Call *call, Channel *ch, const CallOps *ops)
{
    Client *c = ch->client;
    call_init(call, ch, ops);
    client_lock(c);
    uint64_t id = numbers_take(&c->ids);
    client_unlock(c);
    if (id)
        call_attach(call);
    else
        call_finish(call, -1, EINVAL, "too many requests are under way");
    return id;
}

void call_need_file(Call *call, uint8_t need, void *file, uint8_t *buf, size_t len, uint64_t offset)
{
    call->file = file;
    call->file_buf = buf;
    call->file_len = len;
    call->file_offset = offset;
    call->need = need;
    call->channel->news = true;
}

void call_hold(Call *call)
{
    call->held = call->need != NEED_NOTHING;
    if (call->state)
        call->state->read.looked = false; /* it looks when it goes on */
}

void call_release(Call *call)
{
    call->held = false;
    if (call->need != NEED_NOTHING)
        call_stir(call);
}

bool call_cancel(Call *call)
{
    return call->need != NEED_NOTHING && call->ops->cancel && call->ops->cancel(call);
}

void call_file_taken(Call *call)
{
    call->file_pending = true;
    call->need = NEED_NETWORK;
}

void call_file_done(Call *call, const FileResult *result, uint64_t now_ns)
{
    call->file_pending = false;
    call_stir(call);
    if (call->need != NEED_BLOCKED)
        call->need = NEED_NETWORK;
    if (call->ops->file)
        call->ops->file(call, result, now_ns);
}
