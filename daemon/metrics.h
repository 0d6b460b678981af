/* SPDX-License-Identifier: MIT */
/* Metrics as text, in OpenMetrics 1.0: a daemon has one table of what it measures, and a snapshot,
 * a struct of uint64_t, that the table points into. Pure: table and snapshot in, text out. */
#ifndef DODO_DAEMON_METRICS_H
#define DODO_DAEMON_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/endpoint.h"

#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
enum { METRICS_TEXT_MAX = 32 << 10 }; /* what any of the daemons has to say */

enum MetricType {
    METRIC_COUNTER, /* only grows */
    METRIC_GAUGE,
    METRIC_STATES, /* rows with a label: 1 for the state that it is in, else 0 */
    METRIC_INFO,   /* the label says it; its value is always 1 */
};

/* A row is a sample. Rows with one name stand together, differ in their label, and the first has
 * the help. */
typedef struct Metric {
    const char *name;          /* ends with the unit, if there is one; without _total and _info */
    uint8_t type;              /* enum MetricType */
    const char *unit;          /* "bytes"; "seconds": the snapshot has nanoseconds; NULL: none */
    const char *help;          /* NULL: that of the row before */
    const char *label, *value; /* NULL: none; plain words */
    size_t offset;             /* in the snapshot; not of METRIC_INFO */
} Metric;

typedef struct MetricTable {
    const Metric *rows;
    size_t count;
} MetricTable;

/* The whole text. Its length; 0: @cap is too small. */
size_t metrics_write(const MetricTable *t, const void *snapshot, char *buf, size_t cap);
const char *metric_type_text(enum MetricType type);
/* What comes after the name in a sample: "_total", "_info" or "". */
const char *metric_suffix(enum MetricType type);

/* ---- what all daemons measure ---------------------------------------------------------------- */

typedef struct CommonMetrics {
    uint64_t uptime_ns, log_lines_lost;
    uint64_t sent, astray; /* as Transport has them; of all sockets together */
    EndpointCounters refused;
} CommonMetrics;

/* What another socket has counted. */
void metrics_add_socket(CommonMetrics *m, const EndpointCounters *c, uint64_t sent,
                        uint64_t astray);

#define METRIC_REFUSED(p, T, reason, text)                                     \
    {                                                                          \
        p "_datagrams_refused", METRIC_COUNTER, NULL, text, "reason", #reason, \
            offsetof(T, common.refused.reason)                                 \
    }
/* The rows of CommonMetrics, which is the field "common" of the snapshot @T. @p: "dodo_cmd". */
#define METRICS_COMMON(p, T)                                                                        \
    {p "_build", METRIC_INFO, NULL, "the program", "version", DODO_VERSION, 0},                     \
        {p "_uptime_seconds",          METRIC_GAUGE, "seconds", "time since the start", NULL, NULL, \
         offsetof(T, common.uptime_ns)},                                                            \
        {p "_log_lines_lost",                                                                       \
         METRIC_COUNTER,                                                                            \
         NULL,                                                                                      \
         "lines of the log that were dropped because nobody read them in time",                     \
         NULL,                                                                                      \
         NULL,                                                                                      \
         offsetof(T, common.log_lines_lost)},                                                       \
        {p "_messages_sent",                                                                        \
         METRIC_COUNTER,                                                                            \
         NULL,                                                                                      \
         "messages given to the network; a run of datagrams that the kernel cuts up counts once",   \
         NULL,                                                                                      \
         NULL,                                                                                      \
         offsetof(T, common.sent)},                                                                 \
        {p "_messages_astray",                                                                      \
         METRIC_COUNTER,                                                                            \
         NULL,                                                                                      \
         "messages that had no way out of this host",                                               \
         NULL,                                                                                      \
         NULL,                                                                                      \
         offsetof(T, common.astray)},                                                               \
        METRIC_REFUSED(                                                                             \
            p, T, malformed,                                                                        \
            "datagrams that were not taken, by reason: malformed, version (of another "             \
            "one), cluster (for "                                                                   \
            "another one), unknown_tag (of no session), unknown_type (of a later build), "          \
            "unsealed (or sealed without a key here), forged "                                      \
            "(not made with our key), replayed, hello_refused, hello_limited"),                     \
        METRIC_REFUSED(p, T, version, NULL), METRIC_REFUSED(p, T, cluster, NULL),                   \
        METRIC_REFUSED(p, T, unknown_tag, NULL), METRIC_REFUSED(p, T, unknown_type, NULL),          \
        METRIC_REFUSED(p, T, unsealed, NULL), METRIC_REFUSED(p, T, forged, NULL),                   \
        METRIC_REFUSED(p, T, replayed, NULL), METRIC_REFUSED(p, T, hello_refused, NULL),            \
        METRIC_REFUSED(p, T, hello_limited, NULL),                                                  \
    {                                                                                               \
        p "_sessions_evicted", METRIC_COUNTER, NULL,                                                \
            "sessions that were forgotten to make room for others", NULL, NULL,                     \
            offsetof(T, common.refused.evicted)                                                     \
    }

#endif
