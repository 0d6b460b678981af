/* SPDX-License-Identifier: MIT */
/* A request to the manager: the one of several that is active and obeyed, and that answers. */
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/run.h"
#include "libdodo/story.h"

/* A manager that is asked is sent a PING after FINDER_PING_NS of silence, and another one so long
 * after that: it may be busy with the request, and say nothing to its repetitions. If they are not
 * answered, either, it gives way. */
static const uint64_t MANAGER_PING_NS = 200 * NS_PER_MS;
enum { MANAGER_PINGS = 2 };

static uint64_t next_hop(Client *c, uint64_t clock_ns)
{
    client_lock(c);
    const bool others = c->manager.finder.named || c->manager.finder.count > 1;
    client_unlock(c);
    return others ? time_add(clock_ns, FINDER_HOP_NS) : TIME_NEVER;
}

void run_request(Call *call, uint64_t id, uint16_t op, const uint8_t *body, size_t len,
                 const RequestTimes *times, uint64_t now_ns)
{
    CallState *st = call->state;
    uint64_t clock_ns = channel_clock(call->channel, now_ns);
    const Addr manager = client_manager(call->channel->client);
    run_prepare(call, RUN_REQUEST, &manager, clock_ns);
    st->run.give_up_ns = next_hop(call->channel->client, clock_ns);
    st->run.passed = st->run.pings = 0;
    st->run.rests = false;
    st->id = id;
    story_manager_asked(call->channel->client, now_ns);
    request_start(&st->u.request, id, op, body, len, times, clock_ns);
    st->run.begun = true;
}

static void send_request(Call *call, Session *s, uint64_t clock_ns)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    Client *c = call->channel->client;
    client_lock(c);
    uint64_t settled = numbers_lowest(&c->ids);
    client_unlock(c);
    size_t n;
    while ((n = request_output(&call->state->u.request, settled, payload, clock_ns)) > 0)
        run_send(call->channel, s, WIRE_REQUEST, payload, n);
}

/* The manager was heard, or begins to be asked in this session. */
void run_request_heard(CallState *st, uint64_t clock_ns)
{
    st->run.pings = 0;
    if (st->run.give_up_ns != TIME_NEVER)
        st->run.give_up_ns = time_add(clock_ns, FINDER_PING_NS);
}

static void send_ping(Call *call, uint64_t clock_ns)
{
    static const WirePing ping = {.nonce = 1};
    uint8_t payload[WIRE_PAYLOAD_MAX];
    CallState *st = call->state;
    run_send(call->channel, st->run.session, WIRE_PING, payload, wire_ping_encode(&ping, payload));
    st->run.pings++;
    st->run.give_up_ns = time_add(clock_ns, MANAGER_PING_NS);
}

/* A request follows the manager: to its next address, and to the one that its name stands for by
 * now. */
static void follow_manager(Call *call, uint64_t clock_ns)
{
    CallState *st = call->state;
    Client *c = call->channel->client;
    if (clock_ns < st->run.give_up_ns)
        return;
    const bool up = st->run.session && st->run.session->up;
    if (up && st->run.pings < MANAGER_PINGS) {
        send_ping(call, clock_ns);
        return;
    }
    const Addr manager =
        up ? client_manager_silent(c, &st->run.peer) : client_manager_next(c, &st->run.peer);
    st->run.give_up_ns = next_hop(c, clock_ns);
    st->run.rests = false;
    if (addr_equal(&manager, &st->run.peer))
        return;
    st->run.peer = manager;
    st->run.session = NULL;
    request_resend(&st->u.request, clock_ns);
}

/* Another manager is asked at once instead of this one, which stands by or is not to be obeyed;
 * after a round of them, after a while. What is known of this one is forgotten: it may become the
 * active one, and need not say so. */
static void pass_manager(Call *call, Session *s, uint64_t clock_ns)
{
    Channel *ch = call->channel;
    CallState *st = call->state;
    channel_forget(ch, s);
    (void)client_manager_next(ch->client, &st->run.peer);
    st->run.give_up_ns = next_hop(ch->client, clock_ns);
    if (++st->run.passed < client_managers(ch->client))
        return;
    st->run.passed = 0;
    st->run.rests = true;
    st->run.give_up_ns = time_add(clock_ns, FINDER_ROUND_NS);
}

/* The session in which the request may be sent; NULL: not yet. */
static Session *manager_session(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    Client *c = call->channel->client;
    const uint64_t clock_ns = channel_clock(call->channel, now_ns);
    for (;;) {
        follow_manager(call, clock_ns);
        if (st->run.rests)
            return NULL;
        if (!st->run.session)
            st->run.peer = client_manager(c);
        const bool begins = !st->run.session;
        Session *s = run_session(call, now_ns);
        if (s && begins) /* it was up already */
            run_request_heard(st, clock_ns);
        if (!s || client_manager_allowed(c, s, now_ns))
            return s;
        pass_manager(call, s, clock_ns);
    }
}

/* The answer of a manager that is not to be asked is none: it stands by, or its successor was heard
 * since it was asked. What it has done for us is freed by that one, as nobody claims it. */
static void judge_answer(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    Client *c = call->channel->client;
    Session *s = st->run.session;
    if (s && st->u.request.status != STATUS_STANDBY && client_manager_allowed(c, s, now_ns)) {
        client_manager_heard(c, s, now_ns);
        return;
    }
    if (!s && st->u.request.status != STATUS_STANDBY)
        return;
    const uint64_t clock_ns = channel_clock(call->channel, now_ns);
    request_again(&st->u.request, clock_ns);
    if (s)
        pass_manager(call, s, clock_ns);
}

enum RunResult run_request_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    uint64_t clock_ns = channel_clock(call->channel, now_ns);
    request_expire(&st->u.request, clock_ns);
    Client *c = call->channel->client;
    if (st->u.request.state == REQUEST_TIMED_OUT) {
        if (st->u.request.times.deadline_ns >= c->config.request.deadline_ns) {
            story_manager_silent(c, &st->run.peer, now_ns); /* a shorter wait proves nothing */
            (void)client_manager_silent(c, &st->run.peer);
            client_manager_gone(c);
        }
        return RUN_TIMED_OUT;
    }
    if (st->u.request.state == REQUEST_ANSWERED)
        judge_answer(call, now_ns);
    if (st->u.request.state == REQUEST_ANSWERED) {
        story_manager_heard(c, &st->run.peer, now_ns);
        st->run.status = st->u.request.status;
        return st->run.status == STATUS_OK ? RUN_DONE : RUN_REFUSED;
    }
    Session *s = manager_session(call, now_ns);
    if (s)
        send_request(call, s, clock_ns);
    return RUN_RUNNING;
}
