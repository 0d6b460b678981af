/* SPDX-License-Identifier: MIT */
#include "imd/serve.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"

enum { ANSWER_BYTES = 2 * WIRE_CHUNK_MAX }; /* between two looks at what has come */

/* With a cap: every client hears from us within that time, so that it does not take us for dead. A
 * READ that would wait longer is refused (come again), and so is one of a client that has others
 * waiting. */
#define PACE_WAIT_MAX_NS (300 * NS_PER_MS)
#define PACE_MORE_MAX_NS (100 * NS_PER_MS)
/* Writes begin only while less than that is owed. */
#define PACE_WRITE_NS (20 * NS_PER_MS)

/* ---- the cap --------------------------------------------------------------------------------- */

/* NULL: there is none now. */
static Pace *cap(const ImdServe *s)
{
    return s->config.pace && pace_is_on(s->config.pace) ? s->config.pace : NULL;
}

static void charge(ImdServe *s, uint64_t bytes, uint64_t packets)
{
    if (cap(s))
        pace_charge(s->config.pace, bytes, packets, s->now_ns);
}

static uint64_t debt(const ImdServe *s, uint64_t now_ns)
{
    return cap(s) ? pace_debt_ns(s->config.pace, now_ns) : 0;
}

static bool too_long(const ImdServe *s, const void *session)
{
    if (!cap(s))
        return false;
    uint64_t wait =
        debt(s, s->now_ns) + pace_cost_ns(s->config.pace, s->reads_bytes,
                                          s->reads_bytes / WIRE_SEGMENT_MAX + s->reads->count);
    return wait > PACE_WAIT_MAX_NS ||
           (wait > PACE_MORE_MAX_NS && read_queue_has(s->reads, session));
}

/* ---- the core's effects ---------------------------------------------------------------------- */

static void charge_message(void *ctx, void *session, uint8_t type, const uint8_t *payload,
                           size_t len)
{
    ImdServe *s = ctx;
    charge(s, len, 1);
    s->sink.message(s->sink.ctx, session, type, payload, len);
}

static void charge_burst(void *ctx, void *session, const Burst *burst)
{
    ImdServe *s = ctx;
    if (cap(s)) {
        uint64_t segments = (uint64_t)__builtin_popcountll(burst->want);
        charge(s, min_u64(segments * burst->segment, burst->len), segments);
    }
    s->sink.burst(s->sink.ctx, session, burst);
}

static void charge_probe_ack(void *ctx, void *session, const uint8_t *payload, size_t len)
{
    ImdServe *s = ctx;
    charge(s, len, 1);
    s->sink.probe_ack(s->sink.ctx, session, payload, len);
}

int serve_init(ImdServe *s, const ImdServeConfig *config, const Env *env, const ImdDataSink *sink)
{
    const ImdDataSink charged = {.message = charge_message,
                                 .burst = charge_burst,
                                 .probe_ack = sink->probe_ack ? charge_probe_ack : NULL,
                                 .ctx = s};
    *s = (ImdServe){.config = *config, .sink = *sink};
    s->reads = calloc(1, sizeof *s->reads);
    s->data = s->reads ? imd_data_new(&config->data, env, &charged) : NULL;
    if (s->data)
        return 0;
    serve_deinit(s);
    return -ENOMEM;
}

void serve_deinit(ImdServe *s)
{
    s->data = imd_data_free(s->data);
    free(s->reads);
    s->reads = NULL;
}

/* ---- what comes in --------------------------------------------------------------------------- */

/* Answers the READ whose turn it is. Its bytes; 0: there is none. */
static uint32_t answer_one(ImdServe *s)
{
    QueuedRead read;
    if (!read_queue_take(s->reads, &read))
        return 0;
    s->reads_bytes -= read.bytes;
    imd_data_read(s->data, read.session, &read.read, s->now_ns);
    return read.bytes;
}

static void queue_read(ImdServe *s, void *session, const WireRead *read)
{
    if (too_long(s, session)) {
        imd_data_busy(s->data, session, read);
        return;
    }
    if (read_queue_full(s->reads))
        (void)answer_one(s);
    s->reads_bytes += read_queue_put(s->reads, session, read);
}

/* What came, and what it will cost, without what was to come before. */
static uint64_t promised(uint64_t came, uint64_t before, uint64_t after)
{
    return came + after > before ? came + after - before : 0;
}

/* A write or a fill is charged whole when it begins, also by a poll, which itself costs nothing: no
 * more of them begin than the cap allows. A refused one is not charged: else those that come again
 * and again would keep every one from being served. */
static void take_in(ImdServe *s, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    uint64_t busy = imd_data_stats(s->data)->busy;
    const ImdAwaited before = imd_data_awaited(s->data);
    if (s->config.pace) /* also when the cap has gone */
        imd_data_pace(s->data, debt(s, s->now_ns) > PACE_WRITE_NS);
    imd_data_input(s->data, session, type, payload, len, s->now_ns);
    const ImdAwaited after = imd_data_awaited(s->data);
    if (imd_data_stats(s->data)->busy == busy)
        charge(s, promised(len, before.bytes, after.bytes),
               promised(1, before.segments, after.segments));
}

void serve_message(ImdServe *s, void *session, uint8_t type, const uint8_t *payload, size_t len,
                   uint64_t now_ns)
{
    WireRead read;
    s->now_ns = now_ns;
    if (type == WIRE_READ && wire_read_decode(payload, len, &read) == 0) {
        charge(s, len, 1);
        queue_read(s, session, &read);
    } else {
        take_in(s, session, type, payload, len); /* counts what is malformed */
    }
}

void serve_closed(ImdServe *s, void *session)
{
    s->reads_bytes -= read_queue_forget(s->reads, session);
    imd_data_session_closed(s->data, session);
}

void serve_pace_bytes(ImdServe *s, uint32_t pace_bytes)
{
    imd_data_pace_bytes(s->data, pace_bytes);
}

/* ---- orders ---------------------------------------------------------------------------------- */

int serve_obey(ImdServe *s, const ImdCommand *command, uint64_t now_ns)
{
    const ImdRegion *r = &command->region;
    switch ((enum ImdCommandKind)command->kind) {
    case IMD_ADD:
        return imd_data_add(s->data, r);
    case IMD_DROP:
        imd_data_drop(s->data, r->region);
        break;
    case IMD_REOPEN:
        imd_data_reopen(s->data, r->region, r->opening, &r->capability);
        break;
    case IMD_CLOSE:
        imd_data_close(s->data, r->region);
        break;
    case IMD_UNFILL:
        imd_data_unfill(s->data, r->region);
        break;
    case IMD_LEAVE:
        imd_data_leave(s->data);
        s->leaving = true;
        s->leave_at_ns = time_add(now_ns, s->config.leave_deadline_ns);
        break;
    case IMD_PURGE:
        break;
    }
    return 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

void serve_answer(ImdServe *s, uint64_t now_ns)
{
    uint32_t done = 0, bytes;
    s->now_ns = now_ns;
    while (done < ANSWER_BYTES && debt(s, now_ns) == 0 && (bytes = answer_one(s)) > 0)
        done += bytes;
}

bool serve_ready(const ImdServe *s, uint64_t now_ns)
{
    return serve_waits(s) && debt(s, now_ns) == 0;
}

uint64_t serve_deadline(const ImdServe *s, uint64_t now_ns)
{
    uint64_t due = s->leaving ? s->leave_at_ns : TIME_NEVER;
    return serve_waits(s) ? min_u64(due, time_add(now_ns, debt(s, now_ns))) : due;
}

bool serve_parts(ImdServe *s, uint64_t now_ns)
{
    if (!s->leaving || (!imd_data_idle(s->data) && now_ns < s->leave_at_ns))
        return false;
    s->leaving = false;
    return true;
}
