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
#include "daemon/port_log.h"

enum {
    LOOK_BATCHES = 4,     /* taken in between two answers, at most */
    LOOK_FOR_ORDERS = 16, /* looks at what has come, while there is no rest */
};

/* ---- the core's effects ---------------------------------------------------------------------- */

static void send_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    ImdThread *t = ctx;
    port_message(&t->port, session, type, payload, len);
}

static void send_burst(void *ctx, void *session, const Burst *burst)
{
    ImdThread *t = ctx;
    port_burst(&t->port, session, burst, t->scratch);
}

static void send_probe_ack(void *ctx, void *session, const uint8_t *payload, size_t len)
{
    ImdThread *t = ctx;
    port_large(&t->port, session, WIRE_PROBE_ACK, payload, len, t->scratch);
}

/* ---- what comes in --------------------------------------------------------------------------- */

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    serve_message(&((ImdThread *)ctx)->serve, s, type, payload, len, now_ns);
}

static void on_closed(void *ctx, Session *s)
{
    serve_closed(&((ImdThread *)ctx)->serve, s);
}

static const PortOps port_ops = {.message = on_message, .closed = on_closed, .event = port_log};

/* ---- orders ---------------------------------------------------------------------------------- */

static void obey(ImdThread *t, ImdOrder *o)
{
    o->result = serve_obey(&t->serve, &o->command, os_now_ns());
    if (o->command.kind == IMD_LEAVE) {
        t->leave = o;
        return; /* over when the good-byes are said */
    }
    if ((o->command.kind == IMD_DROP || o->command.kind == IMD_UNFILL) && t->config.dropped)
        t->config.dropped(t->config.ctx, &o->command);
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
        start_log_not_reloaded(error);
    serve_pace_bytes(&t->serve, o->pace_bytes);
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

/* Tells every client, and then the control thread. */
static void leave(ImdThread *t, uint64_t now_ns)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    if (!serve_parts(&t->serve, now_ns))
        return;
    size_t len = wire_goodbye_encode(t->config.data.epoch, payload);
    for (Session *s = NULL; (s = endpoint_walk(t->port.endpoint, s));)
        port_message(&t->port, s, WIRE_GOODBYE, payload, len);
    port_flush(&t->port);
    mailbox_post(t->config.done, &t->leave->letter);
    t->leave = NULL;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* When the thread has to do something by itself. */
static uint64_t next_deadline(const ImdThread *t, uint64_t now_ns)
{
    return min_u64(port_deadline(&t->port), serve_deadline(&t->serve, now_ns));
}

/* Waits, unless READs do. True: there are orders. */
static bool wait_for_work(ImdThread *t)
{
    struct pollfd fds[2] = {
        {.fd = t->port.transport->ops->fd(t->port.transport), .events = POLLIN},
        {.fd = t->orders.fd, .events = POLLIN},
    };
    uint64_t now = os_now_ns();
    uint64_t until = next_deadline(t, now);
    uint64_t wait = sub_u64(until, now);
    struct timespec timeout = time_to_timespec(wait);
    int n = ppoll(fds, 2, until == TIME_NEVER ? NULL : &timeout, NULL);
    t->idle &= n <= 0;
    return n > 0 && fds[1].revents;
}

static void publish_counts(ImdThread *t)
{
    const Transport *transport = t->port.transport;
    const union {
        ImdCounts counts;
        uint64_t words[IMD_COUNTS_WORDS];
    } now = {.counts = {.data = *imd_data_stats(t->serve.data),
                        .refused = *endpoint_counters(t->port.endpoint),
                        .sent = transport->sent,
                        .astray = transport->astray,
                        .frames_sent = transport->frames.sent,
                        .frames_received = transport->frames.received,
                        .frames_refused = transport->frames.refused,
                        .reads_waiting = t->serve.reads->count}};
    for (size_t i = 0; i < IMD_COUNTS_WORDS; i++)
        atomic_store_explicit(&t->counts[i], now.words[i], memory_order_relaxed);
}

void imd_thread_counts(const ImdThread *t, ImdCounts *ret)
{
    uint64_t words[IMD_COUNTS_WORDS];
    for (size_t i = 0; i < IMD_COUNTS_WORDS; i++)
        words[i] = atomic_load_explicit(&t->counts[i], memory_order_relaxed);
    memcpy(ret, words, sizeof *ret);
}

void imd_thread_served(const ImdThread *t, Served *sum)
{
    uint64_t sums[IMD_SERVED_WORDS];
    memcpy(sums, sum, sizeof sums);
    for (size_t i = 0; i < IMD_SERVED_WORDS; i++)
        sums[i] += atomic_load_explicit(&t->served[i], memory_order_relaxed);
    memcpy(sum, sums, sizeof *sum);
}

static void publish(ImdThread *t)
{
    const ImdDataStats *s = imd_data_stats(t->serve.data);
    uint64_t words[IMD_SERVED_WORDS];
    if (t->config.counts)
        publish_counts(t);
    const Served served = imd_data_served(s);
    memcpy(words, &served, sizeof words);
    for (size_t i = 0; i < IMD_SERVED_WORDS; i++)
        atomic_store_explicit(&t->served[i], words[i], memory_order_relaxed);
}

/* Nothing has its time, so that only a datagram or an order ends the wait; and it is not likely to
 * be a long one. */
static bool may_sleep(const ImdThread *t)
{
    const TransportOps *ops = t->port.transport->ops;
    return !t->idle && ops->receive_asleep && ops->nudge && next_deadline(t, 0) == TIME_NEVER;
}

static bool look(void *ctx)
{
    ImdThread *t = ctx;
    return port_look(&t->port) || mailbox_waiting(&t->orders);
}

/* With one system call less than waiting and then receiving, but not without end. The thread that
 * gives an order first posts it and then looks whether we are asleep: one of us sees the other. */
static void sleep_for_work(ImdThread *t)
{
    atomic_store(&t->asleep, true);
    if (!mailbox_waiting(&t->orders))
        t->idle = !port_sleep(&t->port);
    atomic_store(&t->asleep, false);
}

static void find_work(ImdThread *t)
{
    bool orders;
    uint64_t now = os_now_ns();
    if (serve_waits(&t->serve) && serve_ready(&t->serve, now) && ++t->turns % LOOK_FOR_ORDERS != 0)
        return;
    if (polling_for(&t->polling, next_deadline(t, now), look, t) == POLLING_FOUND) {
        orders = mailbox_waiting(&t->orders);
    } else if (may_sleep(t)) {
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
    uint64_t now = os_now_ns();
    unsigned came = t->port.batches.room.receives;
    /* The next turn does not sleep if something is left. */
    for (unsigned i = 0; i < LOOK_BATCHES && came == t->port.batches.room.receives; i++) {
        came = port_receive(&t->port, now);
        if (came > 0)
            polling_traffic(&t->polling, now);
    }
    serve_answer(&t->serve, now);
    port_flush(&t->port); /* refusals */
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
    const PortConfig port = {.endpoint = &config->endpoint, .env = env};
    const ImdDataSink sink = {
        .message = send_message, .burst = send_burst, .probe_ack = send_probe_ack, .ctx = t};
    memset(t, 0, sizeof *t);
    t->config = *config;
    polling_init(&t->polling, config->poll_ns);
    /* What the kernel grants counts its own overhead too: about half of it is data. */
    t->config.data.grant_bytes = (uint32_t)(MIN(transport->receive_bytes, UINT32_MAX) / 2);
    int res = mailbox_init(&t->orders);
    if (res < 0)
        return res;
    t->scratch = g_try_new(BurstScratch, 1);
    const ImdServeConfig serve = {.data = t->config.data,
                                  .leave_deadline_ns = config->leave_deadline_ns,
                                  .pace = config->pace};
    if (!t->scratch || serve_init(&t->serve, &serve, &env, &sink) < 0 ||
        port_open(&t->port, transport, &port, &port_ops, t) != 0) {
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
    serve_deinit(&t->serve);
    g_clear_pointer(&t->scratch, g_free);
    mailbox_deinit(&t->orders);
    t->config.done = NULL;
}
