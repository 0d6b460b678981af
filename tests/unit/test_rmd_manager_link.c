/* SPDX-License-Identifier: MIT */
/* What rmd reports to a manager, without a network between them. */
#include "base/os.h"
#include "base/time.h"
#include "rmd/manager_link.h"
#include "tests/lib/case.h"
#include "tests/lib/peer.h"

#define BEAT_NS (5 * NS_PER_S)

static const Addr manager = {.kind = ADDR_IP4, .port = 7, .host = {127, 0, 0, 1}};
static void ignore_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
}

static void ignore_news(void *ctx, enum LinkNews news)
{
}

static const ManagerLinkSink sink = {.message = ignore_message, .news = ignore_news};
static const OpHost busy = {.state = HOST_OWNER_BUSY};

/* A manager that is away for hours hears the next report when it is back: each takes the place of
 * the last one, however many have had no answer. */
TEST(tell__goes_on_without_answers)
{
    enum { REPORTS = 1000 };
    ManagerLink l;
    uint64_t now = 100 * NS_PER_S;
    manager_link_init(&l, NULL, &sink, &manager, BEAT_NS, now);
    for (uint64_t i = 1; i <= REPORTS; i++) {
        manager_link_tell(&l, &busy, now);
        assert_int_equal(l.request.id, i);
        assert_int_equal(l.request.state, REQUEST_RUNNING);
        assert_false(manager_link_due(&l, now + BEAT_NS - 1));
        assert_true(manager_link_due(&l, now + BEAT_NS));
        now += BEAT_NS;
    }
}

TEST(report__of_what_is_new_or_due)
{
    const MonitorStatus lent = {
        .state = MONITOR_LENDING, .epoch = 7, .lendable_bytes = 5, .reason = "quiet"};
    ManagerLink l;
    uint64_t now = 100 * NS_PER_S;
    OpHost host;
    manager_link_init(&l, NULL, &sink, &manager, BEAT_NS, now);
    assert_true(manager_link_report(&l, &lent, false, now)); /* nothing was said yet */
    assert_int_equal(wire_host_decode(l.request.body, l.request.body_len, &host), 0);
    assert_int_equal(host.state, HOST_OWNER_LENDING);
    assert_int_equal(host.epoch, 7);
    assert_int_equal(host.lendable_bytes, 5);
    assert_string_equal(host.reason.text, "quiet");
    assert_false(manager_link_report(&l, &lent, false, now + BEAT_NS - 1));
    assert_true(manager_link_report(&l, &lent, true, now + 1));
    assert_false(manager_link_report(&l, &lent, false, now + BEAT_NS));
    assert_true(manager_link_report(&l, &lent, false, now + 1 + BEAT_NS));
}

/* It connects when it starts, again and again until somebody answers, and when a session dies. */
TEST(connects__until_somebody_answers)
{
    const Env env = os_env();
    const EndpointConfig config = {
        .role = ROLE_RMD, .self = {{3}}, .sessions_max = 4, .hello_retry_ns = NS_PER_S};
    Endpoint *endpoint = endpoint_new(&config, &env);
    ManagerLink l;
    uint64_t now = 100 * NS_PER_S;
    assert_non_null(endpoint);
    manager_link_init(&l, endpoint, &sink, &manager, 3600 * NS_PER_S, now);
    manager_link_tell(&l, &busy, now);
    assert_true(manager_link_deadline(&l) <= now);
    manager_link_expire(&l, now);
    Session *first = l.contact.session;
    assert_non_null(first);
    assert_true(addr_equal(&first->peer, &manager));
    for (unsigned i = 0; i < 5; i++) {
        assert_in_range(manager_link_deadline(&l), now + 1, now + 60 * NS_PER_S);
        now = manager_link_deadline(&l);
        manager_link_expire(&l, now);
        assert_non_null(l.contact.session);
    }
    endpoint_forget(endpoint, l.contact.session);
    manager_link_closed(&l, l.contact.session);
    assert_null(l.contact.session);
    assert_true(manager_link_deadline(&l) <= now); /* at once */
    manager_link_expire(&l, now);
    assert_non_null(l.contact.session);
    endpoint_free(endpoint);
}

/* ---- a manager that answers, and then does not ------------------------------------------------
 */

typedef struct Heard {
    ManagerLink l;
    Endpoint *mine, *managers;
    WireRequest asked; /* the last one; id 0: none that is not answered */
    unsigned requests, news[LINK_NEWS_MAX];
    uint64_t now_ns;
} Heard;

static void keep_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    Heard *h = ctx;
    OpHost host;
    assert_ptr_equal(s, h->l.contact.session);
    assert_int_equal(type, WIRE_REQUEST);
    assert_int_equal(wire_request_decode(payload, len, &h->asked), 0);
    assert_int_equal(wire_host_decode(h->asked.body, h->asked.body_len, &host), 0);
    assert_int_equal(host.state, HOST_OWNER_BUSY);
    h->requests++;
}

static void count_news(void *ctx, enum LinkNews news)
{
    Heard *h = ctx;
    h->news[news]++;
}

static void answer(Heard *h, enum Status status)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    const WireReply reply = {.id = h->asked.id, .op = OP_HOST, .status = (uint16_t)status};
    manager_link_message(&h->l, h->l.contact.session, WIRE_REPLY, out,
                         wire_reply_encode(&reply, out), h->now_ns);
    h->asked.id = 0;
}

/* Reports at each beat; all that is asked is answered if the manager is @there. */
static void elapse(Heard *h, uint64_t ns, bool there)
{
    for (uint64_t over = h->now_ns + ns, due; (due = manager_link_deadline(&h->l)) <= over;) {
        assert_true(due >= h->now_ns);
        h->now_ns = due;
        if (manager_link_due(&h->l, due))
            manager_link_tell(&h->l, &busy, due);
        manager_link_expire(&h->l, due);
        if (there && h->asked.id)
            answer(h, STATUS_OK);
    }
}

static void begin(Heard *h)
{
    const ManagerLinkSink keep = {.message = keep_message, .news = count_news, .ctx = h};
    *h = (Heard){.now_ns = 100 * NS_PER_S};
    h->mine = peer_new(ROLE_RMD, 1, 0);
    h->managers = peer_new(ROLE_CMD, 2, 0);
    manager_link_init(&h->l, h->mine, &keep, &manager, BEAT_NS, h->now_ns);
    manager_link_tell(&h->l, &busy, h->now_ns);
    manager_link_expire(&h->l, h->now_ns);
    assert_int_equal(h->requests, 0);
    manager_link_up(&h->l, peer_meet(h->mine, h->managers, h->now_ns), h->now_ns);
    assert_int_equal(h->requests, 1); /* at once */
}

static void end(Heard *h)
{
    endpoint_free(h->mine);
    endpoint_free(h->managers);
}

TEST(manager__that_answers_is_not_lost)
{
    Heard h;
    begin(&h);
    elapse(&h, 20 * BEAT_NS, true);
    assert_int_equal(h.news[LINK_ANSWERS], 1);
    assert_int_equal(h.news[LINK_LOST], 0);
    assert_int_equal(h.news[LINK_UNHEARD], 0);
    assert_in_range(h.requests, 20, 22);
    assert_true(manager_link_settled(&h.l));
    end(&h);
}

TEST(manager__that_falls_silent_is_looked_for_again)
{
    Heard h;
    begin(&h);
    elapse(&h, 2 * BEAT_NS, true);
    assert_true(contact_is_up(&h.l.contact));
    elapse(&h, 20 * BEAT_NS, false);
    assert_int_equal(h.news[LINK_LOST], 1);
    assert_false(contact_is_up(&h.l.contact)); /* a new HELLO is on its way */
    assert_non_null(h.l.contact.session);
    assert_true(manager_link_settled(&h.l)); /* rmd's end does not wait for it */
    end(&h);
}

TEST(manager__whose_session_is_new_hears_it_again)
{
    Heard h;
    begin(&h);
    h.asked.id = 0; /* lost */
    manager_link_up(&h.l, h.l.contact.session, h.now_ns);
    assert_int_equal(h.requests, 2);
    answer(&h, STATUS_OK);
    manager_link_up(&h.l, h.l.contact.session, h.now_ns); /* it may have started again */
    assert_true(manager_link_due(&h.l, h.now_ns));
    end(&h);
}

TEST(manager__that_refuses_is_named)
{
    Heard h;
    begin(&h);
    answer(&h, STATUS_DENIED);
    assert_int_equal(h.news[LINK_REFUSES], 1);
    end(&h);
}

/* A manager that never answers is complained of, soon and then now and then; so that the deadline
 * says when. */
TEST(manager__that_never_answers_is_complained_of)
{
    Heard h;
    begin(&h);
    uint64_t start = h.now_ns;
    h.l.tell_ns = h.l.request.send_ns = h.l.request.give_up_ns =
        TIME_NEVER; /* nothing else is due */
    h.l.contact.due_ns = TIME_NEVER;
    assert_int_equal(manager_link_deadline(&h.l), start + 3 * NS_PER_S);
    elapse(&h, 4 * NS_PER_S, false);
    assert_int_equal(h.news[LINK_UNHEARD], 1);
    assert_int_equal(manager_link_deadline(&h.l), start + 63 * NS_PER_S);
    end(&h);
}

/* What answers at the manager's address may be no manager. */
TEST(manager__that_is_none_is_named_and_not_told)
{
    Heard h;
    begin(&h);
    h.l.contact.session->peer_role = ROLE_IMD;
    manager_link_up(&h.l, h.l.contact.session, h.now_ns);
    assert_int_equal(h.news[LINK_NO_MANAGER], 1);
    assert_int_equal(h.requests, 1);
    answer(&h, STATUS_OK);
    assert_int_equal(h.news[LINK_ANSWERS], 0);
    elapse(&h, NS_PER_S, false);
    manager_link_up(&h.l, peer_meet(h.mine, h.managers, h.now_ns), h.now_ns);
    answer(&h, STATUS_OK); /* a manager has come in its place */
    assert_int_equal(h.news[LINK_ANSWERS], 1);
    assert_int_equal(h.news[LINK_NO_MANAGER], 1);
    h.l.contact.session->peer_role = ROLE_IMD; /* and it goes again */
    manager_link_up(&h.l, h.l.contact.session, h.now_ns);
    assert_int_equal(h.news[LINK_NO_MANAGER], 2);
    end(&h);
}
