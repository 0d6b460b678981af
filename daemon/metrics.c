/* SPDX-License-Identifier: MIT */
#include "daemon/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"

/* @at is beyond @cap once something did not fit. */
typedef struct Text {
    char *buf;
    size_t at, cap;
} Text;

static void __attribute__((format(printf, 2, 3))) add(Text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = t->at < t->cap ? vsnprintf(t->buf + t->at, t->cap - t->at, format, args) : 0;
    va_end(args);
    t->at += n > 0 ? (size_t)n : 0;
}

const char *metric_type_text(enum MetricType type)
{
    static const char *const texts[] = {[METRIC_COUNTER] = "counter",
                                        [METRIC_GAUGE] = "gauge",
                                        [METRIC_STATES] = "stateset",
                                        [METRIC_INFO] = "info"};
    return texts[type];
}

const char *metric_suffix(enum MetricType type)
{
    return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

static void add_family(Text *t, const Metric *m)
{
    add(t, "# TYPE %s %s\n", m->name, metric_type_text(m->type));
    if (m->unit)
        add(t, "# UNIT %s %s\n", m->name, m->unit);
    add(t, "# HELP %s %s\n", m->name, m->help);
}

static void add_value(Text *t, const Metric *m, const void *snapshot)
{
    uint64_t v = 1;
    if (m->type != METRIC_INFO)
        memcpy(&v, (const char *)snapshot + m->offset, sizeof v);
    if (m->unit && strcmp(m->unit, "seconds") == 0)
        add(t, " %" PRIu64 ".%09u\n", (uint64_t)(v / NS_PER_S), (unsigned)(v % NS_PER_S));
    else
        add(t, " %" PRIu64 "\n", v);
}

static void add_sample(Text *t, const Metric *m, const void *snapshot)
{
    add(t, "%s%s", m->name, metric_suffix(m->type));
    if (m->label) /* the label of a state set has its family's name */
        add(t, "{%s=\"%s\"}", m->type == METRIC_STATES ? m->name : m->label, m->value);
    add_value(t, m, snapshot);
}

size_t metrics_write(const MetricTable *table, const void *snapshot, char *buf, size_t cap)
{
    Text t = {.buf = buf, .cap = cap};
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].help)
            add_family(&t, &table->rows[i]);
        add_sample(&t, &table->rows[i], snapshot);
    }
    add(&t, "# EOF\n");
    return t.at < cap ? t.at : 0;
}

void metrics_add_socket(CommonMetrics *m, const EndpointCounters *c, uint64_t sent, uint64_t astray)
{
    EndpointCounters *sum = &m->refused;
    sum->malformed += c->malformed;
    sum->version += c->version;
    sum->cluster += c->cluster;
    sum->unknown_tag += c->unknown_tag;
    sum->unknown_type += c->unknown_type;
    sum->unsealed += c->unsealed;
    sum->forged += c->forged;
    sum->replayed += c->replayed;
    sum->hello_refused += c->hello_refused;
    sum->hello_limited += c->hello_limited;
    sum->evicted += c->evicted;
    m->sent += sent;
    m->astray += astray;
}
