/* SPDX-License-Identifier: MIT */
/* What the manager keeps of what came to pass, and what it tells of it. */
#include <stdio.h>

#include "base/bytes.h"
#include "cmd/events.h"
#include "cmd/strangers.h"
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1 << 10 };

/* ---- the rings ------------------------------------------------------------------------------- */

static void add_many(Events *l, enum EventKind kind, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const ManagerEvent e = {.kind = (uint8_t)kind, .at_ns = i};
        uint64_t last = l->last;
        const ManagerEvent *kept = events_add(l, &e);
        assert_int_equal(kept->number, last + 1);
        assert_int_equal(kept->at_ns, i);
    }
}

static unsigned count_after(const Events *l, uint64_t after)
{
    unsigned count = 0;
    for (const ManagerEvent *e; (e = events_after(l, after)) != NULL; after = e->number) {
        assert_true(e->number > after);
        count++;
    }
    return count;
}

TEST(ring__keeps_the_last)
{
    static Events l;
    assert_null(events_after(&l, 0));
    add_many(&l, EVENT_HOST_LOST, 1);
    assert_int_equal(events_after(&l, 0)->number, 1);
    assert_null(events_after(&l, 1));
    add_many(&l, EVENT_HOST_LOST, EVENTS_KEPT - 1);
    assert_int_equal(count_after(&l, 0), EVENTS_KEPT);
    assert_int_equal(events_after(&l, 0)->number, 1);
    add_many(&l, EVENT_HOST_LOST, 3);
    assert_int_equal(count_after(&l, 0), EVENTS_KEPT);
    assert_int_equal(events_after(&l, 0)->number, 4);
    assert_int_equal(events_after(&l, 4)->number, 5);
    assert_int_equal(count_after(&l, EVENTS_KEPT + 2), 1);
    assert_null(events_after(&l, EVENTS_KEPT + 3));
    assert_null(events_after(&l, UINT64_MAX));
}

TEST(ring__programs_hide_no_hosts)
{
    static Events l;
    add_many(&l, EVENT_HOST_JOINED, 2);
    add_many(&l, EVENT_CLIENT_CAME, 3 * EVENTS_KEPT);
    add_many(&l, EVENT_HOST_BUSY, 1);
    add_many(&l, EVENT_CLIENT_LOST, 1);
    assert_int_equal(count_after(&l, 0), 3 + EVENTS_KEPT);
    assert_int_equal(events_after(&l, 1)->kind, EVENT_HOST_JOINED);
    assert_int_equal(events_after(&l, 2)->kind, EVENT_CLIENT_CAME);
    assert_int_equal(events_after(&l, 2)->number, 2 + 2 * EVENTS_KEPT + 2);
    assert_int_equal(events_after(&l, l.last - 2)->kind, EVENT_HOST_BUSY);
    assert_int_equal(events_after(&l, l.last - 1)->kind, EVENT_CLIENT_LOST);
}

TEST(reason__is_short_and_prints)
{
    char text[2 * REASON_MAX];
    Reason r;
    event_reason(&r, "a\x1b[31m\n\xff~");
    assert_string_equal(r.text, "a?[31m??~");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    event_reason(&r, text);
    assert_int_equal(strlen(r.text), REASON_MAX);
}

TEST(stranger__is_said_in_words)
{
    static const char *const said[] = {[PORT_VERSION] = "version",
                                       [PORT_CLUSTER] = "cluster",
                                       [PORT_DENIED] = "key",
                                       [PORT_LIMITED] = "sessions"};
    Reason r;
    for (unsigned kind = 0; kind <= PORT_LIMITED + 1; kind++) {
        const PortEvent e = {.kind = (enum PortEventKind)kind, .datagrams = UINT64_MAX};
        r = (Reason){"what stood there before"};
        bool is = kind <= PORT_LIMITED && said[kind];
        assert_int_equal(stranger_reason(&e, &r), is);
        assert_true(strlen(r.text) < REASON_MAX);
        assert_int_equal(*r.text != '\0', is);
        assert_true(!is || (strstr(r.text, said[kind]) && strstr(r.text, "18446744073709551615")));
    }
}

/* ---- what the manager tells ------------------------------------------------------------------ */

static OpEventsReply page(Rig *rig, uint64_t after)
{
    const OpEvents op = {.after = after};
    OpEventsReply ret;
    WireReply reply;
    uint8_t body[WIRE_BODY_MAX];
    uint64_t id = rig_request(rig, &rig->tool, &rig->tool_ids, OP_EVENTS, body,
                              wire_events_encode(&op, body));
    assert_int_equal(rig_replies(rig, &rig->tool, id, &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    assert_int_equal(wire_events_reply_decode(reply.body, reply.body_len, &ret), 0);
    numbers_end(&rig->tool_ids, id);
    return ret;
}

static EventEntry newest(Rig *rig)
{
    const OpEventsReply r = page(rig, page(rig, 0).last - 1);
    assert_int_equal(r.count, 1);
    return r.events[0];
}

TEST(pages__go_on_where_the_last_ended)
{
    Rig *rig = rig_new();
    uint64_t after = 0;
    unsigned seen = 0;
    for (unsigned i = 0; i < 2 * EVENTS_PAGE_MAX; i++)
        (void)imd_new(rig, 64 * KIB);
    for (unsigned i = 0; i < 2 * EVENTS_PAGE_MAX; i++)
        (void)imd_join(rig, rig->imds[i]);
    rig_wait(rig, 1500 * NS_PER_MS);
    for (OpEventsReply r; (r = page(rig, after)).count > 0;) {
        assert_int_equal(r.last, 1 + 2 * EVENTS_PAGE_MAX);
        for (unsigned i = 0; i < r.count; i++, seen++) {
            const EventEntry *e = &r.events[i];
            assert_int_equal(e->number, seen + 1);
            assert_int_equal(e->kind, seen ? EVENT_HOST_JOINED : EVENT_MANAGER_STARTED);
            assert_true(e->age_ms >= 1500);
            if (seen)
                assert_true(addr_equal(&e->address, &rig->imds[seen - 1]->session.peer));
        }
        after = r.events[r.count - 1].number;
    }
    assert_int_equal(seen, 1 + 2 * EVENTS_PAGE_MAX);
    assert_int_equal(page(rig, UINT64_MAX).count, 0);
    rig_free(rig);
}

TEST(restart__is_another_instance)
{
    Rig *rig = rig_new();
    const OpEventsReply before = page(rig, 0);
    rig_amnesia(rig);
    const OpEventsReply after = page(rig, 0);
    assert_true(before.instance != after.instance && after.instance != 0);
    assert_int_equal(after.events[0].kind, EVENT_MANAGER_STARTED);
    assert_int_equal(after.events[0].id, after.instance);
    rig_free(rig);
}

/* ---- what is an event ------------------------------------------------------------------------ */

TEST(owner__busy_and_idle_are_news_once)
{
    Rig *rig = rig_new();
    FakeRmd rmd = rmd_of(imd_new(rig, 64 * KIB));
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, 0, "load is 1.5");
    EventEntry e = newest(rig);
    assert_int_equal(e.kind, EVENT_HOST_BUSY);
    assert_string_equal(e.reason.text, "load is 1.5");
    assert_true(addr_equal(&e.address, &rmd.session.peer));
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, 0, "load is 1.6");
    assert_int_equal(newest(rig).number, e.number);
    rmd_report(rig, &rmd, HOST_OWNER_IDLE, 0, "");
    e = newest(rig);
    assert_int_equal(e.kind, EVENT_HOST_IDLE);
    assert_true(*e.reason.text);
    rmd_report(rig, &rmd, HOST_OWNER_LENDING, 0, "");
    assert_int_equal(newest(rig).number, e.number);
    rig_wait(rig, 40 * NS_PER_S);
    e = newest(rig);
    assert_int_equal(e.kind, EVENT_MONITOR_LOST);
    assert_true(addr_equal(&e.address, &rmd.session.peer));
    rig_free(rig);
}

TEST(client__silent_is_lost_but_not_one_that_left)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *silent = client_new(rig), *gone = client_new(rig);
    open_many(rig, silent, 2);
    open_many(rig, gone, 1);
    (void)client_request(rig, gone, OP_LEAVE, NULL, 0);
    silent->dead = gone->dead = true;
    rig->events[0] = '\0';
    rig_live(rig, 2 * rig->config.client_dead_ns / NS_PER_S);
    assert_int_equal(imd->count, 0);
    assert_string_equal(rig->events, "client_lost(2) ");
    rig_free(rig);
}

TEST(report__names_the_host_and_what_is_wrong)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    const OpReport report = {.epoch = imd->session.peer_epoch, .fault = HOST_FAULT_CORRUPT};
    uint8_t body[WIRE_BODY_MAX];
    for (unsigned i = 0; i < 2; i++) /* the second time it is known */
        (void)client_request(rig, c, OP_REPORT, body, wire_report_encode(&report, body));
    EventEntry e = newest(rig);
    assert_int_equal(e.kind, EVENT_HOST_REPORTED);
    assert_int_equal(e.id, imd->session.peer_epoch);
    assert_non_null(strstr(e.reason.text, "other bytes"));
    assert_int_equal(page(rig, e.number - 2).count, 2);
    rig_free(rig);
}

TEST(regions__that_a_host_does_not_list_are_lost)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1 << 20);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 3);
    rig_live(rig, 2);
    uint64_t last = newest(rig).number;
    imd_drop(imd, &imd->regions[0]);
    imd_drop(imd, &imd->regions[0]);
    rig_live(rig, 30);
    const OpEventsReply r = page(rig, last);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.events[0].kind, EVENT_REGIONS_LOST);
    assert_int_equal(r.events[0].regions, 2);
    assert_true(addr_equal(&r.events[0].address, &imd->session.peer));
    rig_free(rig);
}

TEST(stranger__is_kept)
{
    Rig *rig = rig_new();
    const Addr from = addr_sim(66, 6);
    manager_stranger(rig->m, &from, "7 datagrams", rig->now_ns + NS_PER_MS);
    EventEntry e = newest(rig);
    assert_int_equal(e.kind, EVENT_STRANGER);
    assert_true(addr_equal(&e.address, &from));
    assert_string_equal(e.reason.text, "7 datagrams");
    rig_free(rig);
}
