/* SPDX-License-Identifier: MIT */
#include "proto/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/time.h"
#include "proto/rules.h"

/* ---- requester ------------------------------------------------------------------------------ */

void request_start(Request *r, uint64_t id, uint16_t op, const uint8_t *body, size_t len,
                   const RequestTimes *times, uint64_t now_ns)
{
    assert(len <= sizeof r->body);
    r->id = id;
    r->op = op;
    r->state = REQUEST_RUNNING;
    r->tries = 0;
    r->status = STATUS_OK;
    r->body_len = (uint16_t)len;
    r->answer_len = 0;
    r->send_ns = now_ns;
    r->retry_ns = times->first_retry_ns;
    r->give_up_ns = time_add(now_ns, times->deadline_ns);
    r->times = *times;
    if (len > 0)
        memcpy(r->body, body, len);
}

size_t request_output(Request *r, uint64_t settled, uint8_t *out, uint64_t now_ns)
{
    if (r->state != REQUEST_RUNNING || now_ns < r->send_ns || now_ns >= r->give_up_ns)
        return 0;
    if (r->tries < UINT8_MAX)
        r->tries++;
    r->send_ns = time_add(now_ns, r->retry_ns);
    r->retry_ns = min_u64(time_add(r->retry_ns, r->retry_ns), r->times.retry_max_ns);
    WireRequest m = {
        .id = r->id, .settled = settled, .op = r->op, .body = r->body, .body_len = r->body_len};
    return wire_request_encode(&m, out);
}

bool request_input(Request *r, const WireReply *reply, uint64_t now_ns)
{
    (void)now_ns;
    if (r->state != REQUEST_RUNNING || reply->id != r->id || reply->op != r->op)
        return false;
    r->state = REQUEST_ANSWERED;
    if (reply->status >= STATUS_MAX || reply->body_len > sizeof r->answer) {
        r->status = STATUS_PROTOCOL;
        return true;
    }
    r->status = reply->status;
    r->answer_len = (uint16_t)reply->body_len;
    if (reply->body_len > 0)
        memcpy(r->answer, reply->body, reply->body_len);
    return true;
}

uint64_t request_deadline(const Request *r)
{
    return r->state == REQUEST_RUNNING ? min_u64(r->send_ns, r->give_up_ns) : TIME_NEVER;
}

void request_expire(Request *r, uint64_t now_ns)
{
    if (r->state == REQUEST_RUNNING && now_ns >= r->give_up_ns)
        r->state = REQUEST_TIMED_OUT;
}

void request_postpone(Request *r, uint64_t gap_ns)
{
    r->send_ns = time_add(r->send_ns, gap_ns);
    r->give_up_ns = time_add(r->give_up_ns, gap_ns);
}

void request_again(Request *r, uint64_t now_ns)
{
    r->state = REQUEST_RUNNING;
    r->answer_len = 0;
    request_resend(r, now_ns);
}

void request_resend(Request *r, uint64_t now_ns)
{
    r->send_ns = now_ns;
    r->retry_ns = r->times.first_retry_ns;
}

/* ---- responder ------------------------------------------------------------------------------ */

void reply_cache_init(ReplyCache *c)
{
    *c = (ReplyCache){0};
}

static void reply_drop(ReplyCache *c, uint64_t id)
{
    free(c->replies[id % NUMBERS_WINDOW]);
    c->replies[id % NUMBERS_WINDOW] = NULL;
    c->lengths[id % NUMBERS_WINDOW] = 0;
}

void reply_cache_deinit(ReplyCache *c)
{
    for (unsigned i = 0; i < NUMBERS_WINDOW; i++)
        reply_drop(c, i);
    *c = (ReplyCache){0};
}

size_t reply_cache_bytes(const ReplyCache *c)
{
    size_t n = 0;
    for (unsigned i = 0; i < NUMBERS_WINDOW; i++)
        n += c->lengths[i];
    return n;
}

void reply_cache_settle(ReplyCache *c, uint64_t settled)
{
    uint64_t over = sub_u64(settled, c->seen.lowest);
    for (uint64_t i = 0; i < over && i < NUMBERS_WINDOW; i++)
        reply_drop(c, c->seen.lowest + i);
    number_window_raise(&c->seen, settled);
}

enum RequestFate reply_cache_admit(ReplyCache *c, const WireRequest *request,
                                   const uint8_t **ret_reply, size_t *ret_len)
{
    /* No requester sends what it has closed itself; such a `settled` is not believed. */
    if (request->id == 0 || request->id < request->settled)
        return REQUEST_OVER;
    reply_cache_settle(c, request->settled ? request->settled : 1);
    if (!number_window_has(&c->seen, request->id))
        return REQUEST_OVER;
    if (RULE(REQUEST_ONCE) && number_window_marked(&c->seen, request->id)) {
        unsigned slot = request->id % NUMBERS_WINDOW;
        if (!c->replies[slot])
            return REQUEST_PENDING;
        *ret_reply = c->replies[slot];
        *ret_len = c->lengths[slot];
        return REQUEST_REPEAT;
    }
    number_window_mark(&c->seen, request->id);
    return REQUEST_EXECUTE;
}

int reply_cache_store(ReplyCache *c, uint64_t id, const uint8_t *reply, size_t len)
{
    assert(len > 0 && len <= WIRE_PAYLOAD_MAX);
    if (!number_window_has(&c->seen, id))
        return 0; /* closed meanwhile: nobody asks again */
    uint8_t *copy = malloc(len);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, reply, len);
    reply_drop(c, id);
    c->replies[id % NUMBERS_WINDOW] = copy;
    c->lengths[id % NUMBERS_WINDOW] = (uint16_t)len;
    return 0;
}
