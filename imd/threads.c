/* SPDX-License-Identifier: MIT */
#include "imd/threads.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "daemon/log.h"
#include "daemon/start.h"
#include "imd/member.h"
#include "imd/pool.h"

static const uint64_t PATIENCE_NS = 100 * NS_PER_MS; /* asleep; after that it waits without end */
static const uint64_t HELPER_WAIT_NS = 5 * NS_PER_S;

/* What a client sends without waiting for us takes no longer than this, of the cap. */
static uint32_t pace_bytes(uint64_t rate_bytes)
{
    return (uint32_t)MIN(rate_bytes / 64, UINT32_MAX);
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* A region's end is its own up to the next page. */
static uint64_t whole_pages(uint64_t len)
{
    return (len + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
}

/* Before anything is stored there. */
static void lay(const ImdThreads *t, const ImdRegion *r)
{
    pool_memory_lay(t->purger.pool, r->pool_offset, whole_pages(r->len));
}

void imd_threads_order(ImdThreads *t, const ImdCommand *command)
{
    ImdOrder *o = g_new0(ImdOrder, 1);
    o->command = *command;
    if (command->kind == IMD_ADD)
        lay(t, &command->region);
    if (command->kind == IMD_PURGE)
        purger_order(&t->purger, o);
    else
        imd_thread_order(&t->of[command->thread], o);
}

void imd_threads_give_all_back(ImdThreads *t)
{
    ImdOrder *o = g_new0(ImdOrder, 1);
    o->command.kind = IMD_LEAVE;
    o->unasked = true;
    purger_order(&t->purger, o);
}

/* The control thread will order the same when it hears of it. But that may take long, and the owner
 * waits. The range is not used again until that order is carried out. */
static void purge_at_once(void *ctx, const ImdCommand *command)
{
    ImdThreads *t = ctx;
    ImdOrder *o = g_new0(ImdOrder, 1);
    o->command.kind = IMD_PURGE;
    o->command.region.pool_offset = command->region.pool_offset;
    o->command.region.len = whole_pages(command->region.len);
    o->command.region.extents = command->kind == IMD_UNFILL ? command->region.extents : NULL;
    o->unasked = true;
    purger_order(&t->purger, o);
}

void imd_threads_hurry(const ImdThreads *t, bool on)
{
    for (unsigned i = 0; i < t->count; i++)
        imd_thread_hurry(&t->of[i], on);
}

static void set_pace(ImdThreads *t)
{
    const uint64_t least = t->rate_bytes < t->slow_bytes ? t->rate_bytes : t->slow_bytes;
    pace_set(&t->pace, least ? least : t->rate_bytes + t->slow_bytes, t->rate_packets);
}

void imd_threads_slow(ImdThreads *t, uint64_t rate_bytes)
{
    t->slow_bytes = rate_bytes;
    set_pace(t);
}

void imd_threads_cap(ImdThreads *t, uint64_t rate_bytes, uint64_t rate_packets)
{
    t->rate_bytes = rate_bytes;
    t->rate_packets = rate_packets;
    set_pace(t);
}

void imd_threads_reload(ImdThreads *t, const ClusterKeys *keys, uint64_t rate_bytes,
                        uint64_t rate_packets)
{
    for (unsigned i = 0; i < t->count; i++)
        imd_thread_reload(&t->of[i], keys, pace_bytes(rate_bytes));
    imd_threads_cap(t, rate_bytes, rate_packets);
}

/* ---- what they tell -------------------------------------------------------------------------- */

void imd_threads_served(const ImdThreads *t, Served *ret)
{
    *ret = (Served){.reads = 0};
    for (unsigned i = 0; i < t->count; i++)
        imd_thread_served(&t->of[i], ret);
}

void imd_threads_counts(const ImdThreads *t, ImdMetrics *sum)
{
    for (unsigned i = 0; i < t->count; i++) {
        ImdCounts counts;
        imd_thread_counts(&t->of[i], &counts);
        imd_metrics_add(sum, &counts);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

int imd_threads_init(ImdThreads *t, const ImdOptions *o, char error[CONFIG_ERROR_MAX])
{
    *t = (ImdThreads){.count = 0};
    const int res = mailbox_init(&t->done);
    if (res < 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot make an eventfd: %s", strerror(-res));
        return res;
    }
    t->rate_bytes = o->rate_bytes;
    t->rate_packets = o->rate_packets;
    pace_init(&t->pace, o->rate_bytes, o->rate_packets);
    t->of = g_new0(ImdThread, o->threads);
    return 0;
}

/* Without raw frames all goes by UDP: that is said once, for all threads. */
static void tell_raw(const ImdThreads *t, const ImdOptions *o, int raw)
{
    if (raw < 0 && t->count == 0)
        log_event(LOG_LEVEL_WARN, "no_raw_frames", "interface=%s error=\"%s\" fix=\"%s\"",
                  o->interface, strerror(-raw), transport_raw_advice(raw));
}

/* The socket of a data thread. */
static int open_socket(const ImdThreads *t, const ImdOptions *o, const Addr *at, Transport **ret,
                       char *error)
{
    const TransportOptions options = {
        .patience_ns = PATIENCE_NS, .receive_bytes = o->receive_bytes, .send_bytes = o->send_bytes};
    const TransportRaw raw = {.interface = o->interface, .wait_ns = HELPER_WAIT_NS};
    int why = 0;
    if (!imd_options_raw(o))
        return start_listen(at, &options, ret, error);
    int res = start_listen_raw(at, &options, &raw, ret, &why, error);
    tell_raw(t, o, why);
    return res;
}

/* No option has named this port. */
static int port_in_use(const Addr *at, char *error)
{
    char text[ADDR_TEXT_MAX];
    (void)snprintf(
        error, CONFIG_ERROR_MAX,
        "cannot listen on %s: the port is in use, by another imd perhaps; choose another "
        "[imd] data_port, or 0 for any",
        addr_format(at, text, sizeof text));
    return -EADDRINUSE;
}

static int open_thread(ImdThreads *t, const ImdThreadsConfig *c, char *error)
{
    const ImdOptions *o = c->options;
    const unsigned i = t->count;
    ImdThreadConfig config = {
        .nice = (int)o->nice,
        .poll_ns = o->poll_ns,
        .endpoint = *c->identity,
        .data = {.epoch = c->epoch,
                 .pool = c->pool->base,
                 .pool_bytes = c->pool->bytes,
                 .pace_bytes = pace_bytes(o->rate_bytes),
                 .writes_max = (unsigned)o->writes_max,
                 .write_age_ns = o->write_age_ns,
                 .fills_max = (unsigned)o->fills_max},
        .leave_deadline_ns = member_threads_deadline(o->leave_deadline_ns),
        .done = &t->done,
        .counts = o->metrics.listen.kind != ADDR_NONE,
        .pace = &t->pace,
        .dropped = c->owned ? purge_at_once : NULL,
        .ctx = t,
    };
    Addr at = c->listen;
    Transport *socket;
    config.endpoint.sessions_max = (unsigned)o->sessions_max;
    at.port = o->data_port ? (uint16_t)(o->data_port + i) : 0;
    int res = open_socket(t, o, &at, &socket, error);
    if (res < 0)
        return res == -EADDRINUSE ? port_in_use(&at, error) : res;
    res = imd_thread_init(&t->of[i], &config, socket);
    if (res < 0) {
        socket = transport_close(socket);
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for data thread %u", i);
    }
    explicit_bzero(&config, sizeof config);
    return res;
}

int imd_threads_open(ImdThreads *t, const ImdThreadsConfig *config, char error[CONFIG_ERROR_MAX])
{
    for (; t->count < config->options->threads; t->count++) {
        const int res = open_thread(t, config, error);
        if (res < 0)
            return res;
    }
    return 0;
}

int imd_threads_start(ImdThreads *t, const PoolMemory *pool, char error[CONFIG_ERROR_MAX])
{
    int res = purger_start(&t->purger, pool, &t->done);
    if (res < 0)
        start_explain(res, "the purger", error);
    for (unsigned i = 0; res == 0 && i < t->count; i++) {
        res = imd_thread_start(&t->of[i]);
        if (res < 0)
            start_explain(res, "its data threads", error);
    }
    return res;
}

void imd_threads_stop(ImdThreads *t)
{
    for (unsigned i = 0; i < t->count; i++)
        imd_thread_deinit(&t->of[i]);
    purger_stop(&t->purger);
}

void imd_threads_deinit(ImdThreads *t)
{
    mailbox_drop(&t->done, g_free);
    g_free(t->of);
}
