/* SPDX-License-Identifier: MIT */
/* What rmd reports to a manager, without a network between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/os.h"
#include "base/time.h"
#include "daemon/log.h"
#include "rmd/manager_link.h"

#define BEAT_NS (5 * NS_PER_S)

static const Addr manager = {.kind = ADDR_IP4, .port = 7, .host = {127, 0, 0, 1}};
static const OpHost busy = {.state = HOST_OWNER_BUSY};

/* A manager that is away for hours hears the next report when it is back: each takes the place of
 * the last one, however many have had no answer. */
static void tell__goes_on_without_answers(void **state)
{
    enum { REPORTS = 1000 };
    ManagerLink l;
    uint64_t now = 100 * NS_PER_S;
    manager_link_init(&l, NULL, &manager, BEAT_NS, now);
    for (uint64_t i = 1; i <= REPORTS; i++) {
        manager_link_tell(&l, &busy, now);
        assert_int_equal(l.request.id, i);
        assert_int_equal(l.request.state, REQUEST_RUNNING);
        assert_false(manager_link_due(&l, now + BEAT_NS - 1));
        assert_true(manager_link_due(&l, now + BEAT_NS));
        now += BEAT_NS;
    }
}

/* It connects when it starts, again and again until somebody answers, and when a session dies. */
static void connects__until_somebody_answers(void **state)
{
    const Env env = os_env();
    const EndpointConfig config = {
        .role = ROLE_RMD, .self = {{3}}, .sessions_max = 4, .hello_retry_ns = NS_PER_S};
    Port port = {.endpoint = endpoint_new(&config, &env)};
    ManagerLink l;
    uint64_t now = 100 * NS_PER_S;
    (void)state;
    assert_non_null(port.endpoint);
    manager_link_init(&l, &port, &manager, 3600 * NS_PER_S, now);
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
    endpoint_forget(port.endpoint, l.contact.session);
    manager_link_closed(&l, l.contact.session);
    assert_null(l.contact.session);
    assert_true(manager_link_deadline(&l) <= now); /* at once */
    manager_link_expire(&l, now);
    assert_non_null(l.contact.session);
    endpoint_free(port.endpoint);
}

int main(void)
{
    log_init("test", LOG_LEVEL_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tell__goes_on_without_answers),
        cmocka_unit_test(connects__until_somebody_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
