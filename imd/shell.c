/* SPDX-License-Identifier: MIT */
#include "imd/shell.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/polling.h"
#include "base/parse.h"
#include "proto/conf/defaults.h"
#include "daemon/loop.h"
#include "daemon/member_place.h"
#include "daemon/port_log.h"
#include "daemon/sandbox.h"
#include "daemon/start.h"
#include "imd/memory.h"
#include "imd/member.h"
#include "imd/metrics.h"
#include "imd/owner_socket.h"
#include "imd/priority.h"
#include "imd/reloader.h"
#include "imd/threads.h"

enum {
    CONTROL_SESSIONS_MAX = 64, /* on the control socket: cmd, and who pings */
    CONTROL_RECEIVE_BYTES = 1 << 20,
};

struct Imd {
    const ImdOptions *options; /* borrowed */
    uint64_t epoch;
    PoolMemory pool;
    Loop *loop;
    Port port; /* to cmd */
    ImdMember member;
    int owner; /* the socket to rmd; -1: there is none */
    ImdThreads threads;
    Reloader reloader;
    AddressWatch address; /* where it serves */
    Resolver resolver;
    char manager[PLACES_TEXT_MAX]; /* where it is looked for */
    MetricsHttp *metrics;          /* NULL: none */
    bool from_owner; /* who asked it last: what rmd has said counts more than the files */
};

/* ---- what it decides takes effect ------------------------------------------------------------ */

static void send_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    Imd *imd = ctx;
    port_message(&imd->port, s, type, payload, len);
}

static void give_order(void *ctx, const ImdCommand *command)
{
    Imd *imd = ctx;
    imd_threads_order(&imd->threads, command);
}

static void give_all_back(void *ctx)
{
    Imd *imd = ctx;
    imd_threads_give_all_back(&imd->threads);
}

static void hurry_all(void *ctx, bool on, uint64_t now_ns)
{
    Imd *imd = ctx;
    priority_group(on, now_ns);
    if (on)
        hurry(); /* this thread has little to do: it stays so */
    imd_threads_hurry(&imd->threads, on);
}

static bool say_used(void *ctx, uint64_t used_bytes, uint64_t limit_bytes)
{
    Imd *imd = ctx;
    return owner_socket_used(imd->owner, used_bytes, limit_bytes);
}

static void log_news(void *ctx, enum MemberNews news)
{
    static const struct {
        enum LogLevel level;
        const char *event, *fix;
    } lines[MEMBER_NEWS_MAX] = {
        [MEMBER_JOINED] = {LOG_LEVEL_INFO, "joined", ""},
        [MEMBER_DISMISSED] = {LOG_LEVEL_INFO, "manager_lost", ""},
        [MEMBER_LOST] = {LOG_LEVEL_WARN, "manager_lost", " fix=\"see whether cmd runs there\""},
        [MEMBER_UNHEARD] = {LOG_LEVEL_WARN, "manager_silent",
                            " fix=\"is cmd running there, with the same key and cluster name?\""},
        [MEMBER_NO_MANAGER] = {LOG_LEVEL_ERROR, "not_a_manager",
                               " fix=\"give --manager the address of cmd\""},
        [MEMBER_NONE_ACTIVE] = {LOG_LEVEL_WARN, "no_active_manager",
                                " fix=\"see there why no lease is held\""},
        [MEMBER_OWNER_GONE] = {LOG_LEVEL_WARN, "owner_gone",
                               "fix=\"rmd has ended, and starts imd again\""},
        [MEMBER_OWNER_SILENT] = {LOG_LEVEL_WARN, "owner_silent",
                                 "fix=\"rmd hangs: see what it waits for\""},
    };
    Imd *imd = ctx;
    char text[ADDR_TEXT_MAX];
    if (news < MEMBER_LEAVES)
        log_event(lines[news].level, lines[news].event, "manager=%s%s",
                  start_manager_text(&imd->options->common, &imd->member.manager.peer, text),
                  lines[news].fix);
    else if (news > MEMBER_LEAVES)
        log_event(lines[news].level, lines[news].event, "%s", lines[news].fix);
    if (news >= MEMBER_LEAVES) {
        log_event(LOG_LEVEL_INFO, "leaving", "regions=%zu",
                  imd_control_regions(imd->member.control));
        start_stopping();
    }
}

/* ---- what comes in --------------------------------------------------------------------------- */

static void add_served(Imd *imd)
{
    Served sum;
    imd_threads_served(&imd->threads, &sum);
    member_served(&imd->member, &sum);
}

/* After anything that happened: what is to be sent goes out, and the end is reached if it is. */
static void settle(Imd *imd, uint64_t now_ns)
{
    port_expire(&imd->port, now_ns);
    resolver_step(&imd->resolver, &imd->member.manager.finder);
    if (member_finished(&imd->member, now_ns))
        loop_stop(imd->loop);
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Imd *imd = ctx;
    if (type == WIRE_PING) {
        port_pong(&imd->port, s, payload, len, imd->epoch);
    } else {
        add_served(imd);
        member_message(&imd->member, s, type, payload, len, now_ns);
    }
}

static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    Imd *imd = ctx;
    add_served(imd);
    member_up(&imd->member, s, now_ns);
}

static void on_closed(void *ctx, Session *s)
{
    Imd *imd = ctx;
    member_closed(&imd->member, s);
}

static const PortOps port_ops = {
    .message = on_message, .up = on_up, .closed = on_closed, .event = port_log};

static void on_socket(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    (void)port_receive(&imd->port, now);
    settle(imd, now);
}

static void on_done(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    for (Letter *l = mailbox_take(&imd->threads.done), *next; l; l = next) {
        ImdOrder *o = (ImdOrder *)l;
        next = l->next;
        member_done(&imd->member, &o->command, o->result, now);
        g_free(o);
    }
    settle(imd, now);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static uint64_t on_deadline(void *ctx)
{
    Imd *imd = ctx;
    uint64_t t = min_u64(port_deadline(&imd->port), member_deadline(&imd->member));
    return min_u64(t, priority_due_ns());
}

static void on_signal(void *ctx, unsigned nth)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    if (nth > 1) {
        log_event(LOG_LEVEL_WARN, "forced_end", "signals=%u", nth);
        _exit(EXIT_FAILURE);
    }
    member_leave(&imd->member, now);
    settle(imd, now);
}

/* ---- what is read again ---------------------------------------------------------------------- */

static void not_reloaded(const char *error)
{
    log_event(LOG_LEVEL_ERROR, "not_reloaded", "error=\"%s\"", error);
}

static void ask_reloader(Imd *imd, bool from_owner)
{
    imd->from_owner = from_owner;
    int res = reloader_ask(&imd->reloader);
    if (res < 0)
        not_reloaded(res == -EAGAIN ? "it is being read already"
                                    : "the process that reads the key has ended: start imd again");
}

static void on_reload(void *ctx)
{
    ask_reloader(ctx, false);
}

static void move_manager(Imd *imd, const char *manager)
{
    Places places;
    if (strcmp(manager, imd->manager) == 0 || !resolver_follow(&imd->resolver, manager, &places))
        return;
    (void)snprintf(imd->manager, sizeof imd->manager, "%s", manager);
    member_move(&imd->member, &places);
    member_expire(&imd->member, os_now_ns());
}

static void take_settings(Imd *imd, const ImdSettings *s)
{
    char error[CONFIG_ERROR_MAX] = "", text[256];
    if (start_set_keys(imd->port.endpoint, &s->keys, os_now_ns(), error) < 0) {
        not_reloaded(error);
        return;
    }
    imd_threads_reload(&imd->threads, &s->keys, s->rate_bytes, s->rate_packets);
    move_manager(imd, s->manager);
    log_set_level(s->log_level);
    (void)snprintf(text, sizeof text,
                   "keys=%u log_level=%s rate_bytes=%" PRIu64 " rate_packets=%" PRIu64,
                   s->keys.count, log_level_text(s->log_level), s->rate_bytes, s->rate_packets);
    start_log_reload(&s->changes, text);
}

static void on_reloader(void *ctx)
{
    Imd *imd = ctx;
    char error[CONFIG_ERROR_MAX] = "";
    ImdSettings s;
    int res = reloader_take(&imd->reloader, &s, error);
    if (res == 0 && imd->from_owner) {
        const OwnerReload *told = &imd->member.owner.reload;
        s.log_level = told->log_level;
        s.rate_bytes = told->rate_bytes;
        s.rate_packets = told->rate_packets;
        if (*told->manager)
            (void)snprintf(s.manager, sizeof s.manager, "%s", told->manager);
    }
    if (res == 0)
        take_settings(imd, &s);
    else if (res != -EAGAIN)
        not_reloaded(error);
    if (res == -EPIPE) {
        loop_unwatch(imd->loop, imd->reloader.fd);
        reloader_close(&imd->reloader);
    }
    explicit_bzero(&s, sizeof s);
    settle(imd, os_now_ns());
}

static void on_resolver(void *ctx)
{
    Imd *imd = ctx;
    Resolved r;
    uint64_t now = os_now_ns();
    int res = resolver_take(&imd->resolver, &r);
    if (res == 0) {
        member_found(&imd->member, r.found, r.count);
        member_expire(&imd->member, now);
    } else if (res != -EAGAIN) {
        loop_unwatch(imd->loop, imd->resolver.fd);
        resolver_close(&imd->resolver);
    }
    settle(imd, now);
}

/* The unit starts it again. */
static void on_address(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    member_leave(&imd->member, now);
    settle(imd, now);
}

static void close_owner(Imd *imd)
{
    if (imd->owner >= 0)
        (void)close(imd->owner);
    imd->owner = -1;
}

/* ---- rmd ------------------------------------------------------------------------------------- */

static void take_word(Imd *imd, const char *text, size_t len, uint64_t now_ns)
{
    enum OwnerEvent event = member_heard(&imd->member, text, len, now_ns);
    if (event == OWNER_LIMIT && !imd->member.hurrying)
        priority_group(false, now_ns); /* rmd may have thought otherwise */
    if (event == OWNER_RELOAD)
        ask_reloader(imd, true);
    if (event == OWNER_UNKNOWN)
        log_event(LOG_LEVEL_WARN, "owner_not_understood", "bytes=%zu", len);
}

static void hear_owner(Imd *imd, uint64_t now_ns)
{
    char text[OWNER_TEXT_MAX + 1];
    ssize_t len = -EAGAIN;
    while (imd->owner >= 0 && (len = owner_socket_receive(imd->owner, text)) > 0)
        take_word(imd, text, (size_t)len, now_ns);
    if (len == 0) {
        loop_unwatch(imd->loop, imd->owner);
        close_owner(imd);
        member_owner_gone(&imd->member, now_ns);
    }
}

static void on_owner(void *ctx)
{
    Imd *imd = ctx;
    uint64_t now = os_now_ns();
    hear_owner(imd, now);
    settle(imd, now);
}

static void on_expire(void *ctx, uint64_t now_ns)
{
    Imd *imd = ctx;
    hear_owner(imd, now_ns); /* it may have spoken while we did not run ourselves */
    priority_expire(now_ns);
    add_served(imd);
    member_expire(&imd->member, now_ns);
    settle(imd, now_ns);
}

static const LoopOps loop_ops = {
    .deadline = on_deadline, .expire = on_expire, .signal = on_signal, .reload = on_reload};

static size_t on_scrape(void *ctx, const CommonMetrics *own, char *buf, size_t cap)
{
    const Imd *imd = ctx;
    const Transport *control = imd->port.transport;
    ImdMetrics m = {.common = *own, .pool_bytes = imd->pool.bytes, .locked = imd->pool.locked};
    metrics_add_socket(&m.common, endpoint_counters(imd->port.endpoint), control->sent,
                       control->astray);
    imd_threads_counts(&imd->threads, &m);
    imd_metrics_read(&m, imd->member.control);
    return metrics_write(&imd_metrics, &m, buf, cap);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int open_control(Imd *imd, const EndpointConfig *identity, char *error)
{
    const TransportOptions transport = {.receive_bytes = CONTROL_RECEIVE_BYTES};
    EndpointConfig config = *identity;
    config.sessions_max = CONTROL_SESSIONS_MAX;
    config.half_open_max = CONTROL_SESSIONS_MAX;
    return start_port(&imd->port, &imd->address.at, &transport, &config, &port_ops, imd, error);
}

static int open_core(Imd *imd, char *error)
{
    const ImdOptions *o = imd->options;
    const ImdMemberSink sink = {.message = send_message,
                                .command = give_order,
                                .give_all_back = give_all_back,
                                .hurry = hurry_all,
                                .used = say_used,
                                .news = log_news,
                                .ctx = imd};
    const Env env = os_env();
    ImdMemberConfig config = {.control = {.epoch = imd->epoch,
                                          .pool_bytes = imd->pool.bytes,
                                          .threads = imd->threads.count,
                                          .regions_max = (unsigned)o->regions_max,
                                          .extent_bytes = MEMORY_HUGE_PAGE,
                                          .beat_ns = o->beat_ns,
                                          .manager_dead_ns = o->manager_dead_ns,
                                          .retained_age_max_ns = o->retained_age_ns,
                                          .give_back = imd->owner >= 0},
                              .owned = imd->owner >= 0,
                              .owner_silence_ns = o->owner_silence_ns,
                              .leave_deadline_ns = o->leave_deadline_ns};
    for (unsigned i = 0; i < imd->threads.count; i++)
        config.control.ports[i] = imd->threads.of[i].port.transport->local.port;
    int res = member_init(&imd->member, &config, &env, imd->port.endpoint, &sink, os_now_ns());
    if (res == 0)
        member_move(&imd->member, &imd->resolver.places);
    imd->loop = loop_new(&loop_ops, imd);
    if (res < 0 || !imd->loop ||
        loop_watch(imd->loop, imd->port.transport->ops->fd(imd->port.transport), on_socket, imd) ||
        loop_watch(imd->loop, imd->threads.done.fd, on_done, imd) ||
        loop_watch(imd->loop, imd->reloader.fd, on_reloader, imd) ||
        address_watch_follow(&imd->address, imd->loop, on_address, imd) ||
        (imd->resolver.fd >= 0 && loop_watch(imd->loop, imd->resolver.fd, on_resolver, imd)) ||
        (imd->owner >= 0 && loop_watch(imd->loop, imd->owner, on_owner, imd))) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the control thread");
        return -ENOMEM;
    }
    const MetricsContent content = {.metrics = on_scrape, .ctx = imd};
    return metrics_http_open(imd->loop, &o->metrics, &content, &imd->metrics, error);
}

static int open_all(Imd *imd, char *error)
{
    const ImdOptions *o = imd->options;
    EndpointConfig identity;
    int res = start_member_identity(&o->common, &imd->address.at, &imd->resolver.places, &identity,
                                    error);
    if (res == 0 && o->owner_fd != UINT64_MAX)
        res = owner_socket_take((int)o->owner_fd, error, CONFIG_ERROR_MAX);
    if (res < 0)
        return res;
    imd->owner = o->owner_fd != UINT64_MAX ? (int)o->owner_fd : -1;
    identity.role = ROLE_IMD;
    identity.epoch = imd->epoch;
    os_random(NULL, &identity.self, sizeof identity.self);
    res = open_control(imd, &identity, error);
    if (res == 0)
        res = pool_memory_map(&imd->pool, o->pool_bytes, o->populate, error, CONFIG_ERROR_MAX);
    polling_setup((unsigned)o->poll_share);
    if (res == 0) {
        const ImdThreadsConfig threads = {.options = o,
                                          .identity = &identity,
                                          .pool = &imd->pool,
                                          .epoch = imd->epoch,
                                          .listen = imd->address.at,
                                          .owned = imd->owner >= 0};
        res = imd_threads_open(&imd->threads, &threads, error);
    }
    explicit_bzero(&identity, sizeof identity);
    return res < 0 ? res : open_core(imd, error);
}

/* All is open, and no thread runs yet. */
static void confine(const Imd *imd)
{
    char missing[SANDBOX_TEXT_MAX];
    start_keep_notifier();
    sandbox_enter(SANDBOX_SERVE | (imd->metrics ? SANDBOX_ACCEPT : 0), NULL, missing,
                  sizeof missing);
    if (*missing)
        log_event(LOG_LEVEL_INFO, "not_all_confined", "missing=\"%s\"", missing);
}

Imd *imd_new(ImdOptions *options, char error[CONFIG_ERROR_MAX])
{
    Imd *imd = g_new0(Imd, 1);
    imd->options = options;
    (void)snprintf(imd->manager, sizeof imd->manager, "%s", options->common.manager);
    imd->owner = imd->reloader.fd = imd->resolver.fd = imd->address.fd = -1;
    do
        os_random(NULL, &imd->epoch, sizeof imd->epoch);
    while (imd->epoch == 0);
    if (imd_threads_init(&imd->threads, options, error) < 0) {
        g_free(imd);
        return NULL;
    }
    Places manager;
    if (member_place_start(&options->common, &options->listen, &imd->address, &imd->resolver,
                           &manager, error) < 0 ||
        reloader_start(&imd->reloader, options, &imd->resolver, error) < 0 ||
        open_all(imd, error) < 0)
        return imd_free(imd);
    confine(imd);
    if (imd_threads_start(&imd->threads, &imd->pool, error) < 0)
        return imd_free(imd);
    return imd;
}

Imd *imd_free(Imd *imd)
{
    if (!imd)
        return NULL;
    imd_threads_stop(&imd->threads);
    imd->metrics = metrics_http_free(imd->metrics);
    imd->loop = loop_free(imd->loop);
    member_deinit(&imd->member);
    port_close(&imd->port);
    imd_threads_deinit(&imd->threads);
    close_owner(imd);
    reloader_close(&imd->reloader);
    resolver_close(&imd->resolver);
    address_watch_close(&imd->address);
    pool_memory_unmap(&imd->pool);
    g_free(imd);
    return NULL;
}

static void say_ready(const Imd *imd)
{
    char listen[ADDR_TEXT_MAX], size[32];
    g_autoptr(GString) ports = g_string_new(NULL);
    for (unsigned i = 0; i < imd->threads.count; i++)
        g_string_append_printf(ports, "%s%u", i ? "," : "",
                               imd->threads.of[i].port.transport->local.port);
    if (!imd->pool.locked)
        log_event(LOG_LEVEL_WARN, "pool_not_locked",
                  "fix=\"raise ulimit -l (LimitMEMLOCK=) above the pool, or guests' pages may be "
                  "swapped out\"");
    start_ready("imd ready: listen=%s data_ports=%s pool=%s threads=%u manager=%s sealed=%s "
                "locked=%s epoch=%016" PRIx64,
                addr_format(&imd->port.transport->local, listen, sizeof listen), ports->str,
                start_size(imd->pool.bytes, size, sizeof size), imd->threads.count,
                imd->options->common.manager, endpoint_is_sealed(imd->port.endpoint) ? "yes" : "no",
                imd->pool.locked ? "yes" : "no", imd->epoch);
}

int imd_run(Imd *imd)
{
    uint64_t now = os_now_ns();
    say_ready(imd);
    if (imd->owner >= 0)
        owner_socket_ready(imd->owner, imd->epoch, imd->pool.bytes);
    member_expire(&imd->member, now);
    settle(imd, now);
    int res = loop_run(imd->loop);
    log_event(LOG_LEVEL_INFO, "end", "writes_finished=%s",
              imd->member.threads_left == imd->threads.count ? "yes" : "no");
    return res < 0 || imd->address.moved ? EXIT_FAILURE : EXIT_SUCCESS;
}
