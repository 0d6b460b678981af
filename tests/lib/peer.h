/* SPDX-License-Identifier: MIT */
/* Endpoints without a network, for tests: one end and a peer that answers its HELLO. */
#ifndef DODO_TESTS_LIB_PEER_H
#define DODO_TESTS_LIB_PEER_H

#include <string.h>

#include "base/env.h"
#include "base/time.h"
#include "proto/endpoint.h"
#include "proto/wire.h"
#include "tests/lib/case.h"

static inline void peer_random(void *ctx, void *buf, size_t len)
{
    static uint8_t next;
    uint8_t *p = buf;
    (void)ctx;
    for (size_t i = 0; i < len; i++)
        p[i] = ++next | 1;
}

static inline Endpoint *peer_new(enum WireRole role, uint8_t self, uint64_t epoch)
{
    const Env env = {.random = peer_random};
    const EndpointConfig config = {.role = (uint8_t)role,
                                   .self = {{self}},
                                   .epoch = epoch,
                                   .sessions_max = 4,
                                   .half_open_max = 4,
                                   .hello_retry_ns = NS_PER_S};
    Endpoint *e = endpoint_new(&config, &env);
    assert_non_null(e);
    return e;
}

/* The HELLO that @mine has to send reaches @theirs, and the answer comes back: the session that is
 * up. */
static inline Session *peer_meet(Endpoint *mine, Endpoint *theirs, uint64_t now_ns)
{
    static const Addr at = {.kind = ADDR_IP4, .port = 8, .host = {127, 0, 0, 2}};
    uint8_t hello[WIRE_PAYLOAD_MAX], answer[WIRE_PAYLOAD_MAX];
    EndpointInput in = {0};
    Addr to;
    size_t len = endpoint_output(mine, hello, sizeof hello, &to, now_ns);
    assert_true(len > 0);
    (void)endpoint_input(theirs, &at, hello, len, now_ns, &in);
    assert_true(in.reply_len > 0);
    len = in.reply_len;
    memcpy(answer, in.reply, len);
    assert_int_equal(endpoint_input(mine, &to, answer, len, now_ns, &in), ENDPOINT_UP);
    return in.session;
}

#endif
