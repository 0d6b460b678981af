/* SPDX-License-Identifier: MIT */
/* The owner is back: what imd does until nothing of worth is left with it. */
#include "tests/unit/imd_member_fixture.h"

/* With a region of which a part is filled. */
static void begin_saving(Fixture *f)
{
    begin(f, true, ROLE_CMD);
    join(f);
    alloc(f, 8);
    f->asked_count = 0;
    const unsigned told = f->used_count;
    assert_int_equal(hear(f, "save 65536 10000"), OWNER_SAVE);
    assert_int_equal(f->used_count, told + 1); /* at once: rmd waits for a word */
    assert_int_equal(f->news[MEMBER_SAVES], 1);
    assert_int_equal(f->news[MEMBER_LEAVES] + f->news[MEMBER_SAVED], 0);
    assert_false(f->m.leaving);
}

/* Of the drain: so many regions are left, of one program; it has asked, and found no room. */
static void say_drain(Fixture *f, enum Status status, unsigned left, unsigned asking,
                      unsigned refused)
{
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    const OpDrainReply drain = {.epoch = EPOCH,
                                .state = DRAIN_ON,
                                .listed = 1,
                                .open_regions = left,
                                .clients = left > 0,
                                .asking = asking,
                                .refused = refused};
    assert_true(f->asked_count > 0);
    assert_int_equal(f->asked[0].op, OP_DRAIN);
    WireReply reply = {
        .id = f->asked[0].id, .op = OP_DRAIN, .status = (uint16_t)status, .body = body};
    reply.body_len = status == STATUS_OK ? wire_drain_reply_encode(&drain, body) : 0;
    f->asked_count = 0;
    member_message(&f->m, f->m.manager.session, WIRE_REPLY, out, wire_reply_encode(&reply, out),
                   f->now_ns);
}

/* Until the manager is asked how far it is. It answers all else. */
static void until_asked(Fixture *f)
{
    for (unsigned i = 0; i < 100; i++) {
        while (f->asked_count > 0 && f->asked[0].op == OP_BEAT)
            answer(f, OP_BEAT);
        if (f->asked_count > 0)
            return;
        f->now_ns += 10 * NS_PER_MS;
        member_expire(&f->m, f->now_ns);
    }
    fail();
}

TEST(save__leaves_when_nothing_is_left)
{
    Fixture f;
    begin_saving(&f);
    assert_int_equal(imd_control_limit_bytes(f.m.control), 16 * PAGE);
    assert_int_equal(f.rate_bytes, 8 << 20);
    say_drain(&f, STATUS_OK, 1, 0, 0);
    for (unsigned i = 0; i < 20; i++) {
        until_asked(&f);
        say_drain(&f, STATUS_OK, 1, 1, 0);
        assert_int_equal(f.news[MEMBER_SAVED], 0);
    }
    until_asked(&f);
    say_drain(&f, STATUS_OK, 0, 0, 0);
    assert_int_equal(f.news[MEMBER_SAVED], 1);
    assert_true(f.m.leaving);
    assert_int_equal(f.asked[f.asked_count - 1].op, OP_PART);
    end(&f);
}

TEST(save__lowers_the_limit_first)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    join(&f);
    alloc(&f, 8);
    f.asked_count = 0;
    (void)hear(&f, "save 0 10000");
    assert_int_equal(imd_control_limit_bytes(f.m.control), 0);
    assert_true(f.commands_count > 0 && f.commands[0].kind == IMD_DROP);
    end(&f);
}

TEST(save__takes_its_time_at_most)
{
    Fixture f;
    begin_saving(&f);
    const uint64_t begun = f.now_ns;
    say_drain(&f, STATUS_OK, 1, 1, 0);
    while (f.now_ns < begun + 9500 * NS_PER_MS) {
        until_asked(&f);
        say_drain(&f, STATUS_OK, 1, 1, 0);
    }
    assert_int_equal(f.news[MEMBER_SAVED], 0);
    f.now_ns = begun + 10 * NS_PER_S;
    assert_true(member_deadline(&f.m) <= f.now_ns);
    member_expire(&f.m, f.now_ns);
    assert_int_equal(f.news[MEMBER_SAVED], 1);
    end(&f);
}

TEST(save__of_nothing_is_over_at_once)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    join(&f);
    (void)hear(&f, "save 65536 10000");
    assert_int_equal(f.news[MEMBER_SAVED], 1);
    assert_true(f.m.leaving);
    end(&f);
}

TEST(save__without_a_manager_is_over_at_once)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    (void)hear(&f, "save 65536 10000");
    assert_int_equal(f.news[MEMBER_SAVED], 1);
    end(&f);
}

/* It is an older one, or no other host has room. */
TEST(save__that_the_manager_refuses_is_over)
{
    static const enum Status why[] = {STATUS_DENIED, STATUS_NO_MEMORY, STATUS_BUSY,
                                      STATUS_UNKNOWN_PEER};
    for (unsigned i = 0; i < sizeof why / sizeof why[0]; i++) {
        Fixture f;
        begin_saving(&f);
        say_drain(&f, why[i], 0, 0, 0);
        assert_int_equal(f.news[MEMBER_SAVED], 1);
        end(&f);
    }
}

TEST(save__ends_when_the_manager_dies)
{
    Fixture f;
    begin_saving(&f);
    say_drain(&f, STATUS_OK, 1, 1, 0);
    elapse(&f, 1500 * NS_PER_MS);
    assert_int_equal(f.news[MEMBER_SAVED], 1);
    end(&f);
}

/* Programs with an older libdodo move nothing. They have six seconds to ask. */
TEST(save__ends_when_nobody_moves)
{
    Fixture f;
    begin_saving(&f);
    const uint64_t begun = f.now_ns;
    for (; f.news[MEMBER_SAVED] == 0; until_asked(&f))
        say_drain(&f, STATUS_OK, 1, 0, 0);
    assert_in_range(f.now_ns - begun, 6 * NS_PER_S, 6500 * NS_PER_MS);
    end(&f);
}

TEST(save__ends_when_no_other_host_has_room)
{
    Fixture f;
    begin_saving(&f);
    say_drain(&f, STATUS_OK, 1, 1, 1);
    assert_int_equal(f.news[MEMBER_SAVED], 1);
    end(&f);
}

TEST(save__is_cut_short)
{
    Fixture f;
    begin_saving(&f);
    say_drain(&f, STATUS_OK, 1, 1, 0);
    member_leave(&f.m, f.now_ns);
    assert_int_equal(f.news[MEMBER_LEAVES], 1);
    assert_int_equal(f.news[MEMBER_SAVED], 0);
    assert_true(member_finished(&f.m, f.now_ns + LEAVE_NS));
    end(&f);
}

TEST(save__question)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    assert_int_equal(hear(&f, "saves?"), OWNER_ASKS);
    assert_int_equal(hear(&f, "saves"), OWNER_UNKNOWN);
    assert_int_equal(hear(&f, "save 1"), OWNER_UNKNOWN);
    assert_int_equal(hear(&f, "save 1 "), OWNER_UNKNOWN);
    assert_int_equal(hear(&f, "save 1 2 3"), OWNER_UNKNOWN);
    assert_int_equal(hear(&f, "save 1 18446744073709551615"), OWNER_UNKNOWN);
    assert_int_equal(f.news[MEMBER_SAVES], 0);
    end(&f);
}
