/* SPDX-License-Identifier: MIT */
/* rmd on the network: its port to cmd, and to tools that ask. */
#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "daemon/port_log.h"
#include "daemon/start.h"
#include "rmd/shell_private.h"

enum {
    SESSIONS_MAX = 64, /* cmd, and tools that ask */
    RECEIVE_BYTES = 256 << 10,
};

/* ---- what is said, and what comes ------------------------------------------------------------ */

static void on_output(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    Rmd *rmd = ctx;
    port_message(&rmd->port, s, type, payload, len);
}

static void on_link_news(void *ctx, enum LinkNews news)
{
    static const struct {
        enum LogLevel level;
        const char *event, *fix;
    } lines[LINK_NEWS_MAX] = {
        [LINK_ANSWERS] = {LOG_LEVEL_INFO, "manager_answers", ""},
        [LINK_REFUSES] = {LOG_LEVEL_WARN, "manager_refuses", ""},
        [LINK_LOST] = {LOG_LEVEL_WARN, "manager_lost", " fix=\"see whether cmd runs there\""},
        [LINK_UNHEARD] = {LOG_LEVEL_WARN, "manager_silent",
                          " fix=\"is cmd running there, with the same key and cluster name?\""},
        [LINK_NO_MANAGER] = {LOG_LEVEL_ERROR, "not_a_manager",
                             " fix=\"give --manager the address of cmd\""},
        [LINK_NONE_ACTIVE] = {LOG_LEVEL_WARN, "no_active_manager",
                              " fix=\"see there why no lease is held\""},
    };
    const Rmd *rmd = ctx;
    char text[ADDR_TEXT_MAX];
    log_event(lines[news].level, lines[news].event, "manager=%s%s",
              start_manager_text(&rmd->options->common, &rmd->link.contact.peer, text),
              lines[news].fix);
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Rmd *rmd = ctx;
    if (type == WIRE_PING)
        port_pong(&rmd->port, s, payload, len, 0);
    else if (type == WIRE_REQUEST)
        explainer_request(&rmd->explainer, &rmd->port, s, payload, len);
    else
        manager_link_message(&rmd->link, s, type, payload, len, now_ns);
}

static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    Rmd *rmd = ctx;
    manager_link_up(&rmd->link, s, now_ns);
}

static void on_closed(void *ctx, Session *s)
{
    Rmd *rmd = ctx;
    manager_link_closed(&rmd->link, s);
}

static const PortOps port_ops = {
    .message = on_message, .up = on_up, .closed = on_closed, .event = port_log};

static void on_socket(void *ctx)
{
    Rmd *rmd = ctx;
    uint64_t now = os_now_ns();
    (void)port_receive(&rmd->port, now);
    rmd_settle(rmd, now);
}

static void on_resolver(void *ctx)
{
    Rmd *rmd = ctx;
    Resolved r;
    int res = resolver_take(&rmd->resolver, &r);
    if (res == 0) {
        manager_link_found(&rmd->link, r.found, r.count);
    } else if (res != -EAGAIN) {
        loop_unwatch(rmd->loop, rmd->resolver.fd);
        resolver_close(&rmd->resolver);
    }
    rmd_settle(rmd, os_now_ns());
}

/* ---- its start ------------------------------------------------------------------------------- */

int rmd_network_open(Rmd *rmd, char *error)
{
    RmdOptions *o = rmd->options;
    const Addr nowhere = {.kind = ADDR_NONE};
    const TransportOptions transport = {.receive_bytes = RECEIVE_BYTES};
    const ManagerLinkSink link_sink = {.message = on_output, .news = on_link_news, .ctx = rmd};
    EndpointConfig config;
    Places places;
    int res =
        member_place_start(&o->common, &o->listen, &rmd->address, &rmd->resolver, &places, error);
    o->at = rmd->address.at;
    if (res == 0)
        res = start_member_identity(&o->common, &o->at, &places, &config, error);
    if (res < 0)
        return res;
    config.role = ROLE_RMD;
    config.sessions_max = config.half_open_max = SESSIONS_MAX;
    os_random(NULL, &config.self, sizeof config.self);
    res = start_port(&rmd->port, &o->at, &transport, &config, &port_ops, rmd, error);
    explicit_bzero(&config, sizeof config);
    rmd->has_port = res == 0;
    if (res == 0) {
        manager_link_init(&rmd->link, rmd->port.endpoint, &link_sink, &nowhere, o->beat_ns,
                          os_now_ns());
        manager_link_move(&rmd->link, &places);
    }
    return res;
}

int rmd_network_watch(Rmd *rmd)
{
    Transport *t = rmd->port.transport;
    if (address_watch_follow(&rmd->address, rmd->loop, rmd_leave, rmd) < 0 ||
        (rmd->resolver.fd >= 0 && loop_watch(rmd->loop, rmd->resolver.fd, on_resolver, rmd) < 0))
        return -ENOMEM;
    return rmd->has_port ? loop_watch(rmd->loop, t->ops->fd(t), on_socket, rmd) : 0;
}
