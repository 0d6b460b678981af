/* SPDX-License-Identifier: MIT */
/* What a call has under way on the network: one request (run_request.c), or one bulk transfer, over
 * a session that may have to be set up first. All its times are points on the channel's listening
 * clock. */
#include <stdlib.h>

#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/debt.h"
#include "libdodo/path_probe.h"
#include "libdodo/run.h"

enum {
    SAFE_DATAGRAM = 1232, /* fits every path: IPv6's least MTU less its headers */
};

static Debt *run_debt(const CallState *st)
{
    return &((ChannelPeer *)st->run.session->user)->debt;
}

/* The host owes this transfer nothing any more. */
static void run_leave(CallState *st)
{
    if (st->run.asking)
        debt_leave(run_debt(st));
    st->run.asking = false;
}

void run_prepare(Call *call, enum RunKind kind, const Addr *peer, uint64_t clock_ns)
{
    CallState *st = call->state;
    run_end(call);
    st->run.kind = (uint8_t)kind;
    st->run.begun = false;
    st->run.status = STATUS_OK;
    st->run.peer = *peer;
    st->run.session = NULL;
    st->run.renewed = false;
    st->run.give_up_ns = time_add(clock_ns, call->channel->client->config.transfer_deadline_ns);
}

void run_read(Call *call, const Addr *host, const RegionAddress *address, uint64_t offset,
              uint8_t *buf, size_t len, uint64_t now_ns)
{
    CallState *st = call->state;
    run_prepare(call, RUN_READ, host, channel_clock(call->channel, now_ns));
    st->run.address = *address;
    st->run.offset = offset;
    st->run.buf = buf;
    st->run.len = len;
}

void run_write(Call *call, const Addr *host, const RegionAddress *address, enum WriteKind kind,
               uint64_t offset, const uint8_t *data, size_t len, uint64_t number, uint64_t now_ns)
{
    CallState *st = call->state;
    run_prepare(call, RUN_WRITE, host, channel_clock(call->channel, now_ns));
    st->run.address = *address;
    st->run.write_kind = (uint8_t)kind;
    st->run.offset = offset;
    st->run.buf = (uint8_t *)(uintptr_t)data; /* a WRITE transfer only reads it */
    st->run.len = len;
    st->run.number = number;
}

void run_end(Call *call)
{
    CallState *st = call->state;
    run_leave(st);
    if (st->run.begun && st->run.kind == RUN_READ)
        read_transfer_end(&st->u.read);
    else if (st->run.begun && st->run.kind == RUN_WRITE)
        write_transfer_end(&st->u.write);
    st->run.kind = RUN_NONE;
    st->run.begun = false;
    st->run.session = NULL;
}

/* ---- the session ---------------------------------------------------------------------------- */

static uint16_t segment_for(size_t datagram_max, size_t overhead)
{
    size_t room = datagram_max > overhead ? datagram_max - overhead : 0;
    if (room < WIRE_SEGMENT_MIN)
        return WIRE_SEGMENT_MIN;
    return room > WIRE_SEGMENT_MAX ? WIRE_SEGMENT_MAX : (uint16_t)room;
}

/* The longest datagram that a transfer has use for. */
static size_t largest(const Channel *ch)
{
    return endpoint_overhead(ch->endpoint) + WIRE_WRITE_HEADER_SIZE + WIRE_SEGMENT_MAX;
}

/* Transfers that begin from now on use datagrams of up to @datagram bytes. */
static void peer_cut(const Channel *ch, ChannelPeer *peer, size_t datagram)
{
    size_t overhead = endpoint_overhead(ch->endpoint);
    peer->read_segment = segment_for(datagram, overhead + WIRE_DATA_HEADER_SIZE);
    peer->write_segment = segment_for(datagram, overhead + WIRE_WRITE_HEADER_SIZE);
}

static ChannelPeer *peer_of(Channel *ch, Session *s)
{
    ChannelPeer *peer = s->user;
    if (!peer) {
        peer = calloc(1, sizeof *peer); /* once a session */
        if (!peer)
            return NULL;
        s->user = peer;
    }
    if (!peer->read_segment) {
        size_t max = ch->sink.datagram_max(ch->sink.ctx, &s->peer), useful = largest(ch);
        if (max > useful)
            max = useful;
        peer_cut(ch, peer, path_probe_start(&peer->probe, &s->peer, max));
    }
    return peer;
}

/* A PROBE, if there is something to find out. It is as long as the datagrams would be. */
static void peer_probe(Channel *ch, Session *s, ChannelPeer *peer, uint64_t clock_ns)
{
    size_t len = peer->probe.datagram, overhead = endpoint_overhead(ch->endpoint);
    if (len == 0) /* mostly; a random number is a system call */
        return;
    if (!path_probe_due(&peer->probe, env_random_u64(&ch->client->env), clock_ns))
        return;
    uint8_t *room = malloc(2 * len); /* a few times a session */
    if (!room)
        return;
    size_t n = wire_probe_encode(peer->probe.nonce, len - overhead, room);
    n = endpoint_seal(ch->endpoint, s, WIRE_PROBE, room, n, room + len);
    if (n > 0)
        ch->sink.datagram(ch->sink.ctx, &s->peer, room + len, n);
    free(room);
}

static void peer_probed(Channel *ch, Session *s, const uint8_t *payload, size_t len)
{
    ChannelPeer *peer = s->user;
    uint64_t nonce;
    if (!peer || wire_probe_decode(payload, len, &nonce) != 0)
        return;
    size_t proven = path_probe_answered(&peer->probe, nonce, len + endpoint_overhead(ch->endpoint));
    if (proven)
        peer_cut(ch, peer, proven);
}

/* The session to the call's peer, up, or NULL. */
Session *run_session(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    if (!st->run.session && st->run.peer.kind != ADDR_NONE)
        st->run.session = endpoint_connect(call->channel->endpoint, &st->run.peer, now_ns);
    return st->run.session && st->run.session->up ? st->run.session : NULL;
}

static bool host_changed(const CallState *st, const Session *s)
{
    return s->peer_role != ROLE_IMD || s->peer_epoch != st->run.address.epoch;
}

/* @silent_ns: the host has been silent for so long already, asked in another way. */
static bool run_begin(Call *call, Session *s, uint64_t silent_ns, uint64_t clock_ns)
{
    Channel *ch = call->channel;
    CallState *st = call->state;
    ChannelPeer *peer = peer_of(ch, s);
    if (!peer)
        return false;
    peer_probe(ch, s, peer, clock_ns);
    TransferConfig config = {.deadline_ns = ch->client->config.transfer_deadline_ns,
                             .silent_ns = silent_ns,
                             .missed_ns = &ch->clock.missed_ns,
                             .credit = &ch->client->credit,
                             .path = &peer->path,
                             .together = &ch->together,
                             .lane = (uint8_t)(st - ch->states),
                             .lane_bits = ch->lane_bits};
    if (st->run.kind == RUN_READ) {
        config.segment = peer->read_segment;
        read_transfer_start(&st->u.read, &config, &st->run.address, st->run.offset, st->run.buf,
                            st->run.len, &st->next_ask, clock_ns);
        read_transfer_edges(&st->u.read, st->read.edges, st->read.edge_head, st->read.edge_tail);
    } else {
        st->run.transfer = ch->next_transfer; /* a new name each time it is begun */
        ch->next_transfer += write_chunk_count(st->run.offset, st->run.len);
        config.segment = peer->write_segment;
        write_transfer_start(&st->u.write, &config, &st->run.address, st->run.write_kind,
                             st->run.offset, st->run.buf, st->run.len, st->run.number,
                             st->run.transfer, clock_ns);
    }
    st->run.begun = true;
    st->run.progress = 0;
    st->run.progress_ns = clock_ns;
    st->run.counted = 0;
    return true;
}

/* Perhaps large datagrams vanish on the way, and nobody reported a smaller MTU. This session uses
 * smaller ones from now on. All the silence so far counts. */
static void run_shrink(Call *call, ChannelPeer *peer, uint16_t segment, uint64_t clock_ns)
{
    CallState *st = call->state;
    bool reading = st->run.kind == RUN_READ;
    uint64_t silent_ns = reading ? read_transfer_silent_ns(&st->u.read, clock_ns)
                                 : write_transfer_silent_ns(&st->u.write, clock_ns);
    if (reading)
        read_transfer_end(&st->u.read);
    else
        write_transfer_end(&st->u.write);
    peer->read_segment = peer->write_segment = segment;
    path_probe_end(&peer->probe);
    st->run.begun = false;
    (void)run_begin(call, st->run.session, silent_ns, clock_ns);
}

/* ---- sending -------------------------------------------------------------------------------- */

void run_send(Channel *ch, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    uint8_t datagram[WIRE_HEADER_SIZE + WIRE_SEAL_OVERHEAD + WIRE_PAYLOAD_MAX];
    size_t n = endpoint_seal(ch->endpoint, s, type, payload, len, datagram);
    ch->sink.datagram(ch->sink.ctx, &s->peer, datagram, n);
}

static void send_reads(Call *call, Session *s, uint64_t clock_ns)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    size_t n;
    while ((n = read_transfer_output(&call->state->u.read, payload, clock_ns)) > 0)
        run_send(call->channel, s, WIRE_READ, payload, n);
}

static void send_writes(Call *call, Session *s, uint64_t clock_ns)
{
    Channel *ch = call->channel;
    Burst burst;
    uint8_t poll[WIRE_WRITE_HEADER_SIZE];
    size_t n;
    int what;
    while ((what = write_transfer_output(&call->state->u.write, &burst, poll, &n, clock_ns)) !=
           WRITE_NOTHING) {
        if (what == WRITE_BURST)
            ch->sink.burst(ch->sink.ctx, s, &burst);
        else
            run_send(ch, s, WIRE_WRITE, poll, n);
    }
}

/* ---- stepping ------------------------------------------------------------------------------- */

static enum RunResult transfer_result(CallState *st, uint8_t state, uint16_t status)
{
    switch ((enum TransferState)state) {
    case TRANSFER_RUNNING:
        return RUN_RUNNING;
    case TRANSFER_COMPLETE:
        return RUN_DONE;
    case TRANSFER_REFUSED:
        st->run.status = status;
        return RUN_REFUSED;
    case TRANSFER_TIMED_OUT:
        break;
    }
    return RUN_TIMED_OUT;
}

static enum RunResult transfer_step(Call *call, Session *s, uint64_t clock_ns)
{
    CallState *st = call->state;
    if (st->run.kind == RUN_READ) {
        read_transfer_expire(&st->u.read, clock_ns);
        if (s && st->u.read.state == TRANSFER_RUNNING)
            send_reads(call, s, clock_ns);
        return transfer_result(st, st->u.read.state, st->u.read.status);
    }
    write_transfer_expire(&st->u.write, clock_ns);
    if (s && st->u.write.state == TRANSFER_RUNNING)
        send_writes(call, s, clock_ns);
    return transfer_result(st, st->u.write.state, st->u.write.status);
}

/* What the transfer has done, and whether it is the host's turn: its time does not count while
 * others have all the credit. Nor does it say anything of the path while the host is busy, which it
 * has answered then. */
static void run_measure(Call *call, uint64_t clock_ns)
{
    CallState *st = call->state;
    bool reading = st->run.kind == RUN_READ;
    uint32_t progress = reading ? st->u.read.progress : st->u.write.progress;
    uint16_t chunks =
        reading ? read_transfer_chunks(&st->u.read) : write_transfer_chunks(&st->u.write);
    bool starved =
        reading ? read_transfer_starved(&st->u.read) : write_transfer_starved(&st->u.write);
    bool busy = reading ? read_transfer_busy(&st->u.read, clock_ns)
                        : write_transfer_busy(&st->u.write, clock_ns);
    Debt *debt = run_debt(st);
    if (progress != st->run.progress || starved || busy) {
        st->run.progress = progress;
        st->run.progress_ns = clock_ns;
    }
    if (!st->run.asking && !starved)
        debt_enter(debt, call->turn, clock_ns);
    else if (st->run.asking && starved)
        debt_leave(debt);
    st->run.asking = !starved;
    debt_chunks(debt, chunks - st->run.counted, call->channel->client->config.transfer_deadline_ns,
                clock_ns);
    st->run.counted = chunks;
}

/* Smaller datagrams are tried once, in the second half of the first deadline without progress: a
 * dead host is given up at its end. */
static bool run_shrinks(Call *call, uint64_t clock_ns)
{
    CallState *st = call->state;
    Channel *ch = call->channel;
    ChannelPeer *peer = st->run.session->user;
    uint64_t deadline = ch->client->config.transfer_deadline_ns;
    uint64_t stuck_ns = clock_ns - st->run.progress_ns;
    uint16_t small =
        segment_for(SAFE_DATAGRAM, endpoint_overhead(ch->endpoint) + WIRE_WRITE_HEADER_SIZE);
    if (peer->read_segment <= small || stuck_ns < deadline / 2 || stuck_ns >= deadline)
        return false;
    run_shrink(call, peer, small, clock_ns);
    return st->run.begun;
}

/* What to do about a transfer that makes no progress, or next to none, whatever is answered. */
static enum RunResult run_stuck(Call *call, uint64_t clock_ns)
{
    CallState *st = call->state;
    if (RULE(SLOW_HOST) && st->run.asking &&
        debt_is_too_slow(run_debt(st), call->channel->client->config.transfer_deadline_ns)) {
        st->run.status = STATUS_BUSY;
        return RUN_REFUSED;
    }
    return run_shrinks(call, clock_ns) ? transfer_step(call, st->run.session, clock_ns)
                                       : RUN_RUNNING;
}

/* The path estimate belongs to the session: the transfer starts again on the next one. */
static void run_session_closed(Call *call, Session *session)
{
    CallState *st = call->state;
    if (st->run.session != session)
        return;
    st->run.session = NULL;
    st->run.asking = false; /* the account was the session's */
    if (st->run.begun && st->run.kind == RUN_READ)
        read_transfer_end(&st->u.read);
    else if (st->run.begun && st->run.kind == RUN_WRITE)
        write_transfer_end(&st->u.write);
    if (st->run.kind == RUN_REQUEST)
        return;
    st->run.begun = false;
    st->run.give_up_ns = 0; /* the next one has a deadline of its own, from the next step on */
}

void runs_session_closed(Channel *ch, Session *s)
{
    channel_stir(ch);
    if (ch->scout.session == s)
        ch->scout.session = NULL;
    for (Call *call = ch->calls; call; call = call->next)
        if (call->state)
            run_session_closed(call, s);
    free(s->user);
    s->user = NULL;
}

void channel_forget(Channel *ch, Session *s)
{
    runs_session_closed(ch, s);
    endpoint_forget(ch->endpoint, s);
}

enum RunResult run_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    if (call->channel->client->stopped)
        return RUN_TIMED_OUT;
    if (st->run.kind == RUN_REQUEST)
        return run_request_step(call, now_ns);
    uint64_t clock_ns = channel_clock(call->channel, now_ns);
    if (!st->run.give_up_ns)
        st->run.give_up_ns = time_add(clock_ns, call->channel->client->config.transfer_deadline_ns);
    Session *s = run_session(call, now_ns);
    if (!s && !st->run.begun)
        return clock_ns >= st->run.give_up_ns ? RUN_TIMED_OUT : RUN_RUNNING;
    if (s && host_changed(st, s)) {
        if (st->run.begun || st->run.renewed)
            return RUN_HOST_CHANGED;
        /* The session may be older than the region, and the host may have been restarted since.
         * Only a new HELLO reaches it then, and nothing else would ever ask for one. */
        st->run.renewed = true;
        channel_forget(call->channel, s);
        (void)run_session(call, now_ns);
        return RUN_RUNNING;
    }
    if (!st->run.begun && !run_begin(call, s, 0, clock_ns))
        return RUN_TIMED_OUT;
    enum RunResult result = transfer_step(call, s, clock_ns);
    run_measure(call, clock_ns);
    return result == RUN_RUNNING ? run_stuck(call, clock_ns) : result;
}

bool run_is_held(const Call *call)
{
    const CallState *st = call->state;
    if (!st || !st->run.begun)
        return false;
    return (st->run.kind == RUN_READ && read_transfer_held(&st->u.read)) ||
           (st->run.kind == RUN_WRITE && write_transfer_held(&st->u.write));
}

uint64_t run_deadline(const Call *call)
{
    const CallState *st = call->state;
    bool up = st->run.session && st->run.session->up;
    uint64_t due;
    switch ((enum RunKind)st->run.kind) {
    case RUN_NONE:
        return TIME_NEVER;
    case RUN_REQUEST:
        /* A request that waits for its session has nothing to resend before it is up. */
        return min_u64(up ? request_deadline(&st->u.request) : st->u.request.give_up_ns,
                       st->run.give_up_ns);
    case RUN_READ:
        due = st->run.begun ? read_transfer_deadline(&st->u.read) : st->run.give_up_ns;
        return st->read.turn_ns ? min_u64(due, st->read.turn_ns) : due;
    case RUN_WRITE:
        return st->run.begun ? write_transfer_deadline(&st->u.write) : st->run.give_up_ns;
    }
    return TIME_NEVER;
}

bool run_is_brief(const Call *call)
{
    const CallState *st = call->state;
    return (st->run.kind != RUN_READ && st->run.kind != RUN_WRITE) || st->run.len <= WIRE_CHUNK_MAX;
}

bool run_is_sent(const Call *call)
{
    const CallState *st = call->state;
    return st->run.kind == RUN_WRITE && st->run.begun && write_transfer_sent(&st->u.write);
}

bool run_is_busy(const Call *call)
{
    const CallState *st = call->state;
    return st->run.kind == RUN_READ || (st->run.kind == RUN_WRITE && !run_is_sent(call));
}

/* ---- events --------------------------------------------------------------------------------- */

void run_session_up(Call *call, Session *session, uint64_t now_ns)
{
    CallState *st = call->state;
    if (st->run.session != session || !st->run.begun)
        return;
    uint64_t clock_ns = channel_clock(call->channel, now_ns);
    if (st->run.kind == RUN_REQUEST) {
        request_resend(&st->u.request, clock_ns);
        run_request_heard(st, clock_ns);
    } else if (host_changed(st, session)) {
        return; /* the next step finds out */
    } else if (st->run.kind == RUN_READ) {
        read_transfer_resend(&st->u.read, clock_ns);
    } else if (st->run.kind == RUN_WRITE) {
        write_transfer_resend(&st->u.write, clock_ns);
    }
}

void run_data(Call *call, Session *session, const WireData *data, uint64_t now_ns)
{
    CallState *st = call->state;
    if (st->run.begun && st->run.session == session && st->run.kind == RUN_READ)
        read_transfer_input(&st->u.read, data, channel_clock(call->channel, now_ns));
}

void run_message(Call *call, Session *session, uint8_t type, const uint8_t *payload, size_t len,
                 uint64_t now_ns)
{
    CallState *st = call->state;
    WireWriteAck ack;
    WireReply reply;
    if (st->run.session != session)
        return;
    if (type == WIRE_PROBE_ACK)
        peer_probed(call->channel, session, payload, len);
    if (!st->run.begun)
        return;
    uint64_t clock_ns = channel_clock(call->channel, now_ns);
    if (st->run.kind == RUN_REQUEST)
        run_request_heard(st, clock_ns);
    if (type == WIRE_WRITE_ACK && st->run.kind == RUN_WRITE &&
        wire_write_ack_decode(payload, len, &ack) == 0)
        write_transfer_input(&st->u.write, &ack, clock_ns);
    else if (type == WIRE_REPLY && st->run.kind == RUN_REQUEST &&
             wire_reply_decode(payload, len, &reply) == 0)
        (void)request_input(&st->u.request, &reply, clock_ns); /* false: another call's */
}
