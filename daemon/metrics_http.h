/* SPDX-License-Identifier: MIT */
/* Metrics over HTTP, on the daemon's own loop, for a scraper such as Prometheus: GET /metrics; and
 * other pages, which a browser may show. All of it is only read. What those who ask can make us do
 * is bounded: connections, what is read of each, how long it lives, how many come in a second, how
 * long an answer is. A connection is for one request. */
#ifndef DODO_DAEMON_METRICS_HTTP_H
#define DODO_DAEMON_METRICS_HTTP_H

#include "daemon/config.h"
#include "daemon/http_guard.h"
#include "daemon/loop.h"
#include "daemon/metrics.h"

enum {
    METRICS_CONNECTIONS_MAX = 16, /* more wait in the kernel's queue */
    METRICS_HEADERS_MAX = 4096,
    METRICS_BODY_MAX = 1024,    /* of a request; nobody reads it */
    METRICS_SWEEP_MS = 100,     /* how soon the next may come where all are taken */
    METRICS_SWEEPS_OF_LIFE = 50 /* of a connection */
};

typedef struct MetricsOptions {
    Addr listen;      /* none: metrics are off */
    char *token_file; /* NULL: all that reach us may know */
} MetricsOptions;

/* Writes the text, with @own filled in but for what the sockets have counted. Its length; 0: no
 * room. */
typedef size_t MetricsFn(void *ctx, const CommonMetrics *own, char *buf, size_t cap);

/* Beside /metrics. A page that is made takes the query since=N and no other. */
typedef struct MetricsPage {
    const char *path; /* "/status" */
    const char *type; /* of its content */
    const char *bytes;
    size_t len;
    /* Makes it, where there are no @bytes: its length; 0: no room. */
    size_t (*write)(void *ctx, uint64_t since, char *buf, size_t cap);
    size_t room;
} MetricsPage;

/* All is borrowed. */
typedef struct MetricsContent {
    MetricsFn *metrics;
    void *ctx; /* of all functions */
    const MetricsPage *pages;
    size_t pages_count;
} MetricsContent;

typedef struct MetricsHttp MetricsHttp;

/* Binds, and logs where. An address that cannot be bound is a warning in the log, and metrics are
 * off. *ret is NULL where they are off. 0; -errno, and @error says what to fix: without a token
 * only loopback addresses will do. */
int metrics_http_open(Loop *loop, const MetricsOptions *o, const MetricsContent *content,
                      MetricsHttp **ret, char error[CONFIG_ERROR_MAX]);
/* Before the loop is freed. NULL is fine; returns NULL. */
MetricsHttp *metrics_http_free(MetricsHttp *m);

#endif
