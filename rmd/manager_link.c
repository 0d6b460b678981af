/* SPDX-License-Identifier: MIT */
#include "rmd/manager_link.h"

#include "base/defaults.h"
#include "base/time.h"

#include "daemon/log.h"

/* The HELLO's back-off starts again so often while cmd is silent. */
static const uint64_t RECONNECT_NS = 5 * NS_PER_S;
static const uint64_t COMPLAIN_FIRST_NS = 3 * NS_PER_S, COMPLAIN_NEXT_NS = 60 * NS_PER_S;
/* Then cmd is lost, as an imd is for it. */
enum { SILENT_BEATS = DEFAULT_HOST_DEAD_NS / DEFAULT_RMD_BEAT_NS };
/* An answer that does not come before the next beat is not waited for. */
static const RequestTimes times = {
    .first_retry_ns = 50 * NS_PER_MS, .retry_max_ns = NS_PER_S, .deadline_ns = 5 * NS_PER_S};

static void log_manager(const ManagerLink *l, enum LogLevel level, const char *event,
                        const char *more)
{
    char text[ADDR_TEXT_MAX];
    log_event(level, event, "manager=%s%s", addr_format(&l->contact.peer, text, sizeof text), more);
}

void manager_link_init(ManagerLink *l, Port *port, const Addr *manager, uint64_t beat_ns,
                       uint64_t now_ns)
{
    *l = (ManagerLink){.port = port,
                       .contact = {.peer = *manager, .every_ns = RECONNECT_NS},
                       .beat_ns = beat_ns,
                       .complain_ns = time_add(now_ns, COMPLAIN_FIRST_NS)};
    request_ids_init(&l->ids);
}

static void push(ManagerLink *l, uint64_t now_ns)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    if (!l->request.id || l->request.state != REQUEST_RUNNING || !contact_is_up(&l->contact))
        return;
    size_t len = request_output(&l->request, l->ids.settled, payload, now_ns);
    if (len == 0)
        return;
    port_message(l->port, l->contact.session, WIRE_REQUEST, payload, len);
    port_flush(l->port);
}

void manager_link_tell(ManagerLink *l, const OpHost *host, uint64_t now_ns)
{
    uint8_t body[WIRE_BODY_MAX];
    if (l->request.id)
        request_ids_settle(&l->ids, l->request.id);
    size_t len = wire_host_encode(host, body);
    request_start(&l->request, request_ids_take(&l->ids), OP_HOST, body, len, &times, now_ns);
    l->tell_ns = time_add(now_ns, l->beat_ns);
    silence_asked(&l->silence, now_ns);
    push(l, now_ns);
}

bool manager_link_due(const ManagerLink *l, uint64_t now_ns)
{
    return now_ns >= l->tell_ns;
}

bool manager_link_settled(const ManagerLink *l)
{
    return !l->request.id || l->request.state != REQUEST_RUNNING || !l->heard;
}

void manager_link_input(ManagerLink *l, const uint8_t *payload, size_t len, uint64_t now_ns)
{
    WireReply reply;
    if (!l->request.id || wire_reply_decode(payload, len, &reply) != 0 ||
        !request_input(&l->request, &reply, now_ns))
        return;
    silence_answered(&l->silence);
    if (!l->heard)
        log_manager(l, LOG_LEVEL_INFO, "manager_answers", "");
    l->heard = true;
    if (l->request.status != STATUS_OK)
        log_manager(l, LOG_LEVEL_WARN, "manager_refuses", "");
}

void manager_link_up(ManagerLink *l, Session *s, uint64_t now_ns)
{
    if (s != l->contact.session)
        return;
    if (s->peer_role != ROLE_CMD) {
        log_manager(l, LOG_LEVEL_ERROR, "not_a_manager",
                    " fix=\"give --manager the address of cmd\"");
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

static void complain(ManagerLink *l, uint64_t now_ns)
{
    if (l->heard || now_ns < l->complain_ns)
        return;
    log_manager(l, LOG_LEVEL_WARN, "manager_silent",
                " fix=\"is cmd running there, with the same key and cluster name?\"");
    l->complain_ns = time_add(now_ns, COMPLAIN_NEXT_NS);
}

/* Each beat asks again before the last one's time is over: what counts is since when there was no
 * answer. */
static void mind_silence(ManagerLink *l, uint64_t now_ns)
{
    if (!silence_is_long(&l->silence, l->beat_ns, SILENT_BEATS * l->beat_ns, now_ns))
        return;
    silence_answered(&l->silence);
    if (l->heard)
        log_manager(l, LOG_LEVEL_WARN, "manager_lost", " fix=\"see whether cmd runs there\"");
    l->heard = false;
    contact_renew(&l->contact, l->port->endpoint);
    l->complain_ns = time_add(now_ns, COMPLAIN_NEXT_NS);
}

void manager_link_expire(ManagerLink *l, uint64_t now_ns)
{
    contact_step(&l->contact, l->port->endpoint, now_ns);
    if (l->request.id)
        request_expire(&l->request, now_ns);
    mind_silence(l, now_ns);
    push(l, now_ns);
    complain(l, now_ns);
}

uint64_t manager_link_deadline(const ManagerLink *l)
{
    uint64_t t = time_min(l->contact.due_ns, l->tell_ns);
    if (l->request.id && l->request.state == REQUEST_RUNNING && contact_is_up(&l->contact))
        t = time_min(t, request_deadline(&l->request));
    return l->heard ? t : time_min(t, l->complain_ns);
}
