/* SPDX-License-Identifier: MIT */
/* Requests to imds. Each host has its own sequence of request ids and its own window. A request
 * that finds the window full waits in line; one that nobody waits for (the FREEs of doomed regions)
 * comes last. All deadlines are timers of the manager. */
#include "cmd/manager_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t call_deadline(const Call *call)
{
    return call->request ? request_deadline(call->request) : call->ask.give_up_ns;
}

/* ---- sending ------------------------------------------------------------------------------- */

static void call_send(Manager *m, Call *call)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    Host *h = call->host;
    size_t n = request_output(call->request, numbers_lowest(&h->calls.ids), payload, m->now_ns);

    if (n > 0 && h->session)
        m->sink.message(m->sink.ctx, h->session, WIRE_REQUEST, payload, n);
    timers_move(&m->timers, &call->timer, call_deadline(call));
}

/* False: it goes on waiting, for the window or for memory. */
static bool call_start(Manager *m, Call *call)
{
    Host *h = call->host;
    uint64_t left_ns = call->ask.give_up_ns > m->now_ns ? call->ask.give_up_ns - m->now_ns : 0;
    RequestTimes times = {.first_retry_ns = m->config.request_first_retry_ns,
                          .retry_max_ns = m->config.request_retry_max_ns,
                          .deadline_ns = left_ns};
    Request *request = malloc(sizeof *request);
    uint64_t id = request ? numbers_take(&h->calls.ids) : 0;

    if (id == 0) {
        free(request);
        return false;
    }
    request_start(request, id, call->ask.op, call->body, call->body_len, &times, m->now_ns);
    call->request = request;
    list_remove(&call->of_host);
    list_push_back(&h->calls.running, &call->of_host);
    h->calls.waiting_count--;
    h->calls.running_count++;
    call_send(m, call);
    return true;
}

static void start_waiting(Manager *m, Host *h)
{
    while (!list_empty(&h->calls.waiting))
        if (!call_start(m, CONTAINER_OF(h->calls.waiting.next, Call, of_host)))
            break;
}

int cmd_call_begin(Manager *m, Host *h, const CallAsk *ask, const uint8_t *body, size_t len)
{
    assert(len <= CALL_BODY_MAX && !h->lost);
    if (h->calls.waiting_count >= CALLS_WAITING_MAX)
        return -EBUSY;
    Call *call = calloc(1, sizeof *call);
    if (!call)
        return -ENOMEM;
    *call = (Call){.host = h, .ask = *ask};
    call->body_len = (uint16_t)len;
    memcpy(call->body, body, len);
    if (timers_add(&m->timers, &call->timer, call_deadline(call)) != 0) {
        free(call);
        return -ENOMEM;
    }
    list_push_back(&h->calls.waiting, &call->of_host);
    h->calls.waiting_count++;
    m->calls++;
    if (!ask->task)
        h->calls.doomed_running++;
    if (ask->region)
        cmd_region_detach(m, ask->region);
    start_waiting(m, h);
    return 0;
}

/* A FREE without an answer is tried again. Until then the region stays in the directory, doomed,
 * and costs no other memory. Any answer will do: either the imd no longer has it, or its next
 * digest differs. */
static void free_over(Manager *m, const Call *call, int status, const uint8_t *body, size_t len)
{
    Region *r = call->ask.region;
    (void)body;
    (void)len;

    if (call->ask.task)
        cmd_task_over(m, call->ask.task, STATUS_OK, NULL, 0);
    if (status == CALL_TIMED_OUT) {
        cmd_region_doom(m, r);
    } else if (status != CALL_HOST_LOST) {
        cmd_freed_remember(r->host, r->region, call->request->id);
        cmd_region_drop(m, r);
    }
}

int cmd_call_free(Manager *m, Region *r, Task *task)
{
    uint8_t body[WIRE_BODY_MAX];
    /* Whatever its opening: the entry may be behind a REOPEN whose answer was lost. */
    OpFree op = {.epoch = r->host->epoch, .region = r->region, .opening = 0};
    size_t n = wire_free_encode(&op, body);

    const CallAsk ask = {.op = OP_FREE,
                         .over = free_over,
                         .task = task,
                         .region = r,
                         .give_up_ns = time_add(m->now_ns, m->config.request_deadline_ns)};

    return cmd_call_begin(m, r->host, &ask, body, n);
}

/* A request that nobody waits for must not crowd out one that somebody waits for, nor be sent where
 * nobody listens. It is kept in the directory until its FREE is answered. */
static void start_doomed(Manager *m, Host *h)
{
    while (!list_empty(&h->doomed) && list_empty(&h->calls.waiting) && cmd_host_reachable(m, h) &&
           h->calls.doomed_running < DOOMED_WINDOW) {
        Region *r = CONTAINER_OF(h->doomed.next, Region, doomed);
        if (cmd_call_free(m, r, NULL) != 0)
            break;
    }
}

void cmd_calls_pump(Manager *m, Host *h)
{
    if (h->lost || h->leaving)
        return;
    start_waiting(m, h);
    start_doomed(m, h);
}

void cmd_calls_pump_stirred(Manager *m)
{
    while (!list_empty(&m->hosts.stirred)) {
        Host *h = CONTAINER_OF(m->hosts.stirred.next, Host, stirred);
        list_remove(&h->stirred);
        cmd_calls_pump(m, h);
    }
}

/* ---- ends ---------------------------------------------------------------------------------- */

void cmd_call_destroy(Manager *m, Call *call)
{
    Host *h = call->host;

    list_remove(&call->of_host);
    if (call->request) {
        numbers_end(&h->calls.ids, call->request->id);
        h->calls.running_count--;
    } else {
        h->calls.waiting_count--;
    }
    if (!call->ask.task)
        h->calls.doomed_running--;
    m->calls--;
    free(call->request);
    free(call);
}

/* Tells who waits for it. */
static void call_over(Manager *m, Call *call, int status)
{
    const uint8_t *body = status >= 0 ? call->request->answer : NULL;
    size_t len = status >= 0 ? call->request->answer_len : 0;
    call->ask.over(m, call, status, body, len);
}

static void call_end(Manager *m, Call *call, int status)
{
    Host *h = call->host;

    timers_remove(&m->timers, &call->timer); /* before what is begun in consequence */
    call_over(m, call, status);
    cmd_call_destroy(m, call);
    cmd_calls_pump(m, h);
}

/* Each answer carries the imd's hint, whatever its status. */
static void take_hint(Manager *m, Host *h, uint16_t op, const uint8_t *body, size_t len)
{
    OpAllocReply alloc;
    OpFreeReply other;

    if (op == OP_ALLOC || op == OP_REOPEN) {
        if (wire_alloc_reply_decode(body, len, &alloc) == 0)
            cmd_host_hint(m, h, &alloc.hint);
    } else if (wire_free_reply_decode(body, len, &other) == 0) {
        cmd_host_hint(m, h, &other.hint);
    }
}

void cmd_call_reply(Manager *m, Host *h, const WireReply *reply)
{
    LIST_FOREACH(at, &h->calls.running) {
        Call *call = CONTAINER_OF(at, Call, of_host);
        if (call->request->id != reply->id)
            continue;
        if (!request_input(call->request, reply, m->now_ns))
            return;
        h->heard_ns = m->now_ns;
        h->avoid_until_ns = 0;
        take_hint(m, h, call->ask.op, call->request->answer, call->request->answer_len);
        call_end(m, call, call->request->status);
        return;
    }
}

void cmd_calls_fail(Manager *m, Host *h)
{
    ListNode *lists[] = {&h->calls.running, &h->calls.waiting};
    for (size_t i = 0; i < 2; i++)
        while (!list_empty(lists[i]))
            call_end(m, CONTAINER_OF(lists[i]->next, Call, of_host), CALL_HOST_LOST);
}

/* ---- time ---------------------------------------------------------------------------------- */

void cmd_calls_resend(Manager *m, Host *h)
{
    LIST_FOREACH(at, &h->calls.running) {
        Call *call = CONTAINER_OF(at, Call, of_host);
        request_resend(call->request, m->now_ns);
        call_send(m, call);
    }
}

static bool call_expired(Manager *m, Call *call)
{
    if (!call->request)
        return m->now_ns >= call->ask.give_up_ns;
    request_expire(call->request, m->now_ns);
    return call->request->state != REQUEST_RUNNING;
}

void cmd_calls_expire(Manager *m)
{
    while (timers_due(&m->timers) <= m->now_ns) {
        Call *call = CONTAINER_OF(timers_first(&m->timers), Call, timer);
        if (!call_expired(m, call)) {
            call_send(m, call);
            continue;
        }
        /* It may be cut off in this direction only, and so be heard as ever. */
        if (call->request)
            call->host->avoid_until_ns = time_add(m->now_ns, m->config.host_dead_ns);
        call_end(m, call, CALL_TIMED_OUT);
    }
}

void cmd_calls_postpone(Manager *m, uint64_t gap_ns)
{
    for (size_t i = 0; i < m->timers.count; i++) {
        Call *call = CONTAINER_OF(m->timers.heap[i], Call, timer);
        call->ask.give_up_ns = time_add(call->ask.give_up_ns, gap_ns);
        if (call->request)
            request_postpone(call->request, gap_ns);
    }
    timers_postpone(&m->timers, gap_ns);
}
