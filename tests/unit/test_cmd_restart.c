/* SPDX-License-Identifier: MIT */
/* An imd that started again at its address: the one before is gone at once, whatever the two
 * epochs are; they are random. */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

static void restart(Rig *rig, uint64_t before, uint64_t after)
{
    FakeImd *old = imd_new(rig, 64 * KIB), *again = imd_new(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint64_t others = rig_stats(rig).hosts;
    old->session.peer_epoch = before;
    again->session.peer_epoch = after;
    again->session.peer = old->session.peer;
    imd_join(rig, old);
    rig_pump(rig);
    imd_list(rig, old);
    rig_pump(rig);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    uint64_t regions = rig_stats(rig).regions;
    old->dead = true;
    imd_join(rig, again);
    rig_pump(rig);
    assert_int_equal(rig_stats(rig).hosts, others + 1);
    assert_int_equal(rig_stats(rig).regions, regions - 1); /* its memory went with it */
    assert_false(manager_has_host(rig->m, before));
    assert_true(manager_has_host(rig->m, after));
    again->dead = true;
}

TEST(restart__leaves_no_ghost)
{
    static const struct {
        uint64_t before, after;
    } epochs[] = {{5, 6}, {6, 5}, {1, UINT64_MAX}, {UINT64_MAX, 1}, {1ull << 63, 1}};
    for (size_t i = 0; i < sizeof epochs / sizeof epochs[0]; i++) {
        Rig *rig = rig_new();
        restart(rig, epochs[i].before, epochs[i].after);
        rig_free(rig);
    }
}

/* Another imd of the same machine, on another port, is another host. */
TEST(restart__others_of_the_machine_stay)
{
    Rig *rig = rig_new();
    FakeImd *one = imd_up(rig, 64 * KIB), *other = imd_new(rig, 64 * KIB);
    other->session.peer = one->session.peer;
    other->session.peer.port++;
    imd_join(rig, other);
    rig_pump(rig);
    assert_int_equal(rig_stats(rig).hosts, 2);
    rig_free(rig);
}
