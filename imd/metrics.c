/* SPDX-License-Identifier: MIT */
#include "imd/metrics.h"

#include "base/cleanup.h"

#define AT(field) offsetof(ImdMetrics, field)
#define GAUGE(name, help, field)                                          \
    {                                                                     \
        "dodo_imd_" name, METRIC_GAUGE, NULL, help, NULL, NULL, AT(field) \
    }
#define BYTES(name, help, field)                                                      \
    {                                                                                 \
        "dodo_imd_" name "_bytes", METRIC_GAUGE, "bytes", help, NULL, NULL, AT(field) \
    }
#define COUNTER(name, help, field)                                          \
    {                                                                       \
        "dodo_imd_" name, METRIC_COUNTER, NULL, help, NULL, NULL, AT(field) \
    }
#define SERVED(name, help, field)                                                            \
    {                                                                                        \
        "dodo_imd_" name "_bytes", METRIC_COUNTER, "bytes", help, NULL, NULL, AT(data.field) \
    }

/* clang-format off */
static const Metric rows[] = {
    METRICS_COMMON("dodo_imd", ImdMetrics),
    BYTES("pool", "memory that this host lends", pool_bytes),
    BYTES("limit", "what may be reserved and filled of it now; less than the pool where rmd says so", limit_bytes),
    BYTES("used", "what regions have reserved of it, or is on its way back", used_bytes),
    BYTES("filled", "what of that holds data, in whole huge pages, or is on its way back", filled_bytes),
    BYTES("free", "what no region has", free_bytes),
    GAUGE("pool_locked", "1 where the host cannot swap the pool out, else 0", locked),
    GAUGE("regions", "regions that have a part of the pool", regions),
    GAUGE("joined", "1 while the manager knows this host, else 0", joined),
    COUNTER("managers", "managers that this imd has joined; each start of one counts", managers),
    GAUGE("threads", "data threads", threads),
    COUNTER("reads", "reads answered", data.reads),
    SERVED("read", "data sent to programs", read_bytes),
    COUNTER("reads_unfilled", "of the reads, those that touched a block without data", data.reads_unfilled),
    GAUGE("reads_waiting", "reads that came, and are not answered yet", reads_waiting),
    COUNTER("writes", "writes that came whole", data.writes),
    SERVED("write", "data of these writes", write_bytes),
    COUNTER("writes_repeated", "parts of writes that had come whole before", data.writes_repeated),
    COUNTER("writes_voided", "writes that their program took back", data.voided),
    COUNTER("writes_aged", "writes that were silent for write_age and gave way", data.writes_aged),
    COUNTER("fills", "fills that came whole: what a program had read from its file", data.fills),
    SERVED("fill", "data of these fills", fill_bytes),
    COUNTER("fills_refused", "fills that were too late, because a write had come between", data.fills_refused),
    COUNTER("fills_no_room", "fills refused because no more of the pool may be filled now", data.fills_no_room),
    COUNTER("extents_unfilled", "parts of regions, of a huge page, that gave way to the owner or to other data", data.extents_unfilled),
    COUNTER("requests_busy", "requests put off, for want of room or because of the cap on traffic", data.busy),
    COUNTER("requests_denied", "requests for a region that is not here any more, or not the sender's", data.denied),
    COUNTER("requests_malformed", "messages of an established session that were none", data.malformed),
    COUNTER("frames_sent", "raw frames sent by data threads; they count as datagrams, too", frames_sent),
    COUNTER("frames_received", "raw frames that came, probes among them", frames_received),
    COUNTER("frames_refused", "raw frames that were none of Dodo's, or whose sender was not who it said", frames_refused),
};
/* clang-format on */
const MetricTable imd_metrics = {rows, ARRAY_SIZE(rows)};

void imd_metrics_read(ImdMetrics *ret, const ImdControl *c)
{
    ret->limit_bytes = imd_control_limit_bytes(c);
    ret->used_bytes = imd_control_used_bytes(c);
    ret->filled_bytes = imd_control_filled_bytes(c);
    ret->free_bytes = imd_control_free_bytes(c);
    ret->regions = imd_control_regions(c);
    ret->joined = imd_control_joined(c);
    ret->managers = imd_control_managers(c);
}

static void add_data(ImdDataStats *sum, const ImdDataStats *d)
{
    sum->reads += d->reads;
    sum->read_bytes += d->read_bytes;
    sum->reads_unfilled += d->reads_unfilled;
    sum->writes += d->writes;
    sum->write_bytes += d->write_bytes;
    sum->writes_repeated += d->writes_repeated;
    sum->writes_aged += d->writes_aged;
    sum->voided += d->voided;
    sum->fills += d->fills;
    sum->fill_bytes += d->fill_bytes;
    sum->fills_refused += d->fills_refused;
    sum->fills_no_room += d->fills_no_room;
    sum->extents_unfilled += d->extents_unfilled;
    sum->busy += d->busy;
    sum->denied += d->denied;
    sum->malformed += d->malformed;
}

void imd_metrics_add(ImdMetrics *ret, const ImdCounts *counts)
{
    add_data(&ret->data, &counts->data);
    metrics_add_socket(&ret->common, &counts->refused, counts->sent, counts->astray);
    ret->reads_waiting += counts->reads_waiting;
    ret->frames_sent += counts->frames_sent;
    ret->frames_received += counts->frames_received;
    ret->frames_refused += counts->frames_refused;
    ret->threads++;
}
