/* SPDX-License-Identifier: MIT */
/* Clients: what they may ask, their keep-alives, and the reclaim of what the dead leave behind
 * (the paper's 3.1 and 4.3). Any authentic request is a sign of life. */
#include "cmd/manager_private.h"

static void client_alive(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX];
    OpAlive alive;
    OpAliveReply reply = {0};
    uint16_t status = STATUS_OK;

    if (wire_alive_decode(request->body, request->body_len, &alive) != 0)
        status = STATUS_INVALID;
    else if (cmd_list_wanted(m, &c->list, alive.digest, c->digest, list_empty(&c->tasks)))
        reply.flags = ALIVE_WANT_LIST;
    else if (c->moves.hosts)
        reply.flags = ALIVE_MOVE;
    size_t n = status == STATUS_OK ? wire_alive_reply_encode(&reply, body) : 0;
    cmd_reply(m, &c->replies, session, request->id, request->op, status, body, n);
}

static void client_claim(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    OpClaim claim;
    uint16_t status = STATUS_INVALID;

    if (wire_claim_decode(request->body, request->body_len, &claim) == 0)
        status = cmd_claim(m, c, &claim);
    cmd_reply(m, &c->replies, session, request->id, request->op, status, NULL, 0);
}

/* The entry stays until the client was silent long enough, so that a late duplicate of an earlier
 * request is still known as one. */
static void client_leave(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    env_trace(&m->env, "client leaves, %llu regions", (unsigned long long)c->regions_count);
    if (!c->left)
        cmd_tell_client(m, c, &session->peer, EVENT_CLIENT_LEFT, "it said good-bye");
    cmd_opens_forget(m, c, UINT64_MAX);
    cmd_client_abandon(m, c);
    if (!c->left) {
        c->left = true;
        list_push_back(&m->left.all, &c->of_left);
        m->left.count++;
    }
    cmd_reply(m, &c->replies, session, request->id, request->op, STATUS_OK, NULL, 0);
}

static void client_execute(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    if (!c->confirmed)
        cmd_tell_client(m, c, &session->peer, EVENT_CLIENT_CAME, "a program uses the cluster");
    c->confirmed = true;
    cmd_client_unname(m, c);
    if (request->id > c->request_last)
        c->request_last = request->id;
    if (request->op != OP_LEAVE)
        cmd_client_unleave(m, c);
    switch (request->op) {
    case OP_OPEN:
        cmd_open(m, c, session, request);
        break;
    case OP_CLOSE:
        cmd_close(m, c, session, request);
        break;
    case OP_ALIVE:
        client_alive(m, c, session, request);
        break;
    case OP_CLAIM:
        client_claim(m, c, session, request);
        break;
    case OP_REPORT:
        cmd_report(m, c, session, request);
        break;
    case OP_TAKE:
        cmd_take(m, c, session, request);
        break;
    case OP_MOVES:
        cmd_moves(m, c, session, request);
        break;
    default:
        client_leave(m, c, session, request);
        break;
    }
}

/* A duplicate of what is under way: perhaps by another way, then the reply goes there. */
static void client_pending(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    LIST_FOREACH(at, &c->tasks) {
        Task *t = CONTAINER_OF(at, Task, of_client);
        if (t->request != request->id)
            continue;
        t->session = session;
        cmd_open_again(m, t);
        break;
    }
}

/* A host that has not come since our start counts as silent after host_dead, as any other. */
static bool host_may_come(const Manager *m, uint64_t epoch)
{
    return cmd_host_find(m, epoch) || !cmd_silent(m, m->start_ns, m->config.host_dead_ns);
}

/* A release of a region that a manager which just started may hear of at any moment: it is not
 * answered yet, and the client asks again. If the reply were "gone", the client would forget the
 * region, and one that it means to keep would be lost. */
static bool release_comes_early(const Manager *m, const WireRequest *request)
{
    OpClose op;

    return request->op == OP_CLOSE &&
           wire_close_decode(request->body, request->body_len, &op) == 0 &&
           op.mode == CLOSE_RELEASE && cmd_region_may_come(m, &op.address) &&
           host_may_come(m, op.address.epoch);
}

/* One that was begun before is not early: it is under way, or its answer is repeated. */
static bool comes_early(const Manager *m, const CmdClient *c, const WireRequest *request)
{
    return !number_window_marked(&c->replies.seen, request->id) &&
           (release_comes_early(m, request) || cmd_open_comes_early(m, request));
}

static bool is_client_op(uint16_t op)
{
    return (op >= OP_OPEN && op <= OP_LEAVE) || op == OP_REPORT || op == OP_MOVES || op == OP_TAKE;
}

void cmd_client_input(Manager *m, Session *session, const WireRequest *request)
{
    CmdClient *c = NULL;
    uint16_t status = STATUS_OK;

    if (!is_client_op(request->op) || id128_is_null(&session->peer_id))
        status = STATUS_DENIED;
    else if (request->op == OP_LEAVE)
        c = cmd_client_find(m, &session->peer_id);
    else if (!(c = cmd_client_get(m, &session->peer_id)))
        status = STATUS_BUSY;
    if (!c) { /* a LEAVE of somebody unknown is done already */
        cmd_reply(m, NULL, session, request->id, request->op, status, NULL, 0);
        return;
    }
    c->heard_ns = m->now_ns;
    if (!c->session || request->op == OP_ALIVE)
        c->session = session;
    if (comes_early(m, c, request))
        return;
    enum RequestFate fate = cmd_admit(m, &c->replies, session, request);
    cmd_opens_forget(m, c, c->replies.seen.lowest);
    if (fate == REQUEST_EXECUTE)
        client_execute(m, c, session, request);
    else if (fate == REQUEST_PENDING)
        client_pending(m, c, session, request);
}

void cmd_client_session_closed(Manager *m, const Session *session)
{
    CmdClient *c = cmd_client_find(m, &session->peer_id);
    if (!c)
        return;
    if (c->session == session)
        c->session = NULL;
    LIST_FOREACH(at, &c->tasks) {
        Task *t = CONTAINER_OF(at, Task, of_client);
        if (t->session == session)
            t->session = NULL;
    }
}

/* ---- silence ------------------------------------------------------------------------------- */

/* Who was only named by an imd gets the grace period, counted from our own start, to show up. */
static bool client_is_dead(const Manager *m, const CmdClient *c)
{
    const bool silent = cmd_silent(m, c->heard_ns, m->config.client_dead_ns);
    if (c->confirmed)
        return silent;
    return !RULE(GRACE) || (silent && cmd_silent(m, m->start_ns, m->config.grace_ns));
}

void cmd_clients_tick(Manager *m)
{
    HmapNode *next;
    for (HmapNode *n = hmap_walk(&m->clients, NULL); n; n = next) {
        CmdClient *c = CONTAINER_OF(n, CmdClient, by_id);
        next = hmap_walk(&m->clients, n);
        if (!client_is_dead(m, c))
            continue;
        if (!c->left)
            cmd_tell_client(m, c, NULL, EVENT_CLIENT_LOST, "it was silent for too long");
        if (c->regions_count > 0) {
            env_trace(&m->env, "client silent, %llu regions", (unsigned long long)c->regions_count);
            m->stats.reclaimed_clients++;
        }
        cmd_opens_forget(m, c, UINT64_MAX);
        cmd_client_remove(m, c);
    }
}
