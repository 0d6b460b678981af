/* SPDX-License-Identifier: MIT */
/* Control requests: retried with back-off by the requester, executed at most once by the
 * responder, however late a duplicate comes. Pure.
 *
 * Ids are Numbers, given out per requester identity (Session.peer_id), not per transport session: a
 * request retried after a new HELLO keeps its id. `settled` in each request is the lowest that is
 * not over: it closes all ids below. */
#ifndef DODO_PROTO_REQUEST_H
#define DODO_PROTO_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "proto/numbers.h"
#include "proto/wire.h"

/* ---- requester ------------------------------------------------------------------------------ */

typedef struct RequestTimes {
    uint64_t first_retry_ns; /* doubles each time ... */
    uint64_t retry_max_ns;   /* ... up to this */
    uint64_t deadline_ns;    /* relative to the start: then it is given up; UINT64_MAX: never */
} RequestTimes;

enum RequestState { REQUEST_RUNNING, REQUEST_ANSWERED, REQUEST_TIMED_OUT };

/* One request under way, in the caller's storage. */
typedef struct Request {
    uint64_t id;
    uint16_t op;
    uint8_t state; /* enum RequestState */
    uint8_t tries;
    uint16_t status; /* of the answer */
    uint16_t body_len, answer_len;
    uint64_t send_ns; /* next (re)transmission */
    uint64_t retry_ns;
    uint64_t give_up_ns;
    RequestTimes times;
    uint8_t body[WIRE_BODY_MAX];
    uint8_t answer[WIRE_BODY_MAX];
} Request;

void request_start(Request *r, uint64_t id, uint16_t op, const uint8_t *body, size_t len,
                   const RequestTimes *times, uint64_t now_ns);
/* The REQUEST payload to send now; 0 when there is none now. Arms the next retry. */
size_t request_output(Request *r, uint64_t settled, uint8_t *out, uint64_t now_ns);
/* True when the reply was this request's (then state is ANSWERED); false: not ours, or late. */
bool request_input(Request *r, const WireReply *reply, uint64_t now_ns);
/* Next time at which request_output() or request_expire() has work. */
uint64_t request_deadline(const Request *r);
/* Turns RUNNING into TIMED_OUT when its time is over. */
void request_expire(Request *r, uint64_t now_ns);
/* All clocks of the request run @gap_ns later: the process itself was stopped. */
void request_postpone(Request *r, uint64_t gap_ns);
/* Answered by one who is not to answer it: it runs again, as if it had not been. */
void request_again(Request *r, uint64_t now_ns);
/* The session was renewed: send again at once. */
void request_resend(Request *r, uint64_t now_ns);

/* ---- responder ------------------------------------------------------------------------------ */

/* Per requester identity: which ids were executed, and the replies to the last ones.
 * Bounded: at most NUMBERS_WINDOW replies, released by `settled`. */
typedef struct ReplyCache {
    NumberWindow seen;                /* from `settled` on; those that were begun are marked */
    uint8_t *replies[NUMBERS_WINDOW]; /* id % window: malloc'ed REPLY payload, or NULL */
    uint16_t lengths[NUMBERS_WINDOW];
} ReplyCache;
void reply_cache_init(ReplyCache *c);
void reply_cache_deinit(ReplyCache *c);
size_t reply_cache_bytes(const ReplyCache *c); /* allocated */

enum RequestFate {
    REQUEST_EXECUTE, /* new: execute it now, then reply_cache_store() */
    REQUEST_REPEAT,  /* executed before: *ret_reply is to be sent again (borrowed) */
    REQUEST_PENDING, /* being executed: say nothing */
    REQUEST_OVER,    /* below `settled`, or too far ahead: say nothing */
};
enum RequestFate reply_cache_admit(ReplyCache *c, const WireRequest *request,
                                   const uint8_t **ret_reply, size_t *ret_len);
/* The requester has closed all ids below @settled: their replies will not be asked for again. */
void reply_cache_settle(ReplyCache *c, uint64_t settled);
/* Keeps a copy of the REPLY payload for repeats. -ENOMEM: it is not kept (a repeat of the request
 * then stays unanswered; the requester times out: nothing is executed twice). */
int reply_cache_store(ReplyCache *c, uint64_t id, const uint8_t *reply, size_t len);

#endif
