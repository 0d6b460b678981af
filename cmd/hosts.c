/* SPDX-License-Identifier: MIT */
/* What imds ask, and what follows when one comes, leaves or falls silent. */
#include "cmd/manager_private.h"

/* ---- coming and going ---------------------------------------------------------------------- */

void cmd_host_lose(Manager *m, Host *h, const char *why)
{
    env_trace(&m->env, "host %016llx: %s, %llu regions", (unsigned long long)h->epoch, why,
              (unsigned long long)h->regions_count);
    if (!h->leaving)
        cmd_tell_host(m, h, EVENT_HOST_LOST, why);
    cmd_host_withdraw(m, h);
    cmd_calls_fail(m, h);
    cmd_regions_of_host_drop(m, h);
    cmd_host_remove(m, h);
    m->stats.lost_hosts++;
}

/* An imd that started again where another was: that one is no more. */
static void lose_predecessor(Manager *m, const Session *session)
{
    HmapNode *next;
    for (HmapNode *n = hmap_first(&m->hosts.by_address, addr_hash(&session->peer)); n; n = next) {
        Host *h = CONTAINER_OF(n, Host, by_address);
        next = hmap_next(&m->hosts.by_address, n);
        if (h->epoch != session->peer_epoch && addr_equal(&h->address, &session->peer))
            cmd_host_lose(m, h, "it started again");
    }
}

/* An imd that was not known. NULL: too many, or no memory. */
static Host *host_new(Manager *m, Session *session)
{
    lose_predecessor(m, session);
    Host *h = cmd_host_add(m, session);
    if (!h)
        return NULL;
    env_trace(&m->env, "host %016llx: joined", (unsigned long long)h->epoch);
    cmd_tell_host(m, h, EVENT_HOST_JOINED, "it lends its memory");
    return h;
}

void cmd_host_session_closed(Manager *m, const Session *session)
{
    Host *h = cmd_host_of(m, session);
    if (h && h->session == session)
        h->session = NULL;
}

void cmd_hosts_tick(Manager *m)
{
    uint64_t dead_ns = m->config.host_dead_ns;
    LIST_FOREACH(at, &m->hosts.order) {
        Host *h = CONTAINER_OF(at, Host, in_order);
        if (h->leaving && cmd_silent(m, h->heard_ns, dead_ns))
            cmd_host_lose(m, h, "left");
        else if (cmd_silent(m, h->heard_ns, time_add(dead_ns, dead_ns)))
            cmd_host_lose(m, h, "it was silent for too long");
    }
}

/* ---- what imds ask ------------------------------------------------------------------------- */

/* A list is asked of a host that never gave one, or whose regions are others than ours. */
static uint32_t beat_flags(const Manager *m, Host *h, bool has_digest, uint64_t digest)
{
    bool want;

    if (h->leaving)
        return 0;
    if (!h->listed)
        want = !cmd_list_under_way(m, &h->list);
    else
        want = has_digest &&
               cmd_list_wanted(m, &h->list, digest, h->digest,
                               list_empty(&h->calls.running) && list_empty(&h->calls.waiting));
    return want ? BEAT_WANT_LIST : 0;
}

static uint16_t host_join(Manager *m, Host *h, const WireRequest *request, OpBeatReply *ret)
{
    OpJoin join;

    if (wire_join_decode(request->body, request->body_len, &join) != 0 ||
        join.hint.epoch != h->epoch)
        return STATUS_INVALID;
    cmd_host_hint(m, h, &join.hint);
    h->said.pool_bytes = join.pool_bytes;
    ret->flags = beat_flags(m, h, false, 0);
    return STATUS_OK;
}

static uint64_t served_bytes(const Served *s)
{
    return s->read_bytes + s->write_bytes + s->fill_bytes;
}

/* Half of what it was, half of what it has been since the last beat. */
static void host_served(Manager *m, Host *h, const Served *served)
{
    uint64_t before = served_bytes(&h->said.served), now = served_bytes(served);
    uint64_t ms = (m->now_ns - h->said.beat_ns) / NS_PER_MS;
    if (h->said.beat_ns && ms > 0 && now >= before)
        h->said.traffic = (h->said.traffic + (now - before) / ms * 1000) / 2;
    h->said.beat_ns = m->now_ns;
    h->said.served = *served;
}

static uint16_t host_beat(Manager *m, Host *h, const WireRequest *request, OpBeatReply *ret)
{
    OpBeat beat;

    if (wire_beat_decode(request->body, request->body_len, &beat) != 0 ||
        beat.hint.epoch != h->epoch)
        return STATUS_INVALID;
    cmd_host_hint(m, h, &beat.hint);
    host_served(m, h, &beat.served);
    ret->flags = beat_flags(m, h, true, beat.digest);
    return STATUS_OK;
}

static uint16_t host_listing(Manager *m, Host *h, const WireRequest *request)
{
    OpListing listing;

    if (wire_listing_decode(request->body, request->body_len, &listing) != 0 ||
        listing.hint.epoch != h->epoch)
        return STATUS_INVALID;
    cmd_host_hint(m, h, &listing.hint);
    return h->leaving ? STATUS_OK : cmd_listing(m, h, &listing);
}

/* Its memory goes with it: nothing more is asked of it, and its regions are no more. */
static uint16_t host_part(Manager *m, Host *h, const WireRequest *request)
{
    OpPart part;

    if (wire_part_decode(request->body, request->body_len, &part) != 0 ||
        part.hint.epoch != h->epoch)
        return STATUS_INVALID;
    env_trace(&m->env, "host %016llx: leaves", (unsigned long long)h->epoch);
    cmd_host_hint(m, h, &part.hint);
    if (!h->leaving) {
        cmd_tell_host(m, h, EVENT_HOST_LEFT, "it said good-bye");
        cmd_drain_parts(h);
    }
    h->leaving = true;
    cmd_calls_fail(m, h);
    cmd_regions_of_host_drop(m, h);
    return STATUS_OK;
}

static void host_execute(Manager *m, Host *h, Session *session, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX];
    OpBeatReply beat = {.settled = numbers_lowest(&h->calls.ids)};
    OpDrainReply drain;
    uint16_t status;
    size_t n = 0;

    switch (request->op) {
    case OP_JOIN:
        status = host_join(m, h, request, &beat);
        break;
    case OP_BEAT:
        status = host_beat(m, h, request, &beat);
        break;
    case OP_LISTING:
        status = host_listing(m, h, request);
        break;
    case OP_DRAIN:
        status = cmd_drain_own(m, h, request, &drain);
        if (status == STATUS_OK)
            n = wire_drain_reply_encode(&drain, body);
        break;
    default:
        status = host_part(m, h, request);
        break;
    }
    if (status == STATUS_OK && (request->op == OP_JOIN || request->op == OP_BEAT))
        n = wire_beat_reply_encode(&beat, body);
    cmd_reply(m, &h->replies, session, request->id, request->op, status, body, n);
}

static void host_heard(Manager *m, Host *h, Session *session)
{
    bool renewed = h->session != session;

    h->heard_ns = m->now_ns;
    h->session = session;
    cmd_host_set_address(m, h, &session->peer);
    if (renewed)
        cmd_calls_resend(m, h);
}

static bool join_is_valid(const Session *session, const WireRequest *request)
{
    OpJoin join;
    return wire_join_decode(request->body, request->body_len, &join) == 0 &&
           join.hint.epoch == session->peer_epoch;
}

/* STATUS_OK when this imd may ask; *ret_host is its entry. Only JOIN makes one. */
static uint16_t host_admit(Manager *m, Session *session, const WireRequest *request,
                           Host **ret_host)
{
    if ((request->op < OP_JOIN || request->op > OP_PART) && request->op != OP_DRAIN)
        return STATUS_DENIED;
    if (session->peer_epoch == 0)
        return STATUS_INVALID;
    Host *h = cmd_host_find(m, session->peer_epoch);
    if (h && !id128_equal(&h->id, &session->peer_id))
        return STATUS_DENIED;
    if (!h && request->op != OP_JOIN)
        return STATUS_UNKNOWN_PEER;
    if (!h && !join_is_valid(session, request))
        return STATUS_INVALID;
    /* Late: its monitor says that it is no more. */
    const Owner *o = h ? NULL : cmd_owner_of(m, session->peer_epoch, &session->peer);
    if (o && o->state == HOST_OWNER_BUSY)
        return STATUS_LEAVING;
    if (!h)
        h = host_new(m, session);
    *ret_host = h;
    return h ? STATUS_OK : STATUS_BUSY;
}

void cmd_host_input(Manager *m, Session *session, const WireRequest *request)
{
    Host *h = NULL;
    uint16_t status = host_admit(m, session, request, &h);

    if (status != STATUS_OK) {
        cmd_reply(m, NULL, session, request->id, request->op, status, NULL, 0);
        return;
    }
    host_heard(m, h, session);
    if (cmd_admit(m, &h->replies, session, request) != REQUEST_EXECUTE)
        return;
    const bool listed = h->listed;
    host_execute(m, h, session, request);
    if (request->op == OP_JOIN || h->listed != listed)
        cmd_opens_take_up(m, h);
    cmd_calls_pump(m, h);
}
