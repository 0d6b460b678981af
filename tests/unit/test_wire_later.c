/* SPDX-License-Identifier: MIT */
/* A message that has grown twice, and the three builds that know it: each takes it of each. */
#include <string.h>

#include "tests/lib/case.h"

#include "proto/wire.h"

typedef struct LaterAlive {
    uint32_t regions;
    uint64_t digest;
    uint8_t mood;
    Reason reason;
    uint32_t count;
    uint16_t more[4];
    Addr host;
    bool read;
} LaterAlive;

static inline void later_alive_read(LaterAlive *m)
{
    m->read = true;
}

#define MESSAGES "tests/unit/later_messages.def"
#include "proto/wire_lists.h"

enum { FIRST = 12, SECOND = FIRST + 4 + 1 + 4, THIRD = SECOND + 4 + 2 * 2 + host_addr_SIZE };

static const LaterAlive all = {.regions = 3,
                               .digest = 0x1112131415161718,
                               .mood = 2,
                               .reason = {"idle"},
                               .count = 2,
                               .more = {7, 8},
                               .host = {.kind = ADDR_SIM, .port = 9, .host = {1}}};

static size_t encode(uint8_t *out)
{
    Writer w = writer_on(out);
    out_later_alive(&w, &all);
    return writer_len(&w);
}

static bool decode(const uint8_t *p, size_t len, LaterAlive *ret)
{
    Reader r = reader_on(p, len);
    *ret = (LaterAlive){0};
    in_later_alive(&r, ret);
    return !r.bad;
}

TEST(later__each_length_that_a_build_sends_is_taken)
{
    uint8_t wire[WIRE_BODY_MAX];
    LaterAlive m;
    assert_int_equal(encode(wire), THIRD);
    for (size_t len = 0; len <= THIRD; len++)
        assert_int_equal(decode(wire, len, &m), len == FIRST || len == SECOND || len == THIRD);
    assert_true(decode(wire, THIRD + 1, &m));
}

TEST(later__what_an_earlier_build_does_not_say_is_zero)
{
    uint8_t wire[WIRE_BODY_MAX];
    LaterAlive m;
    const OpAlive today = {.regions = all.regions, .digest = all.digest};
    (void)encode(wire);

    assert_true(decode(wire, THIRD, &m));
    assert_int_equal(m.count, 2);
    assert_int_equal(m.more[1], 8);
    assert_true(addr_equal(&m.host, &all.host));

    assert_true(decode(wire, SECOND, &m));
    assert_int_equal(m.mood, 2);
    assert_string_equal(m.reason.text, "idle");
    assert_int_equal(m.count, 0);
    assert_int_equal(m.host.kind, ADDR_NONE);

    assert_int_equal(wire_alive_encode(&today, wire), FIRST);
    assert_true(decode(wire, FIRST, &m));
    assert_int_equal(m.regions, 3);
    assert_true(m.digest == all.digest);
    assert_int_equal(m.mood, 0);
    assert_string_equal(m.reason.text, "");
    assert_true(m.read); /* and what follows the fields is done */
}

TEST(later__this_build_takes_what_it_knows)
{
    uint8_t wire[WIRE_BODY_MAX];
    OpAlive m;
    (void)encode(wire);
    static const size_t lens[] = {FIRST, SECOND, THIRD};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(wire_alive_decode(wire, lens[i], &m), 0);
        assert_int_equal(m.regions, 3);
        assert_true(m.digest == all.digest);
    }
}
