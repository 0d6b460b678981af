/* SPDX-License-Identifier: MIT */
#include "daemon/metrics_http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/list.h"
#include "base/os.h"
#include "base/sockaddr.h"
#include "base/text_file.h"
#include "daemon/log.h"

/* evhttp owns a connection, and says nothing when it ends one. So we keep a reference of its
 * buffers, and look now and then. */
typedef struct Slot {
    struct bufferevent *connection; /* NULL: free */
    unsigned sweeps;                /* seen so far */
} Slot;

struct MetricsHttp {
    MetricsContent content;
    uint64_t started_ns;
    struct evhttp *http;
    struct evconnlistener *listener; /* of @http */
    ListNode link;                   /* in all */
    struct event *sweep;
    bool sweeping, resting; /* resting: no connection is taken before the next sweep */
    unsigned used;
    Slot slots[METRICS_CONNECTIONS_MAX];
    bool guarded;
    char token[HTTP_TOKEN_MAX]; /* zeros after its end */
    char text[METRICS_TEXT_MAX];
};

static ListNode all = {&all, &all}; /* that serve */

/* ---- connections ----------------------------------------------------------------------------- */

static void sweep_on(MetricsHttp *m)
{
    const struct timeval every = {.tv_usec = METRICS_SWEEP_MS * 1000};
    if (!m->sweeping && event_add(m->sweep, &every) == 0)
        m->sweeping = true;
}

static void rest(MetricsHttp *m)
{
    (void)evconnlistener_disable(m->listener);
    m->resting = true;
    sweep_on(m);
}

/* A connection has come. It can send us no more than what a request may have. */
static struct bufferevent *on_connection(struct event_base *base, void *ctx)
{
    MetricsHttp *m = ctx;
    Slot *s = m->slots;
    while (s < m->slots + METRICS_CONNECTIONS_MAX && s->connection)
        s++;
    struct bufferevent *b = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!b || s == m->slots + METRICS_CONNECTIONS_MAX)
        return b;
    bufferevent_setwatermark(b, EV_READ, 0, METRICS_HEADERS_MAX + METRICS_BODY_MAX);
    bufferevent_incref(b);
    *s = (Slot){.connection = b};
    if (++m->used == METRICS_CONNECTIONS_MAX)
        rest(m);
    sweep_on(m);
    return b;
}

/* Out of descriptors, say: it would be tried again and again. What it is called with is evhttp's.
 */
static void on_accept_error(struct evconnlistener *l, void *ctx)
{
    (void)ctx;
    LIST_FOREACH(node, &all) {
        MetricsHttp *m = CONTAINER_OF(node, MetricsHttp, link);
        if (m->listener == l)
            rest(m);
    }
}

/* evhttp is done with it: its callbacks are gone. */
static bool has_ended(const Slot *s)
{
    void *evhttp;
    bufferevent_getcb(s->connection, NULL, NULL, NULL, &evhttp);
    return !evhttp;
}

static void slot_free(MetricsHttp *m, Slot *s)
{
    (void)bufferevent_decref(s->connection);
    s->connection = NULL;
    m->used--;
}

static void on_sweep(evutil_socket_t fd, short what, void *ctx)
{
    MetricsHttp *m = ctx;
    for (Slot *s = m->slots; s < m->slots + METRICS_CONNECTIONS_MAX; s++) {
        if (s->connection && has_ended(s))
            slot_free(m, s);
        else if (s->connection && ++s->sweeps >= METRICS_SWEEPS_OF_LIFE)
            (void)shutdown(bufferevent_getfd(s->connection), SHUT_RDWR); /* evhttp sees the end */
    }
    if (m->resting && m->used < METRICS_CONNECTIONS_MAX)
        m->resting = evconnlistener_enable(m->listener) != 0;
    if (m->used == 0 && !m->resting)
        m->sweeping = event_del(m->sweep) != 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void set(struct evhttp_request *r, const char *name, const char *value)
{
    (void)evhttp_add_header(evhttp_request_get_output_headers(r), name, value);
}

/* What a browser does with it: nothing but show it, with what comes from here alone, and forget
 * it. */
static void set_common(struct evhttp_request *r)
{
    set(r, "Connection", "close");
    set(r, "Cache-Control", "no-store");
    set(r, "X-Content-Type-Options", "nosniff");
    set(r, "Referrer-Policy", "no-referrer");
    set(r, "Cross-Origin-Resource-Policy", "same-origin");
    set(r, "X-Frame-Options", "DENY");
    set(r, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

/* The answer has been written. evhttp leaves what might be a tunnel open: ours is none. */
static void on_tunnel_answered(struct evhttp_request *r, void *ctx)
{
    struct bufferevent *b = evhttp_connection_get_bufferevent(evhttp_request_get_connection(r));
    (void)shutdown(bufferevent_getfd(b), SHUT_RDWR); /* evhttp sees the end */
}

/* @text is the body, but of HEAD. */
static void reply(struct evhttp_request *r, int status, const char *reason, const char *text,
                  size_t len)
{
    char length[32];
    struct evbuffer *body = evbuffer_new();
    (void)snprintf(length, sizeof length, "%zu", len);
    set(r, "Content-Length", length);
    set_common(r);
    if (body && evhttp_request_get_command(r) != EVHTTP_REQ_HEAD)
        (void)evbuffer_add(body, text, len);
    if (evhttp_request_get_command(r) == EVHTTP_REQ_CONNECT)
        evhttp_request_set_on_complete_cb(r, on_tunnel_answered, NULL);
    evhttp_send_reply(r, status, reason, body);
    if (body)
        evbuffer_free(body);
}

static void refuse(struct evhttp_request *r, int status, const char *reason)
{
    char text[64];
    set(r, "Content-Type", "text/plain; charset=utf-8");
    reply(r, status, reason, text, (size_t)snprintf(text, sizeof text, "%s\n", reason));
}

static void answer_metrics(MetricsHttp *m, struct evhttp_request *r)
{
    const CommonMetrics own = {.uptime_ns = os_now_ns() - m->started_ns,
                               .log_lines_lost = log_lost_lines()};
    size_t len = m->content.metrics(m->content.ctx, &own, m->text, sizeof m->text);
    if (len == 0) {
        refuse(r, HTTP_INTERNAL, "Internal Server Error");
        return;
    }
    set(r, "Content-Type", METRICS_CONTENT_TYPE);
    reply(r, HTTP_OK, "OK", m->text, len);
}

static void answer_made(const MetricsHttp *m, struct evhttp_request *r, const MetricsPage *p,
                        uint64_t since)
{
    char *text = malloc(p->room);
    size_t len = text ? p->write(m->content.ctx, since, text, p->room) : 0;
    if (len == 0) {
        refuse(r, HTTP_INTERNAL, "Internal Server Error");
    } else {
        set(r, "Content-Type", p->type);
        reply(r, HTTP_OK, "OK", text, len);
    }
    free(text);
}

static void answer_page(const MetricsHttp *m, struct evhttp_request *r, const MetricsPage *p)
{
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(r));
    const char *host = evhttp_find_header(evhttp_request_get_input_headers(r), "Host");
    uint64_t since;
    if (!m->guarded && !http_host_is_ours(host)) {
        refuse(r, 403, "Forbidden: ask by a numeric address, or localhost");
    } else if (p->bytes) {
        set(r, "Content-Type", p->type);
        reply(r, HTTP_OK, "OK", p->bytes, p->len);
    } else if (!http_query_since(query, &since)) {
        refuse(r, HTTP_BADREQUEST, "Bad Request: since=N is the only query");
    } else {
        answer_made(m, r, p, since);
    }
}

static const MetricsPage *page_find(const MetricsHttp *m, const char *path)
{
    for (size_t i = 0; i < m->content.pages_count; i++)
        if (strcmp(m->content.pages[i].path, path) == 0)
            return &m->content.pages[i];
    return NULL;
}

/* A browser asks its user for a password; all others know what to do. */
static void ask_for_token(const MetricsHttp *m, struct evhttp_request *r)
{
    set(r, "WWW-Authenticate", "Bearer");
    if (m->content.pages_count > 0)
        set(r, "WWW-Authenticate", "Basic realm=\"dodo: the token is the password\"");
    refuse(r, 401, "Unauthorized");
}

static void on_request(struct evhttp_request *r, void *ctx)
{
    MetricsHttp *m = ctx;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(r);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    const enum evhttp_cmd_type command = evhttp_request_get_command(r);
    const char *said = evhttp_find_header(evhttp_request_get_input_headers(r), "Authorization");
    const MetricsPage *page = path ? page_find(m, path) : NULL;
    if (m->guarded && !http_has_token(said, m->token)) {
        ask_for_token(m, r);
    } else if (command != EVHTTP_REQ_GET && command != EVHTTP_REQ_HEAD) {
        set(r, "Allow", "GET, HEAD");
        refuse(r, HTTP_BADMETHOD, "Method Not Allowed");
    } else if (page) {
        answer_page(m, r, page);
    } else if (!path || strcmp(path, "/metrics") != 0) {
        refuse(r, HTTP_NOTFOUND, "Not Found");
    } else {
        answer_metrics(m, r);
    }
}

/* ---- the token ------------------------------------------------------------------------------- */

static int token_fail(const char *path, char *error)
{
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "%s: expected one line, a token of %d to %d letters, digits and -._~+/=; make "
                   "one with: openssl rand -hex 32",
                   path, HTTP_TOKEN_MIN, HTTP_TOKEN_MAX);
    return -EINVAL;
}

static int read_token(MetricsHttp *m, const char *path, char *error)
{
    CLEANUP(text_file_wipe) TextFile text = {0};
    Lines l;
    char more[CONFIG_ERROR_MAX];
    int res = text_file_read(path, text_file_private, &text, error, CONFIG_ERROR_MAX);
    if (res != 0)
        return res;
    lines_begin(&l, path, text.bytes, text.len);
    res = lines_next(&l, error, CONFIG_ERROR_MAX);
    if (res == 1 && http_is_token(l.line)) {
        memcpy(m->token, l.line, strlen(l.line));
        m->guarded = lines_next(&l, more, sizeof more) == 0;
    }
    explicit_bzero(&l, sizeof l);
    return m->guarded ? 0 : token_fail(path, error);
}

static int check_open_to(const MetricsHttp *m, const Addr *at, char *error)
{
    char text[ADDR_TEXT_MAX];
    if (m->guarded || addr_is_loopback(at))
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "--metrics %s is not a loopback address: those who ask there need a token; set "
                   "metrics_token_file in dodo.conf, or give a loopback address",
                   addr_format(at, text, sizeof text));
    return -EACCES;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* An outcome: metrics are off, and the log says why. */
enum { METRICS_NOT_BOUND = 1 };

/* The socket, and in @at the port that it has; -errno. */
static int listen_at(Addr *at)
{
    const int yes = 1;
    SockAddr own = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t len = sockaddr_from(at, &own);
    CLEANUP_CLOSE int fd = socket(own.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0)
        return -errno;
    if (at->kind == ADDR_IP6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, &own.any, len) != 0 || listen(fd, METRICS_CONNECTIONS_MAX) != 0 ||
        getsockname(fd, &own.any, &len) != 0)
        return -errno;
    at->port = ntohs(at->kind == ADDR_IP6 ? own.ip6.sin6_port : own.ip4.sin_port);
    int res = fd;
    fd = -1;
    return res;
}

static int serve(MetricsHttp *m, struct event_base *base, int fd)
{
    const struct timeval patience = {.tv_sec = METRICS_SWEEPS_OF_LIFE * METRICS_SWEEP_MS / 1000};
    m->http = evhttp_new(base);
    m->sweep = event_new(base, -1, EV_PERSIST, on_sweep, m);
    m->listener =
        evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (!m->listener)
        (void)close(fd);
    if (!m->http || !m->sweep || !m->listener || !evhttp_bind_listener(m->http, m->listener)) {
        if (m->listener)
            evconnlistener_free(m->listener);
        return -ENOMEM;
    }
    list_push_back(&all, &m->link);
    evconnlistener_set_error_cb(m->listener, on_accept_error);
    evhttp_set_bevcb(m->http, on_connection, m);
    evhttp_set_gencb(m->http, on_request, m);
    evhttp_set_max_headers_size(m->http, METRICS_HEADERS_MAX);
    evhttp_set_max_body_size(m->http, METRICS_BODY_MAX);
    evhttp_set_timeout_tv(m->http, &patience);
    /* Those that are not allowed get their answer from us. */
    evhttp_set_allowed_methods(m->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                            EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
                                            EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE |
                                            EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH);
    return 0;
}

/* What a stranger sends is no event of ours; after an error libevent ends the program. */
static void on_libevent_log(int severity, const char *text)
{
    log_event(severity == EVENT_LOG_ERR ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG, "libevent",
              "text=\"%s\"", text);
}

static const char *bind_advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "choose another port, or 0 for any, and start again";
    case EADDRNOTAVAIL:
        return "give an address of this host (see ip addr), and start again";
    case EACCES:
        return "choose a port from 1024 on, and start again";
    default:
        return "give another address, and start again";
    }
}

/* What the system refuses costs the metrics, not what the daemon is there for. */
static int open_at(MetricsHttp *m, struct event_base *base, Addr at)
{
    char text[ADDR_TEXT_MAX];
    int fd = listen_at(&at);
    (void)addr_format(&at, text, sizeof text);
    if (fd < 0) {
        log_event(LOG_LEVEL_WARN, "no_metrics", "address=%s error=\"%s\" fix=\"%s\"", text,
                  strerror(-fd), bind_advice(-fd));
        return METRICS_NOT_BOUND;
    }
    int res = serve(m, base, fd);
    if (res == 0)
        log_event(LOG_LEVEL_INFO, "metrics", "url=http://%s/metrics token=%s", text,
                  m->guarded ? "yes" : "no");
    return res;
}

static int open_all(MetricsHttp *m, struct event_base *base, const MetricsOptions *o, char *error)
{
    int res = o->token_file ? read_token(m, o->token_file, error) : 0;
    if (res == 0)
        res = check_open_to(m, &o->listen, error);
    if (res < 0)
        return res;
    res = open_at(m, base, o->listen);
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for metrics");
    return res;
}

int metrics_http_open(Loop *loop, const MetricsOptions *o, const MetricsContent *content,
                      MetricsHttp **ret, char error[CONFIG_ERROR_MAX])
{
    *ret = NULL;
    if (o->listen.kind == ADDR_NONE)
        return 0;
    MetricsHttp *m = calloc(1, sizeof *m);
    if (!m) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for metrics");
        return -ENOMEM;
    }
    m->content = *content;
    m->started_ns = os_now_ns();
    event_set_log_callback(on_libevent_log);
    int res = open_all(m, loop_base(loop), o, error);
    *ret = res == 0 ? m : metrics_http_free(m);
    return res == METRICS_NOT_BOUND ? 0 : res;
}

MetricsHttp *metrics_http_free(MetricsHttp *m)
{
    if (!m)
        return NULL;
    if (m->link.next)
        list_remove(&m->link);
    if (m->http)
        evhttp_free(m->http); /* with the listener, and what is under way */
    for (Slot *s = m->slots; s < m->slots + METRICS_CONNECTIONS_MAX; s++)
        if (s->connection)
            slot_free(m, s);
    if (m->sweep)
        event_free(m->sweep);
    explicit_bzero(m->token, sizeof m->token);
    free(m);
    return NULL;
}
