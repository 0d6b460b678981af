/* SPDX-License-Identifier: MIT */
/* Metrics over HTTP, on the daemon's own loop, for a scraper such as Prometheus: GET /metrics. What
 * a scraper can make us do is bounded: connections, what is read of each, how long it lives, how
 * many come in a second. A connection is for one request. */
#ifndef DODO_DAEMON_METRICS_HTTP_H
#define DODO_DAEMON_METRICS_HTTP_H

#include "daemon/config.h"
#include "daemon/loop.h"
#include "daemon/metrics.h"

enum {
    METRICS_CONNECTIONS_MAX = 16, /* more wait in the kernel's queue */
    METRICS_HEADERS_MAX = 4096,
    METRICS_BODY_MAX = 1024, /* of a request; nobody reads it */
    METRICS_TOKEN_MIN = 16,
    METRICS_TOKEN_MAX = 256,
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

typedef struct MetricsHttp MetricsHttp;

/* Binds, and logs where. *ret is NULL where metrics are off. 0; -errno, and @error says what to
 * fix: without a token only loopback addresses will do. */
int metrics_http_open(Loop *loop, const MetricsOptions *o, MetricsFn *fn, void *ctx,
                      MetricsHttp **ret, char error[CONFIG_ERROR_MAX]);
/* Before the loop is freed. NULL is fine; returns NULL. */
MetricsHttp *metrics_http_free(MetricsHttp *m);

#endif
