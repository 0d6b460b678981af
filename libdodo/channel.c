/* SPDX-License-Identifier: MIT */
/* One socket of the client: its endpoint, the calls on it, its clock. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "libdodo/run.h"

static void session_closed(void *ctx, Session *s)
{
    runs_session_closed(ctx, s);
}

Channel *channel_new(Client *c, Endpoint *endpoint, const ChannelSink *sink, unsigned calls_max,
                     bool background)
{
    assert(calls_max >= 1 && calls_max <= CHANNEL_CALLS_MAX);
    unsigned states = calls_max + PIECES_EXTRA + (background ? BACKGROUND_CALLS : 0);
    Channel *ch = calloc(1, sizeof *ch + states * sizeof *ch->states);
    if (!ch)
        return NULL;
    ch->client = c;
    ch->endpoint = endpoint;
    ch->sink = *sink;
    ch->background = background;
    ch->states_count = states;
    ch->clock.due_ns = TIME_NEVER;
    ch->wake.due_ns = TIME_NEVER;
    for (unsigned i = 0; i < states; i++)
        ch->states_free[i / 64] |= (uint64_t)1 << i % 64;
    while (1u << ch->lane_bits < states)
        ch->lane_bits++;
    ch->next_transfer = 1;
    endpoint_on_close(endpoint, session_closed, ch);
    return ch;
}

Channel *channel_free(Channel *ch)
{
    if (!ch)
        return NULL;
    while (ch->calls) /* the background's own: nobody waits for them */
        call_finish(ch->calls, -1, 0, NULL);
    return channel_abandon(ch);
}

Channel *channel_abandon(Channel *ch)
{
    if (!ch)
        return NULL;
    for (unsigned i = 0; i < ch->states_count; i++) {
        if (!ch->states[i].call)
            continue; /* what its last call left there was freed */
        free(ch->states[i].read.fill);
        free(ch->states[i].claim.names);
        free(ch->states[i].part.stage);
        free(ch->states[i].read.edges);
        free(ch->states[i].kept.record);
    }
    for (Session *s = NULL; (s = endpoint_walk(ch->endpoint, s));) {
        free(s->user);
        s->user = NULL;
    }
    endpoint_on_close(ch->endpoint, NULL, NULL);
    endpoint_free(ch->endpoint);
    free(ch);
    return NULL;
}

Endpoint *channel_endpoint(Channel *ch)
{
    return ch->endpoint;
}

Call *channel_next(Channel *ch, Call *after)
{
    return after ? after->next : ch->calls;
}

bool channel_take_news(Channel *ch)
{
    bool news = ch->news;
    ch->news = false;
    return news;
}

/* ---- input ---------------------------------------------------------------------------------- */

/* Data names its ask, and so its call. */
static void channel_data(Channel *ch, Session *session, const uint8_t *payload, size_t len,
                         uint64_t now_ns)
{
    WireData data;
    if (wire_data_decode(payload, len, &data) != 0)
        return;
    uint64_t lane = data.ask & (((uint64_t)1 << ch->lane_bits) - 1);
    Call *call = lane < ch->states_count ? ch->states[lane].call : NULL;
    if (!call)
        return;
    run_data(call, session, &data, now_ns);
    if (call->ops->came)
        call->ops->came(call);
    call_stir(call);
}

/* Of a host, or of a manager that is active no more: another one is asked. */
static void channel_goodbye(Channel *ch, Session *s, uint64_t now_ns)
{
    if (s->peer_role == ROLE_IMD)
        client_host_lost(ch->client, s->peer_epoch, LOSS_LEAVING, now_ns);
    if (s->peer_role != ROLE_CMD)
        return;
    (void)client_manager_next(ch->client, &s->peer);
    channel_forget(ch, s);
}

/* The manager has begun to drain a host where we have regions: the background asks which one. */
static void channel_ping(Channel *ch, const Session *s)
{
    Client *c = ch->client;
    if (s->peer_role != ROLE_CMD)
        return;
    client_lock(c);
    c->moves.wanted = true;
    if (!ch->background)
        c->hooks.wake_background(c->hooks.ctx);
    client_unlock(c);
}

static void channel_message(Channel *ch, const EndpointInput *in, uint64_t now_ns)
{
    uint64_t epoch;
    if (in->type == WIRE_GOODBYE) {
        if (wire_goodbye_decode(in->payload, in->payload_len, &epoch) == 0 &&
            in->session->peer_epoch == epoch)
            channel_goodbye(ch, in->session, now_ns);
        return;
    }
    if (in->type == WIRE_DATA) {
        channel_data(ch, in->session, in->payload, in->payload_len, now_ns);
        return;
    }
    if (in->type == WIRE_PING)
        channel_ping(ch, in->session);
    Call *next;
    channel_stir(ch);
    for (Call *call = ch->calls; call; call = next) {
        next = call->next;
        if (call->state)
            run_message(call, in->session, in->type, in->payload, in->payload_len, now_ns);
    }
}

/* The session that sent data, if that is what it was. */
static Session *input_one(Channel *ch, const Addr *from, uint8_t *datagram, size_t len,
                          uint64_t now_ns)
{
    EndpointInput in;
    Session *data = NULL;
    switch (endpoint_input(ch->endpoint, from, datagram, len, now_ns, &in)) {
    case ENDPOINT_MESSAGE:
        if (in.type == WIRE_DATA)
            data = in.session;
        channel_message(ch, &in, now_ns);
        break;
    case ENDPOINT_UP:
        channel_stir(ch);
        background_up(ch, in.session, now_ns);
        for (Call *call = ch->calls; call; call = call->next)
            if (call->state)
                run_session_up(call, in.session, now_ns);
        break;
    case ENDPOINT_NOTHING:
    case ENDPOINT_RESET:
        break;
    }
    if (in.reply_len > 0)
        ch->sink.datagram(ch->sink.ctx, from, in.reply, in.reply_len);
    return data;
}

void channel_input(Channel *ch, const Addr *from, uint8_t *datagram, size_t len, uint64_t now_ns)
{
    if (!ch->client->stopped)
        (void)input_one(ch, from, datagram, len, now_ns);
}

void channel_input_joined(Channel *ch, const Addr *from, uint8_t *datagrams, size_t len,
                          size_t segment, uint64_t now_ns)
{
    size_t overhead = endpoint_overhead(ch->endpoint), step = segment ? segment : len;
    Session *data = NULL; /* of the datagram before */
    if (ch->client->stopped)
        return;
    for (size_t at = 0; at < len; at += step) {
        uint8_t *d = datagrams + at;
        size_t n = len - at < step ? len - at : step;
        if (data && endpoint_is_next(ch->endpoint, d, n))
            channel_data(ch, data, d + overhead, n - overhead, now_ns);
        else
            data = input_one(ch, from, d, n, now_ns);
    }
}

/* ---- stepping ------------------------------------------------------------------------------- */

static void send_hellos(Channel *ch, uint64_t now_ns)
{
    uint8_t datagram[WIRE_HEADER_SIZE + WIRE_HELLO_SIZE];
    Addr to;
    size_t n;
    while ((n = endpoint_output(ch->endpoint, datagram, sizeof datagram, &to, now_ns)) > 0)
        ch->sink.datagram(ch->sink.ctx, &to, datagram, n);
}

/* When a call that was stepped must be stepped again. A call that waits for another call, for
 * credit or for a file is looked at each time. */
static void call_settle(Call *call)
{
    call->wake.at_next = call->need != NEED_NETWORK || call->group.on || run_is_held(call);
    call->wake.due_ns = call->state ? run_deadline(call) : TIME_NEVER;
}

static void channel_wakes_with(Channel *ch, const Call *call)
{
    ch->wake.at_next |= call->wake.at_next;
    ch->wake.due_ns = min_u64(ch->wake.due_ns, call->wake.due_ns);
}

/* Has a region lost its memory since the calls were last looked at? A call that waits for a session
 * with its host would hear of it only at its deadline. */
static bool losses_seen(Channel *ch)
{
    uint32_t before = ch->losses;
    ch->losses = ch->client->losses;
    return ch->losses != before;
}

/* Steps the calls that something happened to, or whose time has come. */
static void step_calls(Channel *ch, uint64_t now_ns)
{
    bool all = losses_seen(ch) || ch->background || ch->client->stopped;
    uint64_t clock_ns = channel_clock(ch, now_ns);
    Call *next;
    if (!all && !wake_has_come(&ch->wake, clock_ns))
        return;
    ch->wake = (Wake){.due_ns = TIME_NEVER};
    for (Call *call = ch->calls; call; call = next) {
        next = call->next;
        if (call->held)
            continue;
        bool wanted = all || wake_has_come(&call->wake, clock_ns);
        if (wanted && (call->need == NEED_NETWORK || call->need == NEED_BLOCKED))
            call->ops->step(call, now_ns);
        if (call->need == NEED_NOTHING)
            continue;
        if (wanted)
            call_settle(call);
        channel_wakes_with(ch, call);
    }
}

void channel_step(Channel *ch, uint64_t now_ns)
{
    do {
        ch->again = false;
        step_calls(ch, now_ns);
    } while (ch->again);
    if (ch->background) {
        background_step(ch, now_ns);
        for (Call *call = ch->calls; call; call = call->next) {
            call_settle(call); /* begun and stepped just now, perhaps */
            channel_wakes_with(ch, call);
        }
    }
    if (!ch->client->stopped)
        send_hellos(ch, now_ns);
    listen_clock_until(&ch->clock, ch->calls ? channel_deadline(ch) : TIME_NEVER, now_ns);
}

uint64_t channel_deadline(Channel *ch)
{
    uint64_t due_ns = listen_clock_monotonic(&ch->clock, ch->wake.due_ns);
    uint64_t deadline = min_u64(endpoint_deadline(ch->endpoint), due_ns);
    if (ch->background)
        deadline = min_u64(deadline, background_deadline(ch));
    return deadline;
}

bool channel_is_busy(const Channel *ch)
{
    for (const Call *call = ch->calls; call; call = call->next)
        if (call->state && (run_is_busy(call) || write_has_more(call->state)))
            return true;
    return false;
}

bool channel_is_brief(const Channel *ch)
{
    for (const Call *call = ch->calls; call; call = call->next)
        if (call->state && !run_is_brief(call))
            return false;
    return true;
}
