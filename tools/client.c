/* SPDX-License-Identifier: MIT */
#include "tools/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "base/parse.h"
#include "proto/conf/defaults.h"
#include "daemon/port_log.h"
#include "daemon/start.h"

static const uint64_t PING_AGAIN_NS = 200 * NS_PER_MS;
/* Of several addresses, one that is there answers so soon, mostly. */
static const uint64_t SOON_NS = 500 * NS_PER_MS;

static const ConfigKey keys[] = {
    {NULL, "timeout", "How long to wait for an answer; 5s if not given", "TIME",
     offsetof(ToolOptions, timeout_ns), CONFIG_TIME, NS_PER_MS, 3600 * NS_PER_S},
};
const ConfigTable tool_timeout = CONFIG_TABLE(keys);

void tool_options_init(ToolOptions *o)
{
    *o = (ToolOptions){.timeout_ns = DEFAULT_TOOL_TIMEOUT_NS, .count = 3};
    config_common_init(&o->common);
    o->common.log_level = LOG_LEVEL_WARN;
}

/* ---- what comes in --------------------------------------------------------------------------- */

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    ToolClient *c = ctx;
    WireReply reply;
    WirePing pong;
    if (s != c->session)
        return;
    if (type == WIRE_REPLY && wire_reply_decode(payload, len, &reply) == 0) {
        (void)request_input(&c->request, &reply, now_ns); /* false: a late one */
    } else if (type == WIRE_PONG && wire_ping_decode(payload, len, &pong) == 0) {
        c->pong = pong.nonce;
        c->pong_epoch = pong.epoch;
    }
}

static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    ToolClient *c = ctx;
    if (s == c->session)
        c->up_ns = now_ns;
}

static void on_closed(void *ctx, Session *s)
{
    ToolClient *c = ctx;
    if (s == c->session)
        c->session = NULL;
}

static const PortOps port_ops = {
    .message = on_message, .up = on_up, .closed = on_closed, .event = port_log};

/* Waits until @until_ns for datagrams and takes them in. */
static void wait_and_receive(ToolClient *c, uint64_t until_ns)
{
    Transport *t = c->port.transport;
    struct pollfd fds[] = {{.fd = t->ops->fd(t), .events = POLLIN},
                           {.fd = c->watch ? c->watch->fd : -1, .events = POLLIN}};
    uint64_t now = os_now_ns();
    port_expire(&c->port, now);
    uint64_t until = min_u64(until_ns, port_deadline(&c->port));
    uint64_t wait_ns = until > now ? until - now : 0;
    const struct timespec wait = time_to_timespec(wait_ns);
    if (ppoll(fds, ARRAY_SIZE(fds), &wait, NULL) <= 0)
        return;
    if (fds[0].revents)
        (void)port_receive(&c->port, os_now_ns());
    if (fds[1].revents)
        c->ended = c->watch->ends(c->watch->ctx);
}

#define IS_IT_RUNNING "is the daemon running there, with the same key and cluster name?"

static int no_answer(const ToolClient *c, char *error)
{
    char text[ADDR_TEXT_MAX], time[32];
    if (c->ended) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "ended before there was an answer");
        return -ECANCELED;
    }
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s does not answer within %s: " IS_IT_RUNNING,
                   addr_format(&c->peer, text, sizeof text),
                   format_time(c->timeout_ns, time, sizeof time));
    return -ETIMEDOUT;
}

static void say_none_answers(const Resolved *peers, uint64_t timeout_ns, char *error)
{
    char text[ADDR_TEXT_MAX], time[32];
    size_t len = 0;
    for (unsigned i = 0; i < peers->count && len < CONFIG_ERROR_MAX; i++)
        len += (size_t)snprintf(error + len, CONFIG_ERROR_MAX - len, "%s%s", i ? ", " : "none of ",
                                addr_format(&peers->found[i], text, sizeof text));
    if (len < CONFIG_ERROR_MAX)
        (void)snprintf(error + len, CONFIG_ERROR_MAX - len, " answers within %s: " IS_IT_RUNNING,
                       format_time(timeout_ns, time, sizeof time));
}

/* ---- life ------------------------------------------------------------------------------------ */

int tool_port_open(Port *p, const ToolOptions *o, const Addr *peer, unsigned sessions,
                   const PortOps *ops, void *ctx, char error[CONFIG_ERROR_MAX])
{
    const Addr *const addresses[] = {peer};
    const Addr any = {.kind = peer->kind};
    const Addr *local = o->local.kind == ADDR_NONE ? &any : &o->local;
    EndpointConfig config;
    const PortConfig port = {.endpoint = &config, .env = os_env()};
    Transport *t;
    int res = start_identity(&o->common, addresses, 1, &config, error);
    if (res < 0)
        return res;
    if (o->keys) {
        config.keys_count = o->keys->count;
        memcpy(config.keys, o->keys->keys, sizeof config.keys);
    }
    config.role = ROLE_TOOL;
    config.sessions_max = sessions;
    config.half_open_max = 0;
    os_random(NULL, &config.self, sizeof config.self);
    res =
        transport_udp_open(local, NULL, &t); /* who only asks may leave the address to the route */
    if (res == 0) {
        res = port_open(p, t, &port, ops, ctx);
        if (res < 0)
            t = transport_close(t);
    }
    explicit_bzero(&config, sizeof config);
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot make a socket: %s", strerror(-res));
    return res;
}

int tool_client_open(ToolClient *c, const ToolOptions *o, const Addr *peer, ToolWatch *watch,
                     char error[CONFIG_ERROR_MAX])
{
    *c = (ToolClient){.peer = *peer, .timeout_ns = o->timeout_ns, .watch = watch};
    int res = tool_port_open(&c->port, o, peer, 1, &port_ops, c, error);
    if (res < 0)
        return res;
    numbers_init(&c->ids, 1);
    uint64_t now = os_now_ns(), give_up = time_add(now, c->timeout_ns);
    c->session = endpoint_connect(c->port.endpoint, peer, now);
    while (c->session && !c->up_ns && !c->ended && os_now_ns() < give_up)
        wait_and_receive(c, give_up);
    if (c->up_ns)
        return 0;
    res = no_answer(c, error);
    tool_client_close(c);
    return res;
}

static int find(const char *text, uint16_t default_port, uint8_t kind, Resolved *ret, char *error)
{
    Places places;
    if (places_parse(text, default_port, &places) != 0)
        return -EINVAL;
    resolve_places(&places, kind, false, ret);
    if (ret->count > 0)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s", ret->error);
    return -ENOENT;
}

/* As programs do. */
int tool_find(const char *text, uint16_t default_port, Resolved *ret, char error[CONFIG_ERROR_MAX])
{
    return find(text, default_port, ADDR_NONE, ret, error);
}

int tool_find_host(const char *text, uint16_t default_port, Resolved *ret,
                   char error[CONFIG_ERROR_MAX])
{
    return find(text, default_port, RESOLVE_ALL, ret, error);
}

bool tool_client_stands_by(const ToolClient *c)
{
    return c->session->peer_role == ROLE_CMD && c->session->peer_epoch == MANAGER_STANDBY;
}

/* The first that answers within @each_ns, and does not stand by; *ret_standby: the last that does.
 */
static int open_first(ToolClient *c, const ToolOptions *o, const Resolved *peers, uint64_t each_ns,
                      ToolWatch *watch, const Addr **ret_standby, char *error)
{
    ToolOptions part = *o;
    int res = -ETIMEDOUT;
    part.timeout_ns = each_ns;
    for (unsigned i = 0; i < peers->count && res == -ETIMEDOUT; i++) {
        res = tool_client_open(c, &part, &peers->found[i], watch, error);
        if (res == -EAFNOSUPPORT && peers->count > 1) /* another may be of a family that is here */
            res = -ETIMEDOUT;
        if (res < 0 || peers->count == 1 || !tool_client_stands_by(c))
            continue;
        *ret_standby = &peers->found[i];
        tool_client_close(c);
        res = -ETIMEDOUT;
    }
    return res;
}

int tool_client_open_any(ToolClient *c, const ToolOptions *o, const Resolved *peers,
                         ToolWatch *watch, char error[CONFIG_ERROR_MAX])
{
    const Addr *standby = NULL;
    const uint64_t share_ns = o->timeout_ns / peers->count;
    int res = -ETIMEDOUT;
    if (peers->count > 1) /* one that is down must not hold up the others */
        res = open_first(c, o, peers, min_u64(share_ns, SOON_NS), watch, &standby, error);
    if (res == -ETIMEDOUT && !standby)
        res = open_first(c, o, peers, share_ns, watch, &standby, error);
    if (res == -ETIMEDOUT && standby) /* none is active: better one that knows nothing than none */
        res = tool_client_open(c, o, standby, watch, error);
    c->timeout_ns = o->timeout_ns;
    if (res == -ETIMEDOUT && peers->count > 1)
        say_none_answers(peers, o->timeout_ns, error);
    return res;
}

int tool_client_must_be_manager(const ToolClient *c, char error[CONFIG_ERROR_MAX])
{
    char text[ADDR_TEXT_MAX];
    if (c->session->peer_role == ROLE_CMD)
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "%s is another daemon, not the manager: set the address of cmd",
                   addr_format(&c->peer, text, sizeof text));
    return -EPROTO;
}

int tool_client_open_manager(ToolClient *c, const ToolOptions *o, ToolWatch *watch,
                             char error[CONFIG_ERROR_MAX])
{
    Resolved peers;
    *c = (ToolClient){.timeout_ns = o->timeout_ns};
    if (!o->common.manager) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "which manager? give --manager HOST:PORT, set DODO_MANAGER, or write "
                       "[dodo] manager in the config file");
        return -EINVAL;
    }
    int res = tool_find(o->common.manager, DEFAULT_CMD_PORT, &peers, error);
    if (res == 0)
        res = tool_client_open_any(c, o, &peers, watch, error);
    if (res < 0)
        return res;
    res = tool_client_must_be_manager(c, error);
    if (res < 0)
        tool_client_close(c);
    return res;
}

void tool_client_close(ToolClient *c)
{
    port_close(&c->port);
}

/* ---- conversations --------------------------------------------------------------------------- */

int tool_client_ask(ToolClient *c, uint16_t op, const uint8_t *body, size_t len,
                    char error[CONFIG_ERROR_MAX])
{
    const RequestTimes times = {.first_retry_ns = DEFAULT_CLIENT_REQUEST_RETRY_NS,
                                .retry_max_ns = DEFAULT_CLIENT_REQUEST_RETRY_MAX_NS,
                                .deadline_ns = c->timeout_ns};
    uint8_t payload[WIRE_PAYLOAD_MAX];
    request_start(&c->request, numbers_take(&c->ids), op, body, len, &times, os_now_ns());
    while (c->request.state == REQUEST_RUNNING && c->session && !c->ended) {
        uint64_t now = os_now_ns();
        size_t n = request_output(&c->request, numbers_lowest(&c->ids), payload, now);
        if (n > 0)
            port_message(&c->port, c->session, WIRE_REQUEST, payload, n);
        wait_and_receive(c, request_deadline(&c->request));
        request_expire(&c->request, os_now_ns());
    }
    numbers_end(&c->ids, c->request.id);
    if (c->request.state != REQUEST_ANSWERED)
        return no_answer(c, error);
    if (c->request.status == STATUS_OK)
        return 0;
    if (c->request.status == STATUS_DENIED && c->session && c->session->peer_role == ROLE_CMD)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "the manager is older than this program, and does not know what it asks: "
                       "install this version (" DODO_VERSION ") there, and restart dodo-cmd");
    else
        (void)snprintf(error, CONFIG_ERROR_MAX, "the daemon refuses: %s",
                       status_text(c->request.status));
    return -EPROTO;
}

int tool_client_ask_page(ToolClient *c, uint16_t op, bool first, const uint8_t *body, size_t len,
                         char error[CONFIG_ERROR_MAX])
{
    const Id128 before = c->lister;
    int res = tool_client_ask(c, op, body, len, error);
    if (res < 0 || !c->session)
        return res;
    c->lister = c->session->peer_id;
    if (first || id128_equal(&before, &c->lister))
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX, "the manager has started again meanwhile: ask again");
    return -ESTALE;
}

int tool_client_ping(ToolClient *c, uint64_t *ret_ns, char error[CONFIG_ERROR_MAX])
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    WirePing ping = {.nonce = 0};
    uint64_t start = os_now_ns(), give_up = time_add(start, c->timeout_ns), now = start;
    /* Every try has its own nonce, so that the time is that of the one that was answered. */
    while (c->session && !c->ended && now < give_up) {
        os_random(NULL, &ping.nonce, sizeof ping.nonce);
        port_message(&c->port, c->session, WIRE_PING, payload, wire_ping_encode(&ping, payload));
        uint64_t sent = os_now_ns(), again = min_u64(give_up, time_add(sent, PING_AGAIN_NS));
        while (c->session && !c->ended && c->pong != ping.nonce && now < again) {
            wait_and_receive(c, again);
            now = os_now_ns();
        }
        if (c->pong != ping.nonce)
            continue;
        *ret_ns = now - sent;
        return 0;
    }
    return no_answer(c, error);
}
