/* SPDX-License-Identifier: MIT */
#include "rmd/manager_link.h"

#include <stdio.h>

#include "base/time.h"
#include "proto/conf/defaults.h"

/* The HELLO's back-off starts again so often while cmd is silent. */
static const uint64_t RECONNECT_NS = 5 * NS_PER_S;
/* Then cmd is lost, as an imd is for it. */
enum { SILENT_BEATS = DEFAULT_HOST_DEAD_NS / DEFAULT_RMD_BEAT_NS };
/* An answer that does not come before the next beat is not waited for. */
static const RequestTimes times = {
    .first_retry_ns = 50 * NS_PER_MS, .retry_max_ns = NS_PER_S, .deadline_ns = 5 * NS_PER_S};

static void news(const ManagerLink *l, enum LinkNews what)
{
    l->sink.news(l->sink.ctx, what);
}

void manager_link_init(ManagerLink *l, Endpoint *endpoint, const ManagerLinkSink *sink,
                       const Addr *manager, uint64_t beat_ns, uint64_t now_ns)
{
    *l = (ManagerLink){.endpoint = endpoint,
                       .sink = *sink,
                       .contact = {.every_ns = RECONNECT_NS},
                       .beat_ns = beat_ns};
    complaint_begin(&l->complaint, now_ns);
    finder_fix(&l->contact.finder, manager);
    numbers_init(&l->ids, 1);
}

void manager_link_move(ManagerLink *l, const Places *places)
{
    contact_move(&l->contact, l->endpoint, places);
}

void manager_link_found(ManagerLink *l, const Addr *found, unsigned count)
{
    contact_found(&l->contact, l->endpoint, found, count);
}

static void push(ManagerLink *l, uint64_t now_ns)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    if (!l->request.id || l->request.state != REQUEST_RUNNING || !contact_is_up(&l->contact))
        return;
    size_t len = request_output(&l->request, numbers_lowest(&l->ids), payload, now_ns);
    if (len > 0)
        l->sink.message(l->sink.ctx, l->contact.session, WIRE_REQUEST, payload, len);
}

void manager_link_tell(ManagerLink *l, const OpHost *host, uint64_t now_ns)
{
    uint8_t body[WIRE_BODY_MAX];
    if (l->request.id)
        numbers_end(&l->ids, l->request.id);
    size_t len = wire_host_encode(host, body);
    request_start(&l->request, numbers_take(&l->ids), OP_HOST, body, len, &times, now_ns);
    l->tell_ns = time_add(now_ns, l->beat_ns);
    silence_asked(&l->silence, now_ns);
    push(l, now_ns);
}

bool manager_link_due(const ManagerLink *l, uint64_t now_ns)
{
    return now_ns >= l->tell_ns;
}

bool manager_link_report(ManagerLink *l, const MonitorStatus *status, bool changed, uint64_t now_ns)
{
    static const uint8_t states[] = {[MONITOR_BUSY] = HOST_OWNER_BUSY,
                                     [MONITOR_STARTING] = HOST_OWNER_IDLE,
                                     [MONITOR_LENDING] = HOST_OWNER_LENDING,
                                     /* its imd is not gone yet */
                                     [MONITOR_SAVING] = HOST_OWNER_LENDING};
    if (!changed && !manager_link_due(l, now_ns))
        return false;
    OpHost host = {.state = states[status->state],
                   .epoch = status->epoch,
                   .lendable_bytes = status->lendable_bytes};
    (void)snprintf(host.reason.text, sizeof host.reason.text, "%s", status->reason);
    manager_link_tell(l, &host, now_ns);
    return true;
}

bool manager_link_settled(const ManagerLink *l)
{
    return !l->request.id || l->request.state != REQUEST_RUNNING || !l->heard;
}

void manager_link_message(ManagerLink *l, const Session *s, uint8_t type, const uint8_t *payload,
                          size_t len, uint64_t now_ns)
{
    WireReply reply;
    if (s != l->contact.session || s->peer_role != ROLE_CMD ||
        !contact_heard(&l->contact, type, payload, len, now_ns) || type != WIRE_REPLY ||
        !l->request.id || wire_reply_decode(payload, len, &reply) != 0 ||
        !request_input(&l->request, &reply, now_ns))
        return;
    silence_answered(&l->silence);
    if (!l->heard)
        news(l, LINK_ANSWERS);
    l->heard = true;
    complaint_begin(&l->complaint, now_ns);
    if (l->request.status != STATUS_OK)
        news(l, LINK_REFUSES);
}

static void complain(ManagerLink *l, uint64_t now_ns)
{
    static const uint8_t says[] = {[COMPLAINT_UNHEARD] = LINK_UNHEARD,
                                   [COMPLAINT_NONE_ACTIVE] = LINK_NONE_ACTIVE,
                                   [COMPLAINT_NO_MANAGER] = LINK_NO_MANAGER};
    enum ComplaintKind kind = complaint_take(&l->complaint, &l->contact, l->heard, now_ns);
    if (kind != COMPLAINT_NONE)
        news(l, says[kind]);
}

void manager_link_up(ManagerLink *l, const Session *s, uint64_t now_ns)
{
    if (contact_scouted(&l->contact, s, now_ns) || s != l->contact.session)
        return;
    if (!contact_up(&l->contact, now_ns)) {
        complain(l, now_ns);
        return;
    }
    if (l->request.id && l->request.state == REQUEST_RUNNING)
        request_resend(&l->request, now_ns);
    else
        l->tell_ns = now_ns;
    push(l, now_ns);
}

void manager_link_closed(ManagerLink *l, const Session *s)
{
    (void)contact_closed(&l->contact, s);
}

/* Each beat asks again before the last one's time is over: what counts is since when there was no
 * answer. */
static void mind_silence(ManagerLink *l, uint64_t now_ns)
{
    if (!silence_is_long(&l->silence, l->beat_ns, SILENT_BEATS * l->beat_ns, now_ns))
        return;
    silence_answered(&l->silence);
    if (l->heard)
        news(l, LINK_LOST);
    l->heard = false;
    contact_renew(&l->contact, l->endpoint);
    complaint_put_off(&l->complaint, now_ns);
}

static void keep_contact(ManagerLink *l, uint64_t now_ns)
{
    static const WirePing ping = {.nonce = 1};
    uint8_t out[WIRE_PAYLOAD_MAX];
    if (contact_step(&l->contact, l->endpoint, now_ns))
        l->sink.message(l->sink.ctx, l->contact.session, WIRE_PING, out,
                        wire_ping_encode(&ping, out));
}

void manager_link_expire(ManagerLink *l, uint64_t now_ns)
{
    if (l->request.id)
        request_expire(&l->request, now_ns);
    mind_silence(l, now_ns);
    keep_contact(l, now_ns); /* also with whom we lost just now */
    push(l, now_ns);
    complain(l, now_ns);
}

uint64_t manager_link_deadline(const ManagerLink *l)
{
    uint64_t t = min_u64(l->contact.due_ns, l->tell_ns);
    if (l->request.id && l->request.state == REQUEST_RUNNING && contact_is_up(&l->contact))
        t = min_u64(t, request_deadline(&l->request));
    return l->heard ? t : min_u64(t, l->complaint.due_ns);
}
