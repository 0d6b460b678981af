/* SPDX-License-Identifier: MIT */
/* What program and helper say to each other. */
#include <errno.h>
#include <string.h>

#include "tests/lib/case.h"
#include "usocket/raw/grant.h"

static const GrantRequest request = {0x1234, {2, 0, 0, 0, 0, 1}, "eth0"};
static const GrantReply reply = {0, {2, 0, 0, 0, 0, 1}, 0x1234, 12};

TEST(grant__golden)
{
    uint8_t p[GRANT_MESSAGE];
    static const uint8_t asked[GRANT_MESSAGE] = {'d', 'o', 'd', 'o', 1, 0, 0x34, 0x12, 2,   0,
                                                 0,   0,   0,   1,   0, 0, 'e',  't',  'h', '0'};
    static const uint8_t given[GRANT_MESSAGE] = {'d', 'o', 'd', 'o', 1,    0,    0,  0, 2, 0,
                                                 0,   0,   0,   1,   0x34, 0x12, 12, 0, 0, 0};
    grant_request_encode(&request, p);
    assert_memory_equal(p, asked, sizeof p);
    grant_reply_encode(&reply, p);
    assert_memory_equal(p, given, sizeof p);
}

TEST(grant_request__round_trip)
{
    uint8_t p[GRANT_MESSAGE];
    GrantRequest back;
    grant_request_encode(&request, p);
    assert_int_equal(grant_request_decode(p, sizeof p, &back), 0);
    assert_memory_equal(&back, &request, sizeof back);
    const GrantRequest any = {0, {0}, "fifteen-letters"};
    grant_request_encode(&any, p);
    assert_int_equal(grant_request_decode(p, sizeof p, &back), 0);
    assert_memory_equal(&back, &any, sizeof back);
}

TEST(grant_reply__round_trip)
{
    uint8_t p[GRANT_MESSAGE];
    GrantReply back;
    grant_reply_encode(&reply, p);
    assert_int_equal(grant_reply_decode(p, sizeof p, &back), 0);
    assert_int_equal(back.error, 0);
    assert_memory_equal(back.mac, reply.mac, sizeof back.mac);
    assert_int_equal(back.port, reply.port);
    assert_int_equal(back.interface, reply.interface);
    grant_reply_encode(&(GrantReply){.error = EADDRINUSE, .port = 7}, p);
    assert_int_equal(grant_reply_decode(p, sizeof p, &back), 0);
    assert_int_equal(back.error, EADDRINUSE);
    assert_int_equal(back.port, 0); /* nothing but the error */
}

/* Each byte that is changed to something else is refused, or means something else. */
TEST(grant__every_byte_counts)
{
    for (size_t at = 0; at < GRANT_MESSAGE; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t p[GRANT_MESSAGE], again[GRANT_MESSAGE];
            GrantRequest r;
            GrantReply a;
            grant_request_encode(&request, p);
            p[at] ^= (uint8_t)(1u << bit);
            if (grant_request_decode(p, sizeof p, &r) == 0) {
                grant_request_encode(&r, again);
                assert_memory_equal(again, p, sizeof p);
            }
            grant_reply_encode(&reply, p);
            p[at] ^= (uint8_t)(1u << bit);
            if (grant_reply_decode(p, sizeof p, &a) == 0) {
                grant_reply_encode(&a, again);
                assert_memory_equal(again, p, sizeof p);
            }
        }
}

static void request_refused(size_t at, uint8_t value, size_t len)
{
    uint8_t p[GRANT_MESSAGE + 1] = {0};
    GrantRequest r;
    grant_request_encode(&request, p);
    p[at] = value;
    assert_int_equal(grant_request_decode(p, len, &r), -EPROTO);
}

TEST(grant_request__refused)
{
    request_refused(0, 'd', 0);
    request_refused(0, 'd', GRANT_MESSAGE - 1);
    request_refused(0, 'd', GRANT_MESSAGE + 1);
    request_refused(0, 'D', GRANT_MESSAGE);
    request_refused(4, 2, GRANT_MESSAGE);  /* version */
    request_refused(8, 1, GRANT_MESSAGE);  /* for many hosts */
    request_refused(14, 1, GRANT_MESSAGE); /* reserved */
    request_refused(16, 0, GRANT_MESSAGE); /* no name */
    request_refused(17, '/', GRANT_MESSAGE);
    request_refused(31, 'x', GRANT_MESSAGE); /* behind the name's end */
}

TEST(grant_reply__refused)
{
    uint8_t p[GRANT_MESSAGE];
    GrantReply r;
    grant_reply_encode(&reply, p);
    p[14] = p[15] = 0; /* no port */
    assert_int_equal(grant_reply_decode(p, sizeof p, &r), -EPROTO);
    grant_reply_encode(&reply, p);
    memset(p + 8, 0, 6); /* no address */
    assert_int_equal(grant_reply_decode(p, sizeof p, &r), -EPROTO);
    grant_reply_encode(&(GrantReply){.error = EACCES}, p);
    p[7] = 0xff; /* no errno */
    assert_int_equal(grant_reply_decode(p, sizeof p, &r), -EPROTO);
}
