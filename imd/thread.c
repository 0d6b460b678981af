/* SPDX-License-Identifier: MIT */
#include "imd/thread.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "daemon/log.h"

enum {
    ANSWER_BYTES = 2 * WIRE_CHUNK_MAX, /* between two looks at what has come */
    LOOK_BATCHES = 4,                  /* taken in at such a look, at most */
    LOOK_FOR_ORDERS = 16,              /* such looks, while there is no rest */
};

/* With a cap: every client hears from us within that time, so that it does not take us for dead. A
 * READ that would wait longer is refused (come again), and so is one of a client that has others
 * waiting. */
#define PACE_WAIT_MAX_NS (300 * NS_PER_MS)
#define PACE_MORE_MAX_NS (100 * NS_PER_MS)
/* Writes begin only while less than that is owed. */
#define PACE_WRITE_NS (20 * NS_PER_MS)

/* ---- the cap --------------------------------------------------------------------------------- */

/* NULL: there is none now. */
static Pace *cap(const ImdThread *t)
{
    return t->config.pace && pace_is_on(t->config.pace) ? t->config.pace : NULL;
}

static void charge(ImdThread *t, uint64_t bytes, uint64_t packets)
{
    if (cap(t))
        pace_charge(t->config.pace, bytes, packets, t->now_ns);
}

static uint64_t debt(const ImdThread *t, uint64_t now_ns)
{
    return cap(t) ? pace_debt_ns(t->config.pace, now_ns) : 0;
}

/* READs wait, and may be answered now. */
static bool reads_ready(const ImdThread *t)
{
    return t->reads->count > 0 && (!cap(t) || debt(t, os_now_ns()) == 0);
}

static bool too_long(const ImdThread *t, const Session *s, uint64_t now_ns)
{
    if (!cap(t))
        return false;
    uint64_t wait =
        debt(t, now_ns) + pace_cost_ns(t->config.pace, t->reads_bytes,
                                       t->reads_bytes / WIRE_SEGMENT_MAX + t->reads->count);
    return wait > PACE_WAIT_MAX_NS || (wait > PACE_MORE_MAX_NS && read_queue_has(t->reads, s));
}

/* ---- the core's effects ---------------------------------------------------------------------- */

static void send_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    ImdThread *t = ctx;
    charge(t, len, 1);
    port_message(&t->port, session, type, payload, len);
}

static void charge_burst(ImdThread *t, const Burst *b)
{
    if (!cap(t))
        return;
    uint64_t segments = (uint64_t)__builtin_popcountll(b->want), bytes = segments * b->segment;
    charge(t, bytes < b->len ? bytes : b->len, segments);
}

static void send_burst(void *ctx, void *session, const Burst *burst)
{
    ImdThread *t = ctx;
    charge_burst(t, burst);
    int res = burst_send(t->port.transport, t->port.endpoint, session, burst, t->scratch);
    if (res < 0)
        log_event(LOG_LEVEL_ERROR, "send_failed", "error=\"%s\"", strerror(-res));
}

static void send_probe_ack(void *ctx, void *session, const uint8_t *payload, size_t len)
{
    ImdThread *t = ctx;
    Session *s = session;
    charge(t, len, 1);
    struct iovec iov = {.iov_base = t->scratch->sealed};
    TransportSend send = {.to = &s->peer, .iov = &iov, .iov_count = 1};
    iov.iov_len = endpoint_seal(t->port.endpoint, s, WIRE_PROBE_ACK, payload, len, iov.iov_base);
    if (iov.iov_len > 0) /* lost where our own route is narrower: then it has done its work */
        (void)t->port.transport->ops->send(t->port.transport, &send, 1);
}

/* ---- what comes in --------------------------------------------------------------------------- */

/* Answers the READ whose turn it is. Its bytes; 0: there is none. */
static uint32_t answer_read(ImdThread *t, uint64_t now_ns)
{
    ReadAsk ask;
    if (!read_queue_take(t->reads, &ask))
        return 0;
    t->reads_bytes -= ask.bytes;
    imd_data_input(t->data, ask.session, WIRE_READ, ask.payload, sizeof ask.payload, now_ns);
    return ask.bytes;
}

/* What came, and what it will cost, without what was to come before. */
static uint64_t promised(uint64_t came, uint64_t before, uint64_t after)
{
    return came + after > before ? came + after - before : 0;
}

/* A write or a fill is charged whole when it begins, also by a poll, which itself costs nothing: no
 * more of them begin than the cap allows. A refused one is not charged: else those that come again
 * and again would keep every one from being served. */
static void take_in(ImdThread *t, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    uint64_t busy = imd_data_stats(t->data)->busy;
    const ImdAwaited before = imd_data_awaited(t->data);
    if (t->config.pace) /* also when the cap has gone */
        imd_data_pace(t->data, debt(t, t->now_ns) > PACE_WRITE_NS);
    imd_data_input(t->data, s, type, payload, len, t->now_ns);
    const ImdAwaited after = imd_data_awaited(t->data);
    if (imd_data_stats(t->data)->busy == busy)
        charge(t, promised(len, before.bytes, after.bytes),
               promised(1, before.segments, after.segments));
}

/* READs wait for their turn. All else is done immediately, a WRITE even before the READs that came
 * before it: the network could have brought them in that order. */
static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    ImdThread *t = ctx;
    t->now_ns = now_ns;
    if (type == WIRE_READ && too_long(t, s, now_ns)) {
        charge(t, len, 1);
        imd_data_busy(t->data, s, payload, len);
        return;
    }
    if (type == WIRE_READ && read_queue_full(t->reads))
        (void)answer_read(t, now_ns);
    if (type != WIRE_READ || read_queue_put(t->reads, s, payload, len) != 0) {
        take_in(t, s, type, payload, len); /* counts what is malformed */
        return;
    }
    charge(t, len, 1);
    t->reads_bytes += t->reads->asks[t->reads->count - 1].bytes;
}

static void on_closed(void *ctx, Session *s)
{
    ImdThread *t = ctx;
    t->reads_bytes -= read_queue_forget(t->reads, s);
    imd_data_session_closed(t->data, s);
}

static const PortOps port_ops = {.message = on_message, .closed = on_closed};

/* ---- orders ---------------------------------------------------------------------------------- */

static void obey(ImdThread *t, ImdOrder *o)
{
    const ImdRegion *r = &o->command.region;
    o->result = 0;
    switch ((enum ImdCommandKind)o->command.kind) {
    case IMD_ADD:
        o->result = imd_data_add(t->data, r);
        break;
    case IMD_DROP:
        imd_data_drop(t->data, r->region);
        if (t->config.dropped)
            t->config.dropped(t->config.ctx, r);
        break;
    case IMD_REOPEN:
        imd_data_reopen(t->data, r->region, r->opening, &r->capability);
        break;
    case IMD_CLOSE:
        imd_data_close(t->data, r->region);
        break;
    case IMD_LEAVE:
        imd_data_leave(t->data);
        t->leave = o;
        t->leave_at_ns = time_add(os_now_ns(), t->config.leave_deadline_ns);
        return; /* over when the good-byes are said */
    case IMD_PURGE:
        break; /* the purger's */
    }
    mailbox_post(t->config.done, &o->letter);
}

static void order_free(ImdOrder *o)
{
    if (o->keys)
        explicit_bzero(o->keys, sizeof *o->keys);
    g_free(o->keys);
    g_free(o);
}

/* The control thread's endpoint has taken the same keys. */
static void reload(ImdThread *t, const ImdOrder *o)
{
    char error[CONFIG_ERROR_MAX] = "";
    if (start_set_keys(t->port.endpoint, o->keys, os_now_ns(), error) < 0)
        log_event(LOG_LEVEL_ERROR, "not_reloaded", "error=\"%s\"", error);
    imd_data_pace_bytes(t->data, o->pace_bytes);
}

static void take_orders(ImdThread *t)
{
    for (Letter *l = mailbox_take(&t->orders), *next; l; l = next) {
        ImdOrder *o = (ImdOrder *)l;
        next = l->next;
        if (o->stop) {
            t->stop = true;
            order_free(o);
        } else if (o->keys) {
            reload(t, o);
            order_free(o);
        } else {
            obey(t, o);
        }
    }
}

/* Leaving: once no write is under way any more, or the time is over, every client is informed,
 * and then the control thread. Until it ends, the thread goes on to answer LEAVING. */
static void leave(ImdThread *t, uint64_t now_ns)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    if (!t->leave || (!imd_data_idle(t->data) && now_ns < t->leave_at_ns))
        return;
    size_t len = wire_goodbye_encode(t->config.data.epoch, payload);
    for (Session *s = NULL; (s = endpoint_walk(t->port.endpoint, s));)
        port_message(&t->port, s, WIRE_GOODBYE, payload, len);
    port_flush(&t->port);
    mailbox_post(t->config.done, &t->leave->letter);
    t->leave = NULL;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Waits, unless READs do. True: there are orders. */
static bool wait_for_work(ImdThread *t)
{
    struct pollfd fds[2] = {
        {.fd = t->port.transport->ops->fd(t->port.transport), .events = POLLIN},
        {.fd = t->orders.fd, .events = POLLIN},
    };
    uint64_t until = port_deadline(&t->port);
    if (t->leave)
        until = time_min(until, t->leave_at_ns);
    struct timespec timeout = {.tv_sec = 0};
    if (until != TIME_NEVER || t->reads->count > 0) {
        uint64_t now = os_now_ns();
        if (t->reads->count > 0)
            until = time_min(until, time_add(now, debt(t, now)));
        uint64_t wait = until > now ? until - now : 0;
        timeout = (struct timespec){.tv_sec = (time_t)(wait / NS_PER_S),
                                    .tv_nsec = (long)(wait % NS_PER_S)};
    }
    int n = ppoll(fds, 2, until == TIME_NEVER ? NULL : &timeout, NULL);
    return n > 0 && fds[1].revents;
}

static void publish(ImdThread *t)
{
    const ImdDataStats *s = imd_data_stats(t->data);
    atomic_store_explicit(&t->read_bytes, s->read_bytes, memory_order_relaxed);
    atomic_store_explicit(&t->write_bytes, s->write_bytes, memory_order_relaxed);
}

/* Not more than a little at a time, so that who comes meanwhile gets a turn. */
static void answer_reads(ImdThread *t, uint64_t now_ns)
{
    uint32_t done = 0, bytes;
    t->now_ns = now_ns;
    while (done < ANSWER_BYTES && debt(t, now_ns) == 0 && (bytes = answer_read(t, now_ns)) > 0)
        done += bytes;
    port_flush(&t->port); /* refusals */
}

/* Nothing has its time, so that only a datagram or an order ends the wait. */
static bool may_sleep(const ImdThread *t)
{
    const TransportOps *ops = t->port.transport->ops;
    return ops->receive_asleep && ops->nudge && t->reads->count == 0 && !t->leave &&
           port_deadline(&t->port) == TIME_NEVER;
}

static bool look(void *ctx)
{
    ImdThread *t = ctx;
    return port_look(&t->port) || mailbox_waiting(&t->orders);
}

/* With one system call less than waiting and then receiving. The thread that gives an order first
 * posts it and then looks whether we are asleep: one of us sees the other. */
static void sleep_for_work(ImdThread *t)
{
    uint64_t start = os_now_ns();
    atomic_store(&t->asleep, true);
    if (!mailbox_waiting(&t->orders))
        port_sleep(&t->port);
    atomic_store(&t->asleep, false);
    spin_slept(&t->spin, start);
}

static void find_work(ImdThread *t)
{
    bool orders;
    if (reads_ready(t) && ++t->turns % LOOK_FOR_ORDERS != 0)
        return;
    if (may_sleep(t)) {
        if (!spin_for(&t->spin, TIME_NEVER, look, t)) /* the owner comes first: if asked for */
            sleep_for_work(t);
        orders = mailbox_waiting(&t->orders);
    } else {
        orders = wait_for_work(t);
    }
    if (orders)
        take_orders(t);
}

void imd_thread_turn(ImdThread *t)
{
    find_work(t);
    uint64_t now = t->now_ns = os_now_ns();
    for (unsigned i = 0; i < LOOK_BATCHES && port_receive(&t->port, now) == PORT_BATCH; i++)
        ; /* what is left will be seen the next time: ppoll() returns at once */
    answer_reads(t, now);
    publish(t);
    leave(t, now);
}

static void *serve(void *arg)
{
    ImdThread *t = arg;
    t->policy = sched_getscheduler(0);
    (void)setpriority(PRIO_PROCESS, 0,
                      t->config.nice); /* of this thread; lower is always allowed */
    atomic_store(&t->tid, gettid());
    while (!t->stop)
        imd_thread_turn(t);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

int imd_thread_init(ImdThread *t, const ImdThreadConfig *config, Transport *transport)
{
    const Env env = os_env();
    const ImdDataSink sink = {
        .message = send_message, .burst = send_burst, .probe_ack = send_probe_ack, .ctx = t};
    memset(t, 0, sizeof *t);
    t->config = *config;
    spin_init(&t->spin, config->spin_ns);
    /* What the kernel grants counts its own overhead too: about half of it is data. */
    t->config.data.grant_bytes = (uint32_t)(MIN(transport->receive_bytes, UINT32_MAX) / 2);
    int res = mailbox_init(&t->orders);
    if (res < 0)
        return res;
    t->scratch = g_try_new(BurstScratch, 1);
    t->reads = g_try_new0(ReadQueue, 1);
    t->data = imd_data_new(&t->config.data, &env, &sink);
    if (!t->scratch || !t->reads || !t->data ||
        port_open(&t->port, transport, &config->endpoint, &port_ops, t) != 0) {
        imd_thread_deinit(t);
        return -ENOMEM;
    }
    return 0;
}

void imd_thread_hurry(const ImdThread *t, bool on)
{
    int tid = atomic_load(&t->tid);
    if (tid == 0)
        return;
    (void)sched_setscheduler(tid, on ? SCHED_OTHER : t->policy, &(struct sched_param){0});
    (void)setpriority(PRIO_PROCESS, (id_t)tid, on ? 0 : t->config.nice);
}

int imd_thread_start(ImdThread *t)
{
    int res = os_thread_start(&t->thread, serve, t);
    t->running = res == 0;
    return res;
}

void imd_thread_order(ImdThread *t, ImdOrder *order)
{
    mailbox_post(&t->orders, &order->letter);
    if (atomic_load(&t->asleep))
        t->port.transport->ops->nudge(t->port.transport);
}

void imd_thread_reload(ImdThread *t, const ClusterKeys *keys, uint32_t pace_bytes)
{
    ImdOrder *o = g_new0(ImdOrder, 1);
    o->keys = g_memdup2(keys, sizeof *keys);
    o->pace_bytes = pace_bytes;
    imd_thread_order(t, o);
}

void imd_thread_deinit(ImdThread *t)
{
    if (t->running) {
        ImdOrder *o = g_new0(ImdOrder, 1);
        o->stop = true;
        imd_thread_order(t, o);
        (void)pthread_join(t->thread, NULL);
        t->running = false;
    }
    if (!t->config.done)
        return; /* zeroed: never initialized */
    for (Letter *l = mailbox_take(&t->orders), *next; l; l = next) {
        next = l->next;
        order_free((ImdOrder *)l);
    }
    g_clear_pointer(&t->leave, g_free);
    port_close(&t->port);
    t->data = imd_data_free(t->data);
    g_clear_pointer(&t->scratch, g_free);
    g_clear_pointer(&t->reads, g_free);
    mailbox_deinit(&t->orders);
    t->config.done = NULL;
}
