/* SPDX-License-Identifier: MIT */
/* A manager that may be at several addresses, and that moves. */
#include "libdodo/core_private.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#define CASE(name) TEST_WITH(name, set_up, tear_down)

enum { HOST_NOBODY = 3, HOST_NOBODY_ELSE = 4 };

static Addr at(unsigned host)
{
    return addr_sim((uint16_t)host, 1);
}

static unsigned resolutions;

static void hook_resolve(void *ctx)
{
    (void)ctx;
    assert_false(w.locked);
    resolutions++;
}

/* The manager is known by a name that stands for these. */
static void name(const Addr *found, unsigned count)
{
    resolutions = 0;
    w.client->hooks.resolve = hook_resolve;
    w.client->manager = (Finder){.named = true};
    client_found(w.client, found, count);
}

/* One open tries the addresses in turn, and needs no second one. */
CASE(open__finds_the_address_that_answers)
{
    const Addr all[] = {at(HOST_NOBODY), at(HOST_NOBODY_ELSE), at(HOST_MANAGER)};
    const uint64_t began = w.now;
    client_found(w.client, all, 1);
    client_found(w.client, all, 3);
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_true(w.now - began >= NS_PER_S);
    assert_true(w.now - began < 2 * NS_PER_S);
    assert_true(open_at(4096, 4096, 0) >= 0);
    assert_true(w.now - began < 2 * NS_PER_S); /* it goes there at once */
}

/* A manager that moved is found by its name once it has not answered. */
CASE(open__finds_a_manager_that_moved)
{
    const Addr before = at(HOST_NOBODY), after = at(HOST_MANAGER);
    name(&before, 1);
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(resolutions, 1);
    client_found(w.client, &after, 1);
    run_until(w.now + 60 * NS_PER_S); /* the refraction period */
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_int_equal(resolutions, 1);
}

CASE(open__needs_an_address)
{
    name(NULL, 0);
    const uint64_t began = w.now;
    const Addr found = at(HOST_MANAGER);
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_string_equal(fail_reason, "the manager's name has no address: see the log");
    assert_true(w.now - began < NS_PER_S);
    assert_int_equal(resolutions, 1);
    client_found(w.client, &found, 1);
    run_until(w.now + 60 * NS_PER_S);
    assert_true(open_at(4096, 0, 0) >= 0);
}
